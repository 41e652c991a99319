"""The pages in ``docs/detectors``, taken apart."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "detectors"
IDS = sorted(page.stem for page in FOLDER.glob("*.md"))

_SECTION = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!^## ).*\n)*)", re.MULTILINE)
_SNIPPET = re.compile(
    r"^(?P<which>Before|After):\n\n```python\n(?P<code>.+?)^```$", re.MULTILINE | re.DOTALL
)
_LATER = re.compile(r"^\.\.\.\n", re.MULTILINE)


def page(detector_id: str) -> str:
    return (FOLDER / f"{detector_id}.md").read_text()


def section(detector_id: str, title: str) -> str:
    """What stands under a heading; empty where there is none."""
    return next(
        (
            match["text"]
            for match in _SECTION.finditer(page(detector_id))
            if match["title"] == title
        ),
        "",
    )


def snippets(detector_id: str) -> list[tuple[str, str]]:
    """(``Before`` or ``After``, code) as they follow each other under ``What to change``."""
    return [
        (snippet["which"], snippet["code"])
        for snippet in _SNIPPET.finditer(section(detector_id, "What to change"))
    ]


def parts(code: str) -> list[str]:
    """``code`` cut where it says ``...``: what runs once, and what runs at every step."""
    return _LATER.split(code)
