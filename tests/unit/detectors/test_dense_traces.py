from __future__ import annotations

import pytest

from rlprof.detectors.dense_traces import DETECTOR, LARGE, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect, lines_of

SCRIPT = Script(
    "sarsa.py",
    """
    def learn(table, traces, state, action, error, rate, fade):
        traces *= fade * 0.9  # learn fades
        traces[state, action] += 1.0
        table += rate * error * traces  # learn adds

    def anew(table, traces, state, action, error, rate, fade):
        traces = fade * traces  # anew fades
        traces[state, action] = 1.0
        table -= rate * error * traces  # anew adds

    def of_features(table, traces, features, error, rate, fade):
        traces *= fade  # of_features fades
        traces += features
        table += rate * error * traces  # of_features adds

    def of_several(table, traces, over, error, rate, fade):
        traces *= fade  # of_several fades
        traces[over] = 0.0
        table += rate * error * traces  # of_several adds

    def counts(table, traces, state, action, error, rate, fade):
        traces *= fade  # counts fades
        traces[state, action] += 1.0  # counts adds

    def by_part(table, traces, state, action, error, rate, fade):
        traces *= fade  # by_part fades
        traces[state, :] = 1.0
        table += rate * error * traces  # by_part adds
    """,
)


def a_training(
    function: str = "learn", numbers: int = 4 * LARGE, fade: str = "float", seen: str = ""
) -> RunBuilder:
    """Ten seconds, four of them in fading and adding."""
    fades = SCRIPT.at(f"# {function} fades", function)
    adds = SCRIPT.at(f"# {function} adds", function)
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.spends(1.5, fades).spends(2.5, adds).spends(6.0, "sarsa.py:1 step")
    array = f"type=numpy.ndarray shape={numbers // 4},4 dtype=f8{seen}"
    numeric = {
        "state": "type=int",
        "action": "type=int",
        "error": "type=float",
        "rate": "type=float",
    }
    return run.sees(fades, table=array, traces=array, fade=f"type={fade}", **numeric)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, SCRIPT)


@pytest.mark.parametrize("function", ["learn", "anew"])
def test_traces_of_a_whole_table(function: str):
    (finding,) = found(a_training(function))

    assert len(lines_of(finding)) == 2
    assert finding.evidence[1] == "seen there: traces: array of 10000 × 4 float64"
    assert {saving.removable for saving in finding.savings} == {REMOVABLE}


@pytest.mark.parametrize("function", ["of_features", "of_several", "by_part"])
def test_silent_where_more_than_an_entry_changes(function: str):
    assert not found(a_training(function))


def test_silent_of_counts_that_fade():
    assert not found(a_training("counts"))


def test_a_table_that_was_seen_to_be_mostly_zeros_needs_no_other():
    assert found(a_training("counts", seen=" zeros=1"))


def test_silent_of_a_small_table():
    assert not found(a_training(numbers=LARGE - 4))


def test_silent_where_each_fades_by_its_own_factor():
    assert not found(a_training(fade="numpy.ndarray shape=10000,4 dtype=f8"))
