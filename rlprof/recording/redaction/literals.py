"""Secrets in the text of a program: strings that are given to telling names, logins in URLs, random ones.

Letters take the place of what is hidden, as many as there were, and only inside of strings and comments: each line
keeps its columns, the text can be parsed as before, and what detectors read of it, calls, loops and names, stays.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

from rlprof.recording.redaction.arguments import PRIVATE_KEY, Span, named_values
from rlprof.recording.redaction.given import is_plain, is_secret_value, strings_given
from rlprof.recording.redaction.insides import Inside, insides_of
from rlprof.recording.redaction.names import is_secret_name
from rlprof.recording.redaction.programs import may_take_password, passwords_of_programs
from rlprof.recording.redaction.randomness import LOOK_BACK, hide_random
from rlprof.recording.redaction.shell import commands_of

_GIVEN: Final = re.compile(
    r"""(?<![\w.\-])(?P<name>[\w.\-]+)
    (?: ["']\s*(?P<comma>,)\s* (?:[^"'\n]*\bdefault\s*=\s*)?            # setdefault("KEY", "…"), add_argument(…, default="…")
      | (?:["'](?:\s*\])?)?\s* (?: :[\w\[\]\ .|]+= | [:=] )\s* )   # environ["KEY"] = "…", key: str = "…", {"key": "…"}
    \(?\s*[bBrRuU]{0,2}(?P<quote>\"{3}|'{3}|["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)""",
    re.VERBOSE,
)
_PASSWORD: Final = re.compile(r"""://[^\s/"'@:{}]*:(?P<value>[^\s/"'{}]+)@""")
"""Up to the last ``@`` before the path: a password may have one in it."""
_TOKEN_ALONE: Final = re.compile(r"""https?://(?P<value>[^\s/"'@:{}]+)@""")
_STRING: Final = re.compile(
    r"""(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)"""
)
_IN_COMMAND: Final = re.compile(
    r"(?<![\w.\-])(?P<name>--[\w.\-]+(?=[ =])|[A-Z][A-Z0-9_]+(?==))[ =]+"
)
"""Names before values in a string that is a command: ``--api-key …``, ``WANDB_API_KEY=…``."""
_WORD_OF_COMMAND: Final = re.compile(r"[^\s\"'{}\\]{4,}")
_NAMED: Final = re.compile(
    r"""(?:(?<![\w.\-\\])|(?<=\\[nrt]))(?P<name>[\w.\-]+)(?:\\*["'])?(?P<sign>\s*[:=]\s*)"""
)
"""In comments, and in YAML, JSON, connection strings, URLs and headers within strings."""
_WORD: Final = r"""(?P<word>(?:[^\s"'{}\\]|\\[^nrt"'\\]){4,})"""
_VALUE: Final = re.compile(rf"""(?P<quote>\\*["'])(?P<quoted>[^"'\n]+?)(?P=quote)|{_WORD}""")
_AFTER_SCHEME: Final = re.compile(rf"(?i:basic|bearer|digest|token|\w*key)[ \t]+{_WORD}")
"""Of a header: ``Bearer …``."""
_BEARER: Final = re.compile(rf"(?i:(?<![a-z])bearer)[ \t]+{_WORD}")
_FORMAT: Final = re.compile(r"%[#0\-+ ]?\d*(?:\.\d+)?[A-Za-z](?!\w)")
"""What a program puts a number in: ``tokens=%d,loss=%f``."""
_LONG_WORD: Final = 500
"""Characters of a word that is looked at once alone, not from each name in it on: that takes the square of its length."""
_NAMED_LINE: Final = re.compile(
    r"""(?m)(?:^|\\n)[\t \#\-]*(?P<name>\w[\w.\-]*)[\t ]*[:=][\t ]*(?P<value>[^\s"'{}\\]{4,})[\t ]*(?=$|\\n)""",
    re.VERBOSE,
)
"""As of YAML: nothing else is in the line, so it is no sentence about a token."""
_LONG_LINE: Final = re.compile(r"[^\n]{500,}")
"""Line of a text in which strings are only looked for, from each quote on to the end of the line: that takes the square of its
length. None that a person wrote is so long."""
_UNIT: Final = re.compile(
    r"\\(?:N\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\{\{|\}\}|.)|\{\{|\}\}|.",
    re.DOTALL,
)
"""An escape, of which no part may be changed alone."""


@lru_cache(maxsize=256)
def hide_literals(text: str) -> str:
    """The source ``text``, as long as before, with ``x`` for each character of a secret.

    It takes 0.5 to 5 s/MB, and sources are kept again and again while a run is recorded.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""  # Of Windows' editors; not Python's.
    source = text.removeprefix(mark)
    with warnings.catch_warnings():
        # A doubtful escape sequence in the user's file is not ours to warn about.
        warnings.simplefilter("ignore")
        try:
            given = [*strings_given(ast.parse(source))]
        # ValueError: a NUL byte or a lone surrogate. The last two: nesting too deep to read.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return _hidden_by_patterns(text)
    insides = insides_of(source)
    return mark + _hidden_in_insides(source, insides, _spans_in_source(source, insides, given))


@lru_cache(maxsize=1024)
def hide_words(words: str) -> str:
    """The same of ``words`` that a program has made a string of, without what stands around it."""
    inside = Inside(0, len(words), depth=0)
    return _hidden_in_insides(words, [inside], _spans_within(words, inside))


def _spans_in_source(text: str, insides: list[Inside], given: Iterable[ast.expr]) -> Iterator[Span]:
    yield from _spans_of_nodes(text, insides, given)
    for inside in insides:
        yield from _spans_within(text, inside)


def _hidden_in_insides(text: str, insides: Iterable[Inside], spans: Iterable[Span]) -> str:
    is_secret = bytearray(len(text))
    for start, end in (
        *spans,
        *_spans_of(_PASSWORD, text),
        *_spans_of(_TOKEN_ALONE, text),
        *_spans_of(PRIVATE_KEY, text),
    ):
        is_secret[start:end] = b"\1" * (end - start)
    pieces: list[str] = []
    at = 0
    for start, end, _ in insides:
        if is_secret.find(1, start, end) >= 0:
            pieces.append(text[at:start])
            pieces += (
                _filled(unit.group()) if is_secret.find(1, *unit.span()) >= 0 else unit.group()
                for unit in _UNIT.finditer(text, start, end)
            )
            at = end
    return "".join((*pieces, text[at:]))


def _spans_of_nodes(text: str, insides: list[Inside], nodes: Iterable[ast.expr]) -> Iterator[Span]:
    """The insides of the strings of ``nodes``, those in placeholders left out."""
    lines = text.split("\n")
    line_starts = [0, *accumulate(len(line) + 1 for line in lines)]

    @cache
    def byte_ends(line: int) -> list[int]:
        return [*accumulate(len(character.encode()) for character in lines[line - 1])]

    def place(line: int, column: int) -> int:
        """``column`` counts bytes."""
        if not lines[line - 1].isascii():
            column = bisect_right(byte_ends(line), column)
        return line_starts[line - 1] + column

    for node in nodes:
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        first = bisect_left(insides, (start,))
        last = bisect_left(insides, (end,))
        for inside in insides[first:last]:
            if inside.depth == insides[first].depth:
                yield inside.start, inside.end


def _spans_of(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    return (found.span("value") for found in pattern.finditer(text))


def _spans_within(text: str, inside: Inside) -> Iterator[Span]:
    """The secrets of the words of one string or comment."""
    start, end, _ = inside
    words = text[start:end]
    before = text[max(0, start - LOOK_BACK) : start].rstrip("\"'")
    for span in (*_named_within(words), *_random_within(words, before)):
        yield start + span[0], start + span[1]


def _named_within(words: str) -> Iterator[Span]:
    if words.lstrip().startswith(("{", "[")):
        yield from named_values(words)
    yield from _given_in_command(words)
    for found in _NAMED_LINE.finditer(words):
        is_value = not _FORMAT.match(found["value"])
        if (
            is_value
            and is_secret_name(found["name"])
            and is_secret_value(found["name"], found["value"])
        ):
            yield found.span("value")
    yield from _signed(words)
    for found in _BEARER.finditer(words):
        if not is_plain(found["word"]):
            yield found.span("word")


def _given_in_command(words: str) -> Iterator[Span]:
    seen = 0
    # Only names are stepped over: the value of one may be the next, as in --verbose --api-key ….
    for named in _IN_COMMAND.finditer(words):
        if named.end() > seen and is_secret_name(named["name"]):
            value = _WORD_OF_COMMAND.match(words, named.end())
            if value is not None:
                seen = value.end()
                yield value.span()
    if may_take_password(words):
        yield from _given_to_programs(words)


def _given_to_programs(words: str) -> Iterator[Span]:
    for command in commands_of(words):
        for number, start, end in passwords_of_programs([word.text for word in command]):
            word = command[number]
            is_as_written = word.text == words[word.start : word.end]
            yield (
                (word.start + start, word.start + end) if is_as_written else (word.start, word.end)
            )


def _signed(words: str) -> Iterator[Span]:
    """The values after a name and a sign, those within other values, too: ``https://host?token=…``."""
    seen = 0
    for named in _NAMED.finditer(words):
        if named.end() <= seen or not is_secret_name(named["name"]):
            continue
        span = _after_scheme(words, named) or _signed_value(words, named)
        if span is not None:
            seen = span[1]
            yield span
        else:
            value = _VALUE.match(words, named.end())
            if value is not None and len(value.group()) > _LONG_WORD:
                seen = value.end()


def _after_scheme(words: str, named: re.Match[str]) -> Span | None:
    value = _AFTER_SCHEME.match(words, named.end())
    is_header = "authorization" in named["name"].lower()
    # Elsewhere it may be a sentence: the token: token indices.
    if value is None or (is_plain(value["word"]) and not is_header):
        return None
    return value.span("word")


def _signed_value(words: str, named: re.Match[str]) -> Span | None:
    name = named["name"]
    value = _VALUE.match(words, named.end())
    if value is None or _FORMAT.match(words, named.end()):
        return None
    quoted, word = value.group("quoted", "word")
    # In a sentence a word after a colon is often no more than that.
    is_value = quoted or "=" in named["sign"] or not is_plain(word)
    if not is_value or not is_secret_value(name, quoted or word):
        return None
    return value.span("quoted" if quoted else "word")


def _random_within(words: str, before: str) -> Iterator[Span]:
    told = hide_random(words, _filled, after=before)
    if told != words:
        for at, (old, new) in enumerate(zip(words, told, strict=True)):
            if old != new:
                yield at, at + 1


def _hidden_by_patterns(text: str) -> str:
    """Return what is found without knowing where strings begin and end: of a text that this Python cannot read."""
    text = _LONG_LINE.sub(lambda line: _filled(line.group()), text)
    text = PRIVATE_KEY.sub(_hidden, _PASSWORD.sub(_hidden, _GIVEN.sub(_hidden_if_secret, text)))
    return _STRING.sub(_without_secrets, text)


def _hidden(found: re.Match[str]) -> str:
    start, end = (place - found.start() for place in found.span("value"))
    return f"{found.group()[:start]}{_filled(found['value'])}{found.group()[end:]}"


def _hidden_if_secret(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    # Strings with a comma between them are a pair in a call, and words of a list elsewhere.
    is_list = found["comma"] and found.string[found.start() - 2 : found.start() - 1] != "("
    hides = is_secret_name(name) and is_secret_value(name, value) and not is_list
    return _hidden(found) if hides else found.group()


def _without_secrets(found: re.Match[str]) -> str:
    """A string without random ones, and those of a command."""
    quote, start = found["quote"], found.start()
    before = found.string[max(0, start - LOOK_BACK) : start]
    text = found["value"]
    for begin, end in _given_in_command(text):
        text = f"{text[:begin]}{_filled(text[begin:end])}{text[end:]}"
    return f"{quote}{hide_random(text, _filled, after=before)}{quote}"


def _filled(text: str) -> str:
    # A backslash before the end of a line joins it with the next.
    return re.sub(r"\\(?!\n)|[^\s\\]", "x", text)
