"""Two call trees as one: what every function costs in either run, and by how much more than chance.

``docs/diff.md`` has the reasons. In short: times are per step (or per second of steady time), a
function is matched by its name and file below the same caller, and a change is only called one
when it is larger than what the two runs vary in themselves, and than what all functions have in common.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from statistics import median
from typing import Final, NamedTuple

from rlprof.comparison.stacks import (
    FEWEST_BLOCKS,
    NOWHERE,
    UNLOCATED,
    MatchedBoxes,
    StackBox,
    Stacks,
    paired,
)
from rlprof.pace.rates import MIN_EFFECT
from rlprof.pricing.samples import DESIGN_EFFECT
from rlprof.units import Z_95

SIGMAS: Final = 3.0
"""Standard errors that are still noise. Not two: of the hundreds of boxes of a flamegraph, one in
twenty would then be coloured by chance."""

MIN_SHARE: Final = 0.002
"""Share of the whole, below which no change is claimed: what a torn stack or a tick of the clock moves."""

MOST_COMMON: Final = 0.4
"""Logarithm of the most that is put down to the machine when all functions cost more alike: 1.5
times, what a core gives less when its other hyper-thread is busy."""

_TELLING_SHARE: Final = 0.01
_TELLING_ERROR: Final = 0.3
"""Share of the whole, and relative error, of the functions that tell what all have in common."""
_FEWEST_TELLING: Final = 3


class Scale(NamedTuple):
    """Divisor of one run's times."""

    divisor: float
    """Steps of the steady phase; or its seconds where steps are not known in both runs."""
    relative_error: float
    """Relative error of the rate of steps; 0 for seconds."""


class CostPerStep(NamedTuple):
    """Cost of a box in one run, per step: µs, of which waiting, and the standard error without that of the
    steps, which all boxes share.
    """

    us: float = 0.0
    idle_us: float = 0.0
    error_us: float = 0.0

    @property
    def is_waiting(self) -> bool:
        return self.idle_us * 2 > self.us


@dataclass(frozen=True, slots=True, kw_only=True)
class _ComparedFunction:
    """A function in both runs."""

    label: str
    place: str
    kind: str
    base: CostPerStep
    new: CostPerStep
    noise_us: float
    """Half-width of the band around no change in which nothing is claimed."""

    @property
    def change_us(self) -> float:
        return self.new.us - self.base.us

    @property
    def is_clear(self) -> bool:
        return abs(self.change_us) > self.noise_us

    @property
    def is_waiting(self) -> bool:
        """True if most of its time is waiting, in the run in which it costs more."""
        return max(self.base, self.new).is_waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBox(_ComparedFunction):
    """A function below one caller. Costs include what it calls."""

    parent: int
    depth: int
    line: int
    """The hottest, of the new run where that has the box."""
    line_share: float = 0.0
    """Part of its time in ``line``."""
    called_on: int = 0
    """The line of the nearest caller of the user's that most of it was called from, of the same run as
    ``line``; 0 without such a caller.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionChange(_ComparedFunction):
    """A function in all its places: its own time, without what it calls."""


@dataclass(frozen=True, slots=True)
class ChangeTree:
    """Both runs' steady time as one tree, in preorder; box 0 is the root."""

    metric: str
    """``wall`` or ``cpu``."""
    per: str
    """``step`` or ``second``: what the costs are for."""
    boxes: tuple[ChangeBox, ...]
    functions: tuple[FunctionChange, ...]
    """Those that changed most first."""
    common_ratio: float
    """New over base of what all functions have in common, and no function is blamed for; 1 for
    nothing."""
    base_places: Mapping[int, int]
    """Place in ``boxes`` of the boxes of the base's ``Stacks``."""
    new_places: Mapping[int, int]


