"""``benchmarks/switched_parts.py``: what a part costs, from the moments in which it was off and those beside them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def costs(monkeypatch):
    """That of the script, found as scripts of ``benchmarks/`` find each other."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("switched_parts").costs


def turn(off: str | None, units: int) -> dict[str, object]:
    return {"off": off, "units": units, "wall_s": 0.1, "cpu_s": 0.05}


class TestCosts:
    def test_are_told_beside_the_moments_before_and_after(self, costs):
        # The machine grows faster all the time: moments that follow each other tell the part from that.
        rates = (100, 121, 120, 143, 140, 165, 160)
        offs = (None, "probe", None, "probe", None, "probe", None)
        turns = [turn(off, units) for off, units in zip(offs, rates, strict=True)]
        found = costs(turns, "wall_s")["probe"]
        assert found.gain == pytest.approx(0.10, abs=0.001)
        assert found.error < 0.001
        assert found.turns == 3

    def test_of_a_part_with_too_few_turns_are_not_told(self, costs):
        assert costs([turn(None, 100), turn("probe", 110), turn(None, 100)], "wall_s") == {}

    def test_leave_out_moments_in_which_the_program_stood_still(self, costs):
        turns = [turn(None, 0), *[turn("probe", 110), turn(None, 100)] * 3, turn(None, 0)]
        still = [turn(None, 0), turn("probe", 0), turn(None, 0)]
        assert costs([*still, *turns], "wall_s")["probe"].turns == 3
