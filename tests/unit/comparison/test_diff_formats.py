"""The formats of a comparison, for a change that is clear, for none, and for odd runs."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256

import pytest

from rlprof.comparison.compare import Comparison, compare
from rlprof.comparison.document import comparison_document
from rlprof.comparison.html import comparison_as_html
from rlprof.comparison.json_document import comparison_as_json
from rlprof.comparison.svg import comparison_as_svg
from rlprof.documents.markdown import as_markdown
from rlprof.documents.terminal import as_text
from rlprof.model.recording import Note
from rlprof.names import printable
from tests.comparison_factory import DEEPCOPY, LOOP, STEP, a_training, compared
from tests.contract.test_renderers import HOSTILE
from tests.factories import a_run
from tests.golden_files import check_golden
from tests.report_factories import a_finding, a_location, a_process, a_report

WIDE = 110
Format = Callable[[Comparison], str]
FORMATS: dict[str, Format] = {
    "terminal": lambda found: as_text(comparison_document(found), width=WIDE, colored=False),
    "markdown": lambda found: as_markdown(comparison_document(found)),
    "json": comparison_as_json,
    "html": comparison_as_html,
    "svg": comparison_as_svg,
}
every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)

SLOWER = compared(
    a_training(steps=1000).counts("gpu_syncs", 2000),
    a_training(steps=800, copying_s=6).counts("gpu_syncs", 4000),
)
ALIKE = compared(a_training(), a_training(speed=0.97))


def a_hostile_comparison(name: str) -> Comparison:
    place = f"/tmp/{name}:3 {name}"
    base = a_run(name).process(name, steps=1000).spends(5, LOOP, place)
    new = a_run(name).process(name, steps=1000).spends(5, LOOP, place)
    new = new.spends(5, LOOP, STEP, f"/tmp/{name}:5 {name}").counts(name, 5000)
    for run in (base, new):
        run.with_run(label=name, script=name, command=("python", name), git=name)
    return compared(base, new)


def a_hostile_finding(name: str) -> Comparison:
    found = a_finding(name, name, locations=[a_location(f"/{name}:1", name)], fix=name)
    notes = [Note("warning", "odd", name)]
    return compare(a_report(), a_report(findings=[found], notes=notes, id="new"))


ODD = {
    "empty": compare(
        a_report(sps=None, processes=[], wall_us=0, command=(), exit_code=None),
        a_report(sps=None, processes=[], wall_us=0, command=(), exit_code=None, id="new"),
    ),
    "one without samples": compared(a_run("train.py").process(steps=1000), a_training()),
    "without detail": compare(a_report(), a_report(id="new")),
    "300 processes": compare(
        a_report(processes=[a_process(1000 + n) for n in range(300)]), a_report(id="new")
    ),
    "deep": compared(
        *(
            a_run("train.py")
            .process(steps=1000)
            .spends(5, *(f"/a.py:{n} f{n}" for n in range(1000)))
            for _ in range(2)
        )
    ),
}


@every_format
def test_what_changed_below_a_line_of_ones_own_is_told_with_that_line(form):
    told = form is comparison_as_json or form is comparison_as_svg

    assert ("from step (train.py:12)" in form(SLOWER)) != told


def test_a_narrow_terminal_keeps_the_line_in_sight():
    text = as_text(comparison_document(SLOWER), width=64, colored=False)

    assert re.search(r"deepcopy  worlds/copy\.py\n +from step \(train\.py:12\)\n", text)


def test_of_two_runs_alike_nothing_is_claimed():
    text = FORMATS["terminal"](ALIKE)

    assert text.startswith("No clear change: ")
    assert "No finding appeared, grew, shrank or went." in text
    assert "Nowhere: no function changed" in text
    document = json.loads(FORMATS["json"](ALIKE))
    assert not any(box["is_clear"] for box in document["calltree"]["boxes"])
    assert not document["rate"]["is_clear"]


@pytest.mark.parametrize(("name", "found"), [("slower", SLOWER), ("alike", ALIKE)])
@pytest.mark.parametrize(("form", "ending"), [("terminal", "txt"), ("markdown", "md")])
def test_the_documents_look_as_they_did(name, found, form, ending):
    check_golden(f"diff-{name}.{ending}", FORMATS[form](found))


def test_colour_says_no_more_than_the_words():
    colored = as_text(comparison_document(SLOWER), width=WIDE, colored=True)

    assert "\x1b[" in colored
    plain = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in plain.splitlines()] == FORMATS["terminal"](
        SLOWER
    ).splitlines()


def test_the_json_has_what_the_tree_has():
    document = json.loads(comparison_as_json(SLOWER))

    (copies,) = [
        function
        for function in document["calltree"]["functions"]
        if function["label"] == "deepcopy"
    ]
    assert copies["base"]["us"] == 0
    assert copies["new"]["us"] == 6e6 / 800
    assert copies["is_clear"]
    root = document["calltree"]["boxes"][0]
    assert (root["parent"], root["base"]["us"], root["new"]["us"]) == (-1, 20_000, 25_000)


@every_format
@pytest.mark.parametrize("found", ODD.values(), ids=ODD)
def test_odd_runs_are_no_reason_to_fail(form, found):
    assert form(found).strip()


@every_format
def test_the_same_runs_give_the_same_bytes(form):
    again = compared(
        a_training(steps=1000).counts("gpu_syncs", 2000),
        a_training(steps=800, copying_s=6).counts("gpu_syncs", 4000),
    )

    assert form(again) == form(SLOWER)


@every_format
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:20]))
def test_hostile_names_come_out_printable_and_short(form, name):
    for found in (a_hostile_comparison(name), a_hostile_finding(name)):
        text = form(found)

        text.encode("utf-8")
        assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff\u202e]", text)
        if form is not comparison_as_json:
            assert "x" * 2_000 not in text
        assert "<script>alert" not in text or form in (comparison_as_json, FORMATS["terminal"])


# --- Markdown ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a|b", "`c`", "<img src=x>", "@everyone", "#1", "[a](b)"])
def test_markdown_says_names_and_not_what_they_would_mean(name):
    text = FORMATS["markdown"](a_hostile_finding(name))

    for line in text.splitlines():
        if line.startswith("|"):
            bars = len(re.findall(r"(?<!\\)\|", line))
            assert bars in (5, 6)
    assert name not in text


# --- HTML ----------------------------------------------------------------------------------


def test_the_page_loads_and_runs_nothing_but_what_is_in_it():
    page = comparison_as_html(SLOWER)

    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (styles,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy.startswith("default-src 'none'")
    assert len(scripts) == 2
    for text in (*scripts, styles):
        assert b64encode(sha256(text.encode()).digest()).decode() in policy
    assert len(re.findall(r"<script[ >]", page)) == 3
    assert not re.search(
        r"<[^>]+\s(style|on\w+)=", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    )
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:20]))
def test_names_are_data_on_the_page(name):
    page = comparison_as_html(a_hostile_comparison(name))

    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[
        1
    ]
    assert printable(name) in json.loads(data)["strings"]
    assert len(re.findall(r"<script[ >]", page)) == 3


def test_a_rate_that_may_be_noise_is_no_headline():
    clear, unclear = (
        re.search(
            r'<p class="(speed[^"]*)"><strong>([^<]+)</strong>', comparison_as_html(comparison)
        )
        for comparison in (SLOWER, ALIKE)
    )

    assert (clear[1], clear[2]) == ("speed", "0.8×")
    assert (unclear[1], unclear[2]) == ("speed unclear", "≈ 0.976×")


PAINTED = re.compile(r'<g class="frame (\w+)"><title>([\w ,]+?)(?: \(|: )')


def test_page_and_picture_claim_no_more_than_the_json():
    """A stack that could not be read is nobody's: its noise is its change, to the last digit."""
    base, new = (a_training(steps=n).spends(s, ":INVALID:") for n, s in ((977, 1), (811, 5)))
    found = compared(base, new.spends(6, LOOP, STEP, DEEPCOPY))
    page, picture = comparison_as_html(found), comparison_as_svg(found)

    boxes = json.loads(comparison_as_json(found))["calltree"]["boxes"]
    clear = {box["label"]: box["is_clear"] for box in boxes}
    on_page = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )
    labels = [on_page["strings"][at] for at in on_page["columns"]["label"]]

    assert clear["deepcopy"]
    assert not clear["stack could not be read whole"]
    assert dict(zip(labels, map(bool, on_page["columns"]["clear"]), strict=True)) == clear
    assert {label for look, label in PAINTED.findall(picture) if look != "same"} == {
        label for label, is_clear in clear.items() if is_clear
    }