def compare_trees(
    base: Stacks,
    new: Stacks,
    scales: tuple[Scale, Scale],
    *,
    metric: str,
    per: str,
    crowding: float = 1.0,
) -> ChangeTree:
    """Match the boxes of two runs and judge what changed. ``crowding``: times that anything took as long
    in the new run, for other programs on the machine.
    """
    pairs = paired(base, new)
    sides = tuple(
        _TreeOfRun(stacks, scale, [pair[number] for pair in pairs], [pair.parent for pair in pairs])
        for number, (stacks, scale) in enumerate(zip((base, new), scales, strict=True))
    )
    functions = _functions(base, new, pairs, sides)
    totals = max(side.costs[0].us for side in sides)
    unlocated = abs(_unlocated_share(base) - _unlocated_share(new))
    noise = _Noise(
        common_ratio=common_ratio(functions, totals),
        crowding=crowding,
        rate_error=hypot(*(scale.relative_error for scale in scales)),
        least_effect=MIN_EFFECT + unlocated,
        least_us=MIN_SHARE * totals,
    )
    judged = (
        FunctionChange(**key._asdict(), base=was, new=now, noise_us=noise.of(key.label, was, now))
        for key, was, now in functions
    )
    return ChangeTree(
        metric=metric,
        per=per,
        boxes=_boxes(base, new, pairs, sides, noise),
        functions=tuple(
            sorted(judged, key=lambda change: (-abs(change.change_us), change.label, change.place))
        ),
        common_ratio=noise.common_ratio,
        base_places={pair.base: at for at, pair in enumerate(pairs) if pair.base != NOWHERE},
        new_places={pair.new: at for at, pair in enumerate(pairs) if pair.new != NOWHERE},
    )


def _boxes(
    base: Stacks,
    new: Stacks,
    pairs: Sequence[MatchedBoxes],
    sides: Sequence[_TreeOfRun],
    noise: _Noise,
) -> tuple[ChangeBox, ...]:
    boxes: list[ChangeBox] = []
    for at, pair in enumerate(pairs):
        box = _latest(pair, base, new)
        was, now = (side.costs[at] for side in sides)
        boxes.append(
            ChangeBox(
                parent=pair.parent,
                depth=boxes[pair.parent].depth + 1 if at else 0,
                label=box.label,
                place=box.place,
                line=box.line,
                kind=box.kind,
                base=was,
                new=now,
                noise_us=noise.of(box.label, was, now),
                line_share=box.line_share,
                called_on=box.called_on,
            )
        )
    return tuple(boxes)


def _latest(pair: MatchedBoxes, base: Stacks, new: Stacks) -> StackBox:
    """The box of the new run, else that of the base."""
    return new.boxes[pair.new] if pair.new != NOWHERE else base.boxes[pair.base]


def _unlocated_share(stacks: Stacks) -> float:
    lost = sum(sum(box.blocks) for box in stacks.boxes if box.label in UNLOCATED)
    return lost / max(1, stacks.total_us)


# --- the costs of one run ------------------------------------------------------------------


class _TreeOfRun:
    """One run's part of the merged tree: ``at`` are its boxes, ``parents`` those of the merged tree."""

    def __init__(
        self, stacks: Stacks, scale: Scale, at: Sequence[int], parents: Sequence[int]
    ) -> None:
        self.at = at
        self._scale = scale
        self._block_us = stacks.block_us
        self._interval_us = stacks.interval_us
        nothing = [0] * len(stacks.block_us)
        boxes = [stacks.boxes[place] if place != NOWHERE else None for place in at]
        self._own = [nothing if box is None else list(box.blocks) for box in boxes]
        self._own_idle = [0 if box is None else box.idle_us for box in boxes]
        blocks, idle = [list(own_blocks) for own_blocks in self._own], list(self._own_idle)
        for child in range(len(at) - 1, 0, -1):
            parent = parents[child]
            idle[parent] += idle[child]
            above = blocks[parent]
            for block, us in enumerate(blocks[child]):
                above[block] += us
        self._whole_us = sum(blocks[0])
        self.costs = [self.cost(*pair) for pair in zip(blocks, idle, strict=True)]

    def own_cost(self, places: Iterable[int]) -> CostPerStep:
        """Return the cost of several boxes together, without what they call."""
        idle = 0
        blocks = [0] * len(self._block_us)
        for at in places:
            idle += self._own_idle[at]
            for block, us in enumerate(self._own[at]):
                blocks[block] += us
        return self.cost(blocks, idle)

    def cost(self, blocks: Sequence[int], idle_us: int) -> CostPerStep:
        """The standard error is that of sampling, or that between the blocks if it is larger."""
        us = sum(blocks)
        error = sqrt(max(self._sampling_variance(us), self._variance_between(blocks)))
        divisor = self._scale.divisor
        return CostPerStep(us / divisor, idle_us / divisor, error / divisor)

    def _sampling_variance(self, us: int) -> float:
        # One sample at least: of what was never seen, one could have been.
        seen = max(us, self._interval_us) * max(0.0, 1 - us / max(1, self._whole_us))
        return DESIGN_EFFECT * self._interval_us * seen

    def _variance_between(self, blocks: Sequence[int]) -> float:
        """Return the variance of the sum over blocks, which differ in length: as that of a ratio estimate."""
        count = len(blocks)
        if count < FEWEST_BLOCKS:
            return 0.0
        rate = sum(blocks) / sum(self._block_us)
        rests = (us - rate * length for us, length in zip(blocks, self._block_us, strict=True))
        return count / (count - 1) * sum(rest * rest for rest in rests)


