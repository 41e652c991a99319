"""The last net: long random strings, which are secrets more often than not, whatever their name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_SHORTEST: Final = 20
"""Characters. Keys have more; what is shorter may be a name, a date or the id of a run."""
_MOST_COMMON: Final = 0.3
"""Largest part of the pairs of a string that may be common in names. A hundred in a hundred random strings of 32 characters
stay below, 98 of 100 of 20, and 1 of 100 words of 20 letters in the code of PyPI's packages."""
_FEWEST: Final = 8
"""Pairs of which two digits are none, and different characters."""
_COMMON_PAIRS: Final = (
    "ab ac ad al am an ar as at ba ca ce ch ck co ct de di ea ec ed el en er es et ex ff fi ge ha he ic il in "
    "io is it la le li ll lo ma me na nc nd ne ng no ns nt od on or pa pe pr ra re ri ro rr rs rt se si ss st "
    "su ta te th ti to tr ts un ve"
)
"""The 80 most frequent in the names of Python's standard library."""

_KEY_OF_A_SERVICE: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[oprsu]_|github_pat_|glpat-|hf_|npm_|nvapi-|pypi-|sk-|wandb_v1_|xox[a-z]-|ya29\."
    r"|A[KS]IA|AIza|SG\.|eyJ)[\w.\-]{12,}"
)
"""By the letters that they begin with: GitHub, GitLab, Hugging Face, OpenAI, Slack, Google, AWS, a JWT."""
_RUN: Final = re.compile(rf"""[^\s"'`=,;:?&#%|()\[\]{{}}<>\\]{{{_SHORTEST},}}={{0,2}}""")
_UNIT: Final = re.compile(rf"[\w+\-]{{{_SHORTEST},}}", re.ASCII)
_WORD: Final = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+/]{31,}={0,2}")
_JUMBLED: Final = re.compile(
    r"[a-z\d][A-Z]{2,}[a-z\d]|[A-Z]\d[A-Za-z]|[a-z]\d[A-Z]|\d[a-z][A-Z]|[a-z][A-Z]\d|\d[A-Z][a-z]"
)
"""Capitals, small letters and digits in an order that names seldom have."""
_FEWEST_JUMBLED: Final = 2
"""Of what has many hyphens. With this 2 of 1 000 strings of ``secrets.token_urlsafe()`` stay (30 without), and 3 more of 1 000 names of
runs go (``DreamerV3-Final-MiniGrid-DoorKey-8x8-v0-bs256-seed92-lr3e-4-H4x4``).
"""
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_SUFFIX: Final = re.compile(r"\.[A-Za-z]\w{0,9}$")
_OF_A_HASH: Final = re.compile(
    r"(?i)(?:(?<![a-z])(?:checkout|checkpoint|checksum|ckpt|commit|digest|experiment|git|guid|hash|ids?|job|md5"
    r"|ref|reset|rev|revision|run|sha\d*|snapshot|study|tag|trial|uuid|version)[\"']?\]?\s*[=:\s]\s*[\"']?|@)$"
)
"""Before what is no secret: the hash of a commit or a file, the id of a run."""
_OF_A_HASH_IN_A_URL: Final = re.compile(
    r"(?i)(?:@|//raw\.githubusercontent\.com/[^/]+/[^/]+/|/(?:archive|artifact|blob|checkpoint|commit|compare|dataset|experiment|file|job|model"
    r"|object|raw|resolve|run|sha\d*|tarball|tree|zipball)s?/)$"
)
"""The same in a URL, where other hexadecimal digits are keys (nodes, webhooks)."""
LOOK_BACK: Final = 40
"""Characters in which the name of a hash is looked for."""


def hide_random(text: str, hidden: Callable[[str], str], *, after: str = "") -> str:
    """``text`` with ``hidden`` of each long random string; ``after`` is the argument before it.

    UUIDs stay, and what is named as a hash or stands in the path of a file.
    """
    text = _KEY_OF_A_SERVICE.sub(lambda key: hidden(key.group()), text)
    pieces: list[str] = []
    at = 0
    for run in _RUN.finditer(text):
        # What names a hash and is hidden itself, names it no more.
        before = text[max(at, run.start() - LOOK_BACK) : run.start()]
        told = _redacted_run(run.group(), before or f"{after[-LOOK_BACK:]} ", hidden)
        if told != run.group():
            pieces += [text[at : run.start()], told]
            at = run.end()
    return "".join((*pieces, text[at:]))


def _redacted_run(run: str, before: str, hidden: Callable[[str], str]) -> str:
    """A ``run`` of characters without blanks, or what is told of it."""
    if _OF_A_HASH.search(before):
        return run
    if before.endswith(":") and run.startswith("//"):
        return _UNIT.sub(lambda unit: _in_url(unit, hidden), run)
    if _BASE64.fullmatch(run) and _is_mixed(run):
        return hidden(run) if _looks_random(run) else run
    if "/" in run or _SUFFIX.search(run):
        return run
    return hidden(run) if any(map(_is_random, _UNIT.findall(run))) else run


def _in_url(unit: re.Match[str], hidden: Callable[[str], str]) -> str:
    text, before = unit.group(), unit.string[: unit.start()]
    is_hash = _HEX.fullmatch(text) and _OF_A_HASH_IN_A_URL.search(before)
    return text if is_hash or not _is_random(text) else hidden(text)


def _is_random(unit: str) -> bool:
    if _UUID.fullmatch(unit):
        return False
    parts = re.split(r"[_+\-]", unit)
    # Names have a hyphen every few letters, base64 one in thirty.
    whole = [unit] if 10 * len(parts) <= len(unit) else []
    if any(len(part) >= _SHORTEST and _looks_random(part) for part in (*whole, *parts)):
        return True
    joined = "".join(parts)
    is_jumbled = len(_JUMBLED.findall(joined)) >= _FEWEST_JUMBLED
    return (
        is_jumbled
        and len(joined) >= _SHORTEST
        and _JUMBLED.search(max(parts, key=len)) is not None
        and _is_mixed(joined)
        and _looks_random(joined)
    )


def _looks_random(text: str) -> bool:
    if not re.search(r"\d", text) and _is_camel_case(text):
        return False
    lower = text.lower()
    pairs = [lower[at : at + 2] for at in range(len(lower) - 1) if not lower[at : at + 2].isdigit()]
    common = sum(pair in _COMMON_PAIRS for pair in pairs)
    is_varied = min(len(pairs), len(set(lower))) >= _FEWEST
    return is_varied and common <= _MOST_COMMON * len(pairs)


def _is_camel_case(text: str) -> bool:
    words = _WORD.findall(text)
    return len(words) > 1 and len(text) >= 4 * len(words)


def _is_mixed(text: str) -> bool:
    return all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", r"\d"))
