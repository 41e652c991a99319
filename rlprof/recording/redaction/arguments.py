"""Secrets of a command line: after options and names, in JSON, YAML, headers, URLs and lines of a shell.

The value of a name goes up to its end. Where no grammar says where that is, it is the end of the argument:
what is hidden too much can be looked up, what is hidden too little cannot be taken back.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote

from rlprof.recording.redaction.names import is_secret_name, is_surely_secret_name, is_vague_name
from rlprof.recording.redaction.programs import passwords_of_programs
from rlprof.recording.redaction.randomness import hide_random
from rlprof.recording.redaction.shell import ShellLineFinder, as_word, commands_of

REDACTED: Final = "[redacted]"

Span: TypeAlias = tuple[int, int]
"""Begin and end within a text."""

_OPTION: Final = re.compile(r"[-+]{1,2}(?P<name>[A-Za-z][\w.\-]*)")
_SWITCHED_OFF: Final = re.compile(r"(?i)(?:disable|no|skip|without)[_\-].*")
_EMPTY_OPTION: Final = re.compile(r"--?[A-Za-z][\w.\-]*=")
_ASSIGNMENT: Final = re.compile(r"[+~]{0,2}[\w.\-@]+=(?!=?$).*", re.DOTALL)
_OTHER_OPTION: Final = re.compile(r"--[a-z]+(?:[-_.][a-z]+)*(?:=.*)?", re.DOTALL)
"""Text that no program takes for the value of the option before it."""
_BARE_NAME: Final = re.compile(r"\w[\w\-]*")
_HEADER: Final = re.compile(r"(?P<name>[\w.\-]+):")
_SIGNS: Final = frozenset({":", "=", "=="})
_SCHEMES: Final = frozenset({"basic", "bearer", "digest", "token"})
"""Words of an HTTP header before the secret itself."""
_NO_SECRET: Final = re.compile(r"(?i)(?:false|no|none|null|off|on|true|yes|\d{1,3}|)")
_NO_SECRET_ITEM: Final = re.compile(rf"{_NO_SECRET.pattern}(?=\s*(?:[,;)\]}}]|$))")
"""A switch or a small number, of which there are too few to guess."""

_NAMED: Final = re.compile(
    r"""(?<![\w.\-])(?!(?<=%)[0-9A-Fa-f]{2})(?=[\w.\-%])
    (?P<name>[\w.\-]*(?:%[0-9A-Fa-f]{2}[\w.\-]*)*)  # As it is, or as in a URL.
    (?P<quote>\\*["'])?\]?(?:\s*(?P<sign>[:=,]|(?<=-)>) | (?=\s) | (?P<call>\()(?=[bfru]{0,2}\\*["']))\s*""",
    re.VERBOSE,
)
_STRING: Final = re.compile(r"""[bfru]{0,2}(?P<escapes>\\*)(?P<quote>["'])""", re.IGNORECASE)
_QUOTE: Final = re.compile(r"""(?P<escapes>\\*)(?P<quote>["'])""")
_AFTER_STRING: Final = re.compile(r"""\s*(?:$|[,;:)\]}]|\\*["'])|\s""")
_NAMED_VALUE: Final = re.compile(r"""\\*["']value\\*["']\s*:\s*""")
"""As of environment variables in Kubernetes: ``{"name": "API_KEY", "value": "…"}``."""
_ITS_NAME: Final = r'"(?:key|name|var)"\s*:\s*"(?P<name>[\w.\-]+)"'
_ITS_VALUE: Final = r'"value"\s*:\s*"(?P<value>(?:[^"\\]|\\.)*)"'
_NAME_AND_VALUE: Final = (
    re.compile(rf"{_ITS_NAME}\s*,\s*{_ITS_VALUE}"),
    re.compile(rf"{_ITS_VALUE}\s*,\s*{_ITS_NAME}"),
)
"""The same in either order, under other keys."""
_NEXT_ITEM: Final = re.compile(r""",\s*\\*["']?[\w.\-]+\\*["']?\s*[:=]""")
_CLOSERS: Final = " \t\r\n)]}\"'\\"
_BEFORE_NAMES: Final = " \t\r\n\"'\\-+"
_OPENED: Final = {"{": "}", "[": "]", "(": ")"}
_BEARER: Final = re.compile(r"(?i)(?<![a-z])(?P<scheme>bearer\s+)\S.*", re.DOTALL)

PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<value>.{1,9999}?)-----END", re.DOTALL
)

_SCHEME: Final = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{0,30}://")
_LEAST_PRINTED: Final = 4
"""Characters of a secret that is looked for in other text: shorter ones stand in any."""
_USER: Final = re.compile(r"(?!git@)[^/\s?#]*@")
_USER_AND_PASSWORD: Final = re.compile(r"[^/\s:@]*:(?!\d+(?:[/?#\s,]|$))")
_LOGIN: Final = re.compile(
    r"(?P<user>(?:[\w.\-]+=)?[\w.+%\-]+:)(?!//)\S+@(?=(?!sha\d+:)[\w.\-]+(?::\d+)?(?:/\S*)?$)"
)


