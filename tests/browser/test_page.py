"""The HTML report as its reader meets it: from a file, without a network, in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlprof.model.detail import Detail
from rlprof.model.recording import Frame
from rlprof.renderers.html import RENDERER
from tests.contract.test_renderers import HOSTILE, a_hostile_report
from tests.report_factories import a_bandit_detail, a_detail, a_report, a_story, a_tried_story

pytestmark = pytest.mark.browser

Open = Callable[..., Any]

# A page takes a second to open: all the short names are one.
every_hostile_name = pytest.mark.parametrize(
    "name", ["".join(HOSTILE[:-1]), HOSTILE[-1]], ids=["all in one", "very long"]
)


def labels(page: Any) -> list[str]:
    texts = page.locator("#flamegraph-drawing .frame text").all_text_contents()
    return [text.split("  ")[0] for text in texts]


def has(page: Any, label: str) -> bool:
    """Whether a box of that name is drawn; a narrow one shows its beginning."""
    return any(
        label == text or (text.endswith("…") and len(text) > 3 and label.startswith(text[:-1]))
        for text in labels(page)
    )


def outlined(page: Any) -> Any:
    """What is drawn around the frames of a finding; nothing when there are none."""
    return page.locator('#flamegraph-drawing .highlighted[d]:not([d=""])')


def wait_until(page: Any, expression: str) -> None:
    """As ``page.wait_for_function``, which the page's policy forbids: it evaluates text in the page."""
    deadline = time.monotonic() + 10
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"never came true: {expression}"
        page.wait_for_timeout(20)


def box(page: Any, label: str) -> Any:
    return page.locator("#flamegraph-drawing .frame").filter(has_text=label).first


def box_width(page: Any, label: str) -> float:
    shape = box(page, label).locator("rect").first.bounding_box()
    assert shape is not None
    return float(shape["width"])


def selected(page: Any) -> str:
    text = page.locator("#flamegraph-drawing .frame.selected text").first.text_content()
    return str(text).split("  ")[0]


def view(page: Any) -> str:
    return str(page.evaluate("location.hash"))


def functions(page: Any) -> list[str]:
    return [str(name) for name in page.locator("#functions-table .name").all_text_contents()]


def cell(page: Any, function: str, column: int) -> str:
    row = page.locator("#functions-table tbody tr").filter(has_text=function).first
    return str(row.locator("td .time").nth(column).text_content())


def drag(page: Any, *, chart: int = 0, begin: float, end: float) -> None:
    """Over a chart, from one part of its width to another."""
    area = page.locator("#timeline-charts .u-over").nth(chart)
    area.scroll_into_view_if_needed()
    shape = area.bounding_box()
    assert shape is not None
    y = shape["y"] + shape["height"] / 2
    page.mouse.move(shape["x"] + shape["width"] * begin, y)
    page.mouse.down()
    page.mouse.move(shape["x"] + shape["width"] * (begin + end) / 2, y)
    page.mouse.move(shape["x"] + shape["width"] * end, y)
    page.mouse.up()


# --- it opens ------------------------------------------------------------------------------


def test_it_shows_the_answer_and_every_interactive_part(open_page: Open) -> None:
    page = open_page(a_story())

    assert "657\xa0sps" in page.locator("#head").text_content()
    assert page.locator("#timeline-charts .uplot").count() == 4
    assert all(has(page, function) for function in ("step", "choose", "recv"))
    assert "deepcopy" in functions(page)
    assert page.locator("button.show-frames:visible").count() == 2


def test_a_run_without_samples_says_so_and_has_no_empty_parts(open_page: Open) -> None:
    page = open_page(a_report(), ready=False)

    assert page.locator("#head").is_visible()
    assert page.locator("#timeline, #flamegraph, #functions").count() == 0
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_without_scripts_the_findings_can_still_be_read(open_page: Open) -> None:
    page = open_page(a_story(), ready=False, java_script_enabled=False)

    assert page.locator("#finding-1").is_visible()
    assert page.locator("#processes").is_visible()
    assert page.locator("noscript p").is_visible()
    for hidden in ("#timeline", "#flamegraph", "#functions", "button.show-frames"):
        assert page.locator(hidden).first.is_hidden()


