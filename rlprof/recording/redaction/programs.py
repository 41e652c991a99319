"""Passwords of programs that are known by name, where no option says so: ``mysql -p…``, ``sshpass -p …``, ``curl -u me:…``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple


class _PasswordArguments(NamedTuple):
    """The ways in which a program is given a password."""

    joined: re.Pattern[str]
    """An argument that holds it."""
    before: re.Pattern[str] | None
    """An option before the argument that is :attr:`value`."""
    value: re.Pattern[str]


_PASSWORD: Final = re.compile(r"-p(?P<value>.+)", re.DOTALL)
_LOGIN: Final = r"[^:]*:(?P<value>.+)"
_ALL: Final = re.compile(r"(?P<value>.+)", re.DOTALL)

_PROGRAMS: Final = (
    (re.compile(r"(?:.*/)?(?:mysql|mariadb)[\w\-]*"), _PasswordArguments(_PASSWORD, None, _ALL)),
    (re.compile(r"(?:.*/)?sshpass"), _PasswordArguments(_PASSWORD, re.compile("-p"), _ALL)),
    (
        re.compile(r"(?:.*/)?curl"),
        _PasswordArguments(
            re.compile(rf"(?:-[uU]|--(?:proxy-)?user=){_LOGIN}", re.DOTALL),
            re.compile(r"-[A-Za-z]*[uU]|--(?:proxy-)?user"),
            re.compile(_LOGIN, re.DOTALL),
        ),
    ),
)
_SOME_NAME: Final = re.compile("mysql|mariadb|sshpass|curl")


def may_take_password(text: str) -> bool:
    """Tell whether one of the programs is named, at the cost of a glance."""
    return _SOME_NAME.search(text) is not None


def passwords_of_programs(words: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each word that holds a password, with its begin and end there: one for each program."""
    options: _PasswordArguments | None = None
    previous = ""
    for number, word in enumerate(words):
        named = next((each for program, each in _PROGRAMS if program.fullmatch(word)), None)
        if named is not None:
            options = named
        elif options is not None:
            follows = options.before is not None and options.before.fullmatch(previous)
            found = (options.value if follows else options.joined).fullmatch(word)
            if found is not None:
                yield number, *found.span("value")
                options = (
                    None  # The rest may be another program's, as after ``sshpass -p … ssh -p 22``.
                )
        previous = word
