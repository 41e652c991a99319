from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.flame import Flame
from rlprof.model.recording import Frame, Node, Note, Samples
from rlprof.model.report import Report
from rlprof.profile.build import build_profile
from rlprof.profile.flame import build_flame
from rlprof.renderers.svg import RENDERER
from rlprof.renderers.svg.document import MAX_BYTES, Drawing, svg_document
from rlprof.renderers.svg.shapes import GrowthShare
from tests.factories import a_run
from tests.report_factories import SITE, a_flame, a_process, a_report, a_story

SVG = "{http://www.w3.org/2000/svg}"

any_text = st.text(st.characters(), max_size=40)


def drawn(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(RENDERER.render(report, {}))


def boxes(svg: ElementTree.Element) -> list[ElementTree.Element]:
    [frames] = [g for g in svg.iter(f"{SVG}g") if g.get("id") == "frames"]
    return list(frames)


def box(svg: ElementTree.Element, label: str) -> ElementTree.Element:
    [found] = [b for b in boxes(svg) if b.findtext(f"{SVG}title", "").startswith(label)]
    return found


def place(svg: ElementTree.Element, label: str) -> tuple[float, float, float]:
    rect = box(svg, label).find(f"{SVG}rect")
    assert rect is not None
    return float(rect.attrib["x"]), float(rect.attrib["y"]), float(rect.attrib["width"])


def data(svg: ElementTree.Element) -> Any:
    text = svg.findtext(f"{SVG}metadata")
    assert text is not None
    return json.loads(text)


def all_text(svg: ElementTree.Element) -> str:
    return "\n".join("".join(text.itertext()) for text in svg.iter(f"{SVG}text"))


def test_widths_are_shares_and_depth_goes_down() -> None:
    svg = drawn(
        a_report(flame=a_flame((3, "f a.py:1 yours > g a.py:2 yours"), (1, "f a.py:1 yours")))
    )

    f_left, f_top, f_width = place(svg, "f ")
    g_left, g_top, g_width = place(svg, "g ")

    assert g_left == f_left
    assert g_top > f_top
    assert abs(g_width / f_width - 0.75) < 0.01


def test_a_box_that_mostly_waits_looks_so() -> None:
    svg = drawn(a_story())

    assert "waiting" in box(svg, "recv").attrib["class"].split()
    assert "waiting" not in box(svg, "step").attrib["class"].split()


def test_a_name_is_elided_to_the_room_there_is() -> None:
    svg = drawn(a_report(flame=a_flame((95, "wide a.py:1 yours"), (5, "n" * 60 + " a.py:2 yours"))))

    text = box(svg, "nnn").findtext(f"{SVG}text")

    assert text is not None
    assert text.endswith("…")
    assert len(text) < 10


def test_boxes_too_thin_for_a_still_picture_are_there_for_the_script() -> None:
    svg = drawn(a_report(flame=a_flame((999, "wide a.py:1 yours"), (1, "thin a.py:2 yours"))))

    assert "thin" in data(svg)["strings"]
    assert all("thin" not in b.findtext(f"{SVG}title", "") for b in boxes(svg))


def test_a_function_keeps_its_shade_from_run_to_run() -> None:
    alone = drawn(a_report(flame=a_flame((1, "step a.py:1 yours"))))
    beside = drawn(a_report(flame=a_flame((1, "step a.py:1 yours"), (5, "log b.py:1 library"))))

    assert box(alone, "step").attrib["class"] == box(beside, "step").attrib["class"]


def test_the_header_says_command_speed_and_what_was_not_seen() -> None:
    report = a_report(
        processes=[a_process(), a_process(7, "worker", sampled=False)],
        notes=[
            Note("warning", "lost", "Two samplers were killed."),
            Note("info", "fyi", "All quiet."),
        ],
    )

    text = all_text(drawn(report))

    assert "python train.py seed=1" in text
    assert "657 sps" in text
    assert "Not seen: 1 of 2 processes." in text
    assert "Two samplers were killed." in text
    assert "All quiet." not in text


def test_an_empty_run_says_that_there_is_nothing_to_draw() -> None:
    assert "No samples" in all_text(drawn(a_report(flame=a_flame())))


def test_nothing_is_fetched_from_anywhere() -> None:
    text = RENDERER.render(a_story(), {})

    assert "href" not in text
    assert "@import" not in text
    assert text.count("http") == text.count("http://www.w3.org/")


def test_five_thousand_boxes_stay_under_a_megabyte() -> None:
    stacks = [
        (
            20 / (n + 1),
            " > ".join(
                f"function_{level}_{n % (level + 1)} {SITE}/package/module_{level}.py:{level} library"
                for level in range(30)
            ),
        )
        for n in range(200)
    ]

    report = a_report(flame=a_flame(*stacks))

    assert len(report.flame.frames) > 4_500
    assert len(RENDERER.render(report, {}).encode()) < 1_000_000


def a_big_flame(*, nodes: int, name: str = "function", seed: int = 1) -> Flame:
    """A recording of so many nodes, each a little of the time, as it is drawn."""
    chance = random.Random(seed)
    run = a_run().process("main", steps=1_000).recording()
    tree = tuple(
        Node(
            number,
            max(-1, number - 1 - int(2_000 * chance.random())),
            Frame(f"{SITE}/package/{name}_{number % 700}.py", f"{name}_{number % 5_000}", number),
        )
        for number in range(nodes)
    )
    samples = Samples()
    for number in range(nodes):
        wall = int(chance.paretovariate(1.2) * 10)
        samples.add(10, 0, number, wall, wall // 3, wall - wall // 3)
    return build_flame(replace(run, nodes=tree, samples=samples), build_profile(run))


def pruned_share(text: str) -> float:
    """As the header of the file says it."""
    return float(text.partition("left out (")[2].partition(" %")[0]) / 100


def test_a_run_of_a_hundred_thousand_nodes_stays_under_a_megabyte_and_says_what_is_left_out() -> (
    None
):
    flame = a_big_flame(nodes=100_000)

    text = RENDERER.render(a_report(flame=flame), {})

    assert len(text.encode()) < 1_000_000
    columns = data(ElementTree.fromstring(text))["columns"]
    assert columns["wall"][0] == flame.frames[0].wall_us
    assert len(columns["parent"]) < len(flame.frames)
    assert pruned_share(text) > flame.pruned_share > 0


def test_very_long_names_make_fewer_boxes_and_not_a_larger_file() -> None:
    text = RENDERER.render(a_report(flame=a_big_flame(nodes=20_000, name="ü" * 500)), {})

    assert MAX_BYTES // 2 < len(text.encode()) < 1_000_000
    assert pruned_share(text) > 0


def test_a_recursion_thousands_deep_stays_under_a_megabyte() -> None:
    deep = a_flame((1, " > ".join(f"f{n} a.py:{n} yours" for n in range(20_000))))

    text = RENDERER.render(a_report(flame=deep), {})

    assert len(text.encode()) < 1_000_000


def test_a_comparison_is_coloured_by_what_changed() -> None:
    flame = a_flame((2, "worse a.py:1 yours"), (1, "better a.py:2 yours"), (1, "same a.py:3 yours"))
    changed = {"worse": 0.2, "better": -0.01, "same": 0.002}
    changes = tuple(
        GrowthShare(
            changed.get(frame.label, 0.0), 0.004, frame.label in ("worse", "better"), "5 ms → 4 ms"
        )
        for frame in flame.frames
    )

    svg = ElementTree.fromstring(
        svg_document(Drawing("a to b", "widths are b's", flame.frames, changes=changes))
    )

    classes = {name: box(svg, name).attrib["class"].split()[1] for name in changed}
    assert classes == {"worse": "more3", "better": "less2", "same": "same"}
    assert "within the noise" in all_text(svg)
    assert "your code" not in all_text(svg)
    assert (
        box(svg, "better")
        .findtext(f"{SVG}title", "")
        .endswith(": 25 %, 5 ms → 4 ms, −1.0 % of the base (noise ± 0.4 %)")
    )
    assert data(svg)["colours"] == "change"
    assert sum(data(svg)["columns"]["clear"]) == 2


@given(label=any_text, file=any_text, title=any_text, note=any_text, argument=any_text)
def test_any_report_is_valid_xml(
    label: str, file: str, title: str, note: str, argument: str
) -> None:
    report = a_report(
        flame=a_flame((1, "f a.py:1 yours"), title=title),
        notes=[Note("warning", "odd", note)],
        command=("python", argument),
    )
    frames = report.flame.frames
    hostile = (*frames[:-1], frames[-1]._replace(label=label, file=file))
    object.__setattr__(report.flame, "frames", hostile)

    svg = drawn(report)

    assert len(boxes(svg)) == len(frames)
