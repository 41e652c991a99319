from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rlprof.recording.census import Census
from rlprof.recording.machine import procfs
from rlprof.recording.outliving import notes_of_outliving
from rlprof.recording.processes import RunProcesses
from rlprof.recording.stacks import StackTable

SLEEPS = "import time; time.sleep(60)"
TRACKER = "from multiprocessing.resource_tracker import main; import time; time.sleep(60)"


def test_nothing_is_told_where_all_have_ended():
    assert notes_of_outliving([]) == []


def test_it_is_told_which_went_on_and_what_to_do():
    (note,) = notes_of_outliving([4711])
    (of_many,) = notes_of_outliving(range(100, 106))

    assert note.slug == "went-on-after-the-end"
    assert note.text.startswith(
        "Process 4711 went on after the program's end and was not recorded further"
    )
    assert "start it in the foreground" in note.text
    assert of_many.text.startswith("Processes 100, 101, 102, 103, … went on")


@pytest.fixture
def processes() -> Iterator[RunProcesses]:
    with selectors.DefaultSelector() as selector:
        made = RunProcesses(
            server=cast("Any", None),
            census=Census(StackTable(), lambda: 0, expects_agents=True),
            attacher=cast("Any", SimpleNamespace(pids=set)),
            budget=cast("Any", None),
            guard=cast("Any", None),
            usable_cores=2.0,
            elapsed_us=lambda: 0,
            selector=selector,
        )
        yield made
        made.close()


@contextmanager
def a_child(*command: str) -> Iterator[int]:
    child = subprocess.Popen(command)
    try:
        # Until it has become its program.
        until = time.monotonic() + 10
        while procfs.read_arguments(child.pid) != command and time.monotonic() < until:
            time.sleep(0.01)
        yield child.pid
    finally:
        child.kill()
        child.wait()


def test_a_python_process_that_lives_is_one_that_goes_on(processes):
    others = procfs.descendants(os.getpid())

    with a_child(sys.executable, "-c", SLEEPS) as pid:
        assert processes.that_go_on(others, 0.0) == [pid]
        assert processes.that_go_on([*others, pid], 0.0) == []


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("sleep", "60"), id="no Python"),
        pytest.param((sys.executable, "-c", TRACKER), id="a service"),
    ],
)
def test_what_trains_nothing_may_go_on(processes, command):
    others = procfs.descendants(os.getpid())

    with a_child(*command):
        assert processes.that_go_on(others, 0.0) == []


def test_who_ends_within_a_moment_has_not_gone_on(processes):
    others = procfs.descendants(os.getpid())

    with a_child(sys.executable, "-c", "import time; time.sleep(0.5)"):
        assert processes.that_go_on(others, 30.0) == []
