"""Names that stand before a secret: ``--api-key``, ``WANDB_API_KEY``, ``wandb.apiKey``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_WORD_ENDS: Final = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_SECRET_BESIDE: Final = re.compile(
    r"access|account|anthropic|api|auth|aws|azure|bearer|bot|comet|encryption|gcp|github|gitlab|gpg|hf"
    r"|huggingface|license|neptune|openai|private|refresh|secret|service|signing|slack|ssh|wandb"
)
"""Words beside which they are secret whatever else is there, and with which they are one word: ``openaikey``."""
_SURE_WORD: Final = re.compile(
    rf"[a-z]*(password|passwd|passphrase|passcode)s?|({_SECRET_BESIDE.pattern})keys?"
)
"""One that announces a secret without an option's dash or a sign."""
_SECRET_WORD: Final = re.compile(
    rf"{_SURE_WORD.pattern}|[a-z]*(secret|credential)s?"
    r"|[a-z]{2,}tokens?|(db|ftp|my|pg|redis|root|smtp|ssh|user)pass|[a-z]*(auth|cookies?|pwd)|pw|psk|creds?"
    r"|authorization|authentication|bearer|certs?|certificate|dsn|jwt|mnemonics?|otp|pat|sas|sessid|sessionid"
    r"|signature|webhook"
)

_OFTEN_A_WORD: Final = re.compile(
    r"[a-z]*(password|passwd|passphrase|passcode|secret|credential|pwd)s?|creds?|pw"
)
"""Secrets that people think up. Keys and tokens have digits, as a rule."""

_HARMLESS_BESIDE: Final = {
    "key": re.compile(
        r"actions?|batch|bias|cnn|col(umn)?|count|data|dict|dims?|eval|features?|field|foreign|frame|goal|group"
        r"|heads?|hidden|images?|info|input|jax|latent|len(gth)?|log|map|mask|max|metrics?|min|mlp|monitor|n|num"
        r"|obs|observations?|output|padding|per|pixels?|primary|prng|proj(ection)?|query|random|rewards?|rng|rnn"
        r"|row|seed|size|sort|split|states?|stats?|target|total|values?"
    ),
    "token": re.compile(
        r"action|batch|bos|budget|cls|context|count|dim|drop(out)?|embed(dings?)?|eos|generated|image|input|keep"
        r"|len(gth)?|level|limit|logits|loss|mask|max|min|mix(ing)?|n|new|num|obs|output|pad(ding)?|patch|per"
        r"|pos(ition(al)?)?|prefix|prompt|rate|ratio|sep|seq(uence)?|size|sos|special|state|text|total|train|type"
        r"|unk|visual|vocab|weight|window|word"
    ),
    "pass": re.compile(r"backward|filter|first|forward|max|min|n|num|one|per|rate|second|two"),
}
"""Words beside which a key names a column, tokens are those of a language model, and a pass is a round."""
_CLEAR_WORD: Final = re.compile(rf"{_SECRET_WORD.pattern}|{_SECRET_BESIDE.pattern}|tokens?")
_PAIRS: Final = ({"session", "id"}, {"seed", "phrase"}, {"recovery", "phrase"})
_PLACES: Final = frozenset({"dir", "file", "folder", "path", "type"})
"""Last words of names whose value tells where a secret is, or of which kind."""


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Tell whether a part of a dotted name says that a secret follows: ``monkey`` and ``max_tokens`` do not."""
    return any(_says_secret(_words(part)) for part in re.split(r"[./:]", name))


def is_surely_secret_name(name: str) -> bool:
    """Tell whether a secret follows ``name`` though they are but two words beside each other."""
    words = _words(name)
    return is_secret_name(name) and (len(words) > 1 or _has(words, _SURE_WORD))


def is_vague_name(name: str) -> bool:
    """Tell whether ``name`` says no more than key or pass: more often a column or a verdict than a secret."""
    words = _words(name)
    return not {"key", "keys", "pass"}.isdisjoint(words) and not _has(words, _CLEAR_WORD)


def is_often_a_word(name: str) -> bool:
    """Tell whether plain words are secrets under ``name``, too: under passwords they are, and tokens are often words of a language."""
    return _has(_words(name), _OFTEN_A_WORD)


def last_word(name: str) -> str:
    """``Keys`` of ``ApiKeys``: what a thing of that name is."""
    return next(reversed(_words(name)), "")


def _words(part: str) -> list[str]:
    return [word.lower().rstrip("0123456789") for word in _WORD_ENDS.split(part) if word]


def _says_secret(words: list[str]) -> bool:
    if not words or words[-1] in _PLACES:
        return False
    if _has(words, _SECRET_WORD) or any(map(set(words).issuperset, _PAIRS)) or words == ["sig"]:
        return True
    return any(
        _has(words, _SECRET_BESIDE) or not _has(words, harmless)
        for ambiguous, harmless in _HARMLESS_BESIDE.items()
        if ambiguous in words or f"{ambiguous}s" in words
    )


def _has(words: Iterable[str], kind: re.Pattern[str]) -> bool:
    return any(map(kind.fullmatch, words))
