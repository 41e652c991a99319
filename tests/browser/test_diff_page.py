"""The page and the picture of a comparison, in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlprof.comparison.compare import Comparison
from rlprof.comparison.html import comparison_as_html
from rlprof.comparison.svg import comparison_as_svg
from tests.browser.test_page_accessibility import needs_axe, violations
from tests.comparison_factory import LOOP, a_training, compared
from tests.factories import a_run

pytestmark = pytest.mark.browser

SLOWER = compared(a_training(), a_training(steps=800, copying_s=6))
ALIKE = compared(a_training(), a_training())

Opened = Callable[..., Any]


@pytest.fixture
def open_diff(open_page: Opened, tmp_path: Path) -> Opened:
    """``open_page`` of conftest, which fails on any error and any request, for a comparison."""

    def open_it(found: Comparison, **settings: Any) -> Any:
        path = tmp_path / "diff.html"
        path.write_text(comparison_as_html(found), encoding="utf-8")
        return open_page(None, path=path, **settings)

    return open_it


def classes_of(page: Any, name: str) -> str:
    frame = page.locator("#flamegraph-drawing g.frame").filter(has_text=name).first
    return str(frame.get_attribute("class"))


def test_what_costs_more_is_orange_and_the_rest_is_grey(open_diff: Opened) -> None:
    page = open_diff(SLOWER)

    assert "more3" in classes_of(page, "deepcopy")
    assert "same" in classes_of(page, "act")


def test_two_runs_alike_have_no_colour_anywhere(open_diff: Opened) -> None:
    page = open_diff(ALIKE)

    drawn = page.locator("#flamegraph-drawing g.frame")
    assert drawn.count() > 4
    assert (
        page.locator(
            "#flamegraph-drawing :is(.less1, .less2, .less3, .more1, .more2, .more3)"
        ).count()
        == 0
    )
    assert page.get_by_text(
        "No function changed by more than the runs themselves vary."
    ).is_visible()


def test_an_unclear_rate_is_smaller_than_the_verdict(open_diff: Opened) -> None:
    size = "it => parseFloat(getComputedStyle(it).fontSize)"

    for found, is_headline in ((SLOWER, True), (ALIKE, False)):
        page = open_diff(found)
        rate = page.locator(".speed strong").evaluate(size)
        assert (rate > page.locator(".verdict").evaluate(size)) is is_headline


def test_a_stack_that_could_not_be_read_has_no_colour(open_diff: Opened) -> None:
    base, new = (a_training(steps=n).spends(s, ":INVALID:") for n, s in ((977, 1), (811, 5)))
    page = open_diff(compared(base, new))

    box = page.locator("#flamegraph-drawing g.frame").filter(has_text="stack could not").first
    box.hover()

    assert "same" in str(box.get_attribute("class"))
    assert "within the noise" in page.locator(".tooltip").text_content()


def test_a_row_leads_to_its_box(open_diff: Opened) -> None:
    page = open_diff(SLOWER)

    page.get_by_role("button", name="deepcopy").click()

    width = page.locator("#flamegraph-drawing").bounding_box()["width"]
    box = page.locator("#flamegraph-drawing g.frame").filter(has_text="deepcopy").first
    assert box.bounding_box()["width"] > 0.9 * width
    page.get_by_role("button", name="Reset zoom").click()
    assert box.bounding_box()["width"] < 0.5 * width


def test_widths_can_be_those_of_either_run(open_diff: Opened) -> None:
    page = open_diff(SLOWER)

    page.get_by_label("BASE", exact=True).check()
    assert page.locator("#flamegraph-drawing g.frame").filter(has_text="deepcopy").count() == 0

    page.get_by_label("NEW", exact=True).check()
    assert page.locator("#flamegraph-drawing g.frame").filter(has_text="deepcopy").count() == 1


def test_a_row_finds_its_box_in_widths_that_lack_it(open_diff: Opened) -> None:
    page = open_diff(SLOWER)
    page.get_by_label("BASE", exact=True).check()

    page.get_by_role("button", name="deepcopy").click()

    assert page.get_by_label("mean of both").is_checked()
    assert page.locator("#flamegraph-drawing g.frame").filter(has_text="deepcopy").count() == 1


def test_matches_are_walked_by_mouse_and_half_a_pattern_is_taken_literally(
    open_diff: Opened,
) -> None:
    page = open_diff(SLOWER)
    search = page.get_by_label("Search frames by regular expression")
    assert page.get_by_role("button", name="Next match").is_disabled()

    search.fill("deepc")
    page.get_by_role("button", name="Next match").click()
    assert "deepcopy" in page.locator("#flamegraph-told").inner_text()

    search.fill("gpu-sync(")
    assert page.locator("output").first.inner_text() == "no match, taken literally"


def test_search_and_keyboard(open_diff: Opened) -> None:
    page = open_diff(SLOWER)

    page.locator("#flamegraph-drawing").focus()
    page.keyboard.press("/")
    page.keyboard.type("deepc")
    assert "% of this view" in page.locator("output").first.inner_text()
    page.keyboard.press("Enter")
    assert "0 → 7.5 ms wall time per step (new)" in page.locator("#flamegraph-told").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("output").first.inner_text() == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(open_diff: Opened, scheme: str, width: int) -> None:
    page = open_diff(SLOWER, width=width, color_scheme=scheme)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#flamegraph-drawing").is_visible()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing_serious(open_diff: Opened, scheme: str, width: int) -> None:
    # axe adds styles of its own while it looks: the page's policy would stop it.
    page = open_diff(SLOWER, width=width, color_scheme=scheme, bypass_csp=True)

    assert violations(page) == []


def test_names_are_text(open_diff: Opened) -> None:
    name = "<img src=x onerror=alert(1)>"
    base, new = (a_run("train.py").process(steps=1000).spends(5, LOOP) for _ in range(2))
    page = open_diff(compared(base, new.spends(5, LOOP, f"/x.py:1 {name}")))

    assert page.locator("img").count() == 0
    assert page.get_by_role("button", name=name).is_visible()


def test_without_scripts_the_tables_are_there(open_diff: Opened) -> None:
    page = open_diff(SLOWER, java_script_enabled=False, ready=False)

    assert page.get_by_text("deepcopy").first.is_visible()
    assert "The flamegraph needs scripts" in page.content()
    assert not page.locator("#flamegraph").is_visible()


def test_a_page_without_a_tree_opens(open_diff: Opened) -> None:
    silent = a_run("train.py", steady_s=20).process("main", steps=1000)
    page = open_diff(compared(silent, a_training()), ready=False)

    assert page.get_by_text("It cannot be compared").is_visible()


def test_the_picture_draws_itself(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "diff.svg"
    path.write_text(comparison_as_svg(SLOWER), encoding="utf-8")
    context = browser.new_context(viewport={"width": 900, "height": 600})
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())

    frame = page.locator("#frames g.frame").filter(has_text="deepcopy").first
    assert "more3" in str(frame.get_attribute("class"))
    assert errors == []
    context.close()
