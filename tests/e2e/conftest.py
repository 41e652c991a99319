"""Real processes: the real CLI on small targets, with deadlines and ready signals, never a sleep."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.checked_repository import CheckedRepository
from tests.heard_signals import hear_signals
from tests.live_processes import (
    DEADLINE_S,
    Result,
    Running,
    Terminal,
    cli,
    find_python,
    processes_with,
)

OTHER_PYTHONS = ("3.9", "3.10", "3.12", "3.13")
_OF_OTHER_PYTHONS = [
    pytest.param(version, marks=() if version in ("3.9", "3.13") else pytest.mark.slow)
    for version in OTHER_PYTHONS
]
"""Those between them are left to ``make slow``."""


hear_signals()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.e2e)
    # At the end one worker would be busy with them while the others have nothing left.
    items.sort(key=_longest_s, reverse=True)


def _longest_s(item: pytest.Item) -> float:
    """Seconds that the test may take; 0 for those that have no mark of their own."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark and mark.args else 0.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """End what a failed test leaves behind: a stopped job, orphans that wait."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.when == "call" and report.failed and folder is not None:
        _kill_all_with(str(folder))
    return report


def _kill_all_with(text: str) -> None:
    for pid in processes_with(text):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a script, dedented, into the test's folder."""

    def _write(text: str, name: str = "train.py") -> Path:
        script = tmp_path / name
        script.write_text(textwrap.dedent(text))
        return script

    return _write


@pytest.fixture
def repository(tmp_path: Path) -> CheckedRepository:
    """One with nothing in it, in the test's folder."""
    return CheckedRepository.below(tmp_path)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """For command lines. What still has it, or names the test's folder, when the test ends is killed."""
    yield str(tmp_path / "mark")
    _kill_all_with(str(tmp_path))


@pytest.fixture
def start(tmp_path: Path):
    """Starts ``rlprof run OPTIONS TARGET…`` in the test's folder."""
    running: list[Running] = []

    def _start(
        *target: str | Path,
        options: Sequence[str | Path] = (),
        env: Mapping[str, str] | None = None,
        report: bool = False,
        stdin: int | None = subprocess.DEVNULL,
        run_file: Path | None = None,
        prefix: Sequence[str] = (),
        start_new_session: bool = False,
        python: str | Path = sys.executable,
    ) -> Running:
        options = [*options, *([] if report else ["--no-report"])]
        run_file = run_file or tmp_path / f"run-{len(running)}.rlprof"
        command = [
            *prefix,
            *cli("run", "-o", run_file, *options, *target, python=python),
        ]
        popen = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=start_new_session,
        )
        running.append(Running(popen, run_file))
        return running[-1]

    yield _start
    for each in running:
        each.end()


@pytest.fixture
def rlprof_run(start) -> Callable[..., Result]:
    """Runs ``rlprof run`` on a target to its end."""

    def _run(*target: str | Path, **keywords: object) -> Result:
        return start(*target, **keywords).finish()

    return _run


@pytest.fixture
def bare_run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs a script without rlprof, to compare with."""

    def _run(*target: str | Path, **keywords: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, *map(str, target)],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )

    return _run


@pytest.fixture(params=_OF_OTHER_PYTHONS)
def other_python(request: pytest.FixtureRequest) -> Path:
    found = find_python(request.param)
    if found is None:
        pytest.skip(f"no Python {request.param} on PATH or in pyenv")
    return found


@pytest.fixture(params=["ours", *_OF_OTHER_PYTHONS])
def each_python(request: pytest.FixtureRequest) -> Path:
    """That of the tests, and each other one that there is."""
    found = Path(sys.executable) if request.param == "ours" else find_python(request.param)
    if found is None:
        pytest.skip(f"no Python {request.param} on PATH or in pyenv")
    return found


@pytest.fixture(scope="session", autouse=True)
def _austin() -> None:
    if shutil.which("austin") is None and not Path(sys.executable).with_name("austin").exists():
        pytest.skip("the sampler austin is missing (pip install austin-dist)")


@pytest.fixture
def terminal(tmp_path: Path):
    """Starts a command as the leader of a session on a new terminal."""
    opened: list[Terminal] = []

    def _open(command: list[str]) -> Terminal:
        opened.append(Terminal(command, tmp_path))
        return opened[-1]

    yield _open
    for each in opened:
        each.close()
