from __future__ import annotations

import sys

from rlprof.agent.inject.rlprof_agent.import_rlprof import LastResort, install


def test_it_finds_rlprof_and_nothing_else():
    spec = LastResort.find_spec("rlprof")

    assert spec is not None
    assert spec.origin == sys.modules["rlprof"].__file__
    assert LastResort.find_spec("rlprof.cli") is None
    assert LastResort.find_spec("numpy", None, None) is None


def test_it_comes_last(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    install()

    assert sys.meta_path[-1] is LastResort
