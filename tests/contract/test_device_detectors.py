"""What holds for every detector of traces, also for one added tomorrow."""

from __future__ import annotations

import pytest

from rlprof.device_pricing import discover_device_detectors, find_in
from rlprof.resources import detector_page
from tests.contract.test_detectors import HEADINGS, HOSTILE_NAMES, MEASURED
from tests.trace_factory import a_trace

DETECTORS = discover_device_detectors()


@pytest.fixture(params=DETECTORS, ids=[detector.id for detector in DETECTORS])
def detector(request):
    return request.param


def test_there_are_detectors():
    assert len(DETECTORS) >= 25


def test_has_a_page_with_all_headings(detector):
    lines = detector_page(detector.id).splitlines()

    assert lines[0] == f"# {detector.id}"
    headings = [line for line in lines if line.startswith("## ")]
    assert [it for it in headings if it != MEASURED] == HEADINGS


def test_silent_on_an_empty_trace(detector, tmp_path):
    view = a_trace().view(tmp_path)

    assert list(detector.detect(view)) == []
    assert find_in(view, [detector]).listed == ()


def test_silent_on_a_gpu_that_always_works(detector, tmp_path):
    trace = a_trace()
    for step in range(5):
        start = step * 1000.0
        trace.region(f"ProfilerStep#{step}", start, 1000.0).op("aten::mm", start, 500.0)
        trace.kernel(start + 10.0, start + 500.0, 1000.0)

    assert list(detector.detect(trace.view(tmp_path))) == []


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_bears_any_name(detector, name, tmp_path):
    trace = a_trace().op(name, 0.0, 50.0).region(name, 0.0, 80.0).python(name, 0.0, 70.0)
    trace.kernel(5.0, 30.0, 50.0, name=name).call("cudaDeviceSynchronize", 90.0, 10.0)
    trace.copy("HtoD (Pageable -> Device)", 110.0, 20.0, start=115.0, took=5.0, size=1_000_000)

    list(detector.detect(trace.kernel(140.0, 150.0, 5.0).view(tmp_path)))
