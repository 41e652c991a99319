from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from rlprof.detectors.base import Detector, InTrace
from rlprof.discovery import discover_detectors
from rlprof.errors import EXIT_ERROR
from rlprof.model.device import DeviceFinding
from tests.trace_factory import TraceBuilder, a_trace


def reading_every_step() -> TraceBuilder:
    """Five steps: a kernel, a read that waits for it, 60 µs of nothing until the next."""
    trace = a_trace()
    for step in range(5):
        start = step * 200.0
        trace.region(f"ProfilerStep#{step}", start, 200.0)
        trace.op("aten::mm", start, 20.0).kernel(start + 5.0, start + 10.0, 100.0)
        trace.python("train.py(12): update", start, 190.0)
        trace.op("aten::item", start + 30.0, 90.0)
        trace.op("aten::_local_scalar_dense", start + 31.0, 88.0)
        trace.call("cudaStreamSynchronize", start + 40.0, 75.0)
    return trace


@pytest.fixture
def trace_file(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(reading_every_step().text())
    return path


def test_tells_what_the_gpu_waits_for(command_line, trace_file):
    answer = command_line("trace", str(trace_file))

    assert answer.exit_code == 0
    assert "1. the host waits for the GPU to read a number" in answer.stdout
    assert "train.py:12 in update, aten::item: 5 calls" in answer.stdout
    assert answer.stderr == ""


def test_the_json_document_follows_its_schema(command_line, trace_file):
    answer = command_line("trace", str(trace_file), "--format", "json")

    schema = files("rlprof.tracereport").joinpath("trace.schema.json").read_text("utf-8")
    jsonschema.validate(json.loads(answer.stdout), json.loads(schema))


def test_the_json_document_has_the_bound(command_line, trace_file, tmp_path):
    answer = command_line(
        "trace", str(trace_file), "--format", "json", "-o", str(tmp_path / "t.json")
    )

    assert answer.exit_code == 0
    document = json.loads((tmp_path / "t.json").read_text())
    assert document["format"] == "rlprof-trace"
    assert document["devices"][0]["busy_s"] == pytest.approx(500e-6)
    assert document["blocking_calls"]["count"] == 5
    # From the end of each read to the next kernel: 95 µs, of which the wait is 75; the last has no next.
    assert document["blocking_calls"]["recoverable_s"] == pytest.approx(4 * 75e-6)
    (finding,) = [other for other in document["findings"] if other["id"] == "gpu-sync"]
    assert finding["saved_s"]["low"] == 0
    assert finding["saved_s"]["high"] == pytest.approx(4 * 75e-6)


@pytest.mark.parametrize("content", ["", "no trace", "{}"])
def test_what_is_no_trace_is_an_error(command_line, tmp_path, content):
    (tmp_path / "x.json").write_text(content)

    answer = command_line("trace", str(tmp_path / "x.json"))

    assert answer.exit_code == EXIT_ERROR
    assert "is not a torch.profiler trace" in answer.stderr
    assert "export_chrome_trace" in answer.stderr


@pytest.mark.parametrize("form", ["terminal", "json"])
def test_a_detector_that_fails_is_told_beside_what_others_found(
    command_line, trace_file, monkeypatch, form
):
    def fail(_view: object) -> list[DeviceFinding]:
        raise KeyError("stream")

    detectors = (Detector("broken", "breaks", in_trace=InTrace(fail)), *discover_detectors())
    monkeypatch.setattr("rlprof.discovery.discover_detectors", lambda: detectors)

    answer = command_line("trace", str(trace_file), "--format", form)

    assert answer.exit_code == 0
    assert "The detector broken failed" in answer.stdout
    assert "gpu-sync" in answer.stdout
