"""Advantages and returns that are reckoned in torch or numpy, one row of a rollout after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.suffix_sums import SuffixSums
from rlprof.detectors.recognisers.line_time import MIN_SHARE, loop_time, own_time
from rlprof.detectors.recognisers.networks.loop_graphs import LoopGraphs
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines
from rlprof.source.parameters import Parameters
from rlprof.source.tensor_loops import ARRAYS, TENSORS_AND_LISTS, TensorLoop
from rlprof.source.updates import without_gradients

REMOVABLE: Final = calibrated(
    Range(0.81, 0.95),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13: 19 µs a turn for 1 to 64 environments and 128 "
    "to 2 048 turns, of which 0.18 to 0.19 is left in numpy, and 0.05 to 0.08 where only "
    "the recursion itself is in the loop",
    date="2026-11-21",
)
"""Part that the same loop over arrays of numpy saves, or one over columns."""

WIDE_REMOVABLE: Final = calibrated(
    Range(0.6, 0.9),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13: of 1 024 environments 0.24 is left in numpy, "
    "of 4 096 0.33",
    date="2026-11-21",
)
"""The same from ``WIDE`` environments on."""

ONE_BY_ONE_REMOVABLE: Final = calibrated(
    Range(0.81, 0.99),
    unit="part of the loop's time",
    source="examples/ppo: of 512 environments 0.64 of 0.65 was saved",
    date="2026-11-21",
)
"""In a loop over environments: the same in numpy at the lower end, rows of all of them at the upper, which
leaves one turn in as many as there are environments."""

ARRAY_REMOVABLE: Final = calibrated(
    Range(0.59, 0.98),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of 16 to 2 048 numbers lists leave 0.24 to 0.41, np.cumsum 0.02 to "
    "0.08 from 128 on",
    date="2026-11-23",
)
"""The same of arrays of numpy: over lists at the lower end, by ``np.cumsum`` at the upper."""

SUFFIX_REMOVABLE: Final = calibrated(
    Range(0.9, 0.99),
    unit="part of the sums' time",
    source="benchmarks/replacements.py, Python 3.11: of 16 steps one pass from the last leaves 0.05, of 64 0.01, of 512 0.002",
    date="2026-11-29",
)
"""Part of sums that are added up anew for each step which one pass over all of them saves."""

WIDE: Final = calibrated(
    512,
    unit="environments",
    source="benchmarks/replacements.py, torch 2.13: of 64 environments 0.19 is left in numpy, of "
    "1 024 0.24",
    date="2026-11-21",
)
"""From which on the numbers themselves cost more than the calls."""


def detect(profile: Profile) -> Iterable[Finding]:
    yield from _in_torch(profile)
    yield from _in_numpy(profile)
    yield from _added_up_anew(profile)


def _in_torch(profile: Profile) -> Iterable[Finding]:
    graphs = LoopGraphs(profile)

    def stays_in_torch(file: str, line: int, loop: TensorLoop) -> bool:
        return graphs.asks_network(file, line) or graphs.passes_gradient(file, loop.line)

    found = loop_time(profile, TENSORS_AND_LISTS, _is_recursion, stays_in_torch)
    if found is None:
        return
    loop = found.heaviest
    environments = Parameters(profile.sources, profile.run.command).named(
        "num_envs", "n_envs", "num_environments"
    )
    is_wide = environments is not None and environments >= WIDE
    removable = WIDE_REMOVABLE if is_wide else REMOVABLE
    if loop.of_one_column:
        removable = ONE_BY_ONE_REMOVABLE
    line = found.time.heaviest
    sure = line.line in without_gradients(profile.sources[line.file])
    yield Finding(
        title=f"advantages, returns or values are reckoned in torch, row by row ({found.place})",
        savings=(Saving(found.time.nodes, removable),),
        locations=found.time.locations,
        evidence=(
            found.time.share_spent("in that loop"),
            f"the source shows a recursion from the last row of {loop.tensor} to the first, in small "
            "operations of torch",
            "no gradient is recorded there"
            if sure
            else "whether a gradient has to pass through it is not known: then it must stay torch's",
        ),
        fix="Run the same loop over rewards.numpy(), values.numpy() and so on (of lists, torch.stack(rewards).numpy()), and make one tensor of the "
        "result with torch.from_numpy; where the loop is inside of one over environments, reckon whole rows of "
        "all environments. Take what needs no recursion (the deltas) out of the loop, for all "
        "rows at once.",
        confidence=Confidence.MEASURED if sure else Confidence.BOUNDED,
    )


def _in_numpy(profile: Profile) -> Iterable[Finding]:
    found = loop_time(profile, ARRAYS, lambda loop: _is_recursion(loop) and loop.of_numbers)
    if found is None:
        return
    yield Finding(
        title=f"advantages or returns are reckoned in numpy, number by number ({found.place})",
        savings=(Saving(found.time.nodes, ARRAY_REMOVABLE),),
        locations=found.time.locations,
        evidence=(
            found.time.share_spent("in that loop"),
            f"the source shows a recursion from the last number of {found.heaviest.tensor} to the first; it is an "
            "array of numpy, an item of which costs several of a list",
        ),
        fix="Run the same loop over rewards.tolist() and the like, and make one array of the result. Sums without a "
        "discount are np.cumsum(rewards[::-1])[::-1]; discounted ones scipy.signal.lfilter([1], [1, -gamma], "
        "rewards[::-1])[::-1].",
        confidence=Confidence.MEASURED,
    )


def _added_up_anew(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found = SuffixSums(profile, lines).found()
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"returns are added up anew for each step ({time.place})",
        savings=tuple(Saving(frozenset(each.nodes), SUFFIX_REMOVABLE) for each in found),
        locations=time.locations,
        evidence=(
            time.share_spent("in these sums"),
            f"for each step all that follows is gone through: {time.most.follows}",
        ),
        fix="Go through the rewards once, from the last to the first: total = reward + gamma * total, and keep each total; "
        "of advantages delta + gamma * lam * total.",
        confidence=Confidence.MEASURED,
    )


def _is_recursion(loop: TensorLoop) -> bool:
    return loop.goes_backwards


DETECTOR: Final = Detector(
    id="gae-loop",
    name="advantages or returns reckoned row by row, or anew for each step",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
