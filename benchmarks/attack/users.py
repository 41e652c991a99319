"""Other users, limits of ordinary users, and sandboxes that refuse what rlprof needs."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.attack.arena import (
    ANOTHER_USER,
    PROGRAMS,
    Arena,
    Ended,
    Failed,
    NotTried,
    needs_program,
    needs_root,
)
from benchmarks.attack.row import Row
from benchmarks.attack.training import bare_result, recording_in

STEPS = 6_000

MOST_HELD_UP_S = 3.0
"""By callers that say nothing: beyond the time that the same run takes without them."""


def _train(
    arena: Arena, command: Sequence[str | Path], within_s: float = 60.0, **keywords: Any
) -> Ended:
    """Run a recorded training that must come to its result."""
    shutil.copy(PROGRAMS / "training.py", arena.work)
    (arena.work / "result").unlink(missing_ok=True)
    ended = arena.run(command, within_s, **keywords)
    result = arena.work / "result"
    if not result.exists():
        raise Failed(f"the training did not start; exit {ended.code}: {ended.complaint}")
    if (ended.code, ended.out) != (0, b"trained\n"):
        raise Failed(f"exit {ended.code} instead of 0: {ended.complaint}")
    if result.read_text() != bare_result(arena, STEPS):
        raise Failed("the result of the training has changed")
    if b"Traceback" in ended.err or b"bug in rlprof" in ended.err:
        raise Failed(f"it trained, but rlprof broke: {ended.complaint}")
    return ended


def _recorded(arena: Arena, *options: str | Path) -> list[str]:
    return arena.recorded("training.py", str(STEPS), "0", options=options)


def callers(arena: Arena, how: str, user: int) -> str:
    """Hundreds of connections to the recorder's socket from the start on."""
    if user:
        needs_root()
    undisturbed = _train(arena, _recorded(arena))
    for _ in range(2):
        caller = arena.start(
            [sys.executable, PROGRAMS / "knocking.py", arena.folder, str(user), how]
        )
        assert caller.stdout is not None
        caller.stdout.readline()
    ended = _train(arena, _recorded(arena), within_s=20)
    held_up = ended.took_s - undisturbed.took_s
    if held_up > MOST_HELD_UP_S * arena.patience:
        raise Failed(f"{how} callers held rlprof up for {held_up:.1f} s")
    held = recording_in(arena)
    if not held["complete"] or held["processes"][0][3] == 0:
        raise Failed(f"the recording suffered: {held['processes'][0]}, {held['notes']}")
    return f"held up for {max(0.0, held_up):.1f} s, recorded in full"


def read_by_others(arena: Arena) -> str:
    """Everything that a recording under way and an ended one have made, under a usual umask."""
    needs_root()
    shutil.copy(PROGRAMS / "training.py", arena.work)
    run = arena.rlprof("run", "--no-report", "training.py", str(STEPS), "2")
    process = arena.start(["bash", "-c", 'umask 022; exec "$@"', "sh", *run])
    arena.wait_for("the start of the training", (arena.work / "started").exists)
    _expect_unreadable(arena)
    arena.finish(process)
    _expect_unreadable(arena)
    return "nothing can be read by another user"


def _expect_unreadable(arena: Arena) -> None:
    made = [path for path in (arena.work / ".rlprof").rglob("*") if path.is_file()]
    made += [path for path in arena.tmp.rglob("*") if path.is_file()]
    ended = arena.run([sys.executable, PROGRAMS / "reading_others.py", str(ANOTHER_USER), *made])
    if ended.code != 0:
        raise Failed(ended.complaint)
    if ended.out:
        raise Failed(f"others can read {Path(ended.out.decode().splitlines()[0]).name}")


@dataclass(frozen=True, slots=True)
class OrdinaryUser:
    """One without any rights, and a Python that this user may start."""

    python: str
    environment: Mapping[str, str]
    options: tuple[str, ...]

    def recorded(self, arena: Arena, *target: str) -> list[str]:
        words = ["run", "--no-report", "--force", "-o", arena.run_file, *self.options, *target]
        return arena.rlprof(*words, python=self.python)


