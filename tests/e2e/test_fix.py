"""A program is recorded, its source changed by ``rlprof fix``, and run again."""

from __future__ import annotations

import subprocess

import pytest

from tests.git_repository import GitRepository
from tests.live_processes import DEADLINE_S, cli

TRAINING = """\
import logging
import time

import numpy as np

logger = logging.getLogger(__name__)


class Env:
    def __init__(self):
        self.state = np.zeros(64)

    def step(self, action):
        self.state = np.tanh(self.state * 0.9 + action)
        return self.state, float(self.state.sum()), False, {}


def train(env, steps):
    total = 0.0
    until = time.thread_time() + 3.0
    for t in range(steps):
        state, reward, done, info = env.step(0.01 * (t % 7))
        # At each step.
        logger.debug(f"step {t} state {state} reward {reward:.3f}")  # quiet
        total += reward
        if time.thread_time() > until:
            break
    return total


if __name__ == "__main__":
    train(Env(), 1_000_000)
    print(train(Env(), 50))
"""
OLD = 'logger.debug(f"step {t} state {state} reward {reward:.3f}")  # quiet'
NEW = 'logger.debug("step %s state %s reward %.3f", t, state, reward)  # quiet'


def test_a_fix_is_shown_applied_and_changes_no_result(tmp_path, rlprof_run, bare_run):
    pytest.importorskip("numpy")
    repository = GitRepository.new(tmp_path / "project")
    repository.commit(TRAINING)
    script = repository.folder / "train.py"
    result = rlprof_run(script)
    assert result.code == 0, result.err

    def fix(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            cli("fix", result.run_file, *words),
            cwd=repository.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    shown = fix("eager-log-format")
    assert shown.returncode == 0, shown.stderr
    assert f"-        {OLD}\n+        {NEW}\n" in shown.stdout
    assert script.read_text() == TRAINING

    script.write_text(f"{TRAINING}\n# Mine.\n")
    refused = fix("eager-log-format", "--apply")
    assert (refused.returncode, "not committed" in refused.stderr) == (2, True)
    assert script.read_text() == f"{TRAINING}\n# Mine.\n"

    repository.commit(TRAINING + "\n")
    applied = fix("eager-log-format", "--apply")
    assert (applied.returncode, applied.stdout) == (0, "")
    assert script.read_text() == f"{TRAINING}\n".replace(OLD, NEW)
    assert bare_run(script).stdout == result.out
