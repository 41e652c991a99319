"""The format of a document: by its name, or by the ending of its file; its options, and the time that it is about."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from rlprof.cli.output import in_words
from rlprof.errors import UsageError

if TYPE_CHECKING:
    from rlprof.documents.blocks import Block
    from rlprof.renderers.base import Renderer


class Metric(str, Enum):
    WALL = "wall"
    CPU = "cpu"
    """Time on a CPU."""


class TextOrJson(str, Enum):
    TERMINAL = "terminal"
    JSON = "json"


class TextFormat(str, Enum):
    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


def in_format(
    form: Enum,
    as_json: Callable[[], str],
    blocks: Callable[[], Iterable[Block]],
    *,
    to_file: bool = False,
    breaks_log: bool = True,
) -> str:
    """A document as JSON, as Markdown, or in words as for ``in_words``."""
    if form.value == "json":
        return as_json()
    if form.value == "markdown":
        from rlprof.documents.markdown import as_markdown

        return as_markdown(blocks())
    return in_words(blocks(), sys.stdout, to_file=to_file, breaks_log=breaks_log)


def by_name(renderers: Sequence[Renderer], name: str) -> Renderer:
    """Raises ``UsageError``, listing the formats, when there is none of that name."""
    for renderer in renderers:
        if renderer.name == name:
            return renderer
    raise UsageError(
        f"there is no format {name!r}",
        slug="no-such-format",
        hint=f"choose one of: {', '.join(sorted(candidate.name for candidate in renderers))}",
    )


def by_suffix(renderers: Sequence[Renderer], output: Path) -> Renderer:
    """The renderer whose ending is the longest that ``output`` has: ``.speedscope.json`` before ``.json``.

    Raises ``UsageError``, listing the endings, when no ending fits.
    """
    endings = [(suffix, candidate) for candidate in renderers for suffix in candidate.suffixes]
    for suffix, renderer in sorted(endings, key=lambda ending: -len(ending[0])):
        if output.name.endswith(suffix):
            return renderer
    listed = ", ".join(f"{suffix} ({ending.name})" for suffix, ending in endings)
    raise UsageError(
        f"the ending of {output} names no format",
        slug="no-such-format",
        hint=f"use one of {listed}, or give --format",
    )


def parse_options(given: Sequence[str], renderer: Renderer) -> Mapping[str, str]:
    """The ``-p`` options as a mapping; raises ``UsageError`` for one that ``renderer`` lacks."""
    options = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or key not in renderer.options:
            known = "; ".join(f"{name}: {what}" for name, what in renderer.options.items())
            raise UsageError(
                f"-p {text}: the format {renderer.name} has no such option"
                if equals
                else f"-p {text}: the form is KEY=VALUE",
                slug="bad-render-option",
                hint=f"options of {renderer.name}: {known}" if known else "it takes none",
            )
        options[key] = value
    return options
