"""The ``sitecustomize`` of the agent's folder, run where no recorder is."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import rlprof.agent

INJECTED = Path(rlprof.agent.__file__).parent / "inject" / "sitecustomize.py"


def test_runs_the_next_one_where_the_working_directory_is_gone(tmp_path, monkeypatch, capfd):
    gone, other = tmp_path / "gone", tmp_path / "other"
    gone.mkdir()
    other.mkdir()
    (other / "sitecustomize.py").write_text("print('the next one')")
    monkeypatch.setattr(sys, "path", ["src", "", str(other), *sys.path])
    monkeypatch.delitem(sys.modules, "sitecustomize", raising=False)
    monkeypatch.chdir(gone)
    gone.rmdir()

    runpy.run_path(str(INJECTED))

    assert capfd.readouterr().out == "the next one\n"
