"""A git repository for tests, untouched by how git is configured on this machine."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "A Researcher",
    "GIT_AUTHOR_EMAIL": "researcher@example.org",
    "GIT_COMMITTER_NAME": "A Researcher",
    "GIT_COMMITTER_EMAIL": "researcher@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    # Submodules that lie on this machine.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "protocol.file.allow",
    "GIT_CONFIG_VALUE_0": "always",
}


class GitRepository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def new(cls, folder: Path) -> GitRepository:
        folder.mkdir(parents=True)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch", "main")
        return made

    def clone(self, folder: Path, *options: str) -> GitRepository:
        # By URL: from a path git would copy everything, however shallow the clone is asked to be.
        self.git("clone", "--quiet", *options, f"file://{self.folder}", str(folder))
        return GitRepository(folder)

    def git(self, *arguments: str) -> str:
        done = self.attempt(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def attempt(
        self, *arguments: str, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
            check=False,
        )

    def write(self, text: str, name: str = "train.py") -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def commit(self, text: str, name: str = "train.py") -> str:
        """The new commit's hash."""
        self.write(text, name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"write {name}")
        return self.git("rev-parse", "HEAD")
