"""The line that makes the steps of a program where nothing counts them: a function is given the last observation and an action."""

from __future__ import annotations

from rlprof.model.profile import Profile
from rlprof.model.recording import Note, Recording
from rlprof.source.lines import Line, short_place
from rlprof.source.value import is_number, is_truth
from rlprof.source.values import Values
from rlprof.syntax.module import parse
from rlprof.syntax.steps import functions_that_step


def steps_in_a_function(recording: Recording, profile: Profile) -> Note | None:
    """Return a note with the call that looks like a step, if looks have found its reward a number and its end a truth value."""
    if profile.throughput.unit != "none":
        return None
    values = Values(recording.values)
    functions = {(value.file, value.function): value.line for value in recording.values}
    for (file, function), line in sorted(functions.items()):
        module = parse(recording.sources.get(file, ""))
        if module is None:
            continue
        around = module.function_at(line)
        known = values.within(file, function)
        for step in functions_that_step(module, around.first_line if around else 0):
            reward, over = (known.get(text) for text in (step.reward, step.over))
            if reward and over and is_number(reward.type) and is_truth(over.type):
                at = short_place(Line(file, step.line, function))
                return Note(
                    "info",
                    "steps-in-a-function",
                    f"{step.text} in {function} ({at}) seems to make a step: rlprof.step() on the line below it counts them.",
                )
    return None
