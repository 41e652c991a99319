"""What every renderer must do. A new one is covered the day it is added."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace

import pytest

from rlprof.discovery import discover_renderers
from rlprof.model.detail import Detail
from rlprof.model.flame import Flame
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.renderers.base import Renderer
from tests.experiment_factory import a_gain
from tests.golden_files import check_golden, without_assets
from tests.report_factories import (
    a_detail,
    a_finding,
    a_flame,
    a_location,
    a_process,
    a_report,
    a_story,
)

RENDERERS = discover_renderers()
every_renderer = pytest.mark.parametrize("renderer", RENDERERS, ids=lambda r: r.name)
TEXT_RENDERERS = [renderer for renderer in RENDERERS if not renderer.suffixes[0].endswith(".gz")]
every_text_renderer = pytest.mark.parametrize("renderer", TEXT_RENDERERS, ids=lambda r: r.name)
"""What is packed has its golden file, of what is in it, and its hostile names in its own tests."""

HOSTILE = (
    "<script>alert(1)</script>",
    "]]></style></script>",
    "\"quoted\" 'twice' & more | cells `ticks`",
    "new\nline\r\ttab",
    "\x1b[2J\x00\x07\x9b",
    "caf\udce9.py",
    "\ufffe\uffff",
    "right\u202eto-left",
    "[bold]markup[/bold] :bug: {{ 7 * 7 }} {% raw %}",
    "x" * 10_000,
)


def a_hostile_report(name: str) -> Report:
    frame = name.replace(" ", "_").replace("~", "") or "_"
    return a_report(
        findings=[
            a_finding(
                "omegaconf-in-loop",
                name,
                locations=[a_location(f"/tmp/{name}:3", name, source=name)],
                evidence=[name],
                fix=name,
            )
        ],
        also_seen=[a_finding(title=name, locations=[a_location(f"{name}:1", name)])],
        processes=[a_process(command=name, note=name)],
        notes=[Note("warning", "odd", name)],
        flame=a_flame((1.0, f"{frame} /tmp/{frame}:3 yours"), title=name),
        seen={
            "detail": a_detail((f"0 {name}", 1.0, f"{frame} /tmp/{frame}:3 yours")),
            "experiments": (replace(a_gain(name), file=name, treatment=name, note=name),),
        },
        command=("python", name),
        script=name,
        label=name,
    )


def a_deep_report() -> Report:
    stack = " > ".join(f"f{n} a.py:{n} yours" for n in range(5_000))
    return a_report(
        flame=a_flame((1.0, stack)), seen={"detail": a_detail(("0 MainThread", 1.0, stack))}
    )


def an_empty_report(detail: Detail | None) -> Report:
    return a_report(
        sps=None, processes=[], wall_us=0, flame=Flame("", "wall", "", ()), exit_code=None, command=(),
        seen={"detail": detail},
    )  # fmt: skip


def unpacked(document: str | bytes) -> str:
    return gzip.decompress(document).decode("latin-1") if isinstance(document, bytes) else document


def without_pages(document: str | bytes) -> str:
    """Without the pages of detectors that SARIF carries: they are documents of their own."""
    text = re.sub(r'("(?:text|markdown)": )"# .*"', r'\1"(the page)"', unpacked(document))
    return re.sub(r'("fullDescription": \{\s+"text": )".*"', r'\1"(of the page)"', text)


def test_names_and_endings_belong_to_one_renderer_each() -> None:
    names = [renderer.name for renderer in RENDERERS]
    endings = [suffix for renderer in RENDERERS for suffix in renderer.suffixes]

    assert {"terminal", "json", "svg"} <= set(names)
    assert len(set(names)) == len(names)
    assert len(set(endings)) == len(endings)


@every_text_renderer
def test_the_story_looks_as_it_did(renderer: Renderer) -> None:
    check_golden(
        f"story{renderer.suffixes[0]}",
        without_assets(without_pages(renderer.render(a_story(), {}))),
    )


@every_text_renderer
def test_a_run_with_nothing_to_fix_looks_as_it_did(renderer: Renderer) -> None:
    check_golden(
        f"nothing-found{renderer.suffixes[0]}",
        without_assets(without_pages(renderer.render(a_report(), {}))),
    )


@every_renderer
def test_the_same_report_gives_the_same_bytes(renderer: Renderer) -> None:
    assert renderer.render(a_story(), {}) == renderer.render(a_story(), {})


@every_renderer
@pytest.mark.parametrize("detail", [None, Detail()], ids=["no-detail", "nothing-in-it"])
def test_an_empty_run_is_no_reason_to_fail(renderer: Renderer, detail: Detail | None) -> None:
    assert renderer.render(an_empty_report(detail), {}).strip()


@every_renderer
def test_a_very_deep_stack_is_no_reason_to_fail(renderer: Renderer) -> None:
    assert renderer.render(a_deep_report(), {}).strip()


@every_text_renderer
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:20]))
def test_hostile_names_come_out_printable_and_short(renderer: Renderer, name: str) -> None:
    text = renderer.render(a_hostile_report(name), {})

    text.encode("utf-8")
    assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff\u202e]", text)
    if renderer.name != "json":
        assert "x" * 2_000 not in text


@every_renderer
def test_what_was_not_seen_is_shown(renderer: Renderer) -> None:
    report = a_report(notes=[Note("warning", "process-missed", "process 77 escaped sampling")])

    assert "process 77 escaped sampling" in unpacked(renderer.render(report, {}))
