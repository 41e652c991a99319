"""A headless Chromium, or a skip that says how to get one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlprof.model.report import Report
from rlprof.renderers.html import RENDERER as PAGE
from rlprof.renderers.svg import RENDERER

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
INSTALL = "needs Chromium: apt-get install chromium"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip(INSTALL)
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a file, without a network; the test fails on any error that the page logs, and on anything that it asks for."""
    contexts = []
    errors: list[str] = []

    def open_it(path: Path, *, size: tuple[int, int], view: str = "", **settings: Any) -> Any:
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.startswith("file://") or errors.append(request.url),
        )
        page.goto(path.as_uri() + view)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def open_flamegraph(open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Open the flamegraph of a report."""

    def open_it(report: Report, *, width: int = 1200, **settings: Any) -> Any:
        path = tmp_path / "flame.svg"
        path.write_text(RENDERER.render(report, {}), encoding="utf-8")
        return open_file(path, size=(width, 600), **settings)

    return open_it


@pytest.fixture
def open_page(open_file: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Open the HTML report of a report, or another page."""

    def open_it(
        report: Report,
        *,
        width: int = 1280,
        ready: bool = True,
        path: Path | None = None,
        **settings: Any,
    ) -> Any:
        if path is None:
            path = tmp_path / f"page-{len(list(tmp_path.iterdir()))}.html"
            path.write_text(PAGE.render(report, {}), encoding="utf-8")
        page = open_file(path, size=(width, 800), **settings)
        if ready:
            page.wait_for_selector("html[data-ready=yes]", state="attached")
        return page

    return open_it
