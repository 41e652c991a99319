"""The arithmetic of ``benchmarks/tried.py``, and the long runs that it tries findings in."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    """Finds a script of ``benchmarks/`` as they find each other."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def an_experiment(finding="model-publish", measured=(0.4, 0.38, 0.45), kind="gain", **more):
    share = (
        None if measured is None else dict(zip(("median", "low", "high"), measured, strict=True))
    )
    return {
        "finding": finding,
        "treatment": "every-fiftieth",
        "kind": kind,
        "outcome": "measured" if measured else "not-reached",
        "predicted": {"low": 0.04, "high": 0.2},
        "measured": share,
        "pairs": 8,
        "seconds": 14.0,
        "note": "" if measured else "it had nothing to treat in the 3.2 s that it was on",
        **more,
    }


@pytest.fixture
def judged(script):
    def judge(*experiments, savings=(0.4,)):
        verdict = script("tried_verdict")
        tried = verdict.read_tried({"experiments": experiments}, "model-publish", "no treatment")
        true = script("verdict").Measured(tuple(savings), neighbours=0.0) if savings else None
        return verdict.TriedVerdict("program", "model-publish", tried, true)

    return judge


def test_what_nobody_came_to_is_followed_by_what_was_measured(judged):
    verdict = judged(an_experiment(measured=None), an_experiment(treatment="every-fiftieth-call"))

    assert verdict.tried.treatment == "every-fiftieth-call"


def test_other_findings_are_left_aside(judged):
    verdict = judged(an_experiment(finding="hot-spot"), savings=())

    assert (verdict.tried.measured, verdict.tried.why) == (None, "no treatment")


def test_the_error_is_that_of_the_middle(judged):
    verdict = judged(an_experiment(), savings=(0.35,))

    assert verdict.error == pytest.approx(5)
    assert verdict.error_of_samples == pytest.approx(-23)


@pytest.mark.parametrize(("saved", "holds"), [(0.37, False), (0.38, True), (0.46, False)])
def test_a_gain_holds_where_the_truth_is_in_its_interval(judged, saved, holds):
    assert judged(an_experiment(), savings=(saved,)).holds is holds


@pytest.mark.parametrize(("saved", "holds"), [(0.1, True), (0.45, True), (0.46, False)])
def test_a_ceiling_holds_where_the_truth_is_not_above_it(judged, saved, holds):
    assert judged(an_experiment(kind="ceiling"), savings=(saved,)).holds is holds


def test_a_truth_that_scatters_widens_the_interval(judged):
    assert judged(an_experiment(), savings=(0.30, 0.36, 0.42)).holds


def test_a_truth_that_scatters_too_far_judges_nothing(judged, script):
    verdict = judged(an_experiment(), savings=(0.27, 0.88))

    assert (verdict.error, verdict.holds) == (None, None)
    assert verdict.row()[6] == "0.57 (0.27 to 0.88), not known"
    assert dict(script("tried_verdict").totals([verdict]))[
        "of these, with a truth that is known to judge by"
    ] == ("0 of 1 (0 %)")


def test_gains_and_ceilings_are_told_apart(judged, script):
    gain = judged(an_experiment(), savings=(0.42,))
    ceiling = judged(an_experiment(kind="ceiling"), savings=(0.3,))
    untried = judged(savings=())

    told = dict(script("tried_verdict").totals([gain, ceiling, untried]))

    assert told["findings that could be tried"] == "2 of 3 (67 %)"
    assert told["gains, error"] == "median 2.0, worst 2.0 points"
    assert told["gains whose interval holds the truth"] == "1 of 1 (100 %)"
    assert told["ceilings that the truth does not pass"] == "1 of 1 (100 %)"


def test_nothing_tried_is_a_table_too(judged, script):
    verdict = judged(savings=())

    assert script("tried_verdict").totals([verdict]) == [
        ("findings that could be tried", "0 of 1 (0 %)")
    ]
    assert verdict.row()[2:6] == ["none", "", "", "no treatment"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rlprof: does not try gc-pressure (a.py:3): it needs a restart", "it needs a restart"),
        ("rlprof: does not try gc-pressure: it needs a restart", "it needs a restart"),
        ("rlprof: error: there is no finding gc-pressure", "there is no finding gc-pressure"),
    ],
)
def test_a_refusal_is_read_from_what_was_told(script, line, why):
    pytest.importorskip("psutil", reason="psutil is missing (pip install psutil)")

    assert script("tried").REFUSAL.search(f"step 1\n{line}\nstep 2\n")["why"] == why


def test_every_program_has_a_long_run(script):
    cases = script("cases")

    for case in [*cases.pairs(6.0), *cases.ladder_steps()]:
        assert case.long[0] == case.before[0]
        assert len(set(case.long)) == len(case.long), "an option stands there twice"
