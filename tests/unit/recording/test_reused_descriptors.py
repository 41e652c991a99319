"""A descriptor's number may be another's a moment later."""

from __future__ import annotations

import os
import selectors
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from rlprof.recording.guard import PartGuard
from rlprof.recording.recorder import Recorder
from rlprof.recording.samplers.austin import Austin, AustinProcess


def test_an_event_is_not_told_to_whom_the_number_belonged():
    told: list[str] = []
    ours, theirs = os.pipe()
    os.write(theirs, b"x")
    with selectors.DefaultSelector() as selector:
        guard = PartGuard()
        parts = SimpleNamespace(_selector=selector, _guard=guard, _server=None)
        recorder = cast(Recorder, parts)
        parts._is_registered = lambda key: Recorder._is_registered(recorder, key)
        selector.register(ours, selectors.EVENT_READ, lambda: told.append("before"))
        ((before, _),) = selector.select(0)
        # What an earlier event of the same turn may bring about.
        selector.unregister(ours)
        selector.register(ours, selectors.EVENT_READ, lambda: told.append("after"))

        Recorder._call(recorder, before)
        assert told == []
        ((after, _),) = selector.select(0)
        Recorder._call(recorder, after)

    os.close(ours)
    os.close(theirs)
    assert told == ["after"]
    assert guard.notes() == []


@pytest.fixture
def sampler(tmp_path: Path) -> AustinProcess:
    austin = tmp_path / "austin"
    austin.write_text("#!/bin/sh\nexec sleep 60\n")
    austin.chmod(0o700)
    return AustinProcess(Austin(austin, "3.7.0"), os.getpid(), 10_000)


@pytest.mark.parametrize("first", ["close", "kill", "stop"])
@pytest.mark.parametrize("again", ["close", "kill"])
def test_a_sampler_closes_its_descriptor_once(sampler, first, again):
    getattr(sampler, first)()
    another = os.open(os.devnull, os.O_RDONLY)
    assert another == sampler.fd

    getattr(sampler, again)()

    os.fstat(another)
    os.close(another)
    sampler.process.kill()
    sampler.process.wait()
