"""Checks of ``rlprof doctor``: one function, one check."""

from __future__ import annotations

import json
import os
import platform
import select
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

from rlprof.errors import LaunchError
from rlprof.recording.agents import AgentServer, Announcement
from rlprof.recording.machine.host import usable_cores
from rlprof.recording.samplers.austin import Austin, AustinProcess, find_austin
from rlprof.recording.settings import DEFAULT_INTERVAL_US, RecordingSettings
from rlprof.units import size

OLDEST_PYTHON: Final = (3, 9)
"""What the agent is written for."""
NEWEST_PYTHON: Final = (3, 13)
"""The newest that austin 3.7 reads; from 3.14 on it takes austin 4."""
LOW_DISK_BYTES: Final = 200 * 1024 * 1024
"""A run file takes a few MiB, however long the run; torch traces more."""
SEPARATE_CORES: Final = 2.0
"""With fewer the samplers share the target's core."""

YAMA_SCOPE: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
CAP_SYS_PTRACE: Final = 19
"""Bit of the capability in ``CapEff`` (capability.h)."""

_INTERPRETER_FACTS: Final = """
import json, platform, sys, sysconfig
print(json.dumps({
    "version": sys.version_info[:3],
    "implementation": platform.python_implementation(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""
_ASKED: Final = frozenset({"version", "implementation", "free_threaded"})
_NAME_A_PYTHON: Final = "give the path of a Python interpreter"


class CheckLevel(Enum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    level: CheckLevel
    found: str
    advice: str = ""
    """Advice on it; empty when nothing needs doing."""


def all_checks(python: str, *, austin: str | None, folder: Path) -> tuple[Check, ...]:
    """Check this machine and the interpreter ``python`` for recordings into ``folder``."""
    sampler, sampler_check = check_sampler(austin)
    interpreter = check_interpreter(python, sampler)
    checks = [check_system(), check_libc(), interpreter, sampler_check, check_permissions()]
    if interpreter.level is not CheckLevel.FAIL:
        checks.extend(check_recording(try_recording(python, sampler), sampler))
    checks += [check_cores(usable_cores()), check_terminal(), check_disk(folder)]
    return tuple(checks)


def check_system() -> Check:
    found = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform == "linux":
        return Check("system", CheckLevel.OK, found)
    return Check("system", CheckLevel.FAIL, found, "rlprof records on Linux; reports work anywhere")


def check_libc() -> Check:
    name, version = platform.libc_ver()
    if name == "glibc":
        return Check("C library", CheckLevel.OK, f"glibc {version}")
    return Check(
        "C library",
        CheckLevel.WARN,
        f"{name} {version}".strip() or "not glibc",
        "the packaged austin is built for glibc: build austin here and name it with --austin PATH",
    )


def check_interpreter(python: str, austin: Austin | None) -> Check:
    """Check whether the target's interpreter starts and is one that both instruments can read."""
    try:
        facts = _interpreter_facts(python)
    except subprocess.CalledProcessError as error:
        found = f"{python} does not run Python code: it ended with exit code {error.returncode}"
        return Check("Python", CheckLevel.FAIL, found, _NAME_A_PYTHON)
    except subprocess.TimeoutExpired as error:
        found = f"{python} does not answer within {error.timeout:g} s"
        return Check("Python", CheckLevel.FAIL, found, _NAME_A_PYTHON)
    except OSError as error:
        found = f"{python} does not run: {error.strerror}"
        return Check("Python", CheckLevel.FAIL, found, "check the path")
    except ValueError:
        found = f"{python} is no Python: it printed nothing that rlprof understands"
        return Check("Python", CheckLevel.FAIL, found, _NAME_A_PYTHON)
    version = tuple(facts["version"])
    found = f"{facts['implementation']} {'.'.join(map(str, version))} at {python}"
    if facts["implementation"] != "CPython":
        return Check("Python", CheckLevel.FAIL, found, "rlprof samples CPython only")
    if version < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Check(
            "Python", CheckLevel.FAIL, found, f"run the training with Python {oldest} or newer"
        )
    if facts["free_threaded"]:
        advice = "not tested without the GIL: expect missing stacks"
        return Check("Python", CheckLevel.WARN, f"{found}, free-threaded", advice)
    if version[:2] > NEWEST_PYTHON and austin is not None and austin.writes_text:
        return Check(
            "Python", CheckLevel.FAIL, found, "install austin 4: pip install 'austin-dist>=4'"
        )
    return Check("Python", CheckLevel.OK, found)


