"""What must hold for any two call trees that are compared."""

from __future__ import annotations

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from rlprof.comparison.calltree import ChangeTree, Scale, compare_trees
from rlprof.comparison.stacks import Stacks
from tests.comparison_factory import stacks_of

BLOCKS = 5
NAMES = st.sampled_from(["a", "b", "c", "d"])
PATHS = st.builds(
    lambda role, rest: (role, *rest),
    st.sampled_from(["main", "worker"]),
    st.lists(NAMES, min_size=1, max_size=5),
)
TIMES = st.lists(st.integers(0, 900_000), min_size=BLOCKS, max_size=BLOCKS)
STACKS = st.dictionaries(PATHS, TIMES, min_size=1, max_size=12).map(
    lambda paths: stacks_of(paths, blocks=BLOCKS)
)
SCALES = st.builds(Scale, st.floats(1, 1e6), st.floats(0, 0.5))


def tree_of(base: Stacks, new: Stacks, scales: tuple[Scale, Scale]) -> ChangeTree:
    return compare_trees(base, new, scales, metric="wall", per="step")


def by_path(tree: ChangeTree) -> dict[tuple[tuple[str, str], ...], tuple[float, float]]:
    """(change, noise) by the path from the root."""
    paths: list[tuple[tuple[str, str], ...]] = []
    found = {}
    for box in tree.boxes:
        above = paths[box.parent] if box.parent >= 0 else ()
        paths.append((*above, (box.label, box.place)))
        found[paths[-1]] = (box.change_us, box.noise_us)
    return found


def close(one: float, other: float, size: float) -> bool:
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9 * size)


@given(STACKS, SCALES)
def test_nothing_changes_from_a_run_to_itself(stacks, scale):
    tree = tree_of(stacks, stacks, (scale, scale))

    assert all(box.change_us == 0 and not box.is_clear for box in tree.boxes)
    assert all(function.change_us == 0 and not function.is_clear for function in tree.functions)
    assert tree.common_ratio == 1


@given(STACKS, STACKS, SCALES, SCALES)
def test_own_changes_add_up_to_the_whole(base, new, was, now):
    tree = tree_of(base, new, (was, now))

    whole = tree.boxes[0]
    size = whole.base.us + whole.new.us
    assert close(sum(function.change_us for function in tree.functions), whole.change_us, size)
    assert close(whole.base.us, base.total_us / was.divisor, size)
    assert close(whole.new.us, new.total_us / now.divisor, size)


@given(STACKS, STACKS, SCALES, SCALES)
def test_a_box_costs_what_it_does_itself_and_what_it_calls(base, new, was, now):
    tree = tree_of(base, new, (was, now))

    below = [0.0] * len(tree.boxes)
    for at, box in enumerate(new.boxes):
        below[tree.new_places[at]] += sum(box.blocks) / now.divisor
    for at in range(len(tree.boxes) - 1, 0, -1):
        assert tree.boxes[at].parent < at
        below[tree.boxes[at].parent] += below[at]
    size = tree.boxes[0].new.us + 1e-9
    assert all(close(us, change.new.us, size) for us, change in zip(below, tree.boxes, strict=True))


@given(STACKS, STACKS, SCALES, SCALES)
def test_the_other_way_round_every_change_is_the_opposite(base, new, was, now):
    there = by_path(tree_of(base, new, (was, now)))
    back = by_path(tree_of(new, base, (now, was)))

    assert there.keys() == back.keys()
    size = max(abs(value) for values in there.values() for value in values) + 1e-12
    for path, (change, noise) in there.items():
        assert close(change, -back[path][0], size)
        assert close(noise, back[path][1], size)


@given(STACKS, st.floats(1, 1e6), st.floats(0.5, 2))
def test_a_machine_that_is_slower_changes_no_share(stacks, divisor, factor):
    """Steps are fewer, and the time of each function per step grows alike."""
    tree = tree_of(stacks, stacks, (Scale(divisor, 0.0), Scale(divisor / factor, 0.0)))

    for box in tree.boxes:
        assert close(box.new.us, box.base.us * factor, box.new.us + 1e-9)
