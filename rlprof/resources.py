"""Files that come with rlprof: assets of the flamegraph, pages of the detectors, of messages and of counters, examples.

In a wheel they lie inside the package (``sources`` in ``pyproject.toml``); in a
checkout, editable installs included, they lie beside it. Nothing else may look for them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.errors import RlprofError, UsageError

HOME: Final = "https://github.com/rlprof/rlprof"
PAGES: Final = f"{HOME}/blob/main/docs"
"""Folder in which the same pages are on the web."""

_PACKAGE: Final = Path(__file__).resolve().parent
_PAGE_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.md")
_MESSAGE: Final = re.compile(r"^##(?P<name># \S+)?.*\n(?P<text>(?:(?!##).*\n)*)", re.MULTILINE)
"""A section of ``docs/messages.md``; only those of messages have a name."""

_COUNTER: Final = re.compile(
    r"^\| `(?P<name>\w+)` \| (?P<counts>[^|]+) \| (?P<let_pass>[^|]+) \| (?P<unseen>[^|]+) \|$",
    re.MULTILINE,
)
"""A row of the table in ``docs/counters.md``."""


def asset(name: str) -> str:
    """The text of a file in ``flamegraph_assets``, for example ``svg.js``."""
    return _text("flamegraph_assets", name)


def detector_page(detector_id: str) -> str:
    """The page of a detector, as ``rlprof explain`` prints it.

    Raises ``UsageError``, naming the pages there are, for an id without a page.
    """
    known = detector_ids_with_page()
    if detector_id not in known:
        raise UsageError(
            f"there is no page about {detector_id!r}",
            slug="no-such-page",
            hint=f"choose one of: {', '.join(known)}",
        )
    return _text("docs/detectors", f"{detector_id}.md")


def detector_ids_with_page() -> tuple[str, ...]:
    """The ids that have a page, sorted."""
    pages = folder("docs/detectors").iterdir()
    return tuple(sorted(page.stem for page in pages if _PAGE_NAME.fullmatch(page.name)))


def messages() -> dict[str, str]:
    """Return what ``docs/messages.md`` says of each error and remark, by name."""
    sections = _MESSAGE.finditer(_text("docs", "messages.md"))
    return {
        section["name"][2:]: section["text"].strip() + "\n"
        for section in sections
        if section["name"]
    }


class CounterEntry(NamedTuple):
    """Entry of one counter in ``docs/counters.md``."""

    counts: str
    let_pass: str
    """How much more of it, where all runs of a side agree."""
    unseen: str


def counters() -> dict[str, CounterEntry]:
    """Those of ``rlprof check``, by name."""
    rows = _COUNTER.finditer(counters_page())
    return {
        row["name"]: CounterEntry(row["counts"], row["let_pass"], row["unseen"]) for row in rows
    }


def counters_page() -> str:
    return _text("docs", "counters.md")


def examples_dir() -> Path:
    """The folder with one example per subfolder."""
    return folder("examples")


def folder(name: str) -> Path:
    """Return where the packed folder ``name`` lies; raises ``RlprofError`` when it is nowhere."""
    checkout = _PACKAGE.parent
    # Beside an installed package lie other people's folders: theirs may be called "examples" too.
    in_checkout = (checkout / "pyproject.toml").is_file()
    for base in (_PACKAGE, checkout) if in_checkout else (_PACKAGE,):
        candidate = base / name
        if candidate.is_dir():
            return candidate
    raise _missing(name)


def _text(folder_name: str, file_name: str) -> str:
    path = folder(folder_name) / file_name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _missing(f"{folder_name}/{file_name}") from error


def _missing(name: str) -> RlprofError:
    return RlprofError(
        f"{name} is missing from this installation of rlprof, under {_PACKAGE}",
        slug="missing-resource",
        hint="install rlprof again; if that does not help, the package was built without it: please report it",
    )
