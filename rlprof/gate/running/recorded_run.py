"""One run of a program under way: what is started for it, and whether it ended well."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rlprof.errors import MeasureError, RlprofError
from rlprof.gate.processes.own_process import read_answer
from rlprof.gate.processes.process_session import ProcessSession
from rlprof.gate.processes.program_output import last_lines
from rlprof.gate.program import Program
from rlprof.gate.running.one_run import (
    Counting,
    RunAnswer,
    RunRequest,
    command_for,
    request_of,
)
from rlprof.gate.worktrees.foreign_imports import refuse_foreign_imports
from rlprof.gate.worktrees.imported_files import FOLDER_VARIABLE, ImportedFiles, imported_files

_NO_MODULE: Final = "ModuleNotFoundError"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    program: Program
    pair: int
    """Counted from 1."""
    folder: Path
    """For what it leaves on disk."""
    counting: Counting
    is_full: bool = False
    """Sampled too, and not only counted."""

    @property
    def run_file(self) -> Path:
        name = f"{'full' if self.is_full else 'pair'}-{self.pair}-{self.program.side.value}"
        return self.folder / f"{name}.rlprof"

    @property
    def name(self) -> str:
        """For messages."""
        return self.program.run_name(self.pair)

    @contextmanager
    def session(self, *, beside: Sequence[ProcessSession] = ()) -> Iterator[ProcessSession]:
        """It runs from the beginning of the ``with``, and has ended at its end."""
        asked = self.run_file.with_suffix(".request.json")
        self._imports.mkdir()
        try:
            with ProcessSession(
                command_for(self._request, asked),
                environment=os.environ,
                folder=self.program.folder,
                log=self._log,
                beside=beside,
            ) as session:
                yield session
        finally:
            asked.unlink(missing_ok=True)

    def check_end(self) -> None:
        """Raise :class:`MeasureError` unless it ended well."""
        answer = read_answer(Path(self._request.answer), RunAnswer)
        if answer is None:
            raise MeasureError(
                f"the recording of {self.name} ended without a word\n{last_lines(self._log)}",
                slug="recording-lost",
                hint="was it killed, or is the machine out of memory? Otherwise please report it",
            )
        if answer.slug:
            raise MeasureError(
                f"{self.name} could not be recorded: {answer.message}",
                slug=answer.slug,
                hint=answer.hint,
            )
        if answer.exit_code:
            raise self._failed(answer.exit_code)

    def imported(self) -> ImportedFiles | None:
        """What it imported, once it has ended; None where the sides are no working trees of one repository.

        Raises :class:`MeasureError` as ``refuse_foreign_imports`` does.
        """
        checkout = self.program.checkout
        if checkout is None:
            return None
        found = imported_files(self._imports, checkout, self._named_files())
        # Thousands of paths for each process of each run.
        shutil.rmtree(self._imports, ignore_errors=True)
        refuse_foreign_imports(found, self.program, self.name)
        return found

    def _named_files(self) -> list[Path]:
        """Files that words of its command name, where links lead to."""
        words = [word.rpartition("=")[2] for word in self.program.command]
        files = [self.program.folder / word for word in (*self.program.command, *words)]
        # A word may be longer than a path can be.
        return [Path(os.path.realpath(it)) for it in files if os.path.isfile(it)]  # noqa: PTH113 - raises nothing

    def timed_out(self, timeout_s: float) -> RlprofError:
        return MeasureError(
            f"{self.name} took longer than {timeout_s:g} s and was ended\n{last_lines(self._log)}",
            slug="program-timed-out",
            hint="let it train for fewer steps, or allow it more time with --timeout SECONDS",
        )

    def _failed(self, code: int) -> RlprofError:
        printed = last_lines(self._log)
        hint = self._usual_hint()
        if _NO_MODULE in printed:
            hint = f"{self.program.command[0]} has no such module: --python names the interpreter of the training"
            # Nothing else is prepared: head and another command stand where they are.
            if self.program.in_worktree:
                hint += ", and --prepare builds what base lacks in its worktree"
        return MeasureError(
            f"{self.name} failed with exit code {code}\n{printed}",
            slug="program-failed",
            hint=hint,
        )

    def _usual_hint(self) -> str:
        return (
            "base runs in a worktree of its own: files that git does not track are not there, and what "
            "is built must be built first (--prepare COMMAND)"
            if self.program.in_worktree
            else "run it by itself to see why"
        )

    @property
    def _log(self) -> Path:
        return self.run_file.with_suffix(".log")

    @property
    def _imports(self) -> Path:
        """For what its agents tell."""
        return self.run_file.with_suffix(".imports")

    @property
    def _request(self) -> RunRequest:
        return request_of(
            _to_start(self.program, self.pair, self._imports),
            self.run_file,
            is_full=self.is_full,
            label=self.program.name,
            counting=self.counting,
        )


def _to_start(program: Program, pair: int, imports: Path) -> Program:
    """``program`` in an environment as of a shell in its folder.

    The hash seed is the same on both sides and another one in the next pair: the order of a set changes
    how fast a program is, and one seed alone would count as the program.
    """
    environment = {
        "PYTHONHASHSEED": str(pair),
        **program.environment,
        "PWD": str(program.folder),
        # Head's too: paths in the environment reach the layout of memory.
        FOLDER_VARIABLE: str(imports),
    }
    environment.pop("OLDPWD", None)
    return replace(program, environment=environment)
