"""Runs that imported other files than their own are refused: both sides would run the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlprof.errors import MeasureError
from rlprof.gate.program import Program, Side
from rlprof.gate.worktrees.imported_files import ImportedFiles
from rlprof.report import wording


def refuse_foreign_imports(imported: ImportedFiles, program: Program, run: str) -> None:
    """Raise :class:`MeasureError` if what ``run`` of ``program`` imported makes it no run of its side."""
    if imported.of_other:
        raise _of_other(imported.of_other, program.side, run)
    if imported.not_run:
        raise MeasureError(
            f"{run} imported a copy of {_and_more(imported.not_run)} in place of its own, and that file is another one "
            "in base than in head",
            slug="change-not-run",
            hint="an installed copy, or another clone on the path, runs on both sides, and not the change: install the "
            "project editable (pip install -e .), or compare two environments with --base-command",
        )


def _of_other(files: Sequence[Path], side: Side, run: str) -> MeasureError:
    if side is Side.HEAD:
        return MeasureError(
            f"{run} imported {_and_more(files)} from the worktree of base, and not from its own tree",
            slug="head-imports-base",
            hint="--prepare has installed base where head is installed: install head again, and have --prepare make "
            "an environment of its own in the worktree",
        )
    return MeasureError(
        f"{run} imported {_and_more(files)} from the working tree of head, and not from its own",
        slug="base-imports-head",
        hint="what leads there: an installation (setuptools' strict mode, a link), or a path in the command, the "
        "program or its environment? --base-command compares two folders that you have prepared",
    )


def _and_more(files: Sequence[Path]) -> str:
    rest = len(files) - 1
    return (
        f"{files[0]} and {wording.counted(rest, 'more file', 'more files')}"
        if rest
        else str(files[0])
    )
