"""The formats of a ladder, over ladders that went well and badly."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from rlprof.documents.terminal import as_text
from rlprof.scaling.document import study_document
from rlprof.scaling.json_document import study_as_json
from rlprof.scaling.study import Study
from rlprof.scaling.svg import study_as_svg
from tests.ladder_factory import a_run, a_study, study

GOOD = a_study({1: 1000, 2: 1850, 4: 2900, 8: 2640})
HOSTILE = study([a_run(1, 10, bound="<b>\x1b[31m"), a_run(2, 18, run_file="\udc80/<&>.rlprof")])
SMALL = a_study({1: 0.004, 3: 0.01})
NOTHING = study([a_run(1, None), a_run(2, None, exit_code=1)])
STUDIES = {"good": GOOD, "hostile": HOSTILE, "small": SMALL, "nothing": NOTHING}
WITH_RATES = {name: found for name, found in STUDIES.items() if found.best is not None}


def text_of(found: Study, width: int = 80) -> str:
    return as_text(study_document(found), width=width, colored=False)


def test_the_text_begins_with_the_best_count():
    lines = text_of(GOOD).splitlines()

    assert lines[0] == "4 workers: 2 900 sps (2 810 to 2 990), the highest, 2.9 times that of 1."
    assert lines[1].startswith("Bounded by ")


def test_the_text_has_a_line_with_its_efficiency_for_each_count():
    (of_eight,) = (line for line in text_of(GOOD).splitlines() if line.strip().startswith("8 "))

    assert "2.64" in of_eight
    assert "33 %" in of_eight
    assert "│" in of_eight


def test_fewer_workers_that_do_as_well_come_first():
    text = text_of(a_study({1: 100, 2: 180, 4: 186}, within=0.05))

    assert "2 workers do as well" in text.splitlines()[0] + text.splitlines()[1]


def test_the_json_has_rates_fit_and_verdict():
    document = json.loads(study_as_json(GOOD))

    assert document["command"] == ["train.py", "--envs", "{}"]
    assert document["rungs"][2]["speed_up"] == 2.9
    assert document["rungs"][2]["efficiency"] == 0.725
    assert document["fits"]["usl"]["coherency"]["median"] > 0
    assert document["best"]["workers"] == document["best"]["as_fast_within_spread"] == 4
    assert [run["workers"] for run in document["runs"]] == [1, 2, 4, 8]
    assert json.loads(study_as_json(NOTHING))["best"] is None


@pytest.mark.parametrize("name", WITH_RATES)
def test_the_chart_is_well_formed_and_stands_alone(name):
    text = study_as_svg(WITH_RATES[name])

    root = ElementTree.fromstring(text)
    points = root.findall(".//*[@class='point']")
    assert len(points) == len(WITH_RATES[name].rungs)
    assert "href" not in text
    assert "<script" not in text


def test_the_chart_places_a_higher_rate_higher():
    root = ElementTree.fromstring(study_as_svg(GOOD))

    heights = [float(point.attrib["cy"]) for point in root.findall(".//*[@class='point']")]
    assert min(heights) == heights[2]
    assert max(heights) == heights[0]


def test_the_chart_draws_both_laws_where_both_are_fitted():
    root = ElementTree.fromstring(study_as_svg(GOOD))
    of_two = ElementTree.fromstring(study_as_svg(SMALL))

    assert root.find(".//*[@class='usl']") is not None
    assert root.find(".//*[@class='amdahl']") is not None
    assert of_two.find(".//*[@class='usl']") is None
