from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.errors import UsageError
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.flame import FlameSelection
from rlprof.model.profile import Profile
from rlprof.model.recording import Counter, Gauge
from rlprof.report import findings, wording
from rlprof.report.build import build_report
from tests.experiment_factory import a_gain
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB

QUEUES = f"{STDLIB}/multiprocessing/queues.py"
BOOTSTRAPS = tuple(
    f"{STDLIB}/threading.py:{line} Thread.{function}"
    for line, function in ((1002, "_bootstrap"), (1045, "_bootstrap_inner"), (982, "run"))
)


def a_detector(
    detector_id: str, file: str, *, needs: Iterable[Need] = (), fallback: bool = False
) -> Detector:
    """Claims all time in ``file`` that the profile it is shown has."""

    def detect(profile: Profile) -> Iterable[Finding]:
        nodes = frozenset(
            node
            for node in profile.steady.hot_nodes()
            if file in profile.steady.frame(node).file and profile.steady.self_cost(node).wall_us
        )
        if nodes:
            saving = Saving(nodes, Range(0.0 if fallback else 1.0, 1.0))
            confidence = Confidence.SUSPECTED if fallback else Confidence.MEASURED
            yield Finding(file, (saving,), (), (), "", confidence)

    evidence = InSamples(detect, frozenset(needs), is_fallback=fallback)
    return Detector(detector_id, detector_id, in_samples=evidence)


def a_broken_detector() -> Detector:
    def detect(profile: Profile) -> Iterable[Finding]:
        raise ZeroDivisionError("no samples at all")

    return Detector("broken", "broken", in_samples=InSamples(detect))


@pytest.fixture
def with_detectors(monkeypatch):
    def _with(*detectors: Detector) -> None:
        monkeypatch.setattr(findings, "discover_detectors", lambda: detectors)

    return _with


def a_training(*, steps: float = 6000) -> RunBuilder:
    run = a_run(steady_s=60).process("main", steps=steps)
    return run.spends(40, "slow.py:3 slow").spends(20, "train.py:12 step")


def test_findings_come_priced_and_ranked(with_detectors):
    with_detectors(a_detector("small", "train.py"), a_detector("big", "slow.py"))

    report = build_report(a_training().recording(), run_file="a.rlprof")

    assert [(entry.rank, entry.finding.detector) for entry in report.findings] == [
        (1, "big"),
        (2, "small"),
    ]
    assert report.findings[0].sps_after.low > 2 * report.throughput.steady_sps.median
    assert report.run_file == "a.rlprof"
    assert report.notes == ()


def test_a_detector_that_fails_costs_only_its_own_findings(with_detectors):
    with_detectors(a_broken_detector(), a_detector("big", "slow.py"))

    report = build_report(a_training().recording())

    assert [entry.finding.detector for entry in report.findings] == ["big"]
    (note,) = report.notes
    assert (note.level, note.slug) == ("error", "detector-failed")
    assert "broken" in note.text
    assert "no samples at all" in note.text


def test_a_detector_without_its_data_is_left_out_and_said_so(with_detectors):
    with_detectors(
        a_detector("reads-source", "slow.py", needs=[Need.SOURCES]),
        a_detector("also-reads", "slow.py", needs=[Need.SOURCES, Need.SAMPLES]),
        a_detector("needs-samples", "train.py", needs=[Need.SAMPLES]),
        a_detector("needs-steps", "train.py", needs=[Need.STEPS]),
        a_detector("reads-values", "train.py", needs=[Need.VALUES]),
    )

    report = build_report(a_training().recording())

    of_source, of_values = report.notes
    assert {note.slug for note in report.notes} == {"detector-skipped"}
    assert "source text of hot files" in of_source.text
    assert of_source.text.endswith("also-reads, reads-source.")
    assert "values at hot lines" in of_values.text


def test_a_fallback_names_only_what_no_other_explains(with_detectors):
    with_detectors(a_detector("any-line", ".py", fallback=True), a_detector("known", "slow.py"))

    report = build_report(a_training().recording())

    known, rest = report.findings
    assert known.finding.detector == "known"
    assert rest.finding.detector == "any-line"
    assert rest.saved_share.high < 0.5


def test_a_short_run_warns_of_wide_prices(with_detectors):
    with_detectors(a_detector("known", "slow.py"))
    run = a_run(start_up_s=0, steady_s=1.5).process("main", steps=100)
    run.spends(1.5, "slow.py:3 slow")

    report = build_report(run.recording())

    assert "few-samples" in {note.slug for note in report.notes}


def test_the_notes_of_the_recording_are_kept(with_detectors):
    with_detectors()

    report = build_report(a_training().note("warning", "from-the-recorder", "odd").recording())

    assert [note.slug for note in report.notes] == ["from-the-recorder"]


