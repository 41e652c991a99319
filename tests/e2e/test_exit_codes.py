"""The target's exit code and traceback are its own, whatever ends it."""

from __future__ import annotations

import pytest

from rlprof.errors import EXIT_LAUNCH_FAILED, EXIT_USAGE
from tests.live_processes import processes_with

WORKS_FIRST = """
    import os, signal, sys, time

    def work():
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            sum(range(1000))

    work()
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("pass", 0),
        ("sys.exit(7)", 7),
        ("os._exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_the_exit_code_is_the_targets_and_the_run_is_whole(write, rlprof_run, ending, code):
    script = write(WORKS_FIRST + "    " + ending)

    result = rlprof_run(script)

    assert result.code == code
    recording = result.recording
    assert recording.run.complete
    assert recording.run.exit_code == code
    assert result.root.exit_code == code
    assert result.root.fate == "sampled"
    assert "work" in result.functions()
    assert sum(recording.samples.wall_us) > 200_000


@pytest.mark.parametrize("ending", ["sys.exit('msg')", "raise KeyError('lost')"])
def test_what_the_target_says_on_stderr_is_unchanged(write, rlprof_run, bare_run, ending):
    script = write(WORKS_FIRST + "    " + ending)

    result = rlprof_run(script)

    assert result.err.encode() == bare_run(script).stderr
    assert (result.code, result.recording.run.exit_code, result.root.exit_code) == (1, 1, 1)
    assert result.recording.run.complete


def test_a_syntax_error_is_told_by_python_itself(write, rlprof_run, bare_run):
    script = write("def broken(:\n    pass\n")

    result = rlprof_run(script)

    assert result.code == 1
    assert result.err.encode() == bare_run(script).stderr
    assert "SyntaxError" in result.err
    assert result.recording.run.complete


def test_a_missing_script_is_our_error_and_leaves_no_run_file(rlprof_run, tmp_path):
    result = rlprof_run("no-such-script.py")

    assert result.code == EXIT_LAUNCH_FAILED
    assert "no-such-script.py does not exist" in result.err
    assert "rlprof explain script-missing" in result.err
    assert not result.run_file.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_not_python_is_named_with_the_way_to_run_it(write, rlprof_run):
    script = write("#!/bin/sh\nexit 4\n", name="train.sh")

    result = rlprof_run(script)

    assert result.code == EXIT_LAUNCH_FAILED
    assert f"as a command, after two dashes: -- {script}" in result.err
    assert not result.run_file.exists()


def test_text_that_is_not_python_fails_as_it_does_without_rlprof(write, rlprof_run, bare_run):
    script = write("Dear diary, today I trained an agent.\n", name="notes.txt")

    result = rlprof_run(script)

    assert result.code == bare_run(script).returncode == 1
    assert result.err.encode() == bare_run(script).stderr


def test_a_command_that_does_not_exist_leaves_no_run_file(rlprof_run):
    result = rlprof_run("--", "no-such-program-anywhere")

    assert result.code == EXIT_LAUNCH_FAILED
    assert "no-such-program-anywhere" in result.err
    assert "rlprof explain target-not-started" in result.err
    assert not result.run_file.exists()


def test_nothing_to_run_is_a_usage_error(rlprof_run):
    result = rlprof_run()

    assert result.code == EXIT_USAGE
    assert "rlprof explain no-target" in result.err


def test_no_process_is_left_when_the_target_has_ended(write, rlprof_run):
    script = write(WORKS_FIRST + "    raise SystemExit(5)")

    result = rlprof_run(script, "mark-of-this-test-8121")

    assert result.code == 5
    assert processes_with("mark-of-this-test-8121") == []
    assert processes_with(f"-p {result.root.pid}") == []
