"""The target on a command line: where rlprof's own options end and the user's program begins.

``rlprof run`` follows the rules of ``python`` itself. Options before the script are rlprof's
and are checked; everything from the script on is the target's, unread, even where it looks
like an option of rlprof::

    rlprof run --label a100 train.py --lr 3e-4      script train.py
    rlprof run -m my_package.train env=ant          module, as python -m
    rlprof run -- torchrun train.py                 command, as typed
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import typer
from typer.core import TyperCommand

from rlprof.errors import UsageError

_META_KEY: Final = "rlprof.target"

USAGE: Final = "[OPTIONS] SCRIPT [ARGS]... | -m MODULE [ARGS]... | -- COMMAND [ARGS]..."
"""For the usage line of a command that takes a target."""

Interpreter: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--python", metavar="PATH", help="Interpreter for the script, for example of another venv."
    ),
]
SpsPattern: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="Find the speed in the output, as in rlprof run."),
]
StepsFrom: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="MODULE:FUNCTION", help="Count calls of this, as in rlprof run."),
]


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


class TargetCommand(TyperCommand):
    """A command that ends in a target; it finds it with ``target_of(ctx)``.

    click alone cannot tell ``run -- x`` from ``run x``, and goes on looking for options
    behind ``-m MODULE``.
    """

    # typer carries a private copy of click from 0.26 on, so the context has no public type here.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own, target = split(args, self._value_options(ctx))
        ctx.meta[_META_KEY] = target
        return super().parse_args(ctx, own)

    def _value_options(self, ctx: Any) -> frozenset[str]:
        """The options that take the word behind them as their value."""
        takes_value = (
            param
            for param in self.get_params(ctx)
            if param.param_type_name == "option" and not getattr(param, "is_flag", False)
        )
        return frozenset(name for param in takes_value for name in param.opts)


def target_of(ctx: typer.Context) -> Target:
    """The target that was given to the running command."""
    target = ctx.meta[_META_KEY]
    assert isinstance(target, Target)
    return target


def nothing_to_run(hint: str) -> UsageError:
    return UsageError("nothing to run was given", slug="no-target", hint=hint)


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
