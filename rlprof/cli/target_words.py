"""The words of a target on a command line: where rlprof's own options end and the user's program begins.

``rlprof run`` follows the rules of ``python`` itself. Options before the script are rlprof's
and are checked; everything from the script on is the target's, unread, even where it looks
like an option of rlprof::

    rlprof run --label a100 train.py --lr 3e-4      script train.py
    rlprof run -m my_package.train env=ant          module, as python -m
    rlprof run -- torchrun train.py                 command, as typed

It imports next to nothing: where the rest of the command line cannot be imported, the training starts by this.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class TargetKind(Enum):
    SCRIPT = "script"
    """A Python file, started with the chosen interpreter."""
    MODULE = "module"
    """As ``python -m`` takes it."""
    COMMAND = "command"
    """Any program, started as typed."""


class Target(NamedTuple):
    kind: TargetKind
    words: tuple[str, ...]
    """The script, module or program first, then its arguments; empty when none was given."""


def split(args: list[str], value_options: frozenset[str]) -> tuple[list[str], Target]:
    """``args`` cut into rlprof's own and the target."""
    position = 0
    while position < len(args):
        word = args[position]
        if word == "--":
            return args[:position], Target(TargetKind.COMMAND, tuple(args[position + 1 :]))
        if word == "-m":
            return args[:position], Target(TargetKind.MODULE, tuple(args[position + 1 :]))
        if not word.startswith("-") or word == "-":
            return args[:position], Target(TargetKind.SCRIPT, tuple(args[position:]))
        position += 2 if _takes_next_word(word, value_options) else 1
    return args, Target(TargetKind.SCRIPT, ())


def _takes_next_word(word: str, value_options: frozenset[str]) -> bool:
    """Tell whether the value of option ``word`` is the next word, not a part of it (``--a=1``, ``-o1``)."""
    if word.startswith("--"):
        return word in value_options
    for position, letter in enumerate(word[1:], start=1):
        if f"-{letter}" in value_options:
            return position == len(word) - 1
    return False