def redact_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """Take secrets out of arguments, which stay as many; redacting twice is redacting once."""
    arguments = list(arguments)
    passwords = {number: span for number, *span in passwords_of_programs(arguments)}
    redacted: list[str] = []
    finder = ShellLineFinder()
    previous = ""
    hides_next = takes_several = told_secrets = False
    for number, argument in enumerate(arguments):
        if hides_next and argument in _SIGNS:
            told = argument
        elif hides_next and not _ends_values(argument, after=previous):
            is_harmless = _NO_SECRET.fullmatch(argument) is not None
            # ``--tokens 512 train.py`` gives a number and no secret; a number among secrets is one of them.
            takes_several &= not is_harmless or told_secrets
            told_secrets |= not is_harmless
            hides_next = argument.lower() in _SCHEMES or takes_several
            told = argument if is_harmless else REDACTED
            finder.is_line(told)
        else:
            hides_next = _announces_secret(argument) or (
                argument in _SIGNS and is_secret_name(previous)
            )
            takes_several = hides_next and _announces_several(argument)
            told_secrets = False
            if finder.is_line(argument):
                told = redact_line(argument)
            else:
                told = redact_argument(argument, after=redacted[-1] if redacted else "")
        if number in passwords and told == argument:
            start, end = passwords[number]
            told = f"{argument[:start]}{REDACTED}{argument[end:]}"
        redacted.append(told)
        previous = argument
    return tuple(redacted)


def without_secrets_of(arguments: Sequence[str], text: str) -> str:
    """Take the secrets of a command line out of what the program prints of it (``unrecognized arguments: --api-key=…``)."""
    for argument, told in zip(arguments, redact_arguments(arguments), strict=True):
        if argument != told:
            before, _, rest = told.partition(REDACTED)
            after = rest.rpartition(REDACTED)[2]
            secret = argument[len(before) : len(argument) - len(after)]
            text = text.replace(secret, REDACTED) if len(secret) >= _LEAST_PRINTED else text
    return text


def redact_line(line: str) -> str:
    """The same for a line of the shell."""
    pieces: list[str] = []
    at = 0
    for command in commands_of(line):
        told = redact_arguments(word.text for word in command)
        for word, text in zip(command, told, strict=True):
            if text != word.text:
                pieces += [line[at : word.start], text if word.is_document else as_word(text)]
                at = word.end
    return "".join((*pieces, line[at:]))


@lru_cache(maxsize=256)
def redact_argument(text: str, *, after: str = "") -> str:
    """One argument, with the one ``after`` which it stands: an option and its value, a list, anything else.

    Processes that start a hundred others a second give all of them the same arguments.
    """
    pieces: list[str] = []
    at = 0
    # All are looked for in the whole text: what hides one must not hide the beginning of another.
    keys = (key.span("value") for key in PRIVATE_KEY.finditer(text))
    for start, end in sorted((*_logins(text), *named_values(text), *_named_apart(text), *keys)):
        if end > at:
            # Two that meet are one.
            pieces += [text[at:start], REDACTED] if start > at or not pieces else []
            at = end
    told = _BEARER.sub(rf"\g<scheme>{REDACTED}", "".join((*pieces, text[at:])))
    return hide_random(told, lambda _: REDACTED, after=after)


def _announces_secret(argument: str) -> bool:
    """Tell whether the next argument is a secret: after ``--api-key``, ``-k``, ``API_KEY`` or ``Authorization:``."""
    header = _HEADER.fullmatch(argument)
    if header is not None:
        return is_secret_name(header["name"])
    if _BARE_NAME.fullmatch(argument):
        return argument.lower() == "bearer" or is_surely_secret_name(argument)
    if _EMPTY_OPTION.fullmatch(argument):
        argument = argument.removesuffix("=")
    option = _OPTION.fullmatch(argument)
    if option is None or _SWITCHED_OFF.fullmatch(option["name"]):
        return False
    return argument == "-k" or is_secret_name(option["name"])


def _announces_several(argument: str) -> bool:
    """Tell whether secrets follow up to the next option: after ``--tokens``, whose name is a plural."""
    name = argument.lstrip("-")
    return (
        argument.startswith("-") and is_secret_name(name.removesuffix("s")) and name.endswith("s")
    )


def _ends_values(argument: str, *, after: str) -> bool:
    """Tell whether an argument is no value of the option before it, the words ``after`` which it stands."""
    if _EMPTY_OPTION.fullmatch(after) and _ASSIGNMENT.fullmatch(argument):
        return True
    is_first = after.startswith("-")
    return (_OTHER_OPTION.fullmatch if is_first else _OPTION.match)(argument) is not None


def _named_apart(text: str) -> Iterator[Span]:
    """Yield the values of pairs whose name stands beside them: ``{"value": "…", "name": "API_KEY"}``."""
    for pattern in _NAME_AND_VALUE:
        for pair in pattern.finditer(text):
            if is_secret_name(pair["name"]):
                yield pair.span("value")


