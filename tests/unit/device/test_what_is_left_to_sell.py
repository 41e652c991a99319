"""No moment is promised twice: from a quicker host the idle time, from a quicker GPU the host's waits."""

from __future__ import annotations

import pytest

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.pricing.traces import find_in
from tests.trace_factory import TraceBuilder, a_trace

LAUNCHING = (IdleCause.LAUNCH_BOUND,)


def a_detector(id_: str, us: float, causes: tuple[IdleCause, ...]) -> Detector:
    """One that always finds ``us``."""

    def detect(view: TraceView) -> list[DeviceFinding]:
        return [
            DeviceFinding(id_, Range(0.0, us), ("seen",), "fix", Confidence.BOUNDED, causes=causes)
        ]

    return Detector(id_, id_, in_trace=InTrace(detect))


def a_training(*, steps: int = 3) -> TraceBuilder:
    """A millisecond per step: 300 µs of launching, a kernel of 400 µs, waited for, and an idle rest."""
    trace = a_trace()
    for step in range(steps):
        at = step * 1000.0
        trace.region(f"ProfilerStep#{step}", at, 1000.0).op("aten::mm", at, 310.0)
        trace.kernel(at + 296.0, at + 300.0, 400.0).read(at + 350.0, 350.0)
    return trace


def test_findings_about_one_cause_share_its_time(tmp_path):
    view = a_training().view(tmp_path)
    launching = view.idle_us(IdleCause.LAUNCH_BOUND)
    detectors = [
        a_detector("less", 0.6 * launching, LAUNCHING),
        a_detector("more", 0.7 * launching, LAUNCHING),
    ]

    more, less = find_in(view, detectors).listed

    assert (more.detector, more.saved_us.high) == ("more", pytest.approx(0.7 * launching))
    assert (less.detector, less.saved_us.high) == ("less", pytest.approx(0.3 * launching))


def test_a_quicker_gpu_saves_what_the_host_waits_for(tmp_path):
    view = a_training().view(tmp_path)

    (finding,) = find_in(view, [a_detector("kernels", 5000.0, ())]).listed

    # The read begins 51 µs into the kernel and ends with it.
    assert view.host_waits_us == pytest.approx(3 * 349.0)
    assert finding.saved_us.high == pytest.approx(view.host_waits_us)


def test_a_launch_that_waits_for_room_in_the_queue_is_a_wait(tmp_path):
    trace = a_trace().op("aten::mm", 0.0, 500.0).kernel(0.0, 10.0, 400.0)
    trace.kernel(20.0, 410.0, 50.0, launch=300.0)

    assert trace.view(tmp_path).host_waits_us == pytest.approx(300.0)


def test_a_long_launch_on_an_idle_gpu_is_none(tmp_path):
    trace = a_trace().op("aten::mm", 0.0, 500.0).kernel(0.0, 410.0, 50.0, launch=400.0)

    assert trace.view(tmp_path).host_waits_us == 0.0


def test_ranks_by_what_is_promised_in_the_end(tmp_path):
    trace = a_trace().op("aten::mm", 0.0, 900.0).kernel(700.0, 705.0, 200.0).read(885.0, 20.0)
    view = trace.view(tmp_path)
    detectors = [a_detector("kernels", 5000.0, ()), a_detector("launches", 600.0, LAUNCHING)]

    found = find_in(view, detectors).listed

    assert [finding.detector for finding in found] == ["launches", "kernels"]


@pytest.mark.parametrize(("steps", "sure"), [(2, Confidence.SUSPECTED), (3, Confidence.BOUNDED)])
def test_what_too_few_steps_show_is_only_suspected(tmp_path, steps, sure):
    view = a_training(steps=steps).view(tmp_path)

    (finding,) = find_in(view, [a_detector("launches", 500.0, LAUNCHING)]).listed

    assert finding.confidence is sure
