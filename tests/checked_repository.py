"""A repository that ``rlprof check`` is called in, and how such a call ended."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.git_repository import ENVIRONMENT, GitRepository
from tests.live_processes import cli

DEADLINE_S = 110

PASS, REGRESSION, USAGE, NOT_MEASURED = 0, 1, 2, 4

# Each step waits, so that its rate hardly depends on what else the machine does.
WAITING = """
import sys, time
import rlprof

for _ in range({steps}):
    time.sleep({cost_s})
    rlprof.step()
"""


def waiting(*, steps: int = 300, cost_s: float = 0.004) -> str:
    return WAITING.format(steps=steps, cost_s=cost_s)


@dataclass(frozen=True)
class Checked:
    """How a check ended."""

    code: int
    out: str
    err: str

    def fails_with(self, code: int, slug: str) -> bool:
        assert (self.code, f"rlprof explain {slug}" in self.err) == (code, True), self.err
        return True


class CheckedRepository(GitRepository):
    """With a folder for temporary files that must be left empty."""

    def __init__(self, folder: Path, *, temporary: Path | None = None) -> None:
        super().__init__(folder)
        self.temporary = temporary or folder.with_name("temporary")
        self.temporary.mkdir()
        self.summary = folder.with_name("summary.md")
        """Of the job, as on a runner of GitHub."""

    @classmethod
    def below(cls, root: Path, *, temporary: Path | None = None) -> CheckedRepository:
        return cls(GitRepository.new(root / "project").folder, temporary=temporary)

    def start(
        self, *options: str | Path, folder: Path | None = None, command: str = "check"
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            cli(command, *options),
            cwd=folder or self.folder,
            env={
                **os.environ,
                **ENVIRONMENT,
                "TMPDIR": str(self.temporary),
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def check(self, *options: str | Path, folder: Path | None = None) -> Checked:
        return self.ended("check", *options, folder=folder)

    def ended(self, command: str, *options: str | Path, folder: Path | None = None) -> Checked:
        """How that command of rlprof ended."""
        running = self.start(*options, folder=folder, command=command)
        try:
            out, err = running.communicate(timeout=DEADLINE_S)
        finally:
            running.kill()
            running.wait()
        return Checked(running.returncode, out, err)

    def assert_tidy(self) -> None:
        """No worktree and no temporary file is left."""
        assert len(self.git("worktree", "list").splitlines()) == 1
        left = [*self.temporary.iterdir(), *self.folder.glob(".git/worktrees/*")]
        assert left == []
