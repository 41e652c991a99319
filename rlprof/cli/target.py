"""The target of a command, and other options that several of them have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer
from typer.core import TyperCommand

from rlprof.cli.command import Target, split
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


Prepare: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COMMAND", help="Shell command that builds the base in its worktree."),
]
ReplaceRunFile: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace the run file if it exists.")
]


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


def target_of(ctx: typer.Context, hint: str) -> Target:
    """The target that was given to the running command; raises ``UsageError`` where there is none."""
    target = ctx.meta[_META_KEY]
    assert isinstance(target, Target)
    if not target.words:
        raise UsageError("nothing to run was given", slug="no-target", hint=hint)
    return target


# --- --sps-pattern and --steps-from, as typed ---------------------------------------------------


def pattern_of(text: str | None) -> re.Pattern[str] | None:
    """``--sps-pattern``, compiled, if it is given; raises ``UsageError`` when it can find nothing."""
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"--sps-pattern {text!r} is not a regular expression: {error}",
            slug="bad-pattern",
            hint=r"for example --sps-pattern 'SPS: (\d+)'",
        ) from error
    if not pattern.groups:
        raise UsageError(
            f"--sps-pattern {text!r} captures nothing",
            slug="bad-pattern",
            hint=r"put the number into a group, for example 'global_step=(?P<steps>\d+)'",
        )
    return pattern


def counted_function(text: str | None, *, agent: bool = True) -> str | None:
    """``--steps-from``, if it is given; raises ``UsageError`` when it cannot be counted."""
    if text is None:
        return None
    module, colon, qualname = text.partition(":")
    parts = [*module.split("."), *qualname.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise UsageError(
            f"--steps-from {text!r} names no function of a module",
            slug="bad-steps-from",
            hint="give MODULE:QUALNAME as Python would import it, "
            "for example --steps-from envs.maze:MazeEnv.step",
        )
    if module == "__main__":
        raise UsageError(
            f"--steps-from {text!r} names a function of the script itself, which is not there yet when its process begins to count",
            slug="bad-steps-from",
            hint="call rlprof.step(n) in the script, or move the function to a module that the script imports",
        )
    if not agent:
        raise UsageError(
            "--steps-from does not go with --no-agent",
            slug="bad-steps-from",
            hint="the agent is what counts: leave out --no-agent",
        )
    return text
