"""Models and buffers saved to disk so often that saving holds up the training."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.saving import saving_calls
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.units import percent

MIN_SHARE: Final = 0.01
"""Of the critical time: a checkpoint now and then is what everybody needs."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes when a tenth as many are saved (90 %), or hardly any."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    nodes: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    asleep = 0.0
    for entry in saving_calls(lines):
        owner = lines.owner(entry)
        cost = tree.total_cost(entry)
        if owner == NO_PARENT or not cost.wall_us:
            continue
        nodes.update(tree.subtree(entry))
        weights[lines.line(owner)] += cost.wall_us
        asleep += cost.idle_us
    total = sum(weights.values())
    if not whole or total / whole < MIN_SHARE:
        return
    heaviest = heaviest_line(weights)
    yield Finding(
        title=f"saving at {short_place(heaviest)} holds up the training",
        savings=(Saving(frozenset(nodes), REMOVABLE),),
        locations=lines.shown_locations(weights, whole),
        evidence=tuple(_evidence(profile, lines, heaviest, total, asleep)),
        fix="Save a tenth as often, or by time (every ten minutes). Leave out what can be made again, "
        "such as a replay buffer; or copy the state and write it in a thread beside the training.",
        confidence=Confidence.MEASURED if lines.text(heaviest) else Confidence.BOUNDED,
    )


def _evidence(
    profile: Profile, lines: UserLines, heaviest: Line, total: float, asleep: float
) -> Iterable[str]:
    yield (
        f"{percent(total / profile.critical.wall_us)} of the steady time is spent in saving, "
        f"{percent(asleep / total)} of it asleep for the disk"
    )
    statement = lines.statement(Frame(heaviest.file, heaviest.function, heaviest.line))
    if statement is not None:
        conditions = [ast.unparse(test) for test in statement.conditions]
        yield (
            f"it saves when {' and '.join(conditions)}"
            if conditions
            else "nothing on the way there keeps it from saving each time"
        )


DETECTOR: Final = Detector(
    id="checkpoint-heavy",
    name="checkpoints that hold up the training",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES})),
)
