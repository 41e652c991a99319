"""The log level of torch's profiling library, raised while a window is open, and the thread that it leaves behind."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import torch_quiet
from tests.live_processes import wait_until


def test_the_level_is_what_it_was_after_a_window():
    level = ctypes.c_int(4)
    silence = torch_quiet.Silence(level)
    silence.begin()
    assert level.value > 10
    silence.end()

    assert level.value == 4


def test_a_level_that_the_program_has_set_in_a_window_stays():
    level = ctypes.c_int(4)
    silence = torch_quiet.Silence(level)
    silence.begin()
    level.value = 2
    silence.end()

    assert level.value == 2


@pytest.mark.parametrize("file", ["__init__.py", None])
def test_a_torch_without_the_library_has_none(monkeypatch, tmp_path: Path, file):
    path = None if file is None else str(tmp_path / file)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__=path))

    assert torch_quiet.find_level() is None


def test_another_library_than_the_one_in_use_is_never_loaded(monkeypatch, tmp_path: Path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libtorch_cpu.so").write_bytes(Path("/proc/self/exe").read_bytes())
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__=str(tmp_path / "torch.py")))

    assert torch_quiet.find_level() is None


@pytest.mark.parametrize("level", ["0", "1", "-1", " 0 "])
def test_a_program_that_asks_for_torchs_log_keeps_it_to_itself(monkeypatch, level):
    """At the first window torch reads the variable, and prints before anything could be raised."""
    monkeypatch.setenv("KINETO_LOG_LEVEL", level)

    assert torch_quiet.find_level() is None


@pytest.fixture
def left() -> Iterator[tuple[torch_quiet.LeftThread, list[str]]]:
    """A window has left a thread, which sleeps; and what was done about it."""
    done: list[str] = []
    wakes = threading.Event()
    left = torch_quiet.LeftThread(lambda: done.append("stopped"))
    left.may_come()
    thread = threading.Thread(target=wakes.wait)
    thread.start()
    yield left, done
    wakes.set()
    thread.join()


def test_the_thread_that_a_window_has_left_is_ended_once(left):
    thread, done = left
    for _ in range(2):
        wait_until(lambda: thread.end() or done, "it sleeps")
        thread.may_come()

    assert done == ["stopped"]


def test_one_that_does_not_sleep_yet_is_left_for_the_next_time(left, monkeypatch):
    thread, done = left
    monkeypatch.setattr(torch_quiet, "_sleeps", lambda _thread: False)
    thread.end()
    assert done == []

    monkeypatch.undo()
    wait_until(lambda: thread.end() or done, "it sleeps")

    assert done == ["stopped"]


def test_without_a_new_thread_nothing_is_stopped():
    done: list[str] = []
    thread = torch_quiet.LeftThread(lambda: done.append("stopped"))
    thread.end()
    thread.may_come()
    thread.end()

    assert done == []


def test_a_program_that_traces_on_demand_keeps_the_thread(monkeypatch):
    pytest.importorskip("torch", reason="torch is missing (pip install torch)")
    assert torch_quiet.find_stop() is not None

    monkeypatch.setenv("KINETO_USE_DAEMON", "1")

    assert torch_quiet.find_stop() is None
