"""The flamegraph as its reader meets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.report_factories import a_flame, a_report, a_story

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


def frame(page: Any, label: str) -> Any:
    return page.locator("#frames > g").filter(has_text=label).first


def labels(page: Any) -> list[str]:
    return [text.split("  ")[0] for text in page.locator("#frames text").all_text_contents()]


def width(page: Any, label: str) -> float:
    box = frame(page, label).locator("rect").first.bounding_box()
    assert box is not None
    return float(box["width"])


def selected(page: Any) -> str:
    return str(page.locator("#frames > g.selected text").text_content()).split("  ")[0]


def test_a_click_zooms_and_escape_goes_back_step_by_step(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story())

    frame(page, "step").click()
    step_zoomed = width(page, "step"), labels(page)
    frame(page, "_resolve").click()
    resolve_zoomed = width(page, "_resolve")
    page.keyboard.press("Escape")
    back = width(page, "step"), labels(page)
    page.keyboard.press("Backspace")

    assert step_zoomed[0] > 1_150
    assert "choose" not in step_zoomed[1]
    assert resolve_zoomed > 1_150
    # A box under the mouse has an outline, which counts as a pixel of its width.
    assert back == (pytest.approx(step_zoomed[0], abs=2), step_zoomed[1])
    assert "choose" in labels(page)


def test_reset_shows_everything_again(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story())
    frame(page, "step").click()
    frame(page, "_resolve").click()

    page.get_by_role("button", name="Reset zoom").click()

    assert "choose" in labels(page)
    assert page.get_by_role("button", name="Reset zoom").is_disabled()


@pytest.mark.parametrize("key", ["/", "Control+f"])
def test_search_marks_matches_and_counts_nested_ones_once(open_flamegraph: Open, key: str) -> None:
    recursive = a_flame(
        (3, "walk a.py:1 yours > walk a.py:2 yours > leaf a.py:3 yours"), (1, "other b.py:1 yours")
    )
    page = open_flamegraph(a_report(flame=recursive))

    page.keyboard.press(key)
    page.keyboard.type("^walk|leaf")

    assert page.locator("#frames > g.match").count() == 3
    assert page.locator("output").text_content() == "75 % of all"


def test_escape_in_the_field_ends_the_search(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story())
    page.keyboard.press("/")
    page.keyboard.type("omegaconf")
    found = page.locator("#frames > g.match").count()

    page.keyboard.press("Escape")

    assert found == 3
    assert page.locator("#frames > g.match").count() == 0


def test_a_pattern_that_is_no_regular_expression_is_taken_literally(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story())

    page.keyboard.press("/")
    page.keyboard.type("step(")

    assert page.locator("output").text_content() == "no match, taken literally"


def test_arrows_walk_enter_zooms_and_n_goes_to_the_next_match(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story())

    for _ in range(6):
        page.keyboard.press("ArrowDown")
    deepest = selected(page)
    page.keyboard.press("ArrowLeft")
    beside = selected(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    zoomed = width(page, "step")
    page.keyboard.press("0")
    page.keyboard.press("/")
    page.keyboard.type("dictconfig")
    page.keyboard.press("Enter")
    first = selected(page)
    page.keyboard.press("n")

    assert (deepest, beside) == ("step", "garbage-collection"[: len(beside) - 1] + "…")
    assert zoomed > 1_150
    assert (first, selected(page)) == ("__getattr__", "_get_impl")


def test_the_tooltip_says_place_times_and_shares(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story())

    frame(page, "recv").hover()

    assert page.locator(".tooltip text").all_text_contents() == [
        "recv",
        "/usr/lib/python3.11/multiprocessing/connection.py:250",
        "wall 900 ms, CPU 0 µs, waiting 900 ms",
        "7.8 % of all, 100 % of its caller",
    ]


def test_it_is_as_wide_as_the_window(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story(), width=1_600)
    wide = width(page, "MainThread")

    page.set_viewport_size({"width": 700, "height": 600})
    page.wait_for_function("document.querySelector('#frames rect').getBBox().width < 700")

    assert wide > 1_550
    assert 600 < width(page, "MainThread") < 700


def test_the_header_stays_in_sight(open_flamegraph: Open) -> None:
    deep = a_flame((1, " > ".join(f"f{n} a.py:{n} yours" for n in range(300))))
    page = open_flamegraph(a_report(flame=deep))

    page.evaluate("window.scrollTo(0, 3000)")
    page.wait_for_function("document.getElementById('header').getAttribute('transform')")

    box = page.locator("#header .title").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 40


def test_scripts_draw_the_colours_that_are_there_without_them(open_flamegraph: Open) -> None:
    colours = """() => Object.fromEntries(
      [...document.querySelectorAll("#frames > g")].map((it) => [it.querySelector("text")?.textContent.slice(0, 5), it.getAttribute("class")])
    )"""
    with_scripts = open_flamegraph(a_story()).evaluate(colours)
    without = open_flamegraph(a_story(), java_script_enabled=False).evaluate(colours)

    assert len(without) > 8
    assert {name: with_scripts.get(name) for name in without} == without


def test_without_scripts_it_can_still_be_read(open_flamegraph: Open) -> None:
    page = open_flamegraph(a_story(), java_script_enabled=False)

    assert page.locator("#frames text", has_text="_get_impl").is_visible()
    assert page.locator("#header text", has_text="657 sps").is_visible()


def test_hostile_names_run_nothing(open_flamegraph: Open) -> None:
    page = open_flamegraph(
        a_report(flame=a_flame((1, "<script>document.title='owned'</script> a.py:1 yours")))
    )

    frame(page, "<script>").hover()

    assert page.title() != "owned"
    assert page.locator("script").count() == 1


CONTRASTS = """() => {
  const channels = (text) => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const mixed = (over, under, part) => over.map((value, i) => value * part + under[i] * (1 - part));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const page = channels(getComputedStyle(document.querySelector(".page")).fill);
  const found = {};
  const kinds = ["root", "process", "thread", "yours", "library", "stdlib", "runtime"].flatMap((kind) => [0, 1, 2, 3, 4, 5].map((shade) => `${kind} j${shade}`));
  const findings = ["plain", ...[1, 2, 3, 4, 5, 6, 7, 8].map((rank) => `f${rank}`)];
  const changes = ["same", ...[1, 2, 3].flatMap((level) => [`less${level}`, `more${level}`])];
  for (const names of [...kinds, ...findings, ...changes])
    for (const state of ["", "waiting", "above", "match"]) {
      const box = document.querySelector("#frames > g").cloneNode(true);
      box.setAttribute("class", `frame ${names} ${state}`);
      document.getElementById("frames").append(box);
      const text = box.querySelector("text");
      const place = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
      place.setAttribute("class", "place");
      text.append(place);
      const style = getComputedStyle(box.querySelector("rect"));
      const back = mixed(channels(style.fill), page, Number(style.fillOpacity));
      const ink = channels(getComputedStyle(text).fill);
      const faded = mixed(ink, back, Number(getComputedStyle(place).fillOpacity));
      found[box.getAttribute("class")] = Math.min(contrast(ink, back), contrast(faded, back));
      box.remove();
    }
  for (const name of ["subtitle", "alert", "quiet"]) {
    const line = document.querySelector(`#header .${name}`);
    found[name] = contrast(channels(getComputedStyle(line).fill), page);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa_in_both_schemes(
    open_flamegraph: Open, scheme: str
) -> None:
    page = open_flamegraph(a_story(), color_scheme=scheme)

    contrasts = page.evaluate(CONTRASTS)

    assert len(contrasts) == (7 * 6 + 9 + 7) * 4 + 3
    assert {name: value for name, value in contrasts.items() if value < 4.5} == {}


HUES = """() => {
  const box = document.querySelector("#frames > g").cloneNode(true);
  document.getElementById("frames").append(box);
  const channels = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const hue = ([r, g, b]) => Math.atan2(Math.sqrt(3) * (g - b), 2 * r - g - b) * 180 / Math.PI;
  return ["yours", "library", "stdlib", "runtime"].map((kind) => [0, 1, 2, 3, 4, 5].map((shade) => {
    box.setAttribute("class", `frame ${kind} j${shade}`);
    return hue(channels(getComputedStyle(box.querySelector("rect")).fill));
  }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_shades_of_a_kind_read_as_one_hue(open_flamegraph: Open, scheme: str) -> None:
    kinds = open_flamegraph(a_story(), color_scheme=scheme).evaluate(HUES)

    means = [sum(hues) / len(hues) for hues in kinds]
    for hues in kinds:
        assert 3 < max(hues) - min(hues) < 12
    assert all(abs(one - other) > 40 for one in means for other in means if one is not other)


def test_dark_is_dark(open_flamegraph: Open) -> None:
    light = open_flamegraph(a_story(), color_scheme="light")
    dark = open_flamegraph(a_story(), color_scheme="dark")

    fill = "getComputedStyle(document.querySelector('.page')).fill"
    assert light.evaluate(fill) != dark.evaluate(fill)
