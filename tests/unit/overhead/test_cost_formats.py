"""The cost of rlprof as text and as JSON."""

from __future__ import annotations

import json

import pytest

from rlprof.documents.terminal import as_text
from rlprof.overhead.cost import Basis, MeasuredOverhead, OwnCpu, RunPair
from rlprof.overhead.document import cost_document, pair_in_words
from rlprof.overhead.json_document import cost_as_json

ONE = OwnCpu(
    {"samplers": 0.012, "recorder": 0.016, "torch_windows": 0.003}, processes=1.0, wall_s=40.0
)
THREE = ONE._replace(processes=3.1)


def of_steps(*rates: float, own: OwnCpu = ONE, script: str = "train.py") -> MeasuredOverhead:
    pairs = tuple(RunPair(1000.0, rate, Basis.STEPS, own, source="gymnasium") for rate in rates)
    return MeasuredOverhead(script, ("python", script), pairs)


def of_runs(*seconds: float, why_wall: str = "", wall_s: float = 12.0) -> MeasuredOverhead:
    own = ONE._replace(wall_s=wall_s)
    pairs = tuple(RunPair(12.0, taken, Basis.WALL, own, unit="s") for taken in seconds)
    return MeasuredOverhead("train.py", ("python", "train.py"), pairs, why_wall=why_wall)


CLEAR = of_steps(980, 985, 990, 995, 998)
UNCLEAR = of_steps(980, 985, 990, 1005, 1010, own=THREE)
FEW = of_runs(12.1, 12.2, why_wall="nothing counted the steps of run 1 of train.py without rlprof")
HOSTILE = of_steps(999, script="\x1b[31mtrain\udc80.py")
COSTS = {"clear": CLEAR, "unclear": UNCLEAR, "few": FEW, "hostile": HOSTILE}


def text_of(cost: MeasuredOverhead, width: int = 100) -> str:
    return as_text(cost_document(cost), width=width, colored=False)


def told(cost: MeasuredOverhead) -> str:
    """On one line."""
    return " ".join(text_of(cost).split())


def test_the_text_begins_with_the_loss_and_its_interval():
    assert text_of(CLEAR).splitlines()[0] == (
        "rlprof costs train.py 1.0 % (0.2 to 2.0 %) of its steps per second (5 pairs)."
    )


def test_every_pair_has_its_line():
    lines = [line.split() for line in text_of(CLEAR).splitlines()]

    assert ["2", "1", "000", "sps", "985", "sps", "1.5", "%"] in lines


def test_own_cpu_is_told_by_part_and_by_process():
    assert (
        "CPU time of rlprof: 3.1 % of a core (samplers 1.2 %, recorder 1.6 %, torch windows 0.3 %)."
        in told(CLEAR)
    )
    assert "torch windows 0.3 %), 1.0 % for each of 3.1 processes." in told(UNCLEAR)


def test_a_loss_that_may_be_none_is_said_to_be_noise():
    assert "holds zero" in told(UNCLEAR)
    assert "holds zero" not in told(CLEAR)


def test_few_pairs_have_no_interval():
    text = told(FEW)

    assert text.startswith("rlprof costs train.py 1.2 % of its speed over the whole run (2 pairs).")
    assert "An interval takes 5 pairs or more." in text


def test_the_text_says_where_the_steps_are_from_and_why_there_are_none():
    assert "Steps are from gymnasium on both sides." in told(CLEAR)
    assert "nothing counted the steps of run 1" in told(FEW)
    assert "Steps are from" not in told(FEW)


def test_short_runs_are_said_to_be_short():
    assert "less than 30 s" in told(FEW)
    assert "less than 30 s" not in told(of_runs(40.1, wall_s=40.0))


def test_what_reads_as_nothing_has_no_sign():
    assert "-0.0" not in told(of_steps(1000.1, 1000.1, 1000.1, 1000.1, 1000.1))


def test_a_pair_is_told_in_its_unit():
    assert pair_in_words(CLEAR.pairs[0]) == "1 000 sps without, 980 sps with rlprof"
    assert pair_in_words(FEW.pairs[0]) == "12.0 s without, 12.1 s with rlprof"


def test_the_json_has_the_figures():
    document = json.loads(cost_as_json(UNCLEAR))

    assert document["basis"] == "steps"
    assert document["loss"]["median"] == pytest.approx(0.01, abs=0.01)
    assert document["loss"]["low"] < document["loss"]["median"] < document["loss"]["high"]
    assert document["pairs"][0]["loss"] == 0.02
    assert document["own_cpu"]["cores_per_process"] == pytest.approx(0.01)


def test_the_json_of_few_pairs_has_no_ends():
    loss = json.loads(cost_as_json(FEW))["loss"]

    assert (loss["low"], loss["high"], loss["confidence"]) == (None, None, None)
