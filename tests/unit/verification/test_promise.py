"""The promise of a run for one of its findings, and its place beside what came."""

from __future__ import annotations

import pytest

from rlprof.errors import UsageError
from rlprof.model.experiment import MeasuredShare, TreatmentKind
from rlprof.model.finding import Confidence, Range
from rlprof.model.profile import PhaseKind
from rlprof.pricing.ranking import Priced
from rlprof.verification import verified as promises
from rlprof.verification.verified import Promise, Standing, excess, promise_of, standing
from tests.experiment_factory import a_ceiling, a_gain
from tests.factories import a_run
from tests.report_factories import a_finding, a_hot_spot, a_location

PUBLISH = a_location("/home/researcher/project/train.py:24", "publish")
FINDINGS = (
    a_finding("startup-bound", phase=PhaseKind.START_UP, rank=1),
    a_hot_spot("/home/researcher/project/train.py:50", rank=2),
    a_finding("model-publish", saves=(0.10, 0.30), locations=[PUBLISH], rank=3),
    a_finding("eager-log-format", saves=(0.05, 0.08), rank=4),
)


@pytest.fixture
def promised(monkeypatch):
    """The promise of a run with those findings, which is not looked into: that is another's test."""

    def of(wanted: str | None = None, *experiments, findings=FINDINGS) -> Promise:
        run = a_run("train.py").process("main", steps=100).tries(*experiments)
        recording = run.with_run(git="abc1234", label="stage-1").recording()
        found = type("Found", (), {"priced": Priced(tuple(findings), ())})
        monkeypatch.setattr(promises, "look_into", lambda _: found)
        return promise_of(recording, "run.rlprof", wanted)

    return of


def test_the_first_finding_of_a_known_cause_is_promised_by_default(promised):
    promise = promised()

    assert (promise.finding, promise.rank) == ("model-publish", 3)
    assert promise.share == (0.10, 0.30)
    assert (promise.file, promise.line, promise.function) == ("train.py", 24, "publish")
    assert (promise.run_git, promise.run_label, promise.tried) == ("abc1234", "stage-1", None)


@pytest.mark.parametrize("wanted", ["4", "eager-log-format"])
def test_another_is_named_by_its_rank_or_its_id(promised, wanted):
    assert promised(wanted).share == (0.05, 0.08)


def test_a_line_without_a_known_cause_is_promised_where_there_is_nothing_else(promised):
    assert promised(findings=FINDINGS[:2]).finding == "hot-spot"


def test_what_samples_told_is_promised_though_it_was_tried(promised):
    gain = a_gain("model-publish", saves=(0.40, 0.38, 0.45), told=(0.04, 0.19))

    promise = promised(None, gain)

    assert promise.share == (0.04, 0.19)
    assert promise.tried == (0.40, 0.38, 0.45)
    assert promise.tried_kind is TreatmentKind.GAIN


def test_a_ceiling_is_told_as_one(promised):
    assert promised(None, a_ceiling("model-publish")).tried_kind is TreatmentKind.CEILING


def test_a_finding_that_is_not_there_is_refused_with_those_that_are(promised):
    with pytest.raises(UsageError) as refused:
        promised("gc-pressure")

    assert refused.value.slug == "no-promised-finding"
    assert "3 model-publish, 4 eager-log-format" in refused.value.hint


@pytest.mark.parametrize(
    ("wanted", "findings"), [(None, FINDINGS[:1]), ("1", FINDINGS), (None, ())]
)
def test_no_steady_rate_shows_the_start_of_a_program(promised, wanted, findings):
    with pytest.raises(UsageError) as refused:
        promised(wanted, findings=findings)

    assert refused.value.slug == "nothing-promised"


def test_a_real_recording_promises_what_its_report_says():
    loop = "/home/researcher/project/train.py:40 train"
    recording = a_run("train.py", steady_s=10).process("main", steps=5000).spends(9, loop)

    promise = promise_of(recording.recording(), "run.rlprof")

    assert promise.finding == "hot-spot"
    assert promise.share.high > 0.5
    assert FINDINGS[1].finding.confidence is Confidence.SUSPECTED


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ((0.30, 0.28, 0.35), Standing.HELD),
        ((0.38, 0.30, 0.45), Standing.HELD),
        ((0.45, 0.41, 0.50), Standing.ABOVE),
        ((0.10, 0.05, 0.19), Standing.BELOW),
        ((-0.10, -0.20, 0.25), Standing.HELD),
    ],
)
def test_a_promise_holds_where_the_interval_meets_it(got, expected):
    assert standing(Range(0.20, 0.40), MeasuredShare(*got)) is expected


def test_too_much_promised_is_a_positive_error():
    assert excess(Range(0.20, 0.40), MeasuredShare(0.25, 0.2, 0.3)) == pytest.approx(0.05)