def ordinary_user(arena: Arena) -> OrdinaryUser:
    """Another user with a Python that has rlprof; the attempt's folders become that user's."""
    needs_root()
    for folder in (arena.folder, arena.work, arena.tmp):
        os.chown(folder, ANOTHER_USER, ANOTHER_USER)
    packages = [entry for entry in sys.path if entry.endswith("site-packages")]
    environment = arena.environment(HOME=str(arena.folder))
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], *packages])
    name = "python{}.{}".format(*sys.version_info)
    found = [sys.executable, *(f"{folder}/{name}" for folder in ("/usr/local/bin", "/usr/bin"))]
    for python in found:
        try:
            ended = arena.run(
                [python, "-c", "import rlprof.cli.commands, rlprof.recording.recorder"],
                env=environment,
                user=ANOTHER_USER,
            )
        except OSError:
            continue  # Not there, or not for this user.
        if ended.code == 0:
            austin = Path(sys.executable).with_name("austin")
            options = ("--austin", str(austin)) if austin.exists() else ()
            return OrdinaryUser(python, environment, options)
    raise NotTried(f"no {name} with rlprof that another user may start")


def _train_as_user(arena: Arena, *, limits: Mapping[int, int] | None = None) -> Ended:
    user = ordinary_user(arena)
    return _train(
        arena,
        user.recorded(arena, "training.py", str(STEPS), "0"),
        env=user.environment,
        user=ANOTHER_USER,
        limits=limits,
    )


def ordinary(arena: Arena) -> str:
    _train_as_user(arena)
    held = recording_in(arena)
    if not held["complete"] or held["sampled_s"] == 0:
        raise Failed(f"nothing was recorded: {held['notes']}")
    return f"recorded {held['sampled_s']:.1f} s"


def process_limit(arena: Arena) -> str:
    """Allow as many processes as the program needs, and a few more."""
    most = arena.random.randrange(2, 7)
    ended = _train_as_user(arena, limits={resource.RLIMIT_NPROC: most})
    return f"it trained with {most} processes; told: {ended.complaint}"


def process_limit_of_one(arena: Arena) -> str:
    """The program alone would run."""
    ended = _train_as_user(arena, limits={resource.RLIMIT_NPROC: 1})
    return f"it trained; told: {ended.complaint}"


def memory_limit(arena: Arena) -> str:
    """Limit memory as batch schedulers and ``ulimit -v`` do."""
    ended = _train(arena, _recorded(arena), limits={resource.RLIMIT_AS: 300 << 20})
    return f"it trained; told: {ended.complaint}"


def file_size_limit(arena: Arena) -> str:
    """Less than a run file needs, enough for the program's own."""
    ended = _train(arena, _recorded(arena), limits={resource.RLIMIT_FSIZE: 20_000})
    return f"it trained; told: {ended.complaint}"


def descriptor_limit(arena: Arena) -> str:
    most = arena.random.choice([12, 16, 24])
    ended = _train(arena, _recorded(arena), limits={resource.RLIMIT_NOFILE: most})
    return f"it trained with {most} descriptors; told: {ended.complaint}"


def undumpable(arena: Arena) -> str:
    """A target whose memory the kernel shows to nobody but root, run by an ordinary user."""
    user = ordinary_user(arena)
    shutil.copy(PROGRAMS / "training.py", arena.work)
    code = (
        "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); "
        f"sys.argv[1:] = ['{STEPS}', '0']; runpy.run_path('training.py', run_name='__main__')"
    )
    _train(
        arena,
        user.recorded(arena, "--", user.python, "-c", code),
        env=user.environment,
        user=ANOTHER_USER,
    )
    held = recording_in(arena)
    if not held["complete"]:
        raise Failed(f"the recording is not whole: {held['notes']}")
    return f"it trained; remarks: {' '.join(held['notes'])[:100] or 'none'}"


def without_calls(arena: Arena, names: str) -> str:
    if platform.machine() not in ("x86_64", "aarch64"):
        raise NotTried(f"the numbers of system calls on {platform.machine()} are not known")
    filtering = [sys.executable, PROGRAMS / "without_calls.py", names]
    if arena.run([*filtering, "true"]).code != 0:
        raise NotTried("the kernel takes no filter of system calls")
    ended = _train(arena, [*filtering, *_recorded(arena)])
    arena.expect_nothing_left()
    return f"it trained; told: {ended.complaint}"


def without_ptrace(arena: Arena) -> str:
    """The sampler cannot read the target; the probe still can."""
    without_calls(arena, "ptrace,process_vm_readv")
    held = recording_in(arena)
    if not held["complete"] or held["processes"][0][3] == 0:
        raise Failed(f"the probe took nothing: {held['processes'][0]}")
    if not held["notes"] and not held["processes"][0][2]:
        raise Failed("no remark tells that the sampler saw nothing")
    return f"the probe took {held['processes'][0][3]} stacks"


