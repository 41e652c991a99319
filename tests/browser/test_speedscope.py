"""The real speedscope opens what rlprof exports: its own format, and others that it reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlprof.model.report import Report
from rlprof.renderers.base import Renderer
from rlprof.renderers.collapsed import RENDERER as COLLAPSED
from rlprof.renderers.pprof import RENDERER as PPROF
from rlprof.renderers.speedscope import RENDERER as SPEEDSCOPE
from tests.report_factories import a_detail, a_report, a_story

PAGE = (
    Path(__file__).parents[2]
    / "build/browser-packages/node_modules/speedscope/dist/release/index.html"
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason="needs speedscope of npm: make browser"),
]

Open = Callable[[Renderer, Report], Any]


@pytest.fixture
def open_in_speedscope(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Open an export as ``npx speedscope FILE`` does; the test fails when speedscope complains."""
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800})

    def open_it(renderer: Renderer, report: Report) -> Any:
        document = renderer.render(report, {})
        data = document.encode() if isinstance(document, str) else document
        name = json.dumps(f"run{renderer.suffixes[0]}")
        packed = json.dumps(base64.b64encode(data).decode())
        script = tmp_path / "profile.js"
        script.write_text(f"speedscope.loadFileFromBase64({name}, {packed})")
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("console", lambda message: complaints.extend(_complaint(message)))
        page.goto(f"{PAGE.as_uri()}#localProfilePath={script}&view=sandwich")
        page.get_by_text("Symbol Name").wait_for()
        return page

    yield open_it
    context.close()
    assert complaints == []


def _complaint(message: Any) -> list[str]:
    # Of drawing without a graphics card, the driver complains by itself.
    is_one = message.type in ("warning", "error") and "GL Driver Message" not in message.text
    return [message.text] if is_one else []


def rows(page: Any) -> dict[str, tuple[str, str]]:
    """(total, self) by function, from the table of the sandwich view."""
    lines = [
        splitline.strip()
        for splitline in page.inner_text("body").split("Symbol Name")[1].splitlines()
    ]
    cells = [line for line in lines if line]
    return {name: (total, own) for total, own, name in zip(*[iter(cells)] * 3, strict=False)}


def test_every_thread_is_a_profile_by_its_name(open_in_speedscope: Open) -> None:
    page = open_in_speedscope(SPEEDSCOPE, a_story())

    shown = []
    for _ in range(4):
        shown.append(page.get_by_text(", pid ").first.inner_text())
        page.keyboard.press("n")

    assert shown == [
        "main, pid 1000, MainThread (1/4)",
        "main, pid 1000, writer 5001 (2/4)",
        "worker, pid 1001, MainThread (3/4)",
        "worker, pid 1002, MainThread (4/4)",
    ]


def test_frames_have_the_time_that_they_took(open_in_speedscope: Open) -> None:
    shown = rows(open_in_speedscope(SPEEDSCOPE, a_story()))

    assert shown["step"] == ("6.70s (58%)", "0.00ns (<0.01%)")
    assert shown["_get_impl"] == ("3.10s (27%)", "3.10s (27%)")
    assert shown["train"] == ("9.60s (83%)", "0.00ns (<0.01%)")


def test_a_run_without_samples_is_opened_and_says_so(open_in_speedscope: Open) -> None:
    page = open_in_speedscope(SPEEDSCOPE, a_report(seen={"detail": a_detail()}))

    assert page.get_by_text("No samples: there are no stacks").first.is_visible()


@pytest.mark.parametrize("renderer", [PPROF, COLLAPSED], ids=lambda renderer: renderer.name)
def test_the_other_exports_of_stacks_are_read_as_well(
    open_in_speedscope: Open, renderer: Renderer
) -> None:
    shown = rows(open_in_speedscope(renderer, a_story()))

    [(total, own)] = [row for name, row in shown.items() if "dictconfig.py:_get_impl" in name]
    assert total == own
    assert total.startswith(("3.10s", "3,100,000"))
