"""The log level of torch's profiling library, raised while a window is open."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import torch_quiet


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
