"""Cut a line of the shell into commands and words, to tell where the value of a word ends."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

_SHELLS: Final = re.compile(r"(?:.*/)?(?:ba|da|k|z|a|fi)?sh")
_COMMAND_OPTION: Final = re.compile(r"-[A-Za-z]*c")
_WITH_VALUE: Final = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")
_ENDS_COMMAND: Final = "\n;&|()<>"
_OPERATOR_OF_INPUT: Final = re.compile("<+")
_NEEDS_QUOTES: Final = re.compile(r"[\s'\"\\$`;&|()<>]")


class ShellWord(NamedTuple):
    start: int
    end: int
    text: str
    """Without its quotes."""
    is_document: bool = False
    """True if it is a here-document, which has no quotes."""


class ShellLineFinder:
    """Finds the argument that a shell takes for a line: ``X`` of ``bash -o pipefail -c X``."""

    def __init__(self) -> None:
        self._is_shell = False
        self._is_value = False
        self._is_line = False

    def is_line(self, argument: str) -> bool:
        """Take the next argument, and say whether it is a line of the shell."""
        if self._is_line:
            self._is_line = self._is_shell = False
            return True
        if self._is_value:
            self._is_value = False
        elif _SHELLS.fullmatch(argument):
            self._is_shell = True
        elif self._is_shell and argument.startswith(("-", "+")):
            self._is_line = _COMMAND_OPTION.fullmatch(argument) is not None
            self._is_value = _WITH_VALUE.fullmatch(argument) is not None
        else:
            self._is_shell = False
        return False


def commands_of(line: str) -> Iterator[list[ShellWord]]:
    """Yield the words of each command of ``line``; a quote that nothing closes reaches to its end.

    What follows the line with a here-document is one word: it is text, and the shell's no more.
    """
    command: list[ShellWord] = []
    has_document = False
    at = 0
    while at < len(line):
        if line[at] in _ENDS_COMMAND:
            yield command
            command = []
            end = _OPERATOR_OF_INPUT.match(line, at)
            has_document |= end is not None and end.group() == "<<"
            at = at + 1 if end is None else end.end()
            if line[at - 1] == "\n" and has_document:
                command = [ShellWord(at, len(line), line[at:], is_document=True)]
                break
        elif line[at].isspace():
            at += 1
        elif line.startswith("\\\n", at):
            at += 2  # The command goes on in the next line.
        else:
            word = _word(line, at)
            command.append(word)
            at = word.end
    yield command


def as_word(text: str) -> str:
    """``text`` in quotes where a shell would cut it, or take it for something else."""
    return shlex.quote(text) if _NEEDS_QUOTES.search(text) else text


def _word(line: str, start: int) -> ShellWord:
    parts = []
    at = start
    while at < len(line) and not line[at].isspace() and line[at] not in _ENDS_COMMAND:
        end = _part_end(line, at)
        parts.append(_unquoted(line[at:end]))
        at = end
    return ShellWord(start, at, "".join(parts))


def _part_end(line: str, at: int) -> int:
    """The end of what begins at ``at``: a string, a substitution, an escaped or a plain character."""
    if line.startswith("$(", at):
        return _substitution_end(line, at + 2)
    if line.startswith("$'", at):
        return _quote_end(line, at + 2, "'", escapes=True)
    if line[at] in "'\"`":
        return _quote_end(line, at + 1, line[at], escapes=line[at] != "'")
    return min(at + (2 if line[at] == "\\" else 1), len(line))


def _quote_end(line: str, at: int, quote: str, *, escapes: bool) -> int:
    while at < len(line) and line[at] != quote:
        at += 2 if escapes and line[at] == "\\" else 1
    return min(at + 1, len(line))


def _substitution_end(line: str, at: int) -> int:
    depth = 1
    while at < len(line) and depth:
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        if line[at] in "'\"":
            at = _quote_end(line, at + 1, line[at], escapes=line[at] == '"')
        else:
            at += 1
    return min(at, len(line))


def _unquoted(part: str) -> str:
    if part.startswith("$'"):
        return re.sub(r"\\(.)", r"\1", part[2:].removesuffix("'"), flags=re.DOTALL)
    if part.startswith("'"):
        return part[1:].removesuffix("'")
    if part.startswith('"'):
        return re.sub(r'\\([\\"$`])', r"\1", part[1:].removesuffix('"'))
    return part.removeprefix("\\") if len(part) == 2 else part
