"""What holds for every treatment, also for one added tomorrow."""

from __future__ import annotations

import re
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent.treatments import WAYS
from rlprof.agent.inject.rlprof_agent.treatments.restarts import _RESTARTS, watched
from rlprof.discovery import discover_detectors
from rlprof.experiments import treatments as package
from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.experiments.discovered import treatments
from rlprof.experiments.untried import UNTRIED
from rlprof.model.experiment import TreatmentKind
from rlprof.model.finding import Finding, Location
from rlprof.model.recording import SeenValue
from rlprof.recording.mailboxes.treatment_desk import as_bytes
from rlprof.source.values import Values
from tests.detector_pages import section

PAGES = Path(__file__).parents[2] / "docs" / "treatments"
TREATMENTS = treatments()
DETECTORS = [detector.id for detector in discover_detectors()]
HEADINGS = [
    "## What it does",
    "## When it is refused",
    "## What it measures",
    "## Findings",
    "## Hazards",
]
MEASURES = {TreatmentKind.GAIN: "A gain", TreatmentKind.CEILING: "A ceiling"}

FILE = "/home/researcher/project/train.py"
TEXT = """\
import copy
import os
import numpy as np
import torch

def train(env):
    for row in rows:
        out = evaluate(copy.deepcopy(torch.tensor(row)), np.append(a, b), Maze(0), queue.put(1), os.fsync(2), event.is_set())
"""
LINE = 8
FUNCTION = {"type": "function", "function": "train.evaluate", "file": FILE, "line": "20"}
SEEN = {
    "evaluate": FUNCTION,
    "Maze": {"type": "type", "class": "train.Maze", "file": FILE},
    "os.fsync": {"type": "builtin_function_or_method", "function": "posix.fsync"},
}
TABLES = {
    "edit": ("edits", "_EDITS"),
    "call": ("calls", "_MADE"),
    "setting": ("settings", "_SETTINGS"),
}


@pytest.fixture(params=TREATMENTS, ids=[treatment.id for treatment in TREATMENTS])
def treatment(request) -> Treatment:
    return request.param


def a_patient(detector: str, *, text: str = TEXT, line: int | None = LINE) -> Patient:
    places = () if line is None else (Location(FILE, line, "train", 0.5),)
    finding = Finding("", (), places, (), "", detector=detector)
    seen = [
        SeenValue(0, FILE, "train", LINE, operand, 0, 1, 1, fields)
        for operand, fields in SEEN.items()
    ]
    return Patient(finding, {FILE: text}, Values(seen), "/home/researcher/project")


def page(treatment_id: str) -> str:
    return (PAGES / f"{treatment_id}.md").read_text(encoding="utf-8")


def part_of_page(treatment_id: str, heading: str) -> str:
    return page(treatment_id).partition(f"## {heading}\n\n")[2].partition("\n## ")[0]


def test_there_are_treatments():
    assert len(TREATMENTS) >= 20
    assert len({treatment.id for treatment in TREATMENTS}) == len(TREATMENTS)


def test_its_id_is_that_of_its_file(treatment):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", treatment.id)
    file = treatment.id.replace("-", "_")
    assert import_module(f"{package.__name__}.{file}").TREATMENT is treatment


def test_has_a_page_with_its_headings(treatment):
    lines = page(treatment.id).splitlines()

    assert lines[0] == f"# {treatment.id}"
    assert [line for line in lines if line.startswith("## ")] == HEADINGS
    assert all(part_of_page(treatment.id, heading.removeprefix("## ")) for heading in HEADINGS)


def test_every_page_is_that_of_a_treatment():
    assert {file.stem for file in PAGES.glob("*.md")} == {treatment.id for treatment in TREATMENTS}


def test_its_page_says_which_kind_it_is(treatment):
    assert part_of_page(treatment.id, "What it measures").startswith(MEASURES[treatment.kind])


def test_its_page_names_its_findings(treatment):
    named = re.findall(r"\[([a-z0-9-]+)\]", part_of_page(treatment.id, "Findings"))

    assert named == sorted(treatment.findings)


def test_says_what_it_does_by_a_verb(treatment):
    verb = treatment.does.split()[0]

    assert verb.islower()
    assert verb.endswith("s")
    assert not treatment.does.endswith(".")


def test_a_ceiling_of_a_whole_function_says_so(treatment):
    parts = treatment.parts(a_patient(min(treatment.findings)))
    is_whole = any(part["way"] == "call" and part.get("name") == "train" for part in parts)

    assert not is_whole or "whole function" in treatment.does or "evaluates" in treatment.does


def test_its_findings_are_those_of_detectors(treatment):
    assert treatment.findings
    assert treatment.findings <= set(DETECTORS)


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_page_of_a_detector_says_how_to_try_it(detector):
    (line,) = re.findall(r"^Try: .*", section(detector, "What to change"), re.MULTILINE)
    trying = {treatment.id for treatment in TREATMENTS if detector in treatment.findings}

    assert bool(trying) != (detector in UNTRIED)
    assert set(re.findall(r"\[([a-z0-9-]+)\]", line)) == trying
    if trying:
        assert f"rlprof try --finding {detector} " in line
    else:
        assert line == f"Try: no treatment; {UNTRIED[detector]}."


def test_one_that_needs_a_restart_has_no_parts_and_is_known_to_the_agent(treatment):
    if treatment.restart:
        assert not treatment.parts(a_patient(min(treatment.findings)))
        assert watched(treatment.restart)


def test_every_restart_that_the_agent_knows_is_asked_for_by_some():
    assert {each.restart for each in TREATMENTS} - {""} == _RESTARTS.keys()


def test_its_parts_are_understood_by_the_agent(treatment):
    parts = treatment.parts(a_patient(min(treatment.findings)))

    assert bool(parts) != bool(treatment.restart)
    assert as_bytes(parts)
    for part in parts:
        way = str(part["way"])
        file, name = WAYS[way]
        module = import_module(f"rlprof.agent.inject.rlprof_agent.treatments.{file}")
        assert hasattr(module, name)
        if way in TABLES:
            assert part["what"] in getattr(module, TABLES[way][1])
        assert {type(value) for value in part.values()} <= {str, int, bool}


def test_every_way_and_change_of_the_agent_is_asked_for_by_some():
    parts = [part for each in TREATMENTS for part in each.parts(a_patient(min(each.findings)))]
    asked = {(part["way"], part.get("what")) for part in parts}
    known = {
        (way, what)
        for way, (file, table) in TABLES.items()
        for what in getattr(
            import_module(f"rlprof.agent.inject.rlprof_agent.treatments.{file}"), table
        )
    }

    # What a function is replaced by, the user says.
    assert known - asked == {("call", "replaced")}
    assert {way for way, _ in asked} == set(WAYS)


@pytest.mark.parametrize("text", ["", "x = 1\n", "def broken(:\n", TEXT.replace("    ", "\t")])
@pytest.mark.parametrize("line", [None, 1, LINE, 10**9])
def test_takes_any_program(treatment, text, line):
    for detector in sorted(treatment.findings):
        with suppress(CannotTreatError):
            assert as_bytes(treatment.parts(a_patient(detector, text=text, line=line)))
