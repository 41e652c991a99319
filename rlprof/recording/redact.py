"""Take secrets out of what a run file keeps of the environment and the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(
    r"(key|token|secret|passw|passphrase|pwd|credential|auth|cookie|session|private|signature|dsn|cert)",
    re.IGNORECASE,
)
_URL_CREDENTIALS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]+@")
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
    """The same for a command line: ``--api-key X``, ``--api-key=X`` and ``api_key=X``."""
    redacted = []
    hide_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if hide_next and not argument.startswith("-"):
            redacted.append(REDACTED)
            hide_next = False
            continue
        hide_next = False
        looks_secret = bool(_SECRET_NAME.search(name)) and not _looks_like_path(name)
        if equals and looks_secret:
            redacted.append(f"{name}={REDACTED}")
            continue
        hide_next = looks_secret and argument.startswith("--")
        redacted.append(redact_text(argument))
    return tuple(redacted)


def redact_text(text: str) -> str:
    """``text`` without the credentials of URLs in it."""
    text = _URL_CREDENTIALS.sub(rf"\g<scheme>{REDACTED}@", text)
    return _URL_SECRET_QUERY.sub(rf"\g<name>{REDACTED}", text)


def _looks_like_path(name: str) -> bool:
    return "/" in name or name.endswith(".py")
