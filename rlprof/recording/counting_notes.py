"""Tell what the agents could not count, in words for the report."""

from __future__ import annotations

from typing import Final

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.model.recording import Note
from rlprof.recording.census import AgentTotals
from rlprof.recording.settings import RecordingSettings

_WORST_FIRST: Final = (
    layout.CUSTOM_MISSING,
    layout.CUSTOM_NOT_CALLABLE,
    layout.CUSTOM_READ_ONLY,
    layout.CUSTOM_NOT_IMPORTED,
)
"""States, the worst first: of several processes the one that came furthest says most: modules are imported in some only."""


def counting_notes(told: AgentTotals, settings: RecordingSettings) -> list[Note]:
    notes = []
    if settings.steps_from is not None:
        notes += _target_notes(settings.steps_from, told.custom_states)
    if told.lacks_counters:
        notes.append(
            Note(
                "warning",
                "too-many-counters",
                f"A process counts under {layout.MAX_COUNTERS} names at most; what it counted "
                "under further ones is lost. Use fewer names of rlprof.phase.",
            )
        )
    return notes


def _target_notes(target: str, states: set[int]) -> list[Note]:
    if layout.CUSTOM_COUNTED in states:
        return []
    module, _, qualname = target.partition(":")
    state = next((state for state in _WORST_FIRST if state in states), layout.CUSTOM_NOT_IMPORTED)
    return [
        Note(
            "warning",
            "steps-from-not-counted",
            f"No steps were counted from --steps-from {target}: "
            + {
                layout.CUSTOM_MISSING: f"the module {module} has no {qualname}. Check the name.",
                layout.CUSTOM_NOT_CALLABLE: f"{qualname} of the module {module} is not a function "
                "that can be counted. Name the function or method that makes the steps; of an object that is called, "
                "its class with __call__.",
                layout.CUSTOM_READ_ONLY: f"{qualname} of the module {module} cannot be replaced, as "
                "that of an extension type cannot. Call rlprof.step(n) in the script.",
                layout.CUSTOM_NOT_IMPORTED: f"no process imported the module {module}. Give the "
                "name by which the program imports it; in the script itself, which nobody "
                "imports, call rlprof.step(n).",
            }[state],
        )
    ]