def test_processes_are_shown_with_role_rate_and_cpu(with_detectors):
    with_detectors()
    run = a_training().thread("logger").spends(60, "log.py:1 wait", idle=True)
    run.process("worker", fate="missed")

    main, worker = build_report(run.recording()).processes

    assert (main.role, main.sampled, main.wall_s, main.cpu_s) == ("main", True, 62.0, 60.0)
    assert main.requested_hz == 100
    # Half of the ticks were of the other thread.
    assert main.achieved_hz == pytest.approx(50)
    assert main.command == "python train.py"
    assert (worker.role, worker.sampled) == ("worker", False)


def test_a_few_samples_of_a_short_process_are_no_rate(with_detectors):
    with_detectors()
    recording = a_training().recording()
    (main,) = recording.processes
    seen_once = replace(main, clock_samples=2, clock_covered_us=90)

    (row,) = build_report(replace(recording, processes=(seen_once,))).processes

    assert row.sampled
    assert row.achieved_hz == 0


def test_what_was_left_out_on_purpose_was_not_missed(with_detectors):
    with_detectors()
    run = a_training().process("worker", fate="missed").process("tracker", fate="left-out")

    report = build_report(run.recording())

    assert [row.pid for row in wording.missed(report)] == [1001]


def test_cpu_time_of_other_than_python_s_threads_is_counted(with_detectors):
    with_detectors()
    gauges = (Gauge(0, 0, "cpu_us", 90e6), Gauge(0, 0, "rss_bytes", 1e9))

    (main,) = build_report(replace(a_training().recording(), gauges=gauges)).processes

    assert main.cpu_s == 90


def test_overhead_is_a_share_of_what_the_cores_could_do(with_detectors):
    with_detectors()

    overhead = build_report(a_training().recording()).overhead

    assert overhead.samplers_cpu_s == 0.02
    assert overhead.share_of_cores == pytest.approx(0.055 / (62 * 8))


def test_windows_of_torchs_profiler_are_part_of_the_overhead(with_detectors):
    with_detectors()
    recording = replace(a_training().recording(), overhead={"torch_windows_cpu_us": 62_000.0})

    overhead = build_report(recording).overhead

    assert overhead.torch_windows_cpu_s == 0.062
    assert overhead.share_of_cores == pytest.approx(0.001 / 8)


def test_other_counters_are_given_per_step(with_detectors):
    with_detectors()
    recording = a_training(steps=6000).recording()
    pickled = tuple(Counter(window, 0, "pickled_bytes", 500.0) for window in (8, 9))

    report = build_report(replace(recording, counters=recording.counters + pickled))

    assert report.counters_per_step == (("pickled_bytes", pytest.approx(1 / 6)),)


def test_the_selection_is_that_of_the_flamegraph(with_detectors):
    with_detectors()
    recording = a_training().recording()

    report = build_report(recording, selection=FlameSelection(metric="cpu"))

    assert report.flame.metric == "cpu"
    with pytest.raises(UsageError):
        build_report(recording, selection=FlameSelection(process="no such process"))


def test_an_empty_run_makes_a_report(with_detectors):
    with_detectors(a_detector("known", "slow.py", needs=[Need.SAMPLES]))

    report = build_report(a_run(start_up_s=0, steady_s=0).recording())

    assert report.findings == ()
    assert report.overhead.share_of_cores == 0


def test_a_measured_gain_outranks_what_samples_told(with_detectors):
    with_detectors(a_detector("small", "train.py"), a_detector("big", "slow.py"))
    gain = a_gain("small", "train.py:12 step", saves=(0.8, 0.75, 0.85))

    report = build_report(a_training().tries(gain).recording())

    assert [entry.finding.detector for entry in report.findings] == ["small", "big"]
    assert report.findings[0].finding.confidence is Confidence.TRIED
    assert report.experiments == (gain,)


@pytest.mark.parametrize(
    ("name", "begin", "told"),
    [
        ("python3.11", BOOTSTRAPS, "Queue._feed"),
        ("Feeder", BOOTSTRAPS, "Feeder"),
        ("python3", (), "python3"),
    ],
    ids=["that of the interpreter", "one of its own", "begun by a library in C"],
)
def test_a_thread_that_nobody_named_is_told_by_the_function_that_it_runs(name, begin, told):
    run = a_run().process("main", steps=1000).spends(10.0, "train.py:12 step")
    run.thread(name).spends(
        10.0, *begin, f"{QUEUES}:231 Queue._feed", f"{QUEUES}:60 Queue.get", idle=True
    )

    (wait,) = build_report(run.recording()).waits

    assert (wait.thread, wait.tid) == (told, 5001)
