"""A trial recording: both instruments on a short process of our own, as ``rlprof run`` uses them."""

from __future__ import annotations

import os
import select
import subprocess
import time
from typing import Final, NamedTuple

from rlprof.agent import INJECT_DIR
from rlprof.recording.agents import AgentServer, Announcement
from rlprof.recording.samplers.austin import Austin, AustinProcess
from rlprof.recording.settings import DEFAULT_INTERVAL_US

START_TIMEOUT_S: Final = 5.0
"""For an interpreter to start; from a network file system that can take seconds."""
SAMPLING_S: Final = 1.0
ENOUGH: Final = 10
"""Samples that end the trial early, of each instrument; both make about 100 a second."""

_BUSY_PROGRAM: Final = """
import time
end = time.monotonic() + 10
while time.monotonic() < end:
    sum(range(1000))
"""


class Trial(NamedTuple):
    agent_started: bool
    probe_stacks: int
    """Stacks that the probe took."""
    clock_ticks: int
    """Samples that austin took."""
    clock_failure: str
    """Why austin ended, when it did; empty otherwise."""


def try_recording(python: str, austin: Austin | None) -> Trial:
    """Record a busy process of ``python`` for at most a second; without ``austin``, its agent only.

    Raises ``OSError`` when ``python`` cannot be started.
    """
    server = AgentServer()
    target = subprocess.Popen(
        [python, "-c", _BUSY_PROGRAM],
        env=_environment(server),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        announcement = _await_announcement(server)
        if announcement is not None:
            server.release(announcement.pid)
        return _record(target.pid, austin, announcement)
    finally:
        target.kill()
        target.wait()
        server.close()


def _environment(server: AgentServer) -> dict[str, str]:
    own = server.environment(probe_interval_us=DEFAULT_INTERVAL_US, tracer_pid=os.getpid())
    path = [str(INJECT_DIR), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **own, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def _await_announcement(server: AgentServer) -> Announcement | None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while (left_s := deadline - time.monotonic()) > 0:
        select.select([server], [], [], left_s)
        announcement = server.accept()
        if announcement is not None:
            return announcement
    return None


def _record(pid: int, austin: Austin | None, announcement: Announcement | None) -> Trial:
    sampler = None if austin is None else AustinProcess(austin, pid, DEFAULT_INTERVAL_US)
    probe_stacks = clock_ticks = 0
    failure = ""
    deadline = time.monotonic() + SAMPLING_S
    while time.monotonic() < deadline and not failure:
        select.select([] if sampler is None else [sampler.fd], [], [], 0.05)
        if announcement is not None:
            probe_stacks += len(announcement.mailbox.take_stacks())
        if sampler is not None:
            if not sampler.read():
                failure = sampler.exit_meaning()
            clock_ticks += sum(time.ticks for time in sampler.reader.drain().values())
        if probe_stacks >= ENOUGH and (sampler is None or clock_ticks >= ENOUGH):
            break
    if sampler is not None:
        sampler.stop()
    return Trial(announcement is not None, probe_stacks, clock_ticks, failure)
