"""Slices tile the run, keep to phases and lose no time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.profile import Phase, PhaseKind
from rlprof.model.recording import Recording, RunInfo, Samples, Window
from rlprof.report.detail import by_slice, cut_slices

LENGTHS = st.lists(st.integers(1, 4_000_000), min_size=1, max_size=60)
KINDS = list(PhaseKind)


def some_windows(lengths: list[int]) -> tuple[Window, ...]:
    windows = []
    start = 0
    for number, length in enumerate(lengths):
        windows.append(Window(number, start, start + length))
        start += length
    return tuple(windows)


def some_phases(windows: tuple[Window, ...], cuts: list[int]) -> tuple[Phase, ...]:
    """Phases with their borders at the ends of windows ``cuts``."""
    borders = sorted({0, windows[-1].end_us, *(windows[cut % len(windows)].end_us for cut in cuts)})
    return tuple(Phase(kind, *pair) for kind, pair in zip(KINDS, pairwise(borders), strict=False))


@given(LENGTHS, st.lists(st.integers(0, 59), max_size=3), st.integers(1, 30))
def test_slices_tile_the_run_and_keep_to_phases(lengths, cuts, most):
    windows = some_windows(lengths)
    phases = some_phases(windows, cuts)

    slices, slice_of = cut_slices(windows, phases, most=most)

    assert [part.start_us for part in slices] == [0, *(part.end_us for part in slices[:-1])]
    assert slices[-1].end_us == windows[-1].end_us
    for window in windows:
        own = slices[slice_of[window.id]]
        assert own.start_us <= window.start_us
        assert window.end_us <= own.end_us
        (kind,) = [
            phase.kind for phase in phases if phase.start_us <= window.start_us < phase.end_us
        ]
        assert own.phase is kind


@given(LENGTHS, st.integers(1, 30))
def test_neighbours_are_merged_while_they_fit(lengths, most):
    windows = some_windows(lengths)

    slices, _ = cut_slices(windows, (), most=most)

    longest = windows[-1].end_us / most
    for one, other in pairwise(slices):
        first_of_other = next(window for window in windows if window.start_us == other.start_us)
        assert first_of_other.end_us - one.start_us > longest
    assert len(slices) <= 2 * most + 1


ROWS = st.lists(
    st.tuples(*[st.integers(0, 5)] * 3, *[st.integers(0, 1000)] * 3), min_size=0, max_size=60
)


@given(ROWS, st.integers(1, 6))
def test_no_time_is_lost(rows, most):
    windows = some_windows([1000] * 6)
    samples = Samples()
    for row in rows:
        samples.add(*row)
    run = RunInfo("", (), "", "", 0.0, 6000, 0, True)
    _, slice_of = cut_slices(windows, (), most=most)

    merged = by_slice(Recording(run, windows=windows, samples=samples), slice_of)

    keys = list(zip(merged.window, merged.thread, merged.node, strict=True))
    assert keys == sorted(set(keys))
    assert sum(merged.wall_us) == sum(samples.wall_us)
    assert sum(merged.idle_us) == sum(samples.idle_us)
    assert sum(merged.cpu_us) == sum(samples.cpu_us)
    assert {key[1:] for key in keys} == {(row[1], row[2]) for row in rows}
