"""Text in Markdown as GitHub shows it: nothing in it is taken for a mark of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Final

from rlprof.names import printable
from rlprof.report import wording

_MEANT: Final = re.compile(r"([\\`*_~|\[\]$#])")
"""Characters with a meaning of their own in Markdown; those of HTML become entities."""
_LIST_MARK: Final = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
_MENTION: Final = re.compile(r"([@#])(?=\w)")
"""Before a name or a number: somebody would be told, or an issue linked."""


def prose(text: str, limit: int = 400) -> str:
    """``text`` with nothing in it that Markdown, HTML or GitHub would take for its own."""
    escaped = _MEANT.sub(r"\\\1", escape(printable(text, limit).strip(), quote=False))
    return _quiet(_LIST_MARK.sub(r"\1\\\2", escaped))


def in_html(text: str) -> str:
    """The same within a line of HTML, where Markdown has no say."""
    return _quiet(escape(printable(text), quote=False))


def _quiet(text: str) -> str:
    return _MENTION.sub(r"\1<!-- -->", text)


def unbroken(text: str) -> str:
    """With spaces that narrow columns do not break numbers at."""
    return text.replace(wording.GLUE, "\N{NO-BREAK SPACE}")


def code(text: str) -> str:
    """``text`` as code, in tables and links too."""
    shown = printable(text)
    if "`" in shown or "|" in shown or not shown.strip():
        return f"<code>{prose(shown)}</code>"
    return f"`{shown}`"


def fenced(lines: Sequence[str]) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}python", *lines, fence])


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()
) -> str:
    """``right``: columns of figures."""
    rule = ["---:" if column in right else "---" for column in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))
