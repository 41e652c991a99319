"""The insides of strings and comments in a source: what can be changed and leave every other token as it is.

Read by hand, since ``ast`` tells of an f-string before Python 3.12 no more than where all of it begins and ends.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NEXT: Final = re.compile(
    r"""\#(?P<comment>[^\n]*)
      | (?:(?<!\w)(?P<prefix>rb|br|rf|fr|rt|tr|[bfrtu]))?(?P<quote>\"{3}|'{3}|["'])""",
    re.VERBOSE | re.IGNORECASE,
)
_NEXT_IN_PLACEHOLDER: Final = re.compile(rf"{_NEXT.pattern} | [:(\[{{)\]}}]", _NEXT.flags)
_ESCAPE: Final = r"\\(?:N\{[^{}]*\}|[^{}]|(?=[{}]))"
_RAW_ESCAPE: Final = r"\\(?:[^{}]|(?=[{}]))"
_BRACE: Final = re.compile(r"[{}]")


class Inside(NamedTuple):
    start: int
    end: int
    depth: int
    """Placeholders of f-strings around it."""


def insides_of(text: str) -> list[Inside]:
    """In their order, without quotes, prefixes and placeholders; ``text`` is one that Python can read."""
    found: list[Inside] = []
    at = 0
    while (opened := _NEXT.search(text, at)) is not None:
        at = _skip(text, opened, 0, found)
    return found


def _skip(text: str, opened: re.Match[str], depth: int, found: list[Inside]) -> int:
    """Note the insides of what was ``opened``, and return where it ends."""
    if opened["quote"] is None:
        found.append(Inside(*opened.span("comment"), depth))
        return opened.end()
    prefix = (opened["prefix"] or "").lower()
    at = opened.end()
    if set(prefix).isdisjoint("ft"):
        end = _plain_end(opened["quote"]).match(text, at)
        if end is None:
            return len(text)
        found.append(Inside(at, end.start("end"), depth))
        return end.end()
    while True:
        end = _part_end(opened["quote"], is_raw="r" in prefix).match(text, at)
        if end is None:
            return len(text)
        found.append(Inside(at, end.start("end"), depth))
        at = end.end()
        if end["end"] != "{":
            return at
        at = _placeholder_end(text, at, depth + 1, found)


def _placeholder_end(text: str, at: int, depth: int, found: list[Inside]) -> int:
    brackets = 0
    while (opened := _NEXT_IN_PLACEHOLDER.search(text, at)) is not None:
        sign = opened.group()
        at = opened.end()
        if sign == "}" and not brackets:
            return at
        if sign == ":":
            if not brackets:
                return _format_end(text, at, depth, found)
        elif sign in ("(", "[", "{"):
            brackets += 1
        elif sign in (")", "]", "}"):
            brackets -= 1
        else:
            at = _skip(text, opened, depth, found)
    return len(text)


def _format_end(text: str, at: int, depth: int, found: list[Inside]) -> int:
    """The end of a placeholder from its format on, in which quotes are characters like others."""
    while (sign := _BRACE.search(text, at)) is not None:
        at = sign.end()
        if sign.group() == "}":
            return at
        at = _placeholder_end(text, at, depth + 1, found)
    return len(text)


def _plain_end(quote: str) -> re.Pattern[str]:
    return _end(quote, other=rf"[^\\{quote[0]}]*", special=r"\\.")


def _part_end(quote: str, *, is_raw: bool) -> re.Pattern[str]:
    """The end of the words of an f-string: its own, or a placeholder's beginning."""
    escape = _RAW_ESCAPE if is_raw else _ESCAPE
    return _end(
        quote, other=rf"[^\\{{{quote[0]}]*", special=rf"{escape}|\{{\{{", end=rf"{quote}|\{{"
    )


def _end(quote: str, *, other: str, special: str, end: str = "") -> re.Pattern[str]:
    lone_quote = rf"|{quote[0]}(?!{quote[1:]})" if len(quote) > 1 else ""
    return re.compile(
        rf"{other}(?:(?:{special}{lone_quote}){other})*(?P<end>{end or quote})", re.DOTALL
    )
