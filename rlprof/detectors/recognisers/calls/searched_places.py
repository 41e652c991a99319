"""Findings of prioritised replay whose places are searched item by item: by a running sum, or down a tree of sums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.recognisers.calls.running_sums import RunningSum, running_sums
from rlprof.detectors.recognisers.calls.sum_trees import sum_tree_walks
from rlprof.detectors.recognisers.calls.tree_draws import lone_draws
from rlprof.detectors.recognisers.line_time import lines_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.source.values import Values
from rlprof.units import count

MIN_SHARE: Final = 0.03
"""Least share of the critical time. Beside an update of a network a batch of 32 takes no more than that."""

SEARCHED: Final = calibrated(
    Range(0.79, 0.99),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: for 64 searches among 256 or 4 096 weights under 0.01 of it is left, for one 0.18 "
    "to 0.21",
    date="2026-11-23",
)
"""Part of a search by a running sum that goes with ``np.cumsum`` and ``np.searchsorted``."""

MANY_WEIGHTS: Final = calibrated(
    256,
    unit="weights",
    source="benchmarks/replacements.py, numpy 2.4: the least that was measured",
    date="2026-11-23",
)
"""Among fewer, as the actions of a policy, a loop finds one about as soon."""

WALKED_ARRAYS: Final = calibrated(
    Range(0.3, 0.95),
    unit="part of the walks' time",
    source="benchmarks/replacements.py, numpy 2.4: of 64 walks through trees of 1 024 to 131 072 items 0.14 to 0.29 is left, of 256 0.04 to "
    "0.1, of 32 0.31 to 0.89",
    date="2026-11-29",
)
"""Part of the walks through an array that goes where all of a batch take each level together."""

WALKED_LISTS: Final = calibrated(
    Range(0.0, 0.84),
    unit="part of the walks' time",
    source="the same through a list, whose items are read in half the time and less: of 64 walks 0.32 to 0.92 is left, of 256 0.16 to 0.61, of 32 all",
    date="2026-11-29",
)
"""The same of a list, or of what nobody looked at."""


def searched_places(profile: Profile) -> Iterable[Finding]:
    """Yield searches of a place by a running sum over many weights."""
    lines = UserLines.of(profile)
    values = Values(profile.values)
    sums = {
        file: {
            line: running_sum
            for line, running_sum in running_sums(text).items()
            if (_weights(values, file, running_sum) or 0) >= MANY_WEIGHTS
        }
        for file, text in profile.sources.items()
        if values.has(file)
    }
    time = lines_time(profile, lines, sums, "numpy")
    if not time.is_worth(MIN_SHARE):
        return
    heaviest = time.heaviest
    found = sums[heaviest.file][heaviest.line]
    yield Finding(
        title=f"a place in {found.container} is searched by a running sum, item by item "
        f"({short_place(Line(heaviest.file, found.line, ''))})",
        savings=(Saving(time.nodes, SEARCHED),),
        locations=time.locations,
        evidence=(
            time.share_spent("in that loop"),
            f"{found.container} has {count(_weights(values, heaviest.file, found) or 0)} items",
        ),
        fix="Keep the weights in one array, and search all places at once: "
        "np.searchsorted(np.cumsum(weights[:size]), rng.random(batch_size) * total). A sum tree makes each a "
        "matter of log(size).",
        confidence=Confidence.MEASURED,
    )


def _weights(values: Values, file: str, found: RunningSum) -> int | None:
    """Return how many there are; None where nobody has looked."""
    seen = values.between(file, range(found.line, found.last_line + 1)).get(found.container)
    return None if seen is None else seen.numbers


def walked_trees(profile: Profile) -> Iterable[Finding]:
    """Yield walks through a sum tree, of one item after another, where items are drawn in batches."""
    lines = UserLines.of(profile)
    trees = {file: sum_tree_walks(text) for file, text in profile.sources.items()}
    one_by_one = lone_draws(lines, trees)
    walks = {
        file: {
            line: walk.container
            for line, walk in found.items()
            if (file, walk.container) not in one_by_one
        }
        for file, found in trees.items()
    }
    time = lines_time(profile, lines, walks, "numpy")
    if not time.is_worth(MIN_SHARE):
        return
    heaviest = time.heaviest
    tree = walks[heaviest.file][heaviest.line]
    around = [line for line, walked in walks[heaviest.file].items() if walked == tree]
    seen = Values(profile.values).between(heaviest.file, range(min(around), max(around) + 1))
    is_array = tree in seen and seen[tree].is_array
    yield Finding(
        title=f"a sum tree is walked for one item at a time ({short_place(heaviest)})",
        savings=(Saving(time.nodes, WALKED_ARRAYS if is_array else WALKED_LISTS),),
        locations=time.locations,
        evidence=(time.share_spent(f"in walks through {tree}, node after node"),),
        fix="Take each level for the whole batch at once, in an array: node = 2 * node; left = tree[node]; right = marks >= left; "
        "marks -= right * left; node += right. Mend the sums once for all priorities of a batch, level by level, too. Up to ten "
        "thousand items np.searchsorted(np.cumsum(priorities), marks) is as quick, and needs no tree.",
        confidence=Confidence.MEASURED,
    )
