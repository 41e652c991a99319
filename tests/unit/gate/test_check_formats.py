"""The formats of a check, for every verdict and for hostile names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from rlprof.errors import EXIT_REGRESSION, Failure
from rlprof.gate import words
from rlprof.gate.counters import CounterDifference
from rlprof.gate.decision import Verdict
from rlprof.gate.document import outcome_as_markdown
from rlprof.gate.json_document import outcome_as_json
from rlprof.gate.junit import outcome_as_junit
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Side
from rlprof.gate.sarif import outcome_as_sarif
from rlprof.model.recording import Note
from tests.check_factory import (
    a_baseline,
    a_measured_run,
    a_program,
    checked,
    checked_against,
    failing_in,
    rates,
    text_of,
    unsteady,
)
from tests.comparison_factory import CHECK, HOME, compared, reading_its_configuration
from tests.golden_files import check_golden

SARIF = jsonschema.Draft4Validator(
    json.loads((Path(__file__).parents[2] / "fixtures" / "sarif-2.1.0-rtm.5.json").read_text())
)

HOSTILE_TEXT = (
    "<b>]]></failure> `x` | @team #12 \x1b[31m\x00 \udce9 \ufffe\nline \u202e " + "x" * 3000
)

SLOWER = replace(
    checked(rates(1000, 800)),
    script=f"{HOME}/train.py",
    comparison=compared(reading_its_configuration(0), reading_its_configuration(12)),
)
COUNTED = replace(
    checked(
        lambda side, pair: a_measured_run(
            side,
            pair,
            counters={"gpu_syncs": 0.0 if side is Side.BASE else 1.0, "log_records": 0.5},
        )
    ),
    script=f"{HOME}/train.py",
)
FAILED = checked(failing_in(3, rates(1000, 1000)))
UNCLEAR = checked(unsteady)
HOSTILE = replace(
    FAILED,
    base=HOSTILE_TEXT,
    head=HOSTILE_TEXT,
    command=(HOSTILE_TEXT, HOSTILE_TEXT),
    failure=Failure(HOSTILE_TEXT, HOSTILE_TEXT, HOSTILE_TEXT),
    notes=(Note("info", "dirty-tree", HOSTILE_TEXT),),
    counters=(CounterDifference(HOSTILE_TEXT, 0.0, 1.0, 0.0, True, HOSTILE_TEXT),),
)
HOSTILE_REGRESSION = replace(
    HOSTILE, verdict=Verdict.REGRESSION, failure=None, script=f"{HOME}/{HOSTILE_TEXT}"
)
NOTHING = Outcome(Verdict.COULD_NOT_MEASURE, "main", "project", ())
OUTCOMES = {
    "pass": checked(rates(1000, 1000)),
    "slower": SLOWER,
    "counted": COUNTED,
    "failed": FAILED,
    "unclear": UNCLEAR,
    "counters only": checked(
        lambda side, pair: a_measured_run(side, pair, None), counters_only=True
    ),
    "hostile": HOSTILE,
    "hostile regression": HOSTILE_REGRESSION,
    "nothing": NOTHING,
}

Format = Callable[[Outcome], str]
FORMATS: dict[str, Format] = {
    "terminal": text_of,
    "markdown": outcome_as_markdown,
    "json": outcome_as_json,
    "junit": outcome_as_junit,
    "sarif": lambda outcome: outcome_as_sarif(outcome, root=HOME),
}
every_outcome = pytest.mark.parametrize("name", OUTCOMES)


def test_the_verdicts_are_those_that_the_names_say():
    assert [
        OUTCOMES[name].verdict for name in ("pass", "slower", "counted", "failed", "unclear")
    ] == [
        Verdict.PASS,
        Verdict.REGRESSION,
        Verdict.REGRESSION,
        Verdict.COULD_NOT_MEASURE,
        Verdict.INCONCLUSIVE,
    ]


@every_outcome
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_the_same_outcome_is_the_same_text_and_has_no_control_character(form, name):
    outcome = OUTCOMES[name]

    text = form(outcome)

    assert text == form(outcome)
    assert text.replace("\n", "").isprintable()
    assert "\u202e" not in text
    assert text.endswith("\n")


@every_outcome
@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_the_verdict_is_in_what_tells_of_any_outcome(form, name):
    text = FORMATS[form](OUTCOMES[name])

    assert f"{OUTCOMES[name].verdict.value.capitalize()}: " in text


@pytest.mark.parametrize("name", ["slower", "failed", "unclear"])
def test_the_verdict_is_the_message_of_what_junit_marks(name):
    (suite,) = ElementTree.fromstring(FORMATS["junit"](OUTCOMES[name]).encode())

    assert [element.get("message") for element in suite[0]] == [words.verdict(OUTCOMES[name])]


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_glue_of_figures_is_no_odd_space(form):
    assert "\N{NO-BREAK SPACE}" not in form(SLOWER)
    assert "\N{NARROW NO-BREAK SPACE}" not in form(SLOWER)


@pytest.mark.parametrize("name", ["slower", "counted", "failed", "unclear"])
@pytest.mark.parametrize("form", ["terminal", "markdown", "junit"])
def test_golden(form, name):
    ending = {"terminal": "txt", "markdown": "md", "junit": "xml"}[form]

    check_golden(f"check-{name}.{ending}", FORMATS[form](OUTCOMES[name]))


@every_outcome
def test_the_json_meets_its_schema(name):
    document = json.loads(FORMATS["json"](OUTCOMES[name]))

    CHECK.validate(document)
    assert document["verdict"] == OUTCOMES[name].verdict.value.replace(" ", "-")


@every_outcome
def test_the_sarif_meets_the_standard(name):
    SARIF.validate(json.loads(FORMATS["sarif"](OUTCOMES[name])))


def test_the_sarif_has_what_got_worse_on_the_line_of_head():
    results = json.loads(FORMATS["sarif"](SLOWER))["runs"][0]["results"]

    assert [result["ruleId"] for result in results] == ["slower-than-base", "omegaconf-in-loop"]
    assert [place_of(result) for result in results] == [("train.py", 1), ("train.py", 12)]
    assert {result["level"] for result in results} == {"error"}


def place_of(result: dict[str, Any]) -> tuple[str, int]:
    (location,) = result["locations"]
    place = location["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


@every_outcome
def test_no_result_of_the_sarif_is_without_a_place(name):
    """GitHub refuses the whole file for one: "expected at least one location"."""
    run = json.loads(FORMATS["sarif"](OUTCOMES[name]))["runs"][0]

    assert all(result["locations"] for result in run["results"])


def test_a_counter_is_on_the_script_of_head():
    (result,) = json.loads(FORMATS["sarif"](COUNTED))["runs"][0]["results"]

    assert (result["ruleId"], place_of(result)) == ("counts-more-than-base", ("train.py", 1))


@pytest.mark.parametrize("script", ["", "/elsewhere/train.py", "/usr/lib/python3.11/timeit.py"])
def test_what_is_on_no_file_of_the_repository_is_a_notification(script):
    run = json.loads(FORMATS["sarif"](replace(SLOWER, script=script)))["runs"][0]

    assert [place_of(result) for result in run["results"]] == [("train.py", 12)]
    told = run["invocations"][0]["toolExecutionNotifications"]
    (notification,) = [note for note in told if note["level"] == "error"]
    assert notification["descriptor"]["id"] == "slower-than-base"
    assert "0.801 times" in notification["message"]["text"]


def test_a_finding_outside_the_repository_is_on_the_script():
    text = outcome_as_sarif(replace(SLOWER, script="/other/train.py"), root="/other")

    results = json.loads(text)["runs"][0]["results"]

    assert [place_of(result) for result in results] == [("train.py", 1), ("train.py", 1)]


@pytest.mark.parametrize("name", ["pass", "failed", "unclear"])
def test_the_sarif_of_what_is_no_regression_has_no_result(name):
    run = json.loads(FORMATS["sarif"](OUTCOMES[name]))["runs"][0]

    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] == (name != "failed")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("pass", {"failures": "0", "errors": "0", "skipped": "0", "tests": "1"}),
        ("slower", {"failures": "1", "errors": "0", "skipped": "0", "tests": "1"}),
        ("counted", {"failures": "1", "errors": "0", "skipped": "1", "tests": "3"}),
        ("failed", {"failures": "0", "errors": "1", "skipped": "0", "tests": "1"}),
        ("unclear", {"failures": "0", "errors": "0", "skipped": "1", "tests": "1"}),
    ],
)
def test_the_junit_counts_what_a_service_shows(name, counts):
    (suite,) = ElementTree.fromstring(FORMATS["junit"](OUTCOMES[name]).encode())

    assert {key: suite.get(key) for key in counts} == counts


@every_outcome
def test_the_junit_is_xml(name):
    ElementTree.fromstring(FORMATS["junit"](OUTCOMES[name]).encode())


def skipped_rate(outcome: Outcome) -> str | None:
    (suite,) = ElementTree.fromstring(FORMATS["junit"](outcome).encode())
    return suite[0][0].get("message")


def test_why_the_rate_is_skipped_is_true():
    assert skipped_rate(COUNTED) == "the counters had decided already"
    assert skipped_rate(OUTCOMES["counters only"]) == "only counters were asked for"


def test_a_regression_that_fresh_pairs_refuted_is_not_confirmed_in_the_json():
    def slow_at_first(side: Side, pair: int) -> MeasuredRun:
        return a_measured_run(side, pair, 900 if side is Side.HEAD and pair <= 5 else 1000)

    refuted = checked(slow_at_first)

    assert refuted.decision is not None
    assert refuted.decision.is_confirming
    assert not json.loads(FORMATS["json"](refuted))["decision"]["confirmed"]
    assert json.loads(FORMATS["json"](SLOWER))["decision"]["confirmed"]


def test_a_verdict_names_the_slowdown_that_was_asked_for():
    """Noise raises the one that fails, and neither the one that a pass rules out nor that which is unclear."""
    noisy = checked(rates(1000, 1400, wobble=0.05))

    assert noisy.decision is not None
    assert noisy.decision.min_effect > 0.05
    assert words.verdict(noisy).endswith(": it is not slower by 5.0 % or more.")
    assert words.verdict(UNCLEAR).endswith(": the runs vary too much to tell a slowdown of 5.0 %.")


def test_a_slowdown_at_the_limit_is_called_that():
    outcome = checked(rates(1000, 950))

    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert words.verdict(outcome).endswith(": the difference lies at the limit of 5.0 %.")


def test_counters_alone_are_told_by_what_is_allowed():
    passed = OUTCOMES["counters only"]

    assert words.verdict(passed) == "Pass: no counter of head is above what is allowed."
    assert words.verdict(NOTHING) == "Could not measure: nothing ran."


def test_large_counts_are_told_in_full():
    assert words.counter_value(1_228_800.0) == "1 228 800"
    assert words.counter_value(0.5) == "0.5"
    assert words.counter_value(None) == "–"


def test_an_inconclusive_check_that_is_to_fail_is_a_failure_of_junit():
    (suite,) = ElementTree.fromstring(
        outcome_as_junit(UNCLEAR, inconclusive=EXIT_REGRESSION).encode()
    )

    assert suite.get("failures") == "1"


def test_markdown_lets_nothing_of_a_name_be_markup():
    text = outcome_as_markdown(HOSTILE)

    assert "<b>" not in re.sub(r"^    .*$", "", text, flags=re.MULTILINE).replace("\\<b\\>", "")
    assert "@team" not in re.sub(r"^    .*$", "", text, flags=re.MULTILINE)


def test_the_verdict_comes_first_and_in_colour_on_a_terminal():
    assert text_of(SLOWER, colored=True).startswith("\x1b[1;31mRegression: head makes 0.8")
    assert text_of(SLOWER).startswith("Regression: head makes 0.8")


def test_the_smallest_slowdown_that_it_would_have_found_is_told():
    assert "is found nine times in ten" in text_of(OUTCOMES["pass"])


def test_commands_are_told_without_their_interpreter():
    outcome = checked(
        rates(1000, 1000),
        head=a_program(Side.HEAD, command=("/opt/bin/python3.11", "train.py", "--name", "a b")),
    )

    assert "train.py --name 'a b'" in text_of(outcome)
    assert "/opt/bin" not in text_of(outcome)


def test_text_for_a_terminal_is_wrapped_to_its_width_and_says_the_same():
    wide = text_of(COUNTED)

    narrow = text_of(COUNTED, width=60)

    assert max(map(len, wide.splitlines())) > 60
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.replace("─", "").split() == wide.replace("─", "").split()


def test_no_line_ends_within_a_figure():
    ends = [
        line.split()[-1]
        for width in range(40, 120)
        for line in text_of(SLOWER, width=width).splitlines()
        if line
    ]

    assert not {"5.0", "5.6", "0.5"} & set(ends)


def test_a_colour_ends_where_the_wrapped_verdict_does():
    text = text_of(SLOWER, colored=True, width=60)

    assert text.startswith("\x1b[1;31mRegression: ")
    verdict, _ = text.split("\n\n", 1)
    assert all(line.endswith("\x1b[0m") for line in verdict.splitlines())


def of_runs(head_processes: float) -> Outcome:
    """Over as many steps as make a process of a run next to nothing of a step."""
    steps = 120_000
    return checked(
        lambda side, pair: a_measured_run(
            side,
            pair,
            steps=steps,
            counters={"processes": (1 if side is Side.BASE else head_processes) / steps},
        ),
        counters_only=True,
    )


def test_what_belongs_to_a_run_is_told_for_a_run():
    assert "processes  a run     1     1\n" in text_of(of_runs(1))
    assert "| processes | a run | 1 | 3 | **FAILS**" in outcome_as_markdown(of_runs(3))
    assert 'message="processes: 1 → 3 a run"' in FORMATS["junit"](of_runs(3))
    assert "processes a run: 1 in base, 3 in head." in FORMATS["sarif"](
        replace(of_runs(3), script=f"{HOME}/train.py")
    )


def test_a_check_that_fails_for_what_belongs_to_a_run_does_not_say_per_step():
    assert words.verdict(of_runs(3)) == "Regression: head counts more than base: processes."
    assert words.verdict(COUNTED).startswith("Regression: head counts more per step than base: ")


@pytest.mark.parametrize("steps", [15_000, 80_000])
def test_what_belongs_to_a_run_of_a_baseline_is_told_by_the_steps_that_it_made(steps):
    """Head made a half, and twice as many: one process in each run all the same."""
    saved_steps = (20_000.0, 40_000.0, 40_000.0, 40_000.0, 20_000.0, 20_000.0)
    baseline = a_baseline(
        [1000.0] * 6,
        steps=saved_steps,
        counters_per_step={"processes": tuple(1 / step for step in saved_steps)},
    )

    outcome = checked_against(
        baseline,
        lambda side, pair: a_measured_run(
            side, pair, steps=steps, counters={"processes": 1 / steps}
        ),
        counters_only=True,
    )

    assert "processes  a run     1     1\n" in text_of(outcome)


@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_rates_that_were_not_asked_for_are_not_shown(form):
    """Of runs so short that head makes more than twice the steps per second."""

    def short(side: Side, pair: int) -> MeasuredRun:
        rate = 1000.0 if side is Side.BASE else 2420.0
        return a_measured_run(side, pair, rate, counters={"log_records": 0.5})

    text = FORMATS[form](checked(short, counters_only=True))

    assert "2 runs, rate not judged" in text
    assert not re.search("change|%|sps|420|1 000", text)
    assert "+142 %" in FORMATS[form](checked(failing_in(2, short)))


def test_rates_that_were_not_asked_for_are_in_the_json():
    document = json.loads(FORMATS["json"](checked(rates(1000, 2420), counters_only=True)))

    assert document["head"]["sps"]["median"] == pytest.approx(2420, rel=0.01)
    assert [run["sps"] is None for run in document["runs"]] == [False, False]


def test_a_baseline_of_counters_alone_is_told_by_its_runs():
    outcome = checked_against(a_baseline(), rates(1000, 1000), counters_only=True)

    text = text_of(outcome)

    assert "base  5 runs, rate not judged  perf.json\n" in text
    assert "head  2 runs, rate not judged  " in text


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_a_pass_that_saw_little_tells_how_to_see_more(form):
    noisy, quiet = rates(1000, 1400, wobble=0.05), rates(1000, 1000)
    advice = "Runs that take turns (--interleave), longer runs, a quieter machine or a larger --max-pairs find"

    assert checked(noisy).verdict is Verdict.PASS
    assert advice in FORMATS[form](checked(noisy))
    assert advice not in FORMATS[form](checked(quiet))


def test_the_pages_of_what_got_worse_are_named_once_and_on_a_terminal_alone():
    told = "More: rlprof explain omegaconf-in-loop\n"

    assert FORMATS["terminal"](SLOWER).count(told) == 1
    assert "rlprof explain" not in FORMATS["markdown"](SLOWER)
    assert "rlprof explain" not in FORMATS["terminal"](COUNTED)


def test_a_baseline_has_no_column_of_runs():
    outcome = checked_against(a_baseline(), rates(1000, 1000))

    text = text_of(outcome)

    assert "\nrun    head\n" in text
    assert "change" not in text
    assert "| run | head |" in outcome_as_markdown(outcome)
