"""Secrets in the text of a program: strings that are given to telling names, logins in URLs, random ones.

Letters take the place of what is hidden, as many as there were: each line keeps its columns, the text can be
parsed as before, and what detectors read of it, calls, loops and names, stays.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rlprof.recording.redaction.names import is_secret_name
from rlprof.recording.redaction.randomness import LOOK_BACK, hide_random

_GIVEN: Final = re.compile(
    r"""(?<![\w.\-])(?P<name>[\w.\-]+)
    (?: ["']\s*(?P<comma>,)\s* (?:[^"'\n]*\bdefault\s*=\s*)?            # setdefault("KEY", "…"), add_argument(…, default="…")
      | (?:["']\s*\]?)?\s* (?: :[\w\[\]\ .|]+= | [:=] )\s* )   # environ["KEY"] = "…", key: str = "…", {"key": "…"}
    \(?\s*[bBrRuU]{0,2}(?P<quote>\"{3}|'{3}|["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)""",
    re.VERBOSE,
)
_PASSWORD: Final = re.compile(r"""://[^\s/"'@:{}]*:(?P<value>[^\s/"'@{}]+)@""")
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<value>.{1,9999}?)-----END", re.DOTALL
)
_STRING: Final = re.compile(
    r"""(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)"""
)
_IN_COMMAND: Final = re.compile(
    r"(?<![\w.\-])(?P<name>--[\w.\-]+(?=[ =])|[A-Z][A-Z0-9_]+(?==))[ =]+(?P<value>[^\s\"'{}\\]{4,})"
)
"""Of a string that is a command: ``--api-key …``, ``WANDB_API_KEY=…``."""
_OFTEN_PLAIN: Final = re.compile(r"(?i).*(?:keys?|tokens?|pass)")
_PLAIN: Final = re.compile(r"[\W_]*(?:[A-Za-z]+[\W_]+)*[A-Za-z]*|.{1,3}")
"""Words without a digit, which name a column or a token of a language model: ``key="reward"``."""


@lru_cache(maxsize=256)
def hide_literals(text: str) -> str:
    """The source ``text``, as long as before, with ``x`` for each character of a secret.

    It takes 0.4 s/MB, and sources are kept again and again while a run is recorded.
    """
    text = _PRIVATE_KEY.sub(_hidden, _PASSWORD.sub(_hidden, _GIVEN.sub(_hidden_if_secret, text)))
    return _STRING.sub(_without_secrets, text)


def _hidden(found: re.Match[str]) -> str:
    start, end = (place - found.start() for place in found.span("value"))
    return f"{found.group()[:start]}{_filled(found['value'])}{found.group()[end:]}"


def _hidden_if_secret(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    is_plain = _OFTEN_PLAIN.fullmatch(name) and _PLAIN.fullmatch(value)
    # Strings with a comma between them are a pair in a call, and words of a list elsewhere.
    is_list = found["comma"] and found.string[found.start() - 2 : found.start() - 1] != "("
    hides = is_secret_name(name) and not is_plain and not is_list
    return _hidden(found) if hides else found.group()


def _without_secrets(found: re.Match[str]) -> str:
    """A string without random ones, and those of a command."""
    quote, start = found["quote"], found.start()
    before = found.string[max(0, start - LOOK_BACK) : start]
    text = _IN_COMMAND.sub(
        lambda part: _hidden(part) if is_secret_name(part["name"]) else part.group(), found["value"]
    )
    return f"{quote}{hide_random(text, _filled, after=before)}{quote}"


def _filled(text: str) -> str:
    return re.sub(r"\S", "x", text)
