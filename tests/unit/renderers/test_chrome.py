"""The joined trace, checked against what readers of Chrome's trace format ask for."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.errors import UsageError
from rlprof.model.detail import Detail, Slice, TimeSeries, TorchTrace
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Frame, Node, Samples, Thread
from rlprof.model.report import Report, TorchWindowRow
from rlprof.renderers.chrome import RENDERER, boxes
from tests.report_factories import SECOND, a_detail, a_process, a_report
from tests.trace_factory import TraceBuilder, a_trace

Event = dict[str, Any]


# --- reading -------------------------------------------------------------------------------


def a_document(report: Report, options: Mapping[str, str] | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(RENDERER.render(report, options or {}))
    check_structure(document["traceEvents"])
    return document


def events(report: Report, options: Mapping[str, str] | None = None) -> list[Event]:
    found: list[Event] = a_document(report, options)["traceEvents"]
    return found


def check_structure(rows: Sequence[Event]) -> None:
    """Raises ``AssertionError`` for what the trace format does not allow."""
    tracks = defaultdict(list)
    flows: dict[Any, list[str]] = defaultdict(list)
    for row in rows:
        assert {type(row["pid"]), type(row["tid"])} == {int}, row
        assert isinstance(row["name"], str), row
        assert row["ph"] in "XMCisf", row
        if row["ph"] == "M":
            assert row["name"].startswith(("process_", "thread_")), row
            assert row["args"], row
            continue
        assert isinstance(row["ts"], int | float), row
        if row["ph"] == "X":
            assert row["dur"] >= 0, row
            tracks[row["pid"], row["tid"]].append(row)
        elif row["ph"] == "C":
            assert all(isinstance(value, int | float) for value in row["args"].values()), row
        elif row["ph"] in "sf":
            flows[row["cat"], row["name"], row["id"]].append(row["ph"])
    for track in tracks.values():
        check_nesting(track)
    for ends in flows.values():
        assert sorted(ends) == ["f", "s"]


def check_nesting(track: Iterable[Event]) -> None:
    """On one track an event lies within another or beside it; of two as long, the outer comes first."""
    open_ends: list[float] = []
    for row in sorted(track, key=lambda event: (event["ts"], -event["dur"])):
        end = row["ts"] + row["dur"]
        while open_ends and open_ends[-1] <= row["ts"] + 0.001:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + 0.001, row
        open_ends.append(end)


def of_kind(rows: Iterable[Event], category: str) -> list[Event]:
    return [row for row in rows if row.get("cat") == category]


def names(rows: Iterable[Event], what: str) -> dict[tuple[int, int], str]:
    """Names of processes (what="process_name") or threads by (pid, tid)."""
    return {(row["pid"], row["tid"]): row["args"]["name"] for row in rows if row["name"] == what}


def spans(rows: Iterable[Event]) -> list[tuple[str, float, float]]:
    """(name, start, end) in seconds."""
    return [(row["name"], row["ts"] / 1e6, (row["ts"] + row["dur"]) / 1e6) for row in rows]


# --- the run -------------------------------------------------------------------------------


def test_a_counter_changes_where_its_series_does_and_ends_with_it() -> None:
    detail = a_detail(
        series=(
            TimeSeries("cores", "worker", "cores", (None, 1.0, 1.0, 2.0, None, *[None] * 7)),
            TimeSeries("rate", "sps", "sps", (5.0, *[None] * 11)),
        )
    )

    rows = [event for event in events(a_report(seen={"detail": detail})) if event["ph"] == "C"]

    assert [(row["name"], row["ts"] / SECOND, row["args"]) for row in rows] == [
        ("cores: worker", 1, {"cores": 1.0}),
        ("cores: worker", 3, {"cores": 2.0}),
        ("cores: worker", 4, {"cores": 0.0}),
        ("sps", 0, {"sps": 5.0}),
        ("sps", 1, {"sps": 0.0}),
    ]


# --- samples -------------------------------------------------------------------------------


def test_boxes_share_their_slice_and_go_on_while_nothing_else_came_between() -> None:
    detail = a_detail(
        ("0 MainThread", 6.0, "main a.py:1 yours > step a.py:2 yours"),
        ("0 MainThread", 4.0, "main a.py:1 yours > learn a.py:3 yours ~"),
    )

    rows = of_kind(events(a_report(seen={"detail": detail})), "samples")

    assert spans(rows[:3]) == [
        ("main", 2, 12),
        ("step", 2, pytest.approx(2.6)),
        ("learn", pytest.approx(2.6), 3),
    ]
    assert len(rows) == 1 + 10 + 10
    assert rows[0]["args"]["wall_us"] == 10 * SECOND
    assert rows[2]["args"] == {
        "wall_us": 400_000, "cpu_us": 0, "waiting_us": 400_000, "place": "a.py:3",
    }  # fmt: skip


def test_a_thread_that_was_there_for_less_than_half_a_slice_does_not_fill_it() -> None:
    detail = a_detail(start_up=[("0 MainThread", 0.6, "load a.py:1 yours")])

    rows = of_kind(events(a_report(seen={"detail": detail})), "samples")

    assert spans(rows) == [("load", 0, 0.3), ("load", 1, 1.3)]


def test_callers_come_before_what_they_call_and_thin_boxes_stay_with_them() -> None:
    detail = a_detail(
        ("0 MainThread", 9.95, "a a.py:1 yours > b a.py:2 yours > c a.py:3 yours"),
        ("0 MainThread", 0.05, "a a.py:1 yours > rare a.py:2 yours"),
    )

    rows = of_kind(events(a_report(seen={"detail": detail})), "samples")

    assert [row["name"] for row in rows[:3]] == ["a", "b", "c"]
    assert "rare" not in {row["name"] for row in rows}


def test_of_very_many_boxes_the_thin_ones_are_left_out_and_the_file_says_so(monkeypatch) -> None:
    detail = a_detail(
        ("0 MainThread", 9.7, "a a.py:1 yours > b a.py:2 yours"),
        ("0 MainThread", 0.3, "a a.py:1 yours > rare a.py:2 yours"),
    )
    monkeypatch.setattr(boxes, "MOST_BOXES", 29)

    document = a_document(a_report(seen={"detail": detail}))

    drawn = of_kind(document["traceEvents"], "samples")
    assert {box["name"] for box in drawn} == {"a", "b"}
    assert "less than 5.0 % of a slice" in document["otherData"]["samples"]


def test_samples_and_torch_events_are_options() -> None:
    report = a_run_with_windows(a_window(a_training()))

    assert not of_kind(events(report, {"samples": "no"}), "samples")
    assert not of_kind(events(report, {"torch": "no"}), "cpu_op")
    with pytest.raises(UsageError, match="samples"):
        events(report, {"samples": "some"})


frames = st.builds(Frame, st.sampled_from(["a.py", ""]), st.sampled_from(["f", "g"]), st.just(1))
some_samples = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 1), frames, st.integers(-1, 6), st.integers(0, 2_000_000)
    ),
    max_size=14,
)


@given(some_samples, st.sampled_from([(), (1_500_000,), (1_000_000, 1_500_000, 3_000_000)]))
def test_whatever_was_sampled_the_boxes_nest(
    drawn: list[tuple[int, int, Frame, int, int]], moments: tuple[int, ...]
) -> None:
    nodes = [Node(n, min(sample[3], n - 1), sample[2]) for n, sample in enumerate(drawn)]
    samples = Samples()
    for row in sorted((sample[0], sample[1], n, sample[4]) for n, sample in enumerate(drawn)):
        samples.add(*row, 0, 0)
    detail = Detail(
        slices=tuple(Slice(n * SECOND, (n + 1) * SECOND, PhaseKind.STEADY) for n in range(3)),
        threads=tuple(Thread(n, 0, 1000 + n, "t", n == 0) for n in range(2)),
        nodes=tuple(nodes),
        samples=samples,
        torch_traces=tuple(
            a_window(a_training(), at_us=moment, number=n) for n, moment in enumerate(moments)
        ),
    )
    report = a_report(seen={"detail": detail, "torch_windows": (a_row(),)})

    document = a_document(report)

    assert len(of_kind(document["traceEvents"], "cpu_op")) == 2 * len(moments)


# --- windows of torch's profiler -----------------------------------------------------------


def a_training() -> TraceBuilder:
    """An update of 2 s, on a clock of its own, with an arrow from its forward to its backward half."""
    trace = a_trace().op("aten::mm", 5e6, 0.5e6).op("MmBackward0", 6e6, 1e6)
    for letter, at in (("s", 5.1e6), ("f", 6.1e6)):
        trace.rows.append(
            {
                "ph": letter,
                "cat": "fwdbwd",
                "name": "fwdbwd",
                "id": 1,
                "ts": at,
                "pid": 100,
                "tid": 100,
            }
        )
    return trace


def a_window(
    trace: TraceBuilder | bytes, *, pid: int = 100, at_us: int = 5 * SECOND, number: int = 0
) -> TorchTrace:
    text = trace if isinstance(trace, bytes) else trace.text().encode()
    return TorchTrace(pid, number, at_us, gzip.compress(text))


def a_row(*, left_out: bool = True) -> TorchWindowRow:
    return TorchWindowRow(
        100, "main", "plain", "written", 5.0, 2.0, left_out, 1, 2.0, 2, 0, None, "", 0.0
    )


def a_run_with_windows(*windows: TorchTrace, left_out: bool = True, **changes: Any) -> Report:
    detail = a_detail(("0 MainThread", 10.0, "main a.py:1 yours"), torch_traces=windows, **changes)
    processes = [a_process(100), a_process(200, "worker")]
    rows = (a_row(left_out=left_out),)
    return a_report(processes=processes, seen={"detail": detail, "torch_windows": rows})


def test_a_window_is_put_in_where_it_was_and_what_comes_later_moves_back() -> None:
    rows = events(a_run_with_windows(a_window(a_training())))

    assert spans(of_kind(rows, "cpu_op")) == [("aten::mm", 5, 5.5), ("MmBackward0", 6, 7)]
    assert {(row["pid"], row["tid"]) for row in of_kind(rows, "cpu_op")} == {(100, 100)}
    assert spans(of_kind(rows, "samples")) == [("main", 2, 5), ("main", 7, 14)]
    assert spans(of_kind(rows, "phase"))[:2] == [("start-up", 0, 2), ("steady", 2, 14)]


def test_where_its_time_is_not_left_out_a_window_lies_over_the_rest() -> None:
    rows = events(a_run_with_windows(a_window(a_training()), left_out=False))

    assert spans(of_kind(rows, "cpu_op")) == [("aten::mm", 5, 5.5), ("MmBackward0", 6, 7)]
    assert spans(of_kind(rows, "samples")) == [("main", 2, 12)]


def test_windows_of_one_moment_stay_as_far_apart_as_they_were() -> None:
    later = a_training()
    later.header["baseTimeNanoseconds"] = 500_000_000
    of_worker = json.loads(later.text().replace('"pid": 100, "tid": 100', '"pid": 200, "tid": 200'))
    windows = (a_window(a_training()), a_window(json.dumps(of_worker).encode(), pid=200))

    rows = events(a_run_with_windows(*windows))

    first, _, second, _ = of_kind(rows, "cpu_op")
    assert (first["ts"], second["ts"]) == (5 * SECOND, 5.5 * SECOND)
    assert spans(of_kind(rows, "samples"))[1] == ("main", 7.5, 14.5)


def test_all_events_of_torch_are_there_with_their_arguments() -> None:
    trace = a_training().kernel(5.6e6, 5.7e6, 100.0).region("ProfilerStep#3", 4.9e6, 2.2e6)

    rows = events(a_run_with_windows(a_window(trace)))

    kept = [event for event in rows if event.get("cat") in {row["cat"] for row in trace.rows}]
    assert len(kept) == len(trace.rows)
    [kernel] = of_kind(rows, "kernel")
    assert kernel["args"]["stream"] == 7
    assert (kernel["pid"], kernel["tid"], kernel["dur"]) == (0, 7, 100.0)
    assert names(rows, "process_name")[0, 0] == "GPU 0, torch windows of pid 100"


def test_gpus_that_two_processes_use_are_tracks_of_their_own() -> None:
    windows = [a_window(a_training().kernel(5e6, 5e6, 1e6), number=0)]
    text = a_training().kernel(5e6, 5e6, 1e6).text().replace('"pid": 100', '"pid": 200')
    windows.append(a_window(text.encode(), pid=200))

    rows = events(a_run_with_windows(*windows))

    pids = {row["pid"] for row in of_kind(rows, "kernel")}
    found = names(rows, "process_name")
    assert {found[pid, 0] for pid in pids} == {
        "GPU 0, torch windows of pid 100",
        "GPU 0, torch windows of pid 200",
    }


def test_arrows_of_two_windows_do_not_share_an_end() -> None:
    windows = (a_window(a_training()), a_window(a_training(), at_us=8 * SECOND, number=1))

    rows = events(a_run_with_windows(*windows))

    arrows = of_kind(rows, "fwdbwd")
    assert len(arrows) == 4
    assert len({arrow["id"] for arrow in arrows}) == 2


def test_groups_that_have_names_get_numbers() -> None:
    trace = a_training()
    trace.rows.append(
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
         "tid": "PyTorch Profiler", "ts": 5e6, "dur": 2e6}
    )  # fmt: skip
    trace.rows.append(
        {
            "ph": "M",
            "name": "thread_name",
            "pid": 100,
            "tid": 100,
            "ts": 0,
            "args": {"name": "thread 100"},
        }
    )

    rows = events(a_run_with_windows(a_window(trace)))

    [span] = of_kind(rows, "Trace")
    assert names(rows, "process_name")[span["pid"], 0] == "Spans, torch windows of pid 100"
    assert names(rows, "thread_name")[span["pid"], span["tid"]] == "PyTorch Profiler"
    assert names(rows, "thread_name")[100, 100] == "thread 100"
    assert names(rows, "process_name")[100, 0] == "main"


def test_times_that_old_torch_wrote_as_text_are_read() -> None:
    trace = a_training()
    for row in trace.rows:
        row["ts"] = str(row["ts"])

    rows = events(a_run_with_windows(a_window(trace)))

    assert spans(of_kind(rows, "cpu_op"))[0] == ("aten::mm", 5, 5.5)


@pytest.mark.parametrize(
    "changes",
    [
        b'"name": "\xff"',
        b'"name": "\\ud800"',
        b'"name": "a", "pid": {"a": 1}, "tid": [1]',
        b'"name": "a", "args": {"a": "\xff"}',
    ],
)
def test_odd_values_in_a_row_of_torch_do_no_harm(changes: bytes) -> None:
    plain = b'{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 1000000}'
    odd = b'{"ph": "X", "cat": "cpu_op", "ts": 0, "dur": 1000000, ' + changes + b"}"
    trace = b'{"baseTimeNanoseconds": 0, "traceEvents": [' + plain + b", " + odd + b"]}"

    rows = of_kind(events(a_run_with_windows(a_window(trace))), "cpu_op")

    assert [row["dur"] for row in rows] == [SECOND, SECOND]


def test_what_a_run_says_of_itself_is_spelled_out() -> None:
    document = a_document(a_report(rlprof_version="1\ud800\x1b"))

    assert document["otherData"]["exporter"] == r"rlprof 1\ud800\x1b"


def test_a_trace_that_ends_too_early_is_drawn_as_far_as_it_goes() -> None:
    whole = a_trace().op("aten::mm", 5e6, 1e6).op("aten::relu", 6e6, 1e6).text().encode()

    rows = events(a_run_with_windows(a_window(whole[:-30])))

    assert spans(of_kind(rows, "cpu_op")) == [("aten::mm", 5, 6)]


@pytest.mark.parametrize(
    "packed",
    [b"", b"no gzip", gzip.compress(b"no json"), gzip.compress(b'{"traceEvents": []}'),
     gzip.compress(b'{"traceEvents": [1, 2]}'), gzip.compress(b'{"traceEvents": ' + b"[" * 50_000),
     gzip.compress(b'{"traceEvents": [{"ph": "X", "ts": "inf", "dur": 1}]}'), gzip.compress(a_training().text().encode())[:-40]],
)  # fmt: skip
def test_a_trace_that_cannot_be_read_is_left_out_and_named(packed: bytes) -> None:
    document = a_document(a_run_with_windows(TorchTrace(100, 3, 5 * SECOND, packed)))

    assert "The torch trace 3 of process 100 is left out" in document["otherData"]["notes"][-1]
    assert spans(of_kind(document["traceEvents"], "samples")) == [("main", 2, 12)]