def container(arena: Arena) -> str:
    """User, process and mount namespaces of its own."""
    unshare = [
        needs_program("unshare"),
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ]
    if arena.run([*unshare, "true"]).code != 0:
        raise NotTried("namespaces are closed to this user")
    _train(arena, [*unshare, *_recorded(arena)])
    held = recording_in(arena)
    if not held["complete"] or held["sampled_s"] == 0:
        raise Failed(f"nothing was recorded: {held['notes']}")
    return f"recorded {held['sampled_s']:.1f} s"


def without_proc(arena: Arena) -> str:
    """``/proc`` is an empty folder, as in some chroots."""
    unshare = [needs_program("unshare"), "--mount"]
    hide = "mount -t tmpfs none /proc"
    if arena.run([*unshare, "sh", "-c", hide]).code != 0:
        raise NotTried("/proc cannot be hidden (not root?)")
    command = [*unshare, "sh", "-c", f'{hide}; exec "$@"', "sh", *_recorded(arena)]
    ended = _train(arena, command)
    return f"it trained; told: {ended.complaint}"


def proc_of_others(arena: Arena) -> str:
    """``/proc`` is the one of the namespace outside, where the same numbers are other processes."""
    unshare = [needs_program("unshare"), "--user", "--map-root-user", "--pid", "--fork"]
    if arena.run([*unshare, "true"]).code != 0:
        raise NotTried("namespaces are closed to this user")
    ended = _train(arena, [*unshare, *_recorded(arena)])
    return f"it trained; told: {ended.complaint}"


def without_home(arena: Arena) -> str:
    """HOME, PATH and the locale are missing."""
    bare = {
        name: value
        for name, value in arena.environment(PATH="", HOME="/not/there").items()
        if name not in ("LANG", "LC_ALL", "TERM", "USER")
    }
    _train(arena, _recorded(arena), env=bare)
    recording_in(arena)
    return "it trained, and was recorded"


def _row(name: str, told: str, attempt: Callable[[Arena], str], *, is_fast: bool = False) -> Row:
    return Row(name, "users", told, attempt, is_fast)


ROWS: tuple[Row, ...] = (
    *(
        _row(
            f"{how}-callers",
            f"Another user's {how} connections to the recorder's socket.",
            partial(callers, how=how, user=ANOTHER_USER),
            is_fast=how == "silent",
        )
        for how in ("silent", "slow", "noisy")
    ),
    *(
        _row(
            f"{how}-callers-of-ours",
            f"The same user's {how} connections to the recorder's socket.",
            partial(callers, how=how, user=0),
        )
        for how in ("silent", "slow", "noisy")
    ),
    _row(
        "read-by-others", "Another user reads what a recording makes.", read_by_others, is_fast=True
    ),
    _row("ordinary-user", "An ordinary user records.", ordinary),
    _row("process-limit", "RLIMIT_NPROC of a few processes.", process_limit),
    _row("process-limit-of-one", "RLIMIT_NPROC of one process.", process_limit_of_one),
    _row("address-space-limit", "RLIMIT_AS of 300 MiB.", memory_limit),
    _row("file-size-limit-inherited", "RLIMIT_FSIZE of 20 kB.", file_size_limit, is_fast=True),
    _row("descriptor-limit", "RLIMIT_NOFILE of 12 to 24.", descriptor_limit, is_fast=True),
    _row("undumpable-target", "A target that may not be traced.", undumpable),
    _row("without-ptrace", "A sandbox without ptrace.", without_ptrace, is_fast=True),
    _row(
        "without-memfd",
        "A sandbox without memfd_create.",
        partial(without_calls, names="memfd_create"),
    ),
    _row(
        "without-timers",
        "A sandbox without timer_create.",
        partial(without_calls, names="timer_create"),
    ),
    _row("without-sockets", "A sandbox without listen.", partial(without_calls, names="listen")),
    _row(
        "without-pidfd", "A sandbox without pidfd_open.", partial(without_calls, names="pidfd_open")
    ),
    _row("container", "Namespaces of its own.", container),
    _row("without-proc", "An empty /proc.", without_proc),
    _row("proc-of-others", "A /proc of another PID namespace.", proc_of_others, is_fast=True),
    _row("without-home", "No PATH, no HOME, no locale.", without_home),
)