def test_the_page_says_what_it_cannot_show():
    page = comparison_as_html(ODD["without detail"])

    assert "cannot be compared" in page
    assert 'id="data"' not in page


def test_every_row_leads_to_a_box_that_is_drawn():
    page = comparison_as_html(SLOWER)

    data = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )
    rows = re.findall(r'data-box="(\d+)"[^>]*>([^<]+)</button>', page)
    assert rows
    for box, label in rows:
        assert data["strings"][data["columns"]["label"][int(box)]] == label


# --- SVG -----------------------------------------------------------------------------------


def test_the_picture_is_xml_and_colours_what_changed():
    picture = comparison_as_svg(SLOWER)

    root = ET.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    boxes = re.findall(r'<g class="frame (\w+)"><title>(\w+) ', picture)
    assert ("more3", "deepcopy") in boxes
    assert ("same", "act") in boxes


def test_the_picture_of_two_runs_alike_is_neutral():
    boxes = re.findall(r'<g class="frame (\w+)"><title>', comparison_as_svg(ALIKE))

    assert set(boxes) == {"same"}


def test_the_json_says_what_of_a_cost_is_waiting():
    waiting = compared(a_training(), a_training().spends(6, LOOP, STEP, idle=True))
    functions = {
        load["label"]: load
        for load in json.loads(comparison_as_json(waiting))["calltree"]["functions"]
    }

    assert functions["act"]["new"]["waiting_us"] == 0
    assert functions["step"]["new"]["waiting_us"] == pytest.approx(6e6 / 1000)
    assert functions["step"]["new"]["us"] > 6e6 / 1000