def test_data_that_cannot_be_read_leaves_the_rest_of_the_page(browser: Any, tmp_path: Path) -> None:
    text = RENDERER.render(a_story(), {})
    start = text.index('id="data">') + len('id="data">')
    path = tmp_path / "broken.html"
    path.write_text(text[:start] + "AAAA" + text[text.index("</script>", start) :])
    page = browser.new_page()
    page.goto(path.as_uri())

    page.get_by_role("alert").wait_for(timeout=10_000)

    assert "could not start" in page.get_by_role("alert").text_content()
    assert page.locator("#finding-1").is_visible()
    page.close()


@every_hostile_name
def test_hostile_names_run_nothing_and_make_no_elements(open_page: Open, name: str) -> None:
    quiet = open_page(a_hostile_report("plain"), ready=False)
    tags = "[...document.querySelectorAll('script, style, img, iframe, link, b, meta')].length"
    report = a_hostile_report(name)

    page = open_page(report, ready=report.detail is not None)

    assert page.evaluate(tags) == quiet.evaluate(tags)
    assert page.evaluate("document.querySelectorAll('[onclick], [onload], [onerror]').length") == 0


def a_hostile_detail(name: str) -> Detail:
    """The bandit's, with that name for every function, file, thread and line of the timeline."""
    plain = a_bandit_detail()
    return replace(
        plain,
        nodes=tuple(
            node._replace(frame=Frame(f"/tmp/{name}.py", f"{name}{node.id}", 3))
            for node in plain.nodes
        ),
        threads=tuple(replace(thread, name=f"{name}{thread.id}") for thread in plain.threads),
        series=tuple(series._replace(name=name) for series in plain.series),
    )


@every_hostile_name
def test_hostile_names_in_what_scripts_draw_stay_text(open_page: Open, name: str) -> None:
    report = replace(a_hostile_report(name), detail=a_hostile_detail(name))
    page = open_page(report, view="#colours=finding&finding=1")

    page.get_by_label("Filter by name or file").fill("<")
    page.get_by_label("Filter by name or file").fill("")
    page.locator("#functions-table .name").first.click()
    page.locator("#flamegraph-drawing .frame").nth(4).hover()

    drawn = "#timeline, #flamegraph, #functions"
    for tag in ("script", "img", "iframe", "b", "a", "style"):
        assert page.locator(drawn).locator(tag).count() == 0
    assert page.locator("#flamegraph-drawing .match").count() >= 1
    if name.startswith("<script>"):
        assert "<script>alert(1)</script>" in page.locator("#functions-table").text_content()


# --- the flamegraph ------------------------------------------------------------------------


def test_a_click_zooms_back_goes_back_and_reset_shows_all(open_page: Open) -> None:
    page = open_page(a_story())
    back, reset = (
        page.get_by_role("button", name=label, exact=True) for label in ("Back", "Reset zoom")
    )
    assert back.is_disabled()
    assert reset.is_disabled()

    box(page, "step").click()
    zoomed = box_width(page, "step"), labels(page)
    box(page, "_resolve").click()
    back.click()
    after_back = box_width(page, "step")
    reset.click()

    assert zoomed[0] > 1_100
    assert "choose" not in zoomed[1]
    assert after_back == pytest.approx(zoomed[0], abs=2)
    assert has(page, "choose")
    assert back.is_disabled()