# --- what is noise -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Noise:
    """The band around no change, for any cost of the two runs."""

    common_ratio: float
    crowding: float
    rate_error: float
    """Standard error of the logarithm of the ratio of both rates: it moves all costs alike."""
    least_effect: float
    least_us: float

    def of(self, label: str, base: CostPerStep, new: CostPerStep) -> float:
        change = new.us - base.us
        if label in UNLOCATED:
            # It belongs to other functions: its change is nobody's.
            return max(self.least_us, abs(change))
        up = 1 if change > 0 else -1
        alike = max(0.0, up * log(self.common_ratio), up * log(self.crowding))
        factor = exp(alike + Z_95 * self.rate_error)
        noise = SIGMAS * hypot(base.error_us, new.error_us)
        noise += self.least_effect * max(base.us, new.us)
        # A factor explains nothing of what one of the runs does not do at all.
        noise += (factor - 1) * min(base.us, new.us)
        return max(noise, self.least_us)


def common_ratio(
    functions: Iterable[tuple[FunctionKey, CostPerStep, CostPerStep]], whole_us: float
) -> float:
    """New over base of what functions at work have in common: the machine was slower, or faster.

    The median over all functions that are heavy enough to tell, whatever their weight: a change of
    code moves some of them. Of fewer than three, what even the least changed shows. Kept within
    ``MOST_COMMON``.
    """
    ratios = sorted(
        log(new.us / base.us)
        for _, base, new in functions
        if min(base.us, new.us) > _TELLING_SHARE * whole_us
        and hypot(base.error_us / base.us, new.error_us / new.us) < _TELLING_ERROR
        and not (base.is_waiting or new.is_waiting)
    )
    if not ratios:
        return 1.0
    if len(ratios) >= _FEWEST_TELLING:
        common = median(ratios)
    elif ratios[0] * ratios[-1] > 0:
        common = min(ratios, key=abs)
    else:
        common = 0.0
    return exp(min(MOST_COMMON, max(-MOST_COMMON, common)))


# --- functions -----------------------------------------------------------------------------


class FunctionKey(NamedTuple):
    label: str
    place: str
    kind: str


def _functions(
    base: Stacks, new: Stacks, pairs: Sequence[MatchedBoxes], sides: Sequence[_TreeOfRun]
) -> list[tuple[FunctionKey, CostPerStep, CostPerStep]]:
    """Own costs of every function in both runs."""
    renamed = _renamed(base, new, pairs)
    places: dict[FunctionKey, list[int]] = defaultdict(list)
    for at, pair in enumerate(pairs):
        box = _latest(pair, base, new)
        if box.kind not in ("root", "process"):
            place = (
                renamed.get((box.label, box.place), box.place) if pair.new == NOWHERE else box.place
            )
            places[FunctionKey(box.label, place, box.kind)].append(at)
    return [
        (key, sides[0].own_cost(at), sides[1].own_cost(at)) for key, at in sorted(places.items())
    ]


def _renamed(
    base: Stacks, new: Stacks, pairs: Iterable[MatchedBoxes]
) -> dict[tuple[str, str], str]:
    """New file of the functions that have another one in the new run, wherever they are called."""
    kept = {(box.label, box.place) for box in new.boxes}
    renamed = {}
    for pair in pairs:
        if NOWHERE in (pair.base, pair.new):
            continue
        was, now = base.boxes[pair.base], new.boxes[pair.new]
        if was.place != now.place and (was.label, was.place) not in kept:
            renamed[was.label, was.place] = now.place
    return renamed
