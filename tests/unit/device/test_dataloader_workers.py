from __future__ import annotations

import pytest

from rlprof.detectors import gpu_starved
from rlprof.detectors.dataloader_workers import DETECTOR
from rlprof.pricing.traces import find_in
from tests.trace_factory import TraceBuilder, a_trace

SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def a_training(*, loads_us: float, other_us: float = 0.0, loader: str = SINGLE) -> TraceBuilder:
    """Three steps of 10 ms; the GPU works where the host neither loads nor does other things."""
    trace = a_trace()
    for step in range(3):
        at = step * 10_000.0
        trace.region(f"ProfilerStep#{step}", at, 10_000.0).region(loader, at, loads_us)
        work = at + loads_us + other_us
        trace.op("aten::mm", work, at + 10_000.0 - work)
        trace.kernel(work + 1.0, work + 2.0, at + 9_990.0 - work)
    return trace


def test_idle_time_while_loading(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_training(loads_us=4_000.0).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(12_000.0, rel=0.01))
    assert "num_workers=4" in finding.fix


def test_workers_that_do_not_keep_up(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(
        a_training(loads_us=4_000.0, loader=WORKERS).view(tmp_path)
    )

    assert finding.title == "the GPU waits for a DataLoader's workers"


def test_the_start_of_the_workers_is_left_out(tmp_path):
    trace = a_trace().region(WORKERS, 0.0, 5_000.0).op("aten::mm", 5_000.0, 5_000.0)
    trace.kernel(5_001.0, 5_002.0, 4_998.0)
    for at in (10_000.0, 20_000.0):
        trace.region(WORKERS, at, 100.0).op("aten::mm", at + 100.0, 9_900.0)
        trace.kernel(at + 101.0, at + 102.0, 9_898.0)

    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]


def test_the_same_idle_time_is_not_sold_twice(tmp_path):
    view = a_training(loads_us=3_000.0, other_us=2_000.0).view(tmp_path)

    found = find_in(view, [DETECTOR, gpu_starved.DETECTOR]).listed

    assert [finding.detector for finding in found] == ["dataloader-workers", "gpu-starved"]
    assert sum(finding.saved_us.high for finding in found) == pytest.approx(15_000.0, rel=0.01)


@pytest.mark.parametrize("loads_us", [0.0, 400.0])
def test_is_silent_on_a_loader_that_keeps_up(tmp_path, loads_us):
    assert not [*DETECTOR.in_trace.detect(a_training(loads_us=loads_us).view(tmp_path))]