def test_keys_walk_zoom_and_search_only_when_the_flamegraph_has_the_focus(open_page: Open) -> None:
    page = open_page(a_story())
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.tagName") == "BODY"

    page.locator("#flamegraph-drawing").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    zoomed = view(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    out = view(page)
    page.keyboard.press("/")
    page.keyboard.type("dictconfig")
    page.keyboard.press("Enter")
    first = selected(page)
    page.keyboard.press("Enter")

    assert "zoom=" in zoomed
    assert "zoom=" not in out
    assert (first, selected(page)) == ("__getattr__", "_get_impl")


def test_search_says_its_share_and_escape_clears_it(open_page: Open) -> None:
    page = open_page(a_story())
    field = page.get_by_role("searchbox", name="Search frames")

    field.fill("^deepcopy")
    found = page.locator(".search output").text_content()
    wait_until(page, "location.hash.includes('search')")
    field.press("Escape")

    assert "1 box" in found
    assert page.locator("#flamegraph-drawing .match").count() == 0
    wait_until(page, "!location.hash.includes('search')")


def test_metric_group_phase_and_direction_make_other_trees(open_page: Open) -> None:
    page = open_page(a_story())
    assert box(page, "recv").is_visible()

    page.get_by_label("on CPU").check()
    on_cpu = labels(page)
    page.get_by_label("waiting", exact=True).check()
    waiting = labels(page)
    page.get_by_label("wall").check()
    page.get_by_role("combobox", name="Phase").select_option("start-up")
    start_up = labels(page)
    page.get_by_role("combobox", name="Phase").select_option("")
    page.get_by_label("callers below").check()
    inverted = labels(page)
    page.get_by_label("callers below").uncheck()
    page.get_by_label("Group by").select_option("pid")
    by_pid = labels(page)

    assert "recv" not in on_cpu
    assert "deepcopy" in on_cpu
    assert "recv" in waiting
    assert "deepcopy" not in waiting
    assert "_find_and_load" in start_up
    assert "choose" not in start_up
    assert inverted[1] != labels(page)[1]
    assert {"recv", "write"} & set(inverted[1:4])
    assert sum("worker" in label for label in by_pid) == 2


def test_lines_of_a_function_become_one_box_on_demand(open_page: Open) -> None:
    page = open_page(a_story())
    page.get_by_role("searchbox", name="Search frames").fill("^<module> .*train.py")
    by_line = page.locator(".search output").text_content()

    page.get_by_label("line by line").uncheck()

    assert "3 boxes" in by_line
    assert "2 boxes" in page.locator(".search output").text_content()
    assert "by=function" in view(page)


def test_colours_by_finding_mark_its_boxes(open_page: Open) -> None:
    page = open_page(a_story())
    before = page.locator(".legend").text_content()

    page.get_by_label("Colour by").select_option("finding")

    assert page.locator(".legend").text_content() != before
    assert view(page) == "#colours=finding"


# --- the timeline --------------------------------------------------------------------------


def test_brushing_a_range_filters_the_flamegraph_and_the_table(open_page: Open) -> None:
    page = open_page(a_story())
    whole = cell(page, "deepcopy", 0)

    drag(page, begin=0.55, end=0.95)  # of 12 s, of which the last 10 are steady
    wait_until(page, "location.hash.includes('time=6-12')")

    assert "Chosen: 6 s to 12 s" in page.locator("#timeline-range").text_content()
    assert whole == "1.2 s"
    assert cell(page, "deepcopy", 0) == "720 ms"
    assert not has(page, "_find_and_load")


def test_the_mouse_over_a_chart_tells_the_values_of_all(open_page: Open) -> None:
    page = open_page(a_story())
    area = page.locator("#timeline-charts .u-over").first
    area.scroll_into_view_if_needed()
    shape = area.bounding_box()
    assert shape is not None

    page.mouse.move(
        shape["x"] + shape["width"] * 3.9 / 12, shape["y"] + 20
    )  # in the second from 3 to 4
    values = page.locator("#timeline-charts .value").all_text_contents()

    assert [value.strip() for value in values] == ["658", "2.6", "0.9", "581.7 MiB", "37 %"]


def test_the_clear_button_and_a_click_show_the_whole_run_again(open_page: Open) -> None:
    page = open_page(a_story())
    clear = page.get_by_role("button", name="Show the whole run", exact=True)
    assert clear.is_disabled()

    drag(page, chart=1, begin=0.1, end=0.3)
    wait_until(page, "location.hash.includes('time=')")
    clear.click()
    cleared = view(page)
    drag(page, begin=0.1, end=0.3)
    wait_until(page, "location.hash.includes('time=')")
    drag(page, begin=0.5, end=0.5)
    wait_until(page, "!location.hash.includes('time=')")

    assert "time=" not in cleared
    assert clear.is_disabled()


def test_a_range_is_chosen_by_keyboard_alone(open_page: Open) -> None:
    page = open_page(a_story())
    begin, end = page.get_by_label("From second"), page.get_by_label("to second")

    begin.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    by_arrows = begin.input_value(), view(page)
    end.fill("4.5")
    page.keyboard.press("Enter")
    typed = end.input_value(), view(page)

    assert by_arrows == ("2", "#time=2-12")
    assert typed == ("5", "#time=2-5")


def test_nonsense_in_the_fields_goes_back_to_the_whole_run(open_page: Open) -> None:
    page = open_page(a_story(), view="#time=2-5")

    page.get_by_label("From second").fill("11")
    page.keyboard.press("Enter")

    assert view(page) == ""
    assert page.get_by_label("to second").input_value() == "12"


# --- findings, functions -------------------------------------------------------------------


def test_a_finding_leads_to_its_frames_and_the_timeline_says_when(open_page: Open) -> None:
    page = open_page(a_story())
    button = page.locator('button.show-frames[data-rank="1"]')

    button.focus()
    page.keyboard.press("Enter")

    assert outlined(page).count() >= 1
    assert page.evaluate("document.activeElement.id") == "flamegraph-drawing"
    assert page.locator("#flamegraph-drawing").is_visible()
    assert "Finding 1: " in page.locator("#flamegraph-told").text_content()
    assert "Finding 1 takes time at 2 s to 12 s" in page.locator("#timeline-range").text_content()
    assert "finding=1" in view(page)

    page.get_by_role("button", name="Back to finding 1").click()

    assert page.evaluate("document.activeElement.dataset.rank") == "1"
    assert "finding" not in view(page)
    assert outlined(page).count() == 0


def test_what_is_said_of_a_findings_frames_follows_the_range(open_page: Open) -> None:
    page = open_page(a_story())
    told = page.locator("#flamegraph-told")

    page.locator('button.show-frames[data-rank="1"]').click()
    whole = told.text_content()
    drag(page, begin=0.55, end=0.95)
    wait_until(page, "location.hash.includes('time=')")
    part = told.text_content()
    page.get_by_role("button", name="Back to finding 1").click()

    assert whole.endswith(" % of the time of all processes.")
    assert part.endswith(" % of the time of all processes, in what is chosen.")
    assert whole.split(", ")[1].split(" of ")[0] != part.split(", ")[1].split(" of ")[0]
    assert told.text_content() == ""


def test_a_finding_that_is_filtered_out_is_shown_all_the_same(open_page: Open) -> None:
    page = open_page(a_story(), view="#phase=start-up&metric=idle&callers=yes&time=0-2")

    page.locator('button.show-frames[data-rank="1"]').click()

    assert outlined(page).count() >= 1
    assert "callers" not in view(page)
    assert "phase" not in view(page)


def test_functions_are_sorted_by_any_column(open_page: Open) -> None:
    page = open_page(a_story())
    head = page.locator("#functions-table thead th")
    assert head.nth(1).get_attribute("aria-sort") == "descending"

    page.get_by_role("button", name="Function").focus()
    page.keyboard.press("Enter")
    names = functions(page)
    page.keyboard.press("Enter")

    assert names == sorted(names)
    assert functions(page) == sorted(names, reverse=True)
    assert head.nth(0).get_attribute("aria-sort") == "descending"
    assert head.nth(1).get_attribute("aria-sort") is None


def test_functions_are_filtered_and_found_in_the_flamegraph(open_page: Open) -> None:
    page = open_page(a_story())

    page.get_by_label("Filter by name or file").fill("omegaconf")
    filtered = functions(page)
    page.get_by_role("button", name="_resolve").click()

    assert set(filtered) == {"__getattr__", "_get_impl", "_resolve"}
    assert selected(page) == "_resolve"
    assert page.locator("#flamegraph-drawing .match").count() == 1
    assert page.evaluate("document.activeElement.id") == "flamegraph-drawing"


def test_more_than_a_hundred_functions_come_on_demand(open_page: Open) -> None:
    stacks = [("0 MainThread", 0.1, f"f{n:03} /a.py:{n} yours") for n in range(1, 251)]
    page = open_page(a_report(seen={"detail": a_detail(*stacks)}))
    more = page.get_by_role("button", name="Show 100 more")

    counts = [len(functions(page))]
    for _ in range(2):
        more.click()
        counts.append(len(functions(page)))

    assert counts == [100, 200, 250]
    assert more.is_hidden()
    assert page.evaluate("document.activeElement.classList.contains('name')")


# --- links to views, themes, widths --------------------------------------------------------


def test_a_link_to_a_view_opens_it(open_page: Open) -> None:
    first = open_page(a_story())
    first.get_by_label("Group by").select_option("pid")
    drag(first, begin=0.55, end=0.95)
    wait_until(first, "location.hash.includes('time=')")
    box(first, "step").click()
    wait_until(first, "location.hash.includes('zoom=')")
    shown = labels(first)

    again = open_page(a_story(), view=view(first))

    assert labels(again) == shown
    assert again.get_by_label("Group by").input_value() == "pid"
    assert again.get_by_label("From second").input_value() == "6"


def test_the_browsers_back_undoes_a_choice(open_page: Open) -> None:
    page = open_page(a_story())
    page.get_by_label("Group by").select_option("pid")
    page.get_by_label("on CPU").check()

    page.go_back()
    once = page.get_by_label("Group by").input_value(), page.get_by_label("wall").is_checked()
    page.go_back()

    assert once == ("pid", True)
    assert page.get_by_label("Group by").input_value() == "role"
    assert view(page) == ""


def test_an_address_that_makes_no_sense_shows_the_whole_run(open_page: Open) -> None:
    page = open_page(a_story(), view="#metric=x&time=90-99&zoom=99999999&finding=77&phase=%00")

    assert has(page, "choose")
    assert page.get_by_label("wall").is_checked()


def test_an_anchor_goes_to_its_part_and_changes_no_view(open_page: Open) -> None:
    page = open_page(a_story(), view="#group=pid")

    page.get_by_role("link", name="Processes").click()

    assert page.get_by_label("Group by").input_value() == "pid"
    assert page.locator("#processes").is_visible()


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
PIXELS = """() => [...document.querySelectorAll("#timeline-charts canvas")].map((it) => it.toDataURL())"""


def test_dark_and_light_follow_the_system_until_the_button_says_otherwise(open_page: Open) -> None:
    light = open_page(a_story(), color_scheme="light")
    dark = open_page(a_story(), color_scheme="dark")
    button = dark.get_by_role("button", name="Theme")

    at_first = dark.evaluate(BACKGROUND), dark.evaluate(PIXELS)
    button.click()

    assert at_first[0] != light.evaluate(BACKGROUND)
    assert dark.evaluate(BACKGROUND) == light.evaluate(BACKGROUND)
    assert button.text_content() == "Theme: light"
    assert dark.evaluate(PIXELS) != at_first[1]
    button.click()
    button.click()
    assert button.text_content() == "Theme: auto"
    assert dark.evaluate(BACKGROUND) == at_first[0]


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(open_page: Open, width: int) -> None:
    page = open_page(a_story(), width=width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert box_width(page, "all processes") > width * 0.85


@pytest.mark.parametrize("width", [1280, 400])
def test_what_was_tried_can_be_read_on_any_window(open_page: Open, width: int) -> None:
    page = open_page(a_tried_story(), width=width)

    measured = page.locator("table.experiments tbody tr").first.locator("td").nth(2).bounding_box()

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert measured is not None
    assert measured["x"] + measured["width"] <= width


def test_hot_lines_are_as_wide_as_a_phone(open_page: Open) -> None:
    page = open_page(a_story(), width=400)

    told = page.locator("table.hot tbody th").first.bounding_box()
    button = page.locator("table.hot .show-frames").first

    assert told is not None
    assert told["width"] > 300
    assert button.evaluate("it => it.scrollWidth <= it.clientWidth")


PLACEHOLDER = """it => {
  const style = getComputedStyle(it);
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.font = style.font;
  const room = it.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return room - canvas.measureText(it.placeholder).width;
}"""


@pytest.mark.parametrize("width", [320, 400, 1280])
def test_the_search_field_can_be_read(open_page: Open, width: int) -> None:
    page = open_page(a_story(), width=width)

    field = page.get_by_role("searchbox", name="Search frames")

    assert field.evaluate(PLACEHOLDER) > 20  # for the cross that clears it


def test_captions_stay_in_sight_while_their_tables_scroll(open_page: Open) -> None:
    page = open_page(a_story(), width=400)
    seen = page.evaluate(
        """() => [...document.querySelectorAll(".scrolling")].filter((it) => it.scrollWidth > it.clientWidth + 40).flatMap((it) => {
          const caption = it.querySelector("caption");
          it.scrollLeft = 9999;
          const { left, right } = caption.getBoundingClientRect();
          return caption.offsetHeight > 1 ? [[left, right]] : [];
        })"""
    )

    assert seen
    assert all(0 <= left < right <= 400 for left, right in seen)


def test_charts_and_flamegraph_follow_the_width_of_the_window(open_page: Open) -> None:
    page = open_page(a_story(), width=1280)

    page.set_viewport_size({"width": 500, "height": 800})

    wait_until(page, "document.querySelector('.uplot').clientWidth < 500")
    wait_until(
        page, "document.querySelector('#flamegraph-drawing .frame rect').getBBox().width < 500"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 500


def test_the_page_runs_nothing_but_its_own_scripts(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(RENDERER.render(a_story(), {}), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", state="attached")

    ran = page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.injected = 'script'";
          const button = document.createElement("button");
          button.setAttribute("onclick", "window.injected = 'handler'");
          document.body.append(script, button);
          button.click();
          return window.injected ?? "nothing";
        }"""
    )

    page.close()
    assert ran == "nothing"


def test_a_detail_without_series_has_a_flamegraph_and_no_timeline(open_page: Open) -> None:
    page = open_page(a_report(seen={"detail": replace(a_bandit_detail(), series=())}))

    assert page.locator("#timeline").is_hidden()
    assert has(page, "choose")


# --- runs that are hard to show ------------------------------------------------------------


def test_a_thousand_calls_deep_scrolls_in_a_window_of_its_own(open_page: Open) -> None:
    deep = " > ".join(f"f{n} /home/a.py:{n + 1} yours" for n in range(1_000))
    page = open_page(a_report(seen={"detail": a_detail(("0 MainThread", 3, deep))}))

    page.get_by_role("searchbox", name="Search frames").fill("^f999 ")
    page.keyboard.press("Enter")

    assert selected(page) == "f999"
    assert page.locator("#flamegraph-drawing .selected rect").first.is_visible()
    section = page.locator("#flamegraph").bounding_box()
    assert section is not None
    assert section["height"] < 1_400


def test_many_stacks_open_and_zoom_without_a_wait(open_page: Open) -> None:
    """A bound for broken code; benchmarks/page_in_browser.py has the figures."""
    stacks = [
        ("0 MainThread", 0.001, f"main /a.py:1 yours > f{n % 97} /b.py:{n % 97} yours > g{n} /c.py:{n} yours")
        for n in range(1, 10_001)
    ]  # fmt: skip
    begun = time.monotonic()
    page = open_page(a_report(seen={"detail": a_detail(*stacks)}))
    page.locator("#flamegraph-drawing").focus()
    opened = time.monotonic() - begun

    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_timeout(0)

    assert "zoom=" in view(page)
    assert opened < 15
    assert time.monotonic() - begun - opened < 5


# --- by keyboard alone ---------------------------------------------------------------------


def test_tab_reaches_every_part_and_is_trapped_nowhere(open_page: Open) -> None:
    page = open_page(a_story())
    reached: list[str] = []
    for _ in range(150):
        page.keyboard.press("Tab")
        where = page.evaluate(
            "[document.activeElement.id, document.activeElement.className, document.activeElement.closest('section')?.id].join(' ')"
        )
        reached.append(where)
        if "processes" in where:
            break

    text = "\n".join(reached)
    assert "skip" in reached[0]
    for part in ("show-frames", "timeline", "flamegraph-drawing", "name functions", "processes"):
        assert part in text
