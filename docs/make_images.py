"""The pictures of the documentation, from recordings of the examples made right now: ``make docs-images``.

Needs Chromium for those of the page. What is on them differs from machine to machine, as any recording does.
"""

from __future__ import annotations

import fcntl
import getpass
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

COLUMNS = 90
IN_THE_TERMINAL = ("bandit", "--stage", "1", "--runs", "48")
LAST_LINE = "More: rlprof explain"
"""Where the terminal's picture ends: with the first finding."""

ON_THE_PAGE = ("actor_learner", "--stage", "5")
WIDTH = 1280
LARGEST_BYTES = 200_000
GREY_LETTERS = "--disable-lcd-text"
"""Coloured edges of letters are for one kind of screen, and make pictures larger."""

_LIVE = re.compile(r"\x1b7.*?\x1b8|\x1bD\x1b\[A", re.DOTALL)
"""The line below the terminal's last one that rlprof keeps up to date, and takes away in the end."""

_SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As rich has it, without the fonts that it fetches."""


class Picture(NamedTuple):
    """A stretch of the page: from the top of one element to the end of another, in CSS selectors."""

    name: str
    first: str
    last: str
    most_pixels: int


SHOWN_FINDING = "1"
"""In the flamegraph and the timeline, as a click on its button does it."""

PICTURES = (
    Picture("report-verdict", "body", f"#finding-{SHOWN_FINDING}", 1200),
    Picture("report-timeline", "#timeline", "#timeline", 700),
    Picture("report-flamegraph", "#flamegraph", "#flamegraph", 640),
    Picture("report-processes", "#processes", "#processes", 800),
)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for example in (IN_THE_TERMINAL[0], ON_THE_PAGE[0]):
            shutil.copytree(
                ROOT / "examples" / example,
                folder / example,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        draw_terminal(folder)
        draw_page(folder)


def draw_terminal(folder: Path) -> None:
    shown = _in_a_terminal(["run", *IN_THE_TERMINAL], folder)
    lines = _LIVE.sub("", shown).replace("\r\n", "\n").splitlines()
    last = next(number for number, line in enumerate(lines) if LAST_LINE in line)
    text = "\n".join([f"$ rlprof run {' '.join(IN_THE_TERMINAL)}", *lines[: last + 1]])
    _check_is_neutral(text, folder)
    console = Console(width=COLUMNS, record=True, file=io.StringIO())
    console.print(Text.from_ansi(text), soft_wrap=True)
    picture = console.export_svg(
        title="rlprof", theme=DEFAULT_TERMINAL_THEME, code_format=_SVG, unique_id="terminal"
    )
    (IMAGES / "terminal.svg").write_text(picture)


def _in_a_terminal(arguments: list[str], folder: Path) -> str:
    """What ``rlprof`` writes to a terminal of ``COLUMNS`` columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    process = subprocess.Popen(
        _command(*arguments), cwd=folder, env=_environment(), stdin=its, stdout=its, stderr=its
    )
    os.close(its)
    written = b"".join(_until_it_is_closed(ours))
    if process.wait():
        raise SystemExit(written.decode())
    return written.decode()


def _until_it_is_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # Linux says so when nobody holds the other end any more.
            return
        yield piece


def draw_page(folder: Path) -> None:
    run_file, page = "actor_learner.rlprof", folder / "report.html"
    for arguments in (
        ["run", "--no-report", "-o", run_file, *ON_THE_PAGE],
        ["report", run_file, "-o", page.name],
    ):
        subprocess.run(_command(*arguments), cwd=folder, env=_environment(), check=True)
    with _opened(page) as tab:
        _check_is_neutral(tab.inner_text("body"), folder)
        tab.click(f'.show-frames[data-rank="{SHOWN_FINDING}"]')
        for picture in PICTURES:
            _draw(tab, picture)


def _draw(tab: Any, picture: Picture) -> None:
    tab.evaluate("window.scrollTo(0, 0)")
    tab.mouse.move(0, 0)
    first, last = (tab.locator(name).bounding_box() for name in (picture.first, picture.last))
    height = min(picture.most_pixels, last["y"] + last["height"] - first["y"])
    path = IMAGES / f"{picture.name}.png"
    clip = {"x": 0, "y": first["y"], "width": WIDTH, "height": height}
    tab.screenshot(path=path, full_page=True, clip=clip)
    if path.stat().st_size > LARGEST_BYTES:
        raise SystemExit(f"{path} has {path.stat().st_size} bytes, more than {LARGEST_BYTES}")


@contextmanager
def _opened(page: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("needs Chromium: apt-get install chromium")
    with sync_playwright() as engine:
        browser = engine.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", GREY_LETTERS]
        )
        tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        tab.on("pageerror", _fails)
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        yield tab
        browser.close()


def _fails(error: object) -> None:
    raise SystemExit(f"the page is broken: {error}")


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rlprof", *arguments]


def _environment() -> dict[str, str]:
    """As in a shell in which the environment of this interpreter is active."""
    folder = Path(sys.executable).parent
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "xterm-256color"}


def _check_is_neutral(text: str, folder: Path) -> None:
    """A picture is for everybody: none shows whose machine it was made on."""
    for private in (str(folder), str(ROOT), str(Path.home()), f"/{getpass.getuser()}/"):
        if private in text:
            raise SystemExit(f"{private} is on a picture")


if __name__ == "__main__":
    main()