def _interpreter_facts(python: str) -> dict[str, Any]:
    """Raises ``ValueError`` for an answer that no interpreter gives."""
    answer = subprocess.run(
        [python, "-I", "-c", _INTERPRETER_FACTS],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    facts = json.loads(answer.stdout)
    if not isinstance(facts, dict) or not _ASKED.issubset(facts):
        raise ValueError(answer.stdout)
    return facts


def check_sampler(explicit: str | None) -> tuple[Austin | None, Check]:
    """The sampler, if there is one that runs."""
    try:
        austin = find_austin(explicit)
    except LaunchError as error:
        return None, Check("sampler", CheckLevel.FAIL, error.message, error.hint)
    return austin, Check("sampler", CheckLevel.OK, f"austin {austin.version} at {austin.path}")


def check_permissions() -> Check:
    """Check whether the kernel lets one process read another's memory; the trial shows if it truly does."""
    if _has_ptrace_capability():
        return Check("permissions", CheckLevel.OK, "may read any process (CAP_SYS_PTRACE)")
    scope = _yama_scope()
    if scope is None or scope == 0:
        return Check("permissions", CheckLevel.OK, "may read processes of the same user")
    if scope == 1:
        return Check(
            "permissions",
            CheckLevel.OK,
            "yama ptrace_scope is 1: may read processes in which the agent starts",
            "processes started with -E, -I or an empty environment are missed; "
            "`sudo sysctl kernel.yama.ptrace_scope=0` lets rlprof see those too",
        )
    return Check(
        "permissions",
        CheckLevel.FAIL,
        f"yama ptrace_scope is {scope}: only the administrator may read processes",
        "`sudo sysctl kernel.yama.ptrace_scope=1`, or run rlprof as root"
        if scope == 2
        else "scope 3 lasts until the next boot: set kernel.yama.ptrace_scope=1 there",
    )


def _yama_scope() -> int | None:
    try:
        return int(YAMA_SCOPE.read_text())
    except (OSError, ValueError):
        return None


def _has_ptrace_capability() -> bool:
    effective = int(_own_status("CapEff") or "0", 16)
    return bool(effective >> CAP_SYS_PTRACE & 1)


def _own_status(field: str) -> str:
    """A field of ``/proc/self/status``; empty where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(field)), "")


def check_recording(trial: Trial, austin: Austin | None) -> list[Check]:
    """Tell what a trial recording showed of the agent and of the sampler."""
    checks = [_check_agent(trial)]
    if austin is not None:
        checks.append(_check_attach(trial))
    return checks


def _check_agent(trial: Trial) -> Check:
    if not trial.agent_started:
        return Check(
            "agent",
            CheckLevel.WARN,
            "did not start in a process of this interpreter",
            "steps are not counted then: does the interpreter ignore PYTHONPATH, or is a "
            "sitecustomize.py of its own failing?",
        )
    if not trial.probe_stacks:
        return Check(
            "agent",
            CheckLevel.WARN,
            "started, but took no stacks",
            "prices rest on austin alone and are wider: does this Python have ctypes?",
        )
    return Check("agent", CheckLevel.OK, f"took {trial.probe_stacks} stacks of a trial process")


def _check_attach(trial: Trial) -> Check:
    if trial.clock_ticks:
        return Check("sampling", CheckLevel.OK, f"{trial.clock_ticks} samples of a trial process")
    reason = trial.clock_failure or "austin ran but delivered nothing"
    seccomp = _own_status("Seccomp:") not in ("", "0")
    advice = (
        "a seccomp filter is active: in a container, start it with --cap-add=SYS_PTRACE"
        if seccomp
        else "see `permissions` above; `austin -w PID` on a process of yours shows the reason"
    )
    return Check("sampling", CheckLevel.FAIL, f"no samples of a trial process: {reason}", advice)


def check_cores(usable: float) -> Check:
    present = os.cpu_count() or 1
    found = f"{usable:g} of {present} usable"
    if usable >= SEPARATE_CORES:
        return Check("cores", CheckLevel.OK, found)
    return Check(
        "cores",
        CheckLevel.WARN,
        found,
        "samplers and target share one core: expect a loss of a few per cent while recording",
    )


def check_terminal() -> Check:
    """Check whether pseudo-terminals can be made: austin flushes at once into these only."""
    try:
        ends = os.openpty()
    except OSError as error:
        return Check(
            "/dev/pts",
            CheckLevel.WARN,
            f"no pseudo-terminals: {error.strerror}",
            "recording works; if rlprof is killed, up to a second of samples more is lost",
        )
    for end in ends:
        os.close(end)
    return Check("/dev/pts", CheckLevel.OK, "pseudo-terminals can be made")


def check_disk(folder: Path) -> Check:
    """Check whether run files fit into ``folder``, or can be made there at all."""
    if not os.access(folder, os.W_OK | os.X_OK):
        advice = "name a place for the run file: rlprof run -o PATH …"
        return Check("disk", CheckLevel.FAIL, f"{folder} is not writable", advice)
    free = shutil.disk_usage(folder).free
    if free < LOW_DISK_BYTES:
        advice = "make room, or name another place: rlprof run -o PATH …"
        return Check("disk", CheckLevel.WARN, f"{size(free)} free in {folder}", advice)
    return Check("disk", CheckLevel.OK, f"{size(free)} free in {folder}")


# --- a trial recording: both instruments on a short process of our own ----------------------


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
    # Nothing is written: what counts here is how an agent is to look.
    settings = RecordingSettings((python,), script=python, run_file=Path(os.devnull))
    target = subprocess.Popen(
        [python, "-c", _BUSY_PROGRAM],
        env={**os.environ, **server.environment(settings, os.environ)},
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
