"""Folding keeps every microsecond, however its input is cut and whatever it holds."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import example, given
from hypothesis import strategies as st

from rlprof.model.recording import Frame, Window
from rlprof.recording.combine import ThreadWindow, combine
from rlprof.recording.samplers.base import ClockStack, StackReader
from rlprof.recording.samplers.mojo import MojoReader
from rlprof.recording.samplers.text import TextReader
from rlprof.recording.timeline import HEAD_US, MAX_WINDOWS, merged, plan_merge
from tests.mojo_stream import MojoStream, integer

TORN, UNSEEN = 1000, 1001

names = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters=";:\n"), min_size=1
)
frames = st.builds(Frame, names, names, st.integers(1, 100_000))
samples = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.lists(frames, max_size=5),
        st.integers(0, 10**12),
        st.booleans(),
        st.integers(-(10**12), 10**12),
    ),
    max_size=25,
)


def as_text(drawn: list) -> bytes:
    lines = ["# austin: 3.7.0", "# mode: full", ""]
    for tid, stack, wall_us, idle, memory in drawn:
        path = "".join(f";{frame.file}:{frame.function}:{frame.line}" for frame in stack)
        lines.append(f"P1;T0:{tid}{path} {wall_us},{int(idle)},{memory}")
    return "\n".join([*lines, "# duration: 1", ""]).encode()


def as_mojo(drawn: list) -> bytes:
    stream = MojoStream()
    for tid, stack, wall_us, idle, memory in drawn:
        stream.sample(tid, stack, wall_us, idle=idle, memory=memory)
    return stream.bytes()


Totals = dict[ClockStack, tuple[int, ...]]
"""Busy and idle µs, ticks, bytes grown and released, by stack."""

NOTHING = (0, 0, 0, 0, 0)


def expected(drawn: list) -> Totals:
    totals: Totals = {}
    for tid, stack, wall_us, idle, memory in drawn:
        key = ClockStack(tid, tuple(stack), False, False)
        new = ((not idle) * wall_us, idle * wall_us, 1, max(0, memory), max(0, -memory))
        totals[key] = tuple(map(sum, zip(totals.get(key, NOTHING), new, strict=True)))
    return totals


def folded(reader: StackReader, data: bytes, cuts: list[int]) -> Totals:
    """What comes out when ``data`` arrives in pieces, with a drain after each."""
    totals: Totals = {}
    ends = [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    start = 0
    for end in ends:
        reader.feed(data[start:end])
        if end == len(data):
            reader.finish()
        for key, time in reader.drain().items():
            stack = reader.parse(key)
            before = totals.get(stack, NOTHING)
            now = (
                time.busy_us, time.idle_us, time.ticks, time.grown_bytes, time.released_bytes,
            )  # fmt: skip
            totals[stack] = tuple(map(sum, zip(before, now, strict=True)))
        start = end
    return totals


cuts = st.lists(st.integers(0, 10**6), max_size=12)


@given(samples, cuts)
def test_text_cut_anywhere_gives_the_same_totals(drawn, cuts):
    assert folded(TextReader(), as_text(drawn), cuts) == expected(drawn)


@given(samples, cuts)
def test_mojo_cut_anywhere_gives_the_same_totals(drawn, cuts):
    assert folded(MojoReader(), as_mojo(drawn), cuts) == expected(drawn)


@given(st.binary(max_size=300), cuts)
def test_text_of_any_bytes_never_raises(data, cuts):
    reader = TextReader()
    for totals in folded(reader, data, cuts).values():
        assert totals[2] > 0


@given(st.integers(-(2**62), 2**62))
def test_mojo_integers(value):
    reader = MojoReader()
    reader._buffer = integer(value)

    assert reader._integer() == value
    assert reader._at == len(integer(value))


nodes = st.dictionaries(st.integers(0, 9), st.integers(1, 10**7), max_size=6)
thread_windows = st.builds(
    ThreadWindow,
    busy=nodes,
    idle=nodes,
    gc=nodes,
    torn_us=st.integers(0, 10**7),
    eye=st.dictionaries(st.integers(0, 9), st.floats(0.001, 1e7), max_size=6),
    on_cpu_us=st.none() | st.integers(0, 10**7),
    run_queue_us=st.integers(0, 10**7),
    trust_clock=st.booleans(),
    bare_wall_us=st.integers(0, 10**7),
    eye_before=st.dictionaries(st.integers(0, 9), st.floats(0.001, 1e7), max_size=2),
)


@given(thread_windows)
# All of its time on a CPU is the collector's, and the clock saw it nowhere else.
@example(ThreadWindow(idle={0: 1}, gc={0: 1}, eye={0: 1.0}, on_cpu_us=1, run_queue_us=1))
def test_combining_keeps_the_wall_time_and_its_parts_in_order(seen):
    times = combine(seen, torn_node=TORN, unseen_node=UNSEEN)

    wall = seen.clock_wall_us or seen.bare_wall_us
    assert sum(time.wall_us for time in times.values()) == wall
    for time in times.values():
        assert 0 <= time.idle_us <= time.wall_us
        assert time.cpu_us >= 0
    assert sum(t.cpu_us for t in times.values()) <= sum(
        t.wall_us - t.idle_us for t in times.values()
    )
    for time in times.values():
        assert time.cpu_us <= time.wall_us - time.idle_us


@given(thread_windows)
def test_combining_never_gives_idle_time_to_a_thread_that_the_scheduler_saw_run(seen):
    times = combine(seen, torn_node=TORN, unseen_node=UNSEEN)

    if seen.on_cpu_us is not None:
        wall = seen.clock_wall_us or seen.bare_wall_us
        idle = sum(time.idle_us for time in times.values())
        assert idle == wall - min(wall, seen.on_cpu_us + seen.run_queue_us)


lengths = st.lists(st.integers(1, 2_000_000), min_size=1, max_size=400)


@given(lengths, st.integers(1, 120))
def test_merging_covers_all_windows_in_order_and_bounds_their_number(drawn, tail):
    ends = list(accumulate(drawn))
    windows = [
        Window(number, start, end)
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
    ]

    groups = plan_merge(windows, tail)

    assert [number for group in groups for number in group] == list(range(len(windows)))
    result = merged(windows, groups)
    assert [window.start_us for window in result] == [0, *(w.end_us for w in result[:-1])]
    assert result[-1].end_us == ends[-1]
    head = sum(end <= HEAD_US for end in ends)
    # At most each second window of the tail can fail to join the one before it.
    assert len(groups) - head <= 2 * tail + 1
    assert len(groups) <= len(windows)


def test_a_merge_makes_room_at_the_default_bound():
    windows = [Window(i, i * 500_000, (i + 1) * 500_000) for i in range(MAX_WINDOWS + 1)]

    assert len(plan_merge(windows)) < MAX_WINDOWS
