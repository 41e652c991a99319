from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from rlprof.model import gauges
from rlprof.model.memory import MemoryView
from rlprof.model.recording import Gauge
from rlprof.pace.own_pace import at_own_pace
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run

MIB = 1 << 20
GIB = 1 << 30
ACT = ("train.py:9 <module>", "train.py:3 act")
KEEP = ("train.py:9 <module>", "train.py:6 keep")


def view(run: RunBuilder, keep: Callable[[Gauge], bool] = lambda _: True) -> MemoryView:
    """The view of a run of which only the gauges that ``keep`` holds for were measured."""
    recording = run.recording()
    recording = replace(recording, gauges=tuple(filter(keep, recording.gauges)))
    memory = build_profile(recording).memory
    assert memory is not None
    return memory


def a_learner(*levels: float, steady_s: float = 30.0) -> RunBuilder:
    """A process that takes these bytes in the course of training, and makes 3 000 steps."""
    run = a_run(steady_s=steady_s).process("learner", steps=3_000)
    run.spends(steady_s * 0.8, *ACT).spends(steady_s * 0.2, *KEEP)
    return run.gauge(gauges.RSS_BYTES, *levels)


def a_worker(run: RunBuilder, *levels: float) -> RunBuilder:
    run.process("worker").spends(1.0, "env.py:3 step")
    return run.gauge(gauges.RSS_BYTES, *levels)


def test_nobody_measured_memory():
    assert build_profile(a_run().process().recording()).memory is None


def test_the_peak_of_all_processes_together():
    memory = view(a_worker(a_learner(100 * MIB, 300 * MIB), 500 * MIB, 400 * MIB))

    assert memory.peak_bytes == pytest.approx(700 * MIB)
    assert not memory.is_shared_out
    assert [process.peak_rss_bytes for process in memory.processes] == [500 * MIB, 300 * MIB]


def test_a_peak_between_two_looks_is_the_kernels_to_tell():
    memory = view(a_learner(100 * MIB).gauge(gauges.PEAK_RSS_BYTES, 900 * MIB))

    assert memory.processes[0].peak_rss_bytes == 900 * MIB


def test_shared_pages_count_once_where_they_are_known():
    run = a_learner(500 * MIB, 700 * MIB).gauge(gauges.PSS_BYTES, 300 * MIB, 500 * MIB)
    memory = view(a_worker(run, 400 * MIB).gauge(gauges.PSS_BYTES, 100 * MIB))

    assert memory.is_shared_out
    assert memory.peak_bytes == pytest.approx(600 * MIB)
    assert memory.processes[0].peak_pss_bytes == pytest.approx(500 * MIB)


def test_between_two_looks_at_what_is_shared_only_the_own_part_changes():
    run = a_learner(500 * MIB, 800 * MIB).gauge(gauges.PSS_BYTES, 300 * MIB)

    memory = view(run, keep=lambda gauge: gauge.name != gauges.PSS_BYTES or gauge.window == 0)

    assert memory.peak_bytes == pytest.approx(600 * MIB)


def test_growth_by_the_hour_and_by_the_step():
    memory = view(a_learner(100 * MIB, 160 * MIB))

    assert memory.trend is not None
    assert memory.trend.is_steady
    assert memory.trend.grown_bytes == pytest.approx(60 * MIB, rel=0.02)
    assert memory.bytes_per_step == pytest.approx(60 * MIB / 3_000, rel=0.05)


@pytest.mark.parametrize(
    ("grown_mib", "steady_s", "new_mib", "is_growing"),
    [(60, 30.0, 60, True), (1, 30.0, 1, False), (60, 15.0, 60, False), (60, 30.0, 0, False)],
    ids=["grows", "by next to nothing", "for a short time", "into what it had asked for"],
)
def test_it_is_growing_where_enough_was_seen_to_say_how_much_that_is_in_an_hour(
    grown_mib: int, steady_s: float, new_mib: int, is_growing: bool
):
    run = a_learner(500 * MIB, (500 + grown_mib) * MIB, steady_s=steady_s)

    memory = view(run.gauge(gauges.VIRTUAL_BYTES, 900 * MIB, (900 + new_mib) * MIB))

    assert memory.trend is not None
    assert memory.trend.is_steady
    assert memory.is_growing is is_growing


def test_what_a_process_that_came_late_takes_is_no_trend_of_its_own():
    run = a_worker(a_learner(100 * MIB), 100 * MIB)

    memory = view(run, keep=lambda gauge: gauge.process == 0 or gauge.window > 40)

    assert memory.processes[1].trend is None
    assert memory.trend is not None
    assert not memory.trend.is_steady


def test_what_is_left_at_the_end():
    memory = view(a_learner(100 * MIB).gauge(gauges.HOST_MEMORY_AVAILABLE_BYTES, 8 * GIB, 4 * GIB))

    assert memory.available_bytes == pytest.approx(4 * GIB)


def test_lines_with_their_growth_and_their_time():
    run = a_learner(100 * MIB, 160 * MIB)
    run.remembers(20 * MIB, *ACT, released_bytes=5 * MIB)
    run.remembers(45 * MIB, *KEEP)
    run.remembers(900 * MIB, "train.py:1 <module>")  # Start-up alone, by its stack.
    run = a_worker(run, 50 * MIB).remembers(90 * MIB, "env.py:3 step")

    memory = view(run)

    lines = [(line.function, line.grown_bytes, line.share_of_growth) for line in memory.lines]
    assert lines == [("keep", 45 * MIB, 0.75), ("act", 15 * MIB, 0.25)]
    assert [line.share_of_time for line in memory.lines] == pytest.approx([0.2, 0.8])


def test_where_nothing_grows_steadily_the_lines_of_all_are_told():
    run = a_learner(100 * MIB).remembers(10 * MIB, *ACT)

    memory = view(a_worker(run, 50 * MIB).remembers(90 * MIB, "env.py:3 step"))

    assert [line.function for line in memory.lines] == ["step", "act"]


TORCH_STEP = (*KEEP, "/venv/lib/python3.11/site-packages/torch/optim/optimizer.py:538 step")
TORCH_IMPORT = (
    "train.py:1 <module>",
    "<frozen importlib._bootstrap>:1176 _find_and_load",
    "/venv/lib/python3.11/site-packages/torch/__init__.py:9 <module>",
)


def a_profiled_learner() -> RunBuilder:
    """Grows by 10 MiB by itself; in the middle a window of torch's profiler takes 40 MiB more."""
    own = [100 + 10 * window / 59 for window in range(60)]
    run = a_learner(*[(size + 40 * (number > 28)) * MIB for number, size in enumerate(own)])
    run.remembers(10 * MIB, *ACT).spends(1.0, *TORCH_STEP).remembers(40 * MIB, *TORCH_STEP)
    run.spends(1.0, *TORCH_IMPORT, start_up=True).remembers(200 * MIB, *TORCH_IMPORT)
    return run.torch_window(16.0, 16.4)


def test_what_a_window_of_torchs_profiler_takes_is_no_growth_of_the_program():
    memory = build_profile(at_own_pace(a_profiled_learner().recording())).memory

    assert memory is not None
    assert memory.trend is not None
    assert memory.trend.grown_bytes == pytest.approx(10 * MIB, rel=0.25)
    (line,) = memory.lines
    assert (line.line, line.share_of_growth) == (3, 1.0)
    # It was taken, though: the peak is what it was.
    assert memory.peak_bytes == pytest.approx(150 * MIB, rel=0.01)
