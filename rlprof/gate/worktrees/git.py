"""Ask git, and nothing but git: the environment of a hook names another repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.errors import MeasureError
from rlprof.gate.interruption import shielded
from rlprof.gate.processes import end_group
from rlprof.recording.machine.git_environment import without_repository

_TIMEOUT_S: Final = 600
"""Submodules are fetched over a network."""


class GitAnswer(NamedTuple):
    code: int
    out: str
    error: str

    @property
    def is_good(self) -> bool:
        return self.code == 0


def git(folder: Path, *arguments: str, **variables: str) -> GitAnswer:
    """Run git in ``folder``, with ``variables`` in its environment.

    Raises :class:`MeasureError` when there is no git, or it hangs.
    """
    try:
        code, out, complaint = _run(folder, arguments, variables)
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise MeasureError(
                f"the folder {folder} is gone",
                slug="check-refused",
                hint="does a run, or --prepare, remove or move it?",
            ) from error
        raise MeasureError(
            "git is not installed, and --base needs it",
            slug="git-missing",
            hint="install git, or give the other program with --base-command",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise MeasureError(
            f"git {arguments[0]} took longer than {_TIMEOUT_S} s in {folder}",
            slug="worktree-failed",
            hint="try the command by hand; does it wait for a network?",
        ) from error
    # Paths may end in a blank, and need not be UTF-8.
    return GitAnswer(
        code,
        os.fsdecode(out).removesuffix("\n"),
        complaint.decode("utf-8", "backslashreplace").strip(),
    )


def _run(
    folder: Path, arguments: tuple[str, ...], variables: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    """Its exit code and its output. Whatever keeps it from its end, none of its processes lives on."""
    process: subprocess.Popen[bytes] | None = None
    try:
        # Told to stop between fork and here, nobody would know of a process to end.
        with shielded():
            process = subprocess.Popen(
                # Looking at the state of a repository would write its index anew.
                ["git", "--no-optional-locks", *arguments],
                cwd=folder,
                env={**without_repository(os.environ), "GIT_TERMINAL_PROMPT": "0", **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is ours: a worktree that is half removed would stay.
                start_new_session=True,
            )
        out, error = process.communicate(timeout=_TIMEOUT_S)
    except BaseException:
        if process is not None:
            with process:
                # A checkout that lives on would write into what is removed next.
                end_group(process.pid)
        raise
    return process.returncode, out, error
