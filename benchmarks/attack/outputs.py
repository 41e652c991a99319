"""Places that take no file: the target trains on, and what could not be written is told."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

from benchmarks.attack.arena import PROGRAMS, Arena, Ended, Failed, is_root
from benchmarks.attack.row import Row
from benchmarks.attack.training import bare_result, pause, recording_in, start_training

STEPS = 4_000


def _run_training(arena: Arena, command: list[str], **keywords: object) -> Ended:
    """Start it, wait for its end: whatever becomes of the recording, it must have trained."""
    shutil.copy(PROGRAMS / "training.py", arena.work)
    (arena.work / "result").unlink(missing_ok=True)
    ended = arena.run(command, **keywords)  # type: ignore[arg-type]
    if b"Traceback" in ended.err:
        raise Failed(f"a traceback: {ended.complaint}")
    return ended


def _expect_trained(arena: Arena, ended: Ended) -> None:
    result = arena.work / "result"
    if not result.exists():
        raise Failed(f"the training did not start; exit {ended.code}: {ended.complaint}")
    if ended.code != 0 or ended.out != b"trained\n":
        raise Failed(f"exit {ended.code} instead of 0: {ended.complaint}")
    if result.read_text() != bare_result(arena, STEPS):
        raise Failed("the result of the training has changed")


def _training() -> list[str]:
    return ["training.py", str(STEPS), "0"]


def _recorded_from_elsewhere(arena: Arena) -> list[str]:
    """The training works in its own folder; rlprof stays where it was started."""
    code = (
        f"import os, runpy, sys; os.chdir({str(arena.work)!r}); "
        f"sys.argv[1:] = [{str(STEPS)!r}, '0']; runpy.run_path('training.py', run_name='__main__')"
    )
    return arena.rlprof("run", "--no-report", "--", sys.executable, "-c", code)


def _fill(folder: Path) -> None:
    """Leave no byte of the file system."""
    with (folder / "filling").open("wb", buffering=0) as filling:
        try:
            while True:
                filling.write(bytes(1024))
        except OSError:
            pass


def full_disk(arena: Arena, kib: int = 0) -> str:
    """Too small from the start, or full after a while."""
    small = arena.folder / "small"
    arena.mount_small(small, kib or arena.random.choice([16, 64, 128]))
    command = arena.rlprof("run", "--no-report", "-o", small / "run.rlprof", *_training())
    ended = _run_training(arena, command)
    _expect_trained(arena, ended)
    if b"rlprof" not in ended.err:
        raise Failed("nothing tells that the recording is not whole")
    return f"it trained; told: {ended.complaint}"


def full_disk_at_once(arena: Arena) -> str:
    return full_disk(arena, 4)


def full_disk_of_default_place(arena: Arena) -> str:
    """The working folder takes nothing, the program writes elsewhere."""
    small = arena.folder / "small"
    arena.mount_small(small, 8)
    shutil.copy(PROGRAMS / "training.py", arena.work)
    _fill(small)
    ended = _run_training(arena, _recorded_from_elsewhere(arena), cwd=small)
    _expect_trained(arena, ended)
    return f"it trained; told: {ended.complaint}"


def nearly_full_disk(arena: Arena) -> str:
    """The program saves more than half of what the disk holds, beside the recording."""
    small = arena.folder / "small"
    kib = arena.random.choice([400, 2_000, 12_000])
    arena.mount_small(small, kib)
    saving = f"import time; time.sleep(1.5); open('saved', 'wb').write(bytes({kib} * 700)); print('saved')"
    ended = arena.run(
        arena.rlprof("run", "--no-report", "--", sys.executable, "-c", saving), cwd=small
    )
    if ended.code or ended.out != b"saved\n":
        raise Failed(f"the checkpoint could not be saved: {ended.complaint}")
    return f"its checkpoint of {0.7 * kib:.0f} KiB was saved"


def full_tmpdir(arena: Arena) -> str:
    """Leave no room in TMPDIR; the run file lies elsewhere and has room."""
    arena.mount_small(arena.tmp, 4)
    _fill(arena.tmp)
    ended = _run_training(arena, arena.recorded(*_training()))
    _expect_trained(arena, ended)
    held = recording_in(arena)
    if not held["complete"]:
        raise Failed(f"the recording is not whole: {ended.complaint}")
    return "it trained, and was recorded"


def missing_tmpdir(arena: Arena) -> str:
    ended = _run_training(
        arena,
        arena.recorded(*_training()),
        env=arena.environment(TMPDIR=str(arena.folder / "not-there")),
    )
    _expect_trained(arena, ended)
    recording_in(arena)
    return "it trained, and was recorded"


def read_only_folder(arena: Arena) -> str:
    """The default place cannot be made."""
    place = arena.folder / "read-only"
    place.mkdir()
    if is_root():
        arena.mount_read_only(place)
    else:
        place.chmod(0o555)
    shutil.copy(PROGRAMS / "training.py", arena.work)
    ended = _run_training(arena, _recorded_from_elsewhere(arena), cwd=place)
    _expect_trained(arena, ended)
    return f"it trained; told: {ended.complaint}"


def default_place_is_a_file(arena: Arena) -> str:
    (arena.work / ".rlprof").write_text("mine\n")
    ended = _run_training(arena, arena.rlprof("run", "--no-report", *_training()))
    _expect_trained(arena, ended)
    if (arena.work / ".rlprof").read_text() != "mine\n":
        raise Failed("somebody's file was overwritten")
    return f"it trained; told: {ended.complaint}"


def latest_is_a_folder(arena: Arena) -> str:
    (arena.work / ".rlprof" / "latest").mkdir(parents=True)
    (arena.work / ".rlprof" / "latest" / "kept").touch()
    ended = _run_training(arena, arena.rlprof("run", "--no-report", *_training()))
    _expect_trained(arena, ended)
    if not (arena.work / ".rlprof" / "latest" / "kept").exists():
        raise Failed("somebody's file was removed")
    return "it trained, and the folder is as it was"


def run_file_removed(arena: Arena) -> str:
    """Somebody cleans up while it is written."""
    shutil.copy(PROGRAMS / "training.py", arena.work)
    process = arena.start(arena.recorded("training.py", str(STEPS), "0"))
    arena.wait_for("the start of the training", (arena.work / "started").exists)
    for path in arena.folder.glob("run.rlprof*"):
        path.unlink()
    ended = arena.finish(process)
    _expect_trained(arena, ended)
    return "it trained"


def run_file_locked(arena: Arena) -> str:
    """Somebody else has an open change in it for a while: an SQLite shell, a browser of databases."""
    # Longer than the pause, on a fast machine too.
    training = start_training(arena, steps=80_000)
    with closing(sqlite3.connect(arena.run_file, isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN IMMEDIATE")
        pause(arena, 1.0, 3.0)
    training.finish()
    held = recording_in(arena)
    if not held["complete"]:
        raise Failed("the recording is not whole")
    return "it trained, and the recording is whole"


def run_file_locked_to_the_end(arena: Arena) -> str:
    """The same, and longer than the training."""
    training = start_training(arena)
    with closing(sqlite3.connect(arena.run_file, isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN IMMEDIATE")
        ended = training.finish()
    recording_in(arena)
    if b"locked" not in ended.err:
        raise Failed(f"nothing tells that the recording is not whole: {ended.complaint}")
    return "it trained, and rlprof ended with it"


def sweep(arena: Arena, runs: int) -> str:
    """All at once in one folder: each trains, each has a file of its own, ``latest`` is whole."""
    (arena.work / "run.py").write_text(
        "import os, sys, time\n"
        "open('trained-' + sys.argv[1], 'a').write('x')\n"
        "end = time.monotonic() + 0.3\n"
        "while time.monotonic() < end: sum(range(1000))\n"
        "print(sys.argv[1])\n"
    )
    started = [
        arena.start(arena.rlprof("run", "--no-report", "run.py", f"seed-{number}"))
        for number in range(runs)
    ]
    for number, process in enumerate(started):
        ended = arena.finish(process, 60 + 5 * runs, f"run {number}")
        if (ended.code, ended.out) != (0, b"seed-%d\n" % number):
            raise Failed(f"run {number} ended with {ended.code}: {ended.complaint}")
    for number in range(runs):
        trained = arena.work / f"trained-seed-{number}"
        if not trained.exists() or trained.read_text() != "x":
            raise Failed(f"run {number} did not train once")
    folder = arena.work / ".rlprof"
    recorded = set()
    for run_file in sorted(folder.glob("*.rlprof")):
        held = recording_in(arena, run_file)
        if not held["complete"]:
            raise Failed(f"{run_file.name} is not whole")
        recorded.add(held["command"][-1])
    if len(recorded) != runs:
        raise Failed(f"{len(recorded)} of {runs} recordings are there")
    if not (folder / "latest").exists():
        raise Failed("latest points at nothing")
    if not recording_in(arena, (folder / "latest").resolve())["complete"]:
        raise Failed("latest is not a whole run")
    left = [path.name for path in folder.glob("*-wal")]
    if left:
        raise Failed(f"journals are left: {left[:3]}")
    arena.expect_nothing_left()
    return f"{runs} trained, {runs} recorded, latest is whole"


def small_sweep(arena: Arena) -> str:
    return sweep(arena, 5)


def large_sweep(arena: Arena) -> str:
    return sweep(arena, 40)


def modes(arena: Arena) -> str:
    """Look at modes of what is made in the default place, under a umask that would allow more."""
    (arena.work / "quick.py").write_text("sum(range(10**6))\n")
    run = arena.rlprof("run", "quick.py")
    ended = arena.run(["bash", "-c", 'umask 0; exec "$@"', "sh", *run])
    if ended.code != 0:
        raise Failed(f"exit {ended.code}: {ended.complaint}")
    folder = arena.work / ".rlprof"
    _expect_mode(folder, 0o700)
    for run_file in folder.glob("*.rlprof"):
        _expect_mode(run_file, 0o600)
    ended = arena.run(["bash", "-c", 'umask 0; exec "$@"', "sh", *arena.recorded("quick.py")])
    _expect_mode(arena.run_file, 0o600)
    return "folder 0700, run files 0600"


def modes_while_recording(arena: Arena) -> str:
    """The journals of a recording under way are nobody else's either."""
    shutil.copy(PROGRAMS / "training.py", arena.work)
    process = arena.start(
        ["bash", "-c", 'umask 0; exec "$@"', "sh", *arena.recorded("training.py", str(STEPS), "0")]
    )
    arena.wait_for("the start of the training", (arena.work / "started").exists)
    for path in arena.folder.glob("run.rlprof*"):
        _expect_mode(path, 0o600)
    for path in arena.tmp.rglob("*"):
        _expect_mode(path, 0o700 if path.is_dir() else 0o600)
    arena.finish(process)
    return "run file, journals and TMPDIR are closed to others"


