from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rlprof.errors import TraceError
from rlprof.tracefile import reader
from rlprof.tracefile.reader import read_trace
from tests.trace_factory import TraceBuilder, a_trace


def two_kernels() -> TraceBuilder:
    return (
        a_trace()
        .op("aten::mm", 0.0, 20.0)
        .kernel(5.0, 30.0, 50.0)
        .op("aten::add", 25.0, 10.0)
        .kernel(28.0, 80.0, 10.0)
    )


def written(folder: Path, content: str | bytes, name: str = "trace.json") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_sorts_rows_by_what_they_are(tmp_path):
    trace = read_trace(written(tmp_path, two_kernels().text()))

    assert [row.name for row in trace.ops] == ["aten::mm", "aten::add"]
    assert [row.ts for row in trace.kernels] == [30.0, 80.0]
    assert [row.args.correlation for row in trace.calls] == [1, 2]
    assert trace.header.devices[0].name == "NVIDIA H100"
    assert trace.damage == ()


def test_knows_the_gpu_and_the_ops_that_autograd_records(tmp_path):
    trace = two_kernels().on("NVIDIA A100", 8).op("aten::linear", 60.0, 5.0, sequence=41)

    found = read_trace(written(tmp_path, trace.text()))

    gpu = found.header.devices[0]
    assert gpu.compute_major == 8
    assert [op.args.sequence for op in found.ops] == [-1, -1, 41]


def test_reads_gzip_a_bare_list_and_the_categories_of_old_torch(tmp_path):
    rows = two_kernels().rows
    old = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel"}
    text = json.dumps([{**row, "cat": old[row["cat"]]} for row in rows])

    trace = read_trace(written(tmp_path, gzip.compress(text.encode()), "trace.json.gz"))

    assert (len(trace.ops), len(trace.calls), len(trace.kernels)) == (2, 2, 2)


def test_regions_of_old_torch_are_among_its_ops(tmp_path):
    row = {
        "ph": "X",
        "cat": "Operator",
        "name": "ProfilerStep#3",
        "ts": 0,
        "dur": 5,
        "pid": 1,
        "tid": 1,
    }

    trace = read_trace(written(tmp_path, json.dumps([row])))

    assert [annotation.name for annotation in trace.annotations] == ["ProfilerStep#3"]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_trace_that_ends_too_early_is_read_up_to_its_last_whole_row(tmp_path, cut):
    text = two_kernels().text()

    trace = read_trace(written(tmp_path, text[:-cut]))

    assert 1 <= trace.rows < 7
    assert "ends too early" in trace.damage[0]


def test_a_gzip_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path):
    trace = a_trace()
    for number in range(500):
        trace.kernel(number * 10.0, number * 10.0 + 5.0, 4.0, name=f"kernel_{number * 7919 % 1000}")
    packed = gzip.compress(trace.text().encode())

    found = read_trace(written(tmp_path, packed[: len(packed) // 2], "trace.json.gz"))

    assert 0 < found.rows < 1000
    assert found.damage[0] == "the gzip file ends too early"


def test_gzip_files_one_after_the_other_are_one(tmp_path):
    text = two_kernels().text().encode()

    trace = read_trace(written(tmp_path, gzip.compress(text[:100]) + gzip.compress(text[100:])))

    assert len(trace.kernels) == 2


def test_bytes_that_are_no_text_are_mended(tmp_path):
    content = two_kernels().text().encode().replace(b"aten::mm", b"aten::\xf3\xd4")

    trace = read_trace(written(tmp_path, content))

    assert len(trace.kernels) == 2
    assert "mended" in trace.damage[0]


def test_backslashes_and_quotes_in_names_are_mended(tmp_path):
    text = two_kernels().text().replace("aten::mm", 'C:\\train.py(3): say "hi"')

    trace = read_trace(written(tmp_path, text))

    assert len(trace.kernels) == 2
    assert "mended" in trace.damage[0]


def test_values_of_unusual_types_cost_only_their_row(tmp_path):
    trace = two_kernels()
    trace.rows[0]["args"] = None
    trace.rows[1]["args"]["correlation"] = {"not": "a number"}
    trace.rows.append("not a row")

    found = read_trace(written(tmp_path, trace.text()))

    assert len(found.ops) == 2
    assert len(found.calls) == 2


@pytest.mark.parametrize("time", ["ts", "dur"])
@pytest.mark.parametrize("value", ["1e999", "1e308", "-1e308", '"\\ud800"'])
def test_a_row_at_no_time_is_left_out(tmp_path, time, value):
    row = (
        '{{"ph": "X", "ts": {ts}, "dur": {dur}, "pid": 1, "tid": 1, "cat": "cpu_op", "name": "a"}}'
    )
    rows = [row.format(ts=1, dur=1), row.format(**{"ts": 1, "dur": 1, time: value})]

    found = read_trace(written(tmp_path, f'{{"traceEvents": [{", ".join(rows)}]}}'))

    assert [(operator.ts, operator.dur) for operator in found.ops] == [(1.0, 1.0)]


def test_half_a_surrogate_in_place_of_arguments_leaves_the_row(tmp_path):
    row = '{"ph": "X", "ts": 1, "dur": 1, "cat": "cpu_op", "name": "a", "args": "\\ud800"}'

    found = read_trace(written(tmp_path, f'{{"traceEvents": [{row}]}}'))

    assert [operator.name for operator in found.ops] == ["a"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("hello", "no traceEvents", id="text"),
        pytest.param('{"schemaVersion": 1}', "traceEvents", id="other JSON"),
        pytest.param("[]", "it has no events", id="an empty list"),
        pytest.param('{"traceEvents": []}', "it has no events", id="no events"),
        pytest.param("[1, 2, 3]", "none of its rows is an event", id="a list of numbers"),
        pytest.param("[" * 100_000, "nests too deeply", id="nested"),
        pytest.param('{"traceEvents": ' + "[" * 100_000, "nests too deeply", id="nested rows"),
        pytest.param(b"PK\x03\x04abc", "zip", id="zip"),
        pytest.param(b"\x1f\x8bnot gzip at all", "gzip", id="not really gzip"),
    ],
)
def test_what_is_no_trace_says_why(tmp_path, content, reason):
    path = written(tmp_path, content)

    with pytest.raises(TraceError) as caught:
        read_trace(path)

    assert caught.value.slug == "not-a-trace"
    assert str(path) in caught.value.message
    assert reason in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TraceError, match="cannot read") as caught:
        read_trace(tmp_path / "none.json")

    assert caught.value.slug == "trace-missing"


def test_a_trace_that_is_too_large_is_refused_with_advice(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MOST_BYTES", 100)

    with pytest.raises(TraceError) as caught:
        read_trace(written(tmp_path, two_kernels().text()))

    assert caught.value.slug == "trace-too-large"
    assert "schedule" in caught.value.hint
