"""Figures of a comparison in words, which its scripts say in the same way."""

from __future__ import annotations

from dataclasses import replace

from rlprof.comparison import words
from rlprof.comparison.calltree import ChangeBox, CostPerStep
from rlprof.comparison.compare import compare
from rlprof.comparison.outline import OutlineRow
from rlprof.model.profile import PhaseKind
from rlprof.report import wording
from tests.report_factories import a_finding, a_report


def test_the_words_are_those_of_the_scripts() -> None:
    """The same figures as in ``difftrees.test.mjs``."""
    durations = [
        words.small_duration(us)
        for us in (0, 0.0474, 0.999, 0.9996, 2.061, 850, 999.7, 12_500, 3.2e6, 75e6)
    ]
    pairs = [(100, 19), (100, 104.2), (100, 100.01), (0, 1), (1, 0), (0, 0), (10, 61), (1, 1240)]

    assert [wording.unglued(duration) for duration in durations] == [
        "0", "47.4 ns", "999 ns", "1 µs", "2.06 µs", "850 µs", "1 ms", "12.5 ms", "3.2 s", "1 min 15 s",
    ]  # fmt: skip
    assert [wording.unglued(words.change(base, new)) for base, new in pairs] == [
        "−81 %", "+4.2 %", "±0", "new", "gone", "–", "6.1×", "1 240×",
    ]  # fmt: skip


def test_a_unit_is_said_once_where_both_ends_have_it():
    def said(low: float, high: float) -> str:
        report = a_report(findings=[a_finding(phase=PhaseKind.START_UP, saved_s=(low, high))])
        (change,) = compare(report, report).findings
        return wording.unglued(words.finding_cost(change, change.base_cost))

    assert said(0.0012, 0.0014) == "1.2 to 1.4 ms"
    assert said(0.0008, 0.0014) == "800 µs to 1.4 ms"
    assert said(0.0, 0.0014) == "up to 1.4 ms"


def a_box(*, label: str, kind: str, place: str = "", line: int = 0) -> ChangeBox:
    return ChangeBox(
        label=label, place=place, kind=kind, base=CostPerStep(), new=CostPerStep(), noise_us=0.0,
        parent=0, depth=1, line=line,
    )  # fmt: skip


def test_of_callers_left_out_the_readers_own_is_named():
    def through(*kinds: str) -> OutlineRow:
        callers = tuple(a_box(label=f"{kind}_{at}", kind=kind) for at, kind in enumerate(kinds))
        return OutlineRow(0, 0, callers[0], callers)

    assert words.callers(through("library", "yours", "yours")) == "yours_1 › … › "
    assert words.callers(through("library")) == "library_0 › "


def test_a_function_of_nobody_in_sight_has_its_nearest_caller_of_ones_own():
    own = a_box(label="Env.step", place="envs.py", line=26, kind="yours")
    copying = replace(own, label="deepcopy", place="copy.py", kind="stdlib", called_on=29)
    row = OutlineRow(0, 0, copying, (own,), own_caller=own)

    assert words.called_from(row) == "from Env.step (envs.py:29)"
    assert words.callers(row) == ""
    assert words.called_from(replace(row, own_caller=None)) == ""


def test_a_counter_of_what_seldom_happens_is_told_of_a_thousand_steps():
    def told(base: float, new: float) -> list[str]:
        reports = [a_report(seen={"counters_per_step": (("updates", of),)}) for of in (base, new)]
        (figure,) = [found for found in words.figures(compare(*reports)) if "Updates" in found.name]
        return [wording.unglued(text) for text in (figure.name, figure.base, figure.new)]

    assert told(6.6e-05, 1.2e-04) == ["Updates per 1 000 steps", "0.066", "0.12"]
    assert told(6.6e-05, 0.5) == ["Updates per step", "under 0.001", "0.5"]
