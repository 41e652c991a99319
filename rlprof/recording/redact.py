"""Take secrets out of what a run file keeps of the environment and the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(
    r"(key|token|secret|passw|passphrase|pwd|credential|auth|cookie|session|private|signature|dsn|cert)",
    re.IGNORECASE,
)
_SECRET_WORD = re.compile(
    r"(api)?(key|token|secret|credential)s?|(my|pg)?pass(word|wd|phrase)?|pwd|auth|cookies?"
    r"|session|private|signature|dsn|cert",
    re.IGNORECASE,
)
"""As a word of an option's name: ``--api-key`` is secret, ``monkey=3`` and ``--uncertainty`` are not."""

_COUNTING_WORDS = frozenset({"num", "n", "max", "min", "total", "per", "count", "context"})
"""Beside them, tokens are those of a language model."""

_WORD_ENDS = re.compile(r"[_.\-]+|(?<=[a-z])(?=[A-Z])")
_ASSIGNMENT = re.compile(r"\b(?P<name>[A-Za-z_][\w.-]*)=(?P<value>[^\s;&|]+)")
_URL_CREDENTIALS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s]+@")
_URL_SECRET_QUERY = re.compile(
    r"(?P<name>[?&][^=&\s]*(?:key|token|secret|passw|pwd|auth|sig)[^=&\s]*=)[^&\s]+", re.IGNORECASE
)


def redact_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Values of secret-looking names are replaced whole, credentials inside URLs in part."""
    return {
        name: REDACTED if _SECRET_NAME.search(name) else redact_text(value)
        for name, value in sorted(environment.items())
    }


def redact_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """The same for a command line: ``--api-key X``, ``--api-key=X``, ``api_key=X`` and what a
    shell is given to run (``bash -c "WANDB_API_KEY=… python train.py"``).
    """
    redacted = []
    hide_next = False
    for argument in arguments:
        if hide_next and not argument.startswith("-"):
            redacted.append(REDACTED)
            hide_next = False
            continue
        hide_next = argument.startswith("--") and "=" not in argument and _is_secret(argument)
        redacted.append(redact_text(_ASSIGNMENT.sub(_without_value, argument)))
    return tuple(redacted)


def redact_text(text: str) -> str:
    """``text`` without the credentials of URLs in it."""
    text = _URL_CREDENTIALS.sub(rf"\g<scheme>{REDACTED}@", text)
    return _URL_SECRET_QUERY.sub(rf"\g<name>{REDACTED}", text)


def _without_value(assignment: re.Match[str]) -> str:
    name = assignment["name"]
    return f"{name}={REDACTED}" if _is_secret(name) else assignment.group()


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORD_ENDS.split(name) if word]
    if _COUNTING_WORDS.intersection(words):
        return False
    return any(_SECRET_WORD.fullmatch(word) for word in words)