def _logins(text: str) -> Iterator[Span]:
    """Users and passwords of URLs, which may hold what no URL should: up to the last ``@``."""
    last = text.rfind("@")
    login = _LOGIN.match(text)
    if login is not None:
        yield login.end("user"), last
    at = 0
    while (scheme := _SCHEME.search(text, at, last)) is not None:
        at = scheme.end()
        user = _USER.match(text, at)
        if text.startswith("git@", at):
            continue
        if _USER_AND_PASSWORD.match(text, at):
            yield at, last
            return
        if user is not None:
            yield at, user.end() - 1


def named_values(text: str) -> Iterator[Span]:
    """The values of telling names, up to where a grammar ends them."""
    at = 0
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        if _is_secret(named):
            start, at = _value(text, named)
            if at > start:
                yield start, at


def _is_secret(named: re.Match[str]) -> bool:
    name, sign, is_quoted = unquote(named["name"]), named["sign"], named["quote"] is not None
    if named["call"] is not None:
        name = name.rpartition(".")[2]
        return is_secret_name(name) and not is_vague_name(name)
    if sign is None and not name.startswith("-"):
        return _BARE_NAME.fullmatch(name) is not None and is_surely_secret_name(name)
    if sign == "," and not is_quoted:
        return False  # Only lists of strings pair a name with its value so.
    if sign == ":" and not is_quoted:
        name = name.rpartition(".")[2]  # Of a host and its port, of a file and a test in it.
    if name == "-k":
        return True
    if sign is None and _SWITCHED_OFF.fullmatch(name.lstrip("-")):
        return False
    return is_secret_name(name)


def _value(text: str, named: re.Match[str]) -> Span:
    """Begin and end of the value; nothing lies between them where it is no secret."""
    start = named.end()
    if named["call"] is not None:
        return _string(text, start) or (start, start)
    first = named.start()
    while first > 0 and text[first - 1] in _BEFORE_NAMES:
        first -= 1
    before = text[first - 1 : first]
    if before in ("?", "&") and named["sign"] == "=":
        end = text.find("&", start)
        return start, len(text) if end < 0 else end
    named_value = _NAMED_VALUE.match(text, start) if named["sign"] == "," else None
    if named_value is not None:
        start = named_value.end()
    if named["quote"] is not None or before in _OPENED or before == ",":
        return _item(text, start)
    if _NO_SECRET.fullmatch(text, start):
        return start, start
    string = _string(text, start) if before else None
    return string or (start, len(text))


def _item(text: str, start: int) -> Span:
    """A value of JSON, of YAML's short form, of a call: a string, what is in brackets, or plain words."""
    if _NO_SECRET_ITEM.match(text, start):
        return start, start
    if text[start : start + 1] in _OPENED:
        return start, _closed(text, start)
    string = _string(text, start)
    if string is not None:
        return string
    following = _NEXT_ITEM.search(text, start)
    if following is not None:
        return start, following.start()
    return start, max(start, len(text.rstrip(_CLOSERS)))


def _string(text: str, start: int) -> Span | None:
    """The inside of a string in quotes; these may be escaped themselves, as in JSON within JSON."""
    opened = _STRING.match(text, start)
    if opened is None:
        return None
    escapes = len(opened["escapes"])
    at = _closing_quote(text, opened.end(), opened["quote"], escapes)
    if at is None or not _AFTER_STRING.match(text, at + 1):
        return None
    return opened.end(), at - escapes


def _closing_quote(text: str, start: int, quote: str, escapes: int) -> int | None:
    """Return where the string ends whose inside begins at ``start``, and whose quotes have so many backslashes before them."""
    # With n backslashes before the quotes of a string those inside have 2n + 1.
    ends = (
        places[after]
        for (each, backslashes), places in _quotes(text).items()
        if each == quote and backslashes % (2 * escapes + 2) == escapes
        if (after := bisect_left(places, start)) < len(places)
    )
    return min(ends, default=None)


@lru_cache(maxsize=4)
def _quotes(text: str) -> Mapping[tuple[str, int], Sequence[int]]:
    """The places of all quotes, by which they are and how many backslashes stand before them.

    A quote that nothing closes would else be looked for up to the end of the text again and again.
    """
    found: dict[tuple[str, int], list[int]] = {}
    for quote in _QUOTE.finditer(text):
        kind = quote["quote"], len(quote["escapes"])
        found.setdefault(kind, []).append(quote.start("quote"))
    return found


def _closed(text: str, start: int) -> int:
    """The end of what is in brackets, those in strings left out; the end of ``text`` if nothing closes it."""
    at = start
    waiting: list[str] = []
    while at < len(text):
        string = _string(text, at) if text[at] in "\"'" else None
        if string is not None:
            at = string[1]
        elif text[at] in _OPENED:
            waiting.append(_OPENED[text[at]])
        elif waiting and text[at] == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at + 1
        at += 1
    return len(text)
