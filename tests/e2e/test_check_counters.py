"""What ``rlprof check`` counts, in real runs: planted extra work fails it, what it cannot see does not pass."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.checked_repository import DEADLINE_S, NOT_MEASURED, REGRESSION
from tests.live_processes import cli

Check = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Checks ``head`` against ``base``, both given as text, by counters alone."""

    def _check(
        base: str, head: str, *options: str, python: Sequence[str] = (sys.executable,)
    ) -> subprocess.CompletedProcess[str]:
        for name, text in (("base.py", base), ("head.py", head)):
            (tmp_path / name).write_text(textwrap.dedent(text))
        return subprocess.run(
            cli(
                *("check", "--base-command", shlex.join([*python, "base.py"]), "--counters-only"),
                *(*options, "--", *python, "head.py"),
            ),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    return _check


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None,
        reason=f"{package} is missing (pip install {package})",
    )


@needs("omegaconf")
def test_a_config_read_once_more_in_each_step_fails(check):
    def training(reads: int) -> str:
        return f"""
            import rlprof
            from omegaconf import OmegaConf
            config = OmegaConf.create({{"lr": 0.1}})
            for _ in range(500):
                for _ in range({reads}):
                    config.lr
                rlprof.step()
        """

    answer = check(training(2), training(3), "--counter", "config_accesses=0")

    assert answer.returncode == REGRESSION, answer.stderr
    assert "head counts more per step than base: config_accesses." in answer.stdout


def test_a_program_started_in_each_step_fails(check):
    training = """
        import os, subprocess, rlprof
        for _ in range(50):
            {work}
            rlprof.step()
    """

    answer = check(training.format(work="pass"), training.format(work="subprocess.run(['true'])"))

    assert answer.returncode == REGRESSION, answer.stderr
    assert "head counts more per step than base: process_starts." in answer.stdout


TORCH = """
    import rlprof, torch
    torch.set_num_threads(1)
    net = torch.nn.Linear(8, 2)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range({updates}):
        optimizer.zero_grad()
        net(torch.ones(16, 8)).square().mean().backward()
        optimizer.step()
    for _ in range(100):
        rlprof.step()
"""


@needs("torch")
@pytest.mark.parametrize(
    ("updates", "why"),
    [
        # Its first window was taken, though counted runs have none otherwise.
        (100, "the updates that torch's profiler saw used no GPU"),
        pytest.param(
            2, "not all of its processes had a window of torch's profiler", marks=pytest.mark.slow
        ),
        pytest.param(0, "it made no optimizer steps that torch tells of", marks=pytest.mark.slow),
    ],
)
def test_launches_that_cannot_be_seen_do_not_pass(check, updates, why):
    training = TORCH.format(updates=updates)

    answer = check(training, training, "--counter", "kernel_launches=0")

    assert answer.returncode == NOT_MEASURED, answer.stdout
    assert why in answer.stdout
    assert "launches-unseen" in answer.stderr


@pytest.mark.slow
def test_garbage_collections_are_told_when_they_are_asked_for(check):
    training = """
        import gc, time, rlprof
        for _ in range(20):
            {work}
            for _ in range(30_000):
                pass
            rlprof.step()
    """
    collecting = training.format(work="gc.collect()")

    answer = check(training.format(work=""), collecting, "--counter", "gc_collections=0")

    assert answer.returncode == REGRESSION, answer.stderr
    assert "gc_collections" in answer.stdout


@pytest.mark.parametrize(
    "asked", [(), pytest.param(("--counter", "log_records=0"), marks=pytest.mark.slow)]
)
def test_counters_of_a_program_without_the_agent_are_no_zeros(check, asked):
    training = """
        import time
        for step in range(1, 4):
            time.sleep(0.3)
            print("step", step, flush=True)
    """
    pattern = ("--sps-pattern", r"step (?P<steps>\d+)")

    answer = check(training, training, *pattern, *asked, python=(sys.executable, "-I"))

    assert answer.returncode == NOT_MEASURED, answer.stdout
    assert "counters-unseen" in answer.stderr
