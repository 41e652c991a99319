"""``--sps-pattern`` and ``--steps-from``, as typed."""

from __future__ import annotations

import os
import re

from rlprof.errors import UsageError


def pattern_of(text: str) -> re.Pattern[bytes]:
    """``--sps-pattern``, compiled; raises ``UsageError`` when it can find nothing."""
    try:
        pattern = re.compile(os.fsencode(text))
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


def counted_function(text: str, *, agent: bool) -> str:
    """``--steps-from``; raises ``UsageError`` when it cannot be counted."""
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
