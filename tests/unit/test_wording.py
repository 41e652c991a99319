from __future__ import annotations

from dataclasses import replace

from rlprof import wording
from rlprof.model.profile import Throughput
from rlprof.model.report import Report
from tests.report_factories import a_report


def why(throughput: Throughput) -> str:
    report: Report = a_report(sps=None)
    return wording.why_no_speed(replace(report, throughput=throughput))


def test_why_there_is_no_rate_tells_what_was_missing():
    printed = Throughput("steps", "as printed by the program", None, series=((0, 500_000, 90.0),))

    assert "nothing counted steps" in why(Throughput("none", "none", None))
    assert "12 steps were counted" in why(Throughput("steps", "rlprof.step", None, total_steps=12))
    assert "too few rates" in why(printed)
