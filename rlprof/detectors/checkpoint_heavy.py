"""Models and buffers saved to disk so often that saving holds up the training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.line_time import LineTime, calls_time
from rlprof.detectors.recognisers.outputs.changing_files import is_taken_over, repeated_loads
from rlprof.detectors.recognisers.outputs.saving import saving_calls
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import UserLines, begins_process
from rlprof.source.outputs import works_in_memory
from rlprof.source.values import Values
from rlprof.units import percent

MIN_SHARE: Final = 0.01
"""Least share of the critical time: a checkpoint now and then is what everybody needs."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes when a tenth as many are saved (90 %), or hardly any."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    values = Values(profile.values)
    owners = ((entry, lines.owner(entry)) for entry in saving_calls(lines, values))

    def is_other(top: int, node: int) -> bool:
        """Tell whether ``node`` computes what is saved, or is of workers that were forked on the way."""
        frame = tree.frame(node)
        return begins_process(frame) or (
            tree.nodes[node].parent == top
            and lines.is_yours(tree.frame(top))
            and lines.is_yours(frame)
        )

    loads = repeated_loads(lines.modules(profile.sources).values())
    placed = (
        (entry, lines.line(by))
        for entry, by in owners
        if by != NO_PARENT
        and not works_in_memory(tree.frame(by), lines, values)
        and not any(is_taken_over(each, loads) for each in lines.statements(tree.frame(by)))
    )
    time = calls_time(profile, lines, placed, is_other)
    if not time.is_worth(MIN_SHARE):
        return
    yield Finding(
        title=f"saving at {time.place} holds up the training",
        savings=(Saving(time.nodes, REMOVABLE),),
        locations=time.locations,
        evidence=tuple(_evidence(time)),
        fix="Save a tenth as often, or by time (every ten minutes). Leave out what can be made again, "
        "such as a replay buffer; or copy the state and write it in a thread beside the training. Where each file holds "
        "what was gathered since the last one, none can be left out: gather more for each.",
        confidence=Confidence.MEASURED if lines.text(time.heaviest) else Confidence.BOUNDED,
    )


def _evidence(time: LineTime) -> Iterable[str]:
    profile, lines = time.profile, time.lines
    asleep = profile.steady.cost_of(time.nodes).idle_us
    yield (
        f"{percent(time.total_us / profile.critical.wall_us)} of the steady time is spent in saving, "
        f"{percent(asleep / time.total_us)} of it asleep for the disk"
    )
    statement = lines.statement(time.heaviest)
    if statement is not None:
        yield (
            f"it saves when {statement.condition}"
            if statement.conditions
            else "nothing on the way there keeps it from saving each time"
        )


DETECTOR: Final = Detector(
    id="checkpoint-heavy",
    name="checkpoints that hold up the training",
    in_samples=InSamples(detect),
)