def _expect_mode(path: Path, most: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & ~most:
        raise Failed(f"{path.name} has mode {mode:04o}, not {most:04o}")


_TOLD = {
    full_disk: ("A file system of a few KiB for the run file.", False),
    full_disk_at_once: ("A file system with room for nothing.", False),
    full_disk_of_default_place: ("A full file system as working folder.", False),
    nearly_full_disk: ("A checkpoint that fits on the disk, were there no recording.", True),
    full_tmpdir: ("A full TMPDIR.", False),
    missing_tmpdir: ("A TMPDIR that does not exist.", False),
    read_only_folder: ("A working folder that is mounted read-only.", False),
    default_place_is_a_file: ("A file where the folder .rlprof would be.", False),
    latest_is_a_folder: ("A folder where the link `latest` would be.", False),
    run_file_removed: ("The run file is removed while it is written.", False),
    run_file_locked: ("Another program holds a lock on the run file, and lets it go.", False),
    run_file_locked_to_the_end: ("Another program holds it longer than the training.", False),
    small_sweep: ("Five runs at once in one folder.", False),
    large_sweep: ("Forty runs at once in one folder.", False),
    modes: ("Modes of files under umask 0.", False),
    modes_while_recording: ("Modes of journals and TMPDIR under umask 0.", False),
}

ROWS: tuple[Row, ...] = tuple(
    Row(attempt.__name__.replace("_", "-"), "outputs", told, attempt, is_fast)
    for attempt, (told, is_fast) in _TOLD.items()
)
