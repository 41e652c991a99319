"""Advantages and returns that are reckoned in torch or numpy, one row of a rollout after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import lines_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.gradients import without_gradients
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.source.parameters import Parameters
from rlprof.source.tensor_loops import ARRAYS, TensorLoop, tensor_loops
from rlprof.source.values import Values
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Of the critical time: twice what a report lists."""

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


def _in_torch(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    values = Values(profile.values)
    loops = {
        file: _recursions(tensor_loops(text, values.tensors(file)))
        for file, text in profile.sources.items()
    }
    time = lines_time(profile.steady, lines, loops)
    total = time.total_us
    if not whole or total < MIN_SHARE * whole:
        return
    loop = loops[time.heaviest.file][time.heaviest.line]
    environments = Parameters(profile.sources, profile.run.command).named(
        "num_envs", "n_envs", "num_environments"
    )
    is_wide = environments is not None and environments >= WIDE
    removable = WIDE_REMOVABLE if is_wide else REMOVABLE
    if loop.of_one_column:
        removable = ONE_BY_ONE_REMOVABLE
    sure = time.heaviest.line in without_gradients(profile.sources[time.heaviest.file])
    each = of_each_step(total, profile.steady_steps)
    yield Finding(
        title="advantages or returns are reckoned in torch, row by row "
        f"({short_place(Line(time.heaviest.file, loop.line, ''))})",
        savings=(Saving(time.nodes, removable),),
        locations=lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in that loop{each}",
            f"the source shows a recursion from the last row of {loop.tensor} to the first, in small "
            "operations of torch",
            "no gradient is recorded there"
            if sure
            else "whether a gradient has to pass through it is not known: then it must stay torch's",
        ),
        fix="Run the same loop over rewards.numpy(), values.numpy() and so on, and make one tensor of the "
        "result with torch.from_numpy; where the loop is inside of one over environments, reckon whole rows of "
        "all environments. Take what needs no recursion (the deltas) out of the loop, for all "
        "rows at once.",
        confidence=Confidence.MEASURED if sure else Confidence.BOUNDED,
    )


def _in_numpy(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    values = Values(profile.values)
    loops = {
        file: {
            line: loop
            for line, loop in _recursions(tensor_loops(text, values.arrays(file), ARRAYS)).items()
            if loop.of_numbers
        }
        for file, text in profile.sources.items()
        if values.has(file)
    }
    time = lines_time(profile.steady, lines, loops, ARRAYS.package)
    if not whole or time.total_us < MIN_SHARE * whole:
        return
    heaviest = time.heaviest
    loop = loops[heaviest.file][heaviest.line]
    yield Finding(
        title="advantages or returns are reckoned in numpy, number by number "
        f"({short_place(Line(heaviest.file, loop.line, ''))})",
        savings=(Saving(time.nodes, ARRAY_REMOVABLE),),
        locations=lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(time.total_us / whole)} of the steady time is spent in that loop"
            + of_each_step(time.total_us, profile.steady_steps),
            f"the source shows a recursion from the last number of {loop.tensor} to the first; it is an array of numpy, "
            "an item of which costs several of a list",
        ),
        fix="Run the same loop over rewards.tolist() and the like, and make one array of the result. Sums without a "
        "discount are np.cumsum(rewards[::-1])[::-1]; discounted ones scipy.signal.lfilter([1], [1, -gamma], "
        "rewards[::-1])[::-1].",
        confidence=Confidence.MEASURED,
    )


def _recursions(found: Mapping[int, TensorLoop]) -> dict[int, TensorLoop]:
    return {line: loop for line, loop in found.items() if loop.goes_backwards}


DETECTOR: Final = Detector(
    id="gae-loop",
    name="advantages or returns reckoned in torch or numpy, row by row",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
