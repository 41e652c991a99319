"""What a check tells of the causes: findings, functions, lines, and why there is nothing to tell."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from rlprof.comparison.compare import compare
from rlprof.comparison.findings import Fate
from rlprof.comparison.outline import grown_functions
from rlprof.gate import words
from rlprof.gate.causes import compared as compared_pair
from rlprof.gate.causes import slower_functions
from rlprof.gate.document import outcome_as_markdown, outcome_as_page
from rlprof.gate.json_document import outcome_as_json
from rlprof.gate.junit import outcome_as_junit
from rlprof.gate.outcome import Outcome
from rlprof.gate.sarif import outcome_as_sarif
from rlprof.model.finding import Range
from rlprof.model.recording import Note
from rlprof.model.report import Report, SyncSiteRow
from rlprof.report.build import build_report
from tests.check_factory import a_measured_run, checked, rates, text_of
from tests.comparison_factory import (
    CHECK,
    HOME,
    LOOP,
    STEP,
    a_training,
    compared,
    reading_its_configuration,
)
from tests.factories import RunBuilder, a_run
from tests.report_factories import a_finding, a_location, a_report, a_sync_site

REGRESSION = replace(checked(rates(1000, 800)), script=f"{HOME}/train.py")
COPYING = replace(REGRESSION, comparison=compared(a_training(), a_training(copying_s=6)))
GREW = "grew: step, train.py:12, in deepcopy, +6 ms per step (not seen in base)"


def told(outcome: Outcome) -> list[words.HeadedLines]:
    return words.causes(outcome)


def document_of(outcome: Outcome) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(outcome_as_json(outcome))
    CHECK.validate(document)
    return document


def told_by_sarif(outcome: Outcome) -> set[str]:
    """Slugs of what is said of the run as a whole."""
    (run,) = json.loads(outcome_as_sarif(outcome, root=HOME))["runs"]
    (invocation,) = run["invocations"]
    return {
        notification["descriptor"]["id"]
        for notification in invocation["toolExecutionNotifications"]
    }


def results_of(outcome: Outcome) -> list[tuple[str, str, int]]:
    (run,) = json.loads(outcome_as_sarif(outcome, root=HOME))["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    return [
        (result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"])
        for result, place in zip(run["results"], places, strict=True)
    ]


# --- functions that no detector knows ------------------------------------------------------


def test_a_function_that_no_finding_explains_is_named():
    assert told(COPYING) == [
        (
            "No finding appeared or grew in the pair that was recorded in full, but this clearly takes longer:",
            (GREW,),
        )
    ]


def test_every_format_names_the_function():
    assert f"- {GREW}\n" in text_of(COPYING)
    assert "- grew: step, train.py:12, in deepcopy, +6 ms" in outcome_as_markdown(COPYING)
    (suite,) = ElementTree.fromstring(outcome_as_junit(COPYING).encode())
    assert GREW in (suite[0][0].text or "")
    (function,) = document_of(COPYING)["recorded_pair"]["slower_functions"]
    assert (function["function"], function["file"], function["line"]) == ("step", "train.py", 12)
    assert (function["base_us"], function["head_us"]) == (0, 6000)
    assert ("function-slower-than-base", "train.py", 12) in results_of(COPYING)


def test_findings_that_explain_the_slowdown_are_enough():
    found = compared(reading_its_configuration(0), reading_its_configuration(12))

    (causes,) = told(replace(REGRESSION, comparison=found))

    assert causes.heading == "What got worse, from one pair recorded in full:"
    assert "omegaconf-in-loop" in causes.lines[0]


def test_findings_that_explain_little_of_it_leave_room_for_functions():
    found = compared(reading_its_configuration(0), reading_its_configuration(1, learning_s=14))

    findings, functions = told(replace(REGRESSION, comparison=found))

    assert "omegaconf-in-loop" in findings.lines[0]
    assert functions.heading == "What clearly takes longer in the same pair:"
    assert functions.lines[0].startswith("grew: learn, train.py:20, +14 ms per step")


@pytest.mark.parametrize(("saved_us", "has_functions"), [(6_990, True), (7_010, False)])
def test_findings_explain_it_from_half_of_the_largest_growth_on(saved_us, has_functions):
    found = compared(reading_its_configuration(0), reading_its_configuration(1, learning_s=14))
    (change,) = found.findings
    priced = replace(change, new_cost=Range(saved_us - 100, saved_us + 100))

    run = replace(REGRESSION, comparison=replace(found, findings=(priced,)))

    # Learning takes 14 ms more of each step.
    (largest, *_) = grown_functions(found.tree, 1)
    assert largest.change_us == pytest.approx(14_000)
    assert bool(slower_functions(run)) == has_functions


def test_that_nothing_got_worse_is_told_where_it_was_looked_for():
    alike = replace(REGRESSION, comparison=compared(a_training(), a_training()))

    nothing, why = told(alike)

    assert nothing == (
        "No finding appeared or grew in the pair that was recorded in full, and no function clearly takes longer.",
        (),
    )
    assert why.heading == "What to know of that pair:"
    assert [line.split(":")[0] for line in why.lines] == [
        "One pair shows only what is larger than its own noise"
    ]
    assert "--artifacts" in why.lines[0]
    assert told(REGRESSION) == []
    assert document_of(REGRESSION)["recorded_pair"] is None


def test_growth_on_no_known_line_is_told_of_its_file():
    def steps(line: int, seconds: float) -> RunBuilder:
        run = a_run("train.py", start_up_s=1, steady_s=20).process("main", steps=1000)
        run = run.spends(14 - seconds, LOOP).spends(6, LOOP, STEP)
        return run.spends(seconds, LOOP, f"{HOME}/train.py:{line} step")

    run = replace(REGRESSION, comparison=compared(steps(13, 1), steps(14, 5)))

    assert told(run)[0].lines == ("grew: step, train.py, +4 ms per step (7 ms in base)",)
    (function,) = document_of(run)["recorded_pair"]["slower_functions"]
    assert function["line"] == 0
    (result,) = [
        load
        for load in json.loads(outcome_as_sarif(run, root=HOME))["runs"][0]["results"]
        if load["ruleId"] == "function-slower-than-base"
    ]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "train.py"
    assert "region" not in place["physicalLocation"]


def test_a_wait_is_called_one():
    base = a_run("train.py", start_up_s=1, steady_s=20).process("main", steps=1000)
    head = a_run("train.py", start_up_s=1, steady_s=40).process("main", steps=1000)
    found = compared(base.spends(20, LOOP, STEP, idle=True), head.spends(40, LOOP, STEP, idle=True))

    (causes,) = told(replace(REGRESSION, comparison=found))

    assert causes.lines == (
        "grew: step, train.py:12, +20 ms per step, mostly waiting (20 ms in base)",
    )


def test_a_function_of_no_file_of_the_repository_is_on_the_script():
    elsewhere = "/srv/lib/models/policy.py:3 forward"
    found = compared(a_training(), a_training().spends(20, LOOP, elsewhere))
    run = replace(REGRESSION, comparison=found)

    assert [function.label for function in slower_functions(run)] == ["forward"]
    assert ("function-slower-than-base", "train.py", 1) in results_of(run)


@pytest.mark.parametrize(
    "name", ["<b>`x` | @team", "]]></failure>\x1b[31m\x00", "\udce9\u202e" + "x" * 3000]
)
def test_names_of_functions_and_methods_cannot_break_a_document(name):
    head = a_training().spends(20, LOOP, f"{HOME}/{name}.py:5 {name}")
    found = compared(a_training(), head)
    sites = (a_read(5, 2, name), a_sync_site(file=f"{HOME}/{name}.py", method=name, device="cpu"))
    run = replace(
        reading("would_sync", [], []),
        comparison=replace(found, new=replace(found.new, sync_sites=sites)),
    )

    texts = [
        text_of(run),
        outcome_as_markdown(run),
        outcome_as_junit(run),
        outcome_as_json(run),
        outcome_as_sarif(run, root=HOME),
    ]

    assert len(slower_functions(run)) == 1
    assert len(lines(run)) == 2
    assert all(text.replace("\n", "").isprintable() for text in texts)
    assert not any("\u202e" in text for text in texts)
    assert "<b>" not in outcome_as_markdown(run).replace("\\<b\\>", "")
    ElementTree.fromstring(texts[2].encode())
    document_of(run)


# --- a pair without a rate -----------------------------------------------------------------


def a_short_run(*detectors: str, unit: str = "steps") -> Report:
    found = [
        a_finding(detector, detector, locations=[a_location(f"{HOME}/train.py:26", "main")])
        for detector in detectors
    ]
    report = a_report(sps=None, findings=found)
    return replace(report, throughput=replace(report.throughput, unit=unit, total_steps=2000))


def test_a_pair_too_short_to_compare_is_called_that_and_not_alike():
    found = compare(a_short_run(), a_short_run())

    causes, _ = told(replace(REGRESSION, comparison=found))

    assert causes.heading == (
        "The pair that was recorded in full was too short to compare (base: 2 000 steps in too short a time to tell a "
        "steady rate; head: 2 000 steps in too short a time to tell a steady rate)."
    )


def test_what_head_alone_has_of_a_short_pair_is_listed():
    found = compare(a_short_run("log-spam"), a_short_run("log-spam", "eager-format"))
    unclear = tuple(
        replace(finding, fate=Fate.UNCLEAR) if finding.base is None else finding
        for finding in found.findings
    )
    run = replace(REGRESSION, comparison=replace(found, findings=unclear))

    causes = told(run)

    assert causes[0].heading.endswith("steady rate):")
    assert causes[0].lines == ("in head only: eager-format, train.py:26 main",)
    pair = document_of(run)["recorded_pair"]
    assert not pair["is_comparable"]
    assert [finding["id"] for finding in pair["findings_in_head_only"]] == ["eager-format"]


def test_shares_of_a_pair_without_rates_are_called_shares():
    found = compared(a_training(steps=0), a_training(steps=0, copying_s=6))

    why, functions = told(replace(REGRESSION, comparison=found))

    assert why.heading.startswith("The rates of the pair that was recorded in full cannot be")
    assert functions.heading == "What has clearly more of the time in that pair:"
    assert functions.lines == (
        "grew: step, train.py:12, in deepcopy, +29 % of steady time (not seen in base)",
    )


def test_a_pair_without_steps_is_not_called_too_short():
    found = compare(a_short_run(unit="none"), a_short_run(unit="none"))

    causes, _ = told(replace(REGRESSION, comparison=found))

    assert causes.heading.startswith("The rates of the pair that was recorded in full cannot be")
    assert "nothing counted steps" in causes.heading


# --- the lines behind counters -------------------------------------------------------------


def reading(counter: str, base: list[SyncSiteRow], head: list[SyncSiteRow]) -> Outcome:
    outcome = checked(
        lambda side, pair: a_measured_run(
            side, pair, None, counters={counter: 0.0 if side.value == "base" else 2.0}
        ),
        counters_only=True,
    )
    found = compare(*(a_report(seen={"sync_sites": tuple(sites)}) for sites in (base, head)))
    return replace(outcome, comparison=found, script=f"{HOME}/train.py")


def a_read(line: int, per_step: float, method: str = "item", **changes: Any) -> SyncSiteRow:
    return a_sync_site(
        file=f"{HOME}/train.py",
        line=line,
        function="learn",
        method=method,
        device="cpu",
        per_step=per_step,
        **changes,
    )


def lines(outcome: Outcome) -> tuple[str, ...]:
    return next(
        (cause.lines for cause in told(outcome) if cause.heading.startswith("Lines of head")), ()
    )


def test_the_lines_of_reads_that_are_new_are_told_where_their_counter_fails():
    run = reading(
        "would_sync", [a_read(20, 1)], [a_read(21, 1), a_read(26, 2), a_read(9, 1, "cpu")]
    )

    assert lines(run) == (
        "would_sync: train.py:26 item (2 per step, none in base)",
        "would_sync: train.py:9 cpu (1 per step, none in base)",
    )
    assert ("counts-more-than-base", "train.py", 26) in results_of(run)
    reads = document_of(run)["recorded_pair"]["reads"]
    assert [(read["line"], read["base"], read["head"]) for read in reads] == [(26, 0, 2), (9, 0, 1)]


def test_a_line_that_reads_more_often_is_told_with_what_it_was():
    run = reading("would_sync", [a_read(20, 1)], [a_read(22, 3)])

    assert lines(run) == ("would_sync: train.py:22 item (3 per step, 1 in base)",)


def test_processes_are_added_up_and_lines_that_moved_are_the_same():
    run = reading("would_sync", [a_read(20, 2)], [a_read(22, 1, pid=1), a_read(22, 1, pid=2)])

    assert lines(run) == ()


@pytest.mark.parametrize(
    ("base", "head", "is_told"),
    [
        # A tenth more.
        (100, 109.9, False),
        (100, 110.2, True),
        # One read in a hundred steps more.
        (0.001, 0.0109, False),
        (0.001, 0.0113, True),
    ],
)
def test_a_line_reads_as_often_up_to_a_tenth_and_one_in_a_hundred_steps_more(base, head, is_told):
    run = reading("would_sync", [a_read(20, base)], [a_read(20, head)])

    assert bool(lines(run)) == is_told


@pytest.mark.parametrize("counter", ["gpu_syncs", "log_records"])
def test_reads_that_the_failing_counter_does_not_count_are_left_out(counter):
    assert lines(reading(counter, [], [a_read(22, 3)])) == ()


def test_lines_are_not_told_where_no_counter_fails():
    run = reading("would_sync", [], [a_read(22, 3)])

    assert lines(replace(run, counters=())) == ()


# --- what to know of the pair --------------------------------------------------------------


CROWDED = Note("warning", "run-crowded", "In base other programs had cores.")
BADLY = Note("warning", "run-ended-badly", "The recording of head was cut off.")
OTHER = Note("info", "other-rlprof", "base was recorded by rlprof 0.1, head by 0.2.")


def of_the_pair(outcome: Outcome) -> list[str]:
    (told_last, *_) = reversed(told(outcome))
    return list(told_last.lines) if told_last.heading == "What to know of that pair:" else []


def with_notes(outcome: Outcome, *notes: Note) -> Outcome:
    assert outcome.comparison is not None
    return replace(outcome, comparison=replace(outcome.comparison, notes=notes))


def test_the_gravest_warning_of_the_pair_is_told_before_what_to_do():
    alike = replace(REGRESSION, comparison=compared(a_training(), a_training()))
    crowded = with_notes(alike, BADLY, CROWDED, OTHER)

    assert of_the_pair(crowded)[0] == BADLY.text
    assert len(of_the_pair(crowded)) == 2
    for text in (text_of(crowded), outcome_as_markdown(crowded)):
        assert BADLY.text in text
        assert "quieter machine" in text
    assert [note["slug"] for note in document_of(crowded)["recorded_pair"]["notes"]] == [
        "run-ended-badly",
        "run-crowded",
        "other-rlprof",
    ]
    assert {BADLY.slug, CROWDED.slug} <= told_by_sarif(crowded)


def test_causes_that_are_named_come_with_the_warning_and_need_no_advice():
    assert of_the_pair(with_notes(COPYING, CROWDED, OTHER)) == [CROWDED.text]
    assert of_the_pair(with_notes(COPYING, OTHER)) == []


def test_that_all_functions_cost_more_alike_is_told_where_none_is_named():
    slower = replace(REGRESSION, comparison=compared(a_training(), a_training(speed=0.8)))
    assert slower.comparison is not None
    (alike,) = [note for note in slower.comparison.notes if note.slug == "all-alike"]

    assert of_the_pair(slower)[0] == alike.text
    assert of_the_pair(with_notes(COPYING, alike)) == []


def test_a_pair_without_rates_is_told_to_be_that_once():
    head = a_short_run()
    found = compare(a_short_run(), replace(head, run=replace(head.run, id="head")))
    short = replace(REGRESSION, comparison=found)
    (no_stacks,) = [note.text for note in found.notes if note.slug == "no-steady-stacks"]

    assert "no-common-rate" in {note.slug for note in found.notes}
    assert of_the_pair(short) == [no_stacks]


# --- the page ------------------------------------------------------------------------------


def page_of(outcome: Outcome, base: RunBuilder, head: RunBuilder) -> str:
    reports = [
        build_report(builder.with_run(id=str(number)).recording(), detailed=True)
        for number, builder in enumerate((base, head))
    ]
    return outcome_as_page(replace(outcome, comparison=compared_pair(*reports)))


def test_the_page_has_the_verdict_of_the_check_and_none_of_its_own():
    alike = page_of(REGRESSION, a_training(), a_training(speed=0.97))

    assert f'<p class="verdict">{words.verdict(REGRESSION)}</p>' in alike
    assert "One pair, recorded to look for causes" in alike
    assert "No clear change" not in alike
    assert "one run a side" not in alike.casefold()


def test_the_page_calls_the_runs_base_and_head_and_names_the_cause():
    page = page_of(REGRESSION, a_training(), a_training(copying_s=6))

    text = page[page.index("<main") : page.index("</main>")]
    assert f"<li>{GREW}</li>" in text
    assert '<th scope="col" class="number">head</th>' in text
    assert not re.search(r"\b(NEW|BASE)\b", text)


def test_the_page_leaves_what_to_know_of_the_pair_to_its_own_remarks():
    page = page_of(REGRESSION, a_training(), a_training())

    assert "and no function clearly takes longer" in page
    assert "--artifacts" not in page


def test_remarks_on_a_pair_name_base_and_head():
    found = compared_pair(a_short_run(), a_short_run())

    texts = {note.slug: note.text for note in found.notes}
    assert "base has no rate: 2 000 steps" in texts["no-common-rate"]
    assert "head has no rate" in texts["no-common-rate"]
