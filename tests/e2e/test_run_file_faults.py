"""Where the run file cannot be written or read: a clear error, and an untouched training."""

from __future__ import annotations

import os
import subprocess

import pytest

from rlprof.runfile.reader import read_run
from tests.factories import a_run
from tests.live_processes import cli
from tests.run_files import write_run

TRAIN = """
import sys, time

# Ever new functions, so that the run file grows.
end = time.monotonic() + 3.0
number = 0
while time.monotonic() < end:
    number += 1
    scope = {}
    exec(f"def function_{number}():\\n" + "    sum(range(20000))\\n" * 40, scope)
    scope[f"function_{number}"]()
print("trained")
sys.exit(5)
"""


TRAINS_BRIEFLY = """
import sys

print("trained")
sys.exit(5)
"""


@pytest.fixture
def small_disk(tmp_path):
    """A file system that holds 16 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here (root and CAP_SYS_ADMIN are needed)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up(write, start, small_disk):
    """What is left is the program's, and what was recorded until then is whole."""
    filling = f"open({str(small_disk / 'saved')!r}, 'wb').write(bytes(15 << 20))\n"
    running = start(write(filling + TRAIN), run_file=small_disk / "run.rlprof", report=True)

    result = running.finish()

    assert (result.code, result.out) == (5, b"trained\n")
    assert "free, which are left to your program" in result.err
    assert "The training was not touched" in result.err
    assert "Traceback" not in result.err
    recording = result.recording
    assert not recording.run.complete
    assert recording.windows
    assert not list(small_disk.glob("run.rlprof-*"))


@pytest.mark.parametrize(
    ("place", "cleared"),
    [(["-o", "runs/exp/train.rlprof"], "runs/exp"), ([], ".rlprof")],
    ids=["-o", "the usual place"],
)
def test_a_training_that_clears_the_folder_of_the_run_file(write, tmp_path, place, cleared):
    script = write(
        f"""
import shutil, sys
shutil.rmtree({cleared!r})
print("trained")
sys.exit(5)
"""
    )

    answer = subprocess.run(
        [*cli("run", *place), script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert (answer.returncode, answer.stdout) == (5, "trained\n")
    assert "was removed or moved while it was being recorded" in answer.stderr
    assert "the training itself ended with exit code 5" in answer.stderr
    assert "run-file-removed" in answer.stderr
    assert "-o FILE" in answer.stderr


def test_a_disk_that_is_nearly_full_from_the_start(write, start, small_disk):
    (small_disk / "filler").write_bytes(bytes(15 << 20))
    running = start(write(TRAINS_BRIEFLY), run_file=small_disk / "run.rlprof")

    result = running.finish()

    assert (result.code, result.out) == (5, b"trained\n")
    assert "The training runs without rlprof" in result.err
    assert "rlprof explain disk-nearly-full" in result.err
    assert not result.run_file.exists()


def test_a_folder_that_may_not_be_written(write, start, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    running = start(write(TRAINS_BRIEFLY), run_file=small_disk / "run.rlprof")

    result = running.finish()

    assert (result.code, result.out) == (5, b"trained\n")
    assert "The training runs without rlprof" in result.err
    assert str(result.run_file) in result.err
    assert "-o" in result.err


def test_a_path_below_a_file(write, start, tmp_path):
    (tmp_path / "file").touch()
    running = start(write(TRAINS_BRIEFLY), run_file=tmp_path / "file" / "run.rlprof")

    result = running.finish()

    assert (result.code, result.out) == (5, b"trained\n")
    assert "The training runs without rlprof" in result.err
    assert str(tmp_path / "file") in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("name", ["-", "."])
def test_a_run_file_without_a_name(write, rlprof_run, name):
    refused = rlprof_run(write("print('ran')"), run_file=name)

    assert (refused.code, refused.out) == (2, b"")
    assert "names no file" in refused.err


def test_an_existing_run_file_is_kept_unless_forced(write, rlprof_run, tmp_path):
    script = write("print('ran')")
    run_file = tmp_path / "run.rlprof"
    precious = rlprof_run(script, run_file=run_file).recording.run.id

    refused = rlprof_run(script, run_file=run_file)
    assert (refused.code, refused.out) == (2, b"")
    assert "rlprof explain output-exists" in refused.err
    assert read_run(run_file).run.id == precious

    forced = rlprof_run(script, run_file=run_file, options=["--force"])
    assert (forced.code, forced.out) == (0, b"ran\n")
    assert forced.recording.run.complete
    assert forced.recording.run.id != precious


def test_a_folder_with_a_path_that_is_too_long_for_sqlite(write, start, tmp_path):
    folder = tmp_path.joinpath(*["d" * 100] * 5)

    result = start(write(TRAINS_BRIEFLY), run_file=folder / "run.rlprof").finish()

    assert (result.code, result.out) == (5, b"trained\n")
    assert "the path of its folder is too long" in result.err
    assert list(folder.iterdir()) == []


def test_a_run_file_can_be_read_from_a_folder_that_may_not_be_written(small_disk):
    write_run(small_disk / "run.rlprof", a_run("train.py", steady_s=1).process("main").recording())
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    assert read_run(small_disk / "run.rlprof").run.complete
