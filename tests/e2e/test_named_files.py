"""Commands given a pipe or a device where a file belongs: they end at once, and say why."""

from __future__ import annotations

import os
import resource
import subprocess

import pytest

from tests.live_processes import DEADLINE_S, cli

MOST_MEMORY = 2 << 30

COMMANDS = (
    ("report", "{}"),
    ("report", "{}", "--format", "json"),
    ("flame", "{}", "-o", "flame.svg"),
    ("export", "{}", "--format", "collapsed"),
    ("diff", "{}", "{}"),
    ("trace", "{}"),
    ("history", "."),
    ("check", "--baseline", "{}", "--", "python", "-c", "pass"),
)


def run(words, folder):
    def bounded():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    return subprocess.run(
        cli(*words),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        preexec_fn=bounded,
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [*((words, "pipe") for words in COMMANDS), (COMMANDS[0], "device")],
    ids=lambda given: given if isinstance(given, str) else " ".join(given[:3]),
)
def test_what_is_no_file_is_refused_at_once(words, kind, tmp_path):
    place = tmp_path / "named.rlprof"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    if words[0] == "history":
        words = ("history", "named.rlprof")

    result = run([word.format(place) for word in words], tmp_path)

    said = result.stdout + result.stderr
    assert f"it is a {kind}" in said
    assert "Traceback" not in said
    assert result.returncode == (2 if words[0] == "check" else 1)


def test_a_script_is_left_to_python_when_it_comes_through_a_pipe(tmp_path):
    script = tmp_path / "script"
    os.mkfifo(script)
    run_file = tmp_path / "run.rlprof"
    words = cli("run", "--no-report", "-o", run_file, script)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        script.write_text("print('whole')\n")
        out, _ = running.communicate(timeout=DEADLINE_S)

    assert (running.returncode, out) == (0, "whole\n")
