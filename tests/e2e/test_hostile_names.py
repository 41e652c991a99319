"""Names that no format likes: recorded, kept readable, and escaped wherever they are shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rlprof.model.recording import Recording
from rlprof.runfile.reader import read_run
from tests.live_processes import cli

WORK = """
import time

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
"""

HOSTILE_FILES = [
    b"a;b.py",
    b"line\nbreak.py",
    b"<script>alert(1)</script>.py".replace(b"/", b"-"),
    b"sp ace 10,1,-3 '\"&.py",
    b"n\xe4me-not-utf8-\xff.py",
    b"colon:7:8.py",
    "ünïcødé-🔥.py".encode(),
    b"\x1b[31mred.py",
]

HOSTILE_FUNCTIONS = """
def run(name, seconds=0.25):
    scope = {"work": work}
    code = compile("def f():\\n    work(seconds)\\nf()", "generated " + name[:50], "exec")
    code = code.replace(co_consts=tuple(
        constant.replace(co_name=name, **extra(name)) if hasattr(constant, "co_name") else constant
        for constant in code.co_consts
    ))
    scope["seconds"] = seconds
    exec(code, scope)

def extra(name):
    import sys
    return {"co_qualname": name} if sys.version_info >= (3, 11) else {}

for name in ("<script>alert(1)</script>", "x;y", "new\\nline", "k" * 10_000, "sp ace 5,1,-2", "]]>&amp;"):
    run(name)
"""


def write_script(folder: Path, name: bytes, text: str) -> Path:
    script = folder / os.fsdecode(name)
    script.write_text(text)
    return script


def recorded_under(name: bytes, recording: Recording) -> bool:
    """Whether a frame bears the readable part of a file's name."""
    readable = max(re.split(rb"[^a-z0-9]", name), key=len).decode()
    return any(readable in node.frame.file for node in recording.nodes)


def test_a_script(tmp_path):
    name = b"<script>alert(1)<-script>line\nbreaking-not-utf8-\xff.py"
    script = write_script(tmp_path, name, WORK + "\nwork(0.4)\n")
    run_file = tmp_path / "run.rlprof"

    answer = subprocess.run(
        cli("run", "-o", run_file, script),
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr.decode(errors="replace")
    assert b"Traceback" not in answer.stderr
    recording = read_run(run_file)
    assert_no_time_is_lost(recording)
    assert recorded_under(name, recording)
    assert_reports_work(run_file)


def test_files_of_a_script(write, rlprof_run, tmp_path):
    for name in HOSTILE_FILES:
        write_script(tmp_path, name, WORK + "\nwork(0.3)\n")
    script = write(
        f"import os, runpy\nfor name in {HOSTILE_FILES!r}:\n    runpy.run_path(os.fsdecode(name))\n"
    )

    result = rlprof_run(script, report=True)

    assert result.code == 0, result.err
    assert "\x1b" not in result.err
    assert all(recorded_under(name, result.recording) for name in HOSTILE_FILES)
    assert_no_time_is_lost(result.recording)
    assert_reports_work(result.run_file)


@pytest.fixture
def hostile_functions(write, rlprof_run):
    return rlprof_run(write(WORK + HOSTILE_FUNCTIONS))


def test_function_names(hostile_functions):
    assert hostile_functions.code == 0

    names = {node.frame.function for node in hostile_functions.recording.nodes}

    assert "<script>alert(1)</script>" in names
    assert any(set(name) == {"k"} and len(name) > 100 for name in names)
    assert hostile_functions.recording.run.complete
    assert_no_time_is_lost(hostile_functions.recording)
    assert_reports_work(hostile_functions.run_file)


def assert_no_time_is_lost(recording: Recording) -> None:
    """Names that break the sampler's lines must not break its clock."""
    (root,) = recording.processes
    assert root.ended_us is not None
    assert root.clock_covered_us > 0.6 * (root.ended_us - root.started_us)


def assert_reports_work(run_file: Path) -> None:
    """Every report of the run is whole, and nothing hostile gets out of its place."""
    as_json = output("report", run_file, "--format", "json")
    svg = output("flame", run_file, "-o", run_file.with_suffix(".svg"))
    text = output("report", run_file)

    assert json.loads(as_json)["run"]["exit_code"] == 0
    assert svg == "" or run_file.with_suffix(".svg").name in svg
    drawn = run_file.with_suffix(".svg").read_text(encoding="utf-8")
    ET.fromstring(drawn)
    assert "<script>alert" not in drawn
    assert "\x1b" not in text


def output(*arguments: str | Path) -> str:
    answer = subprocess.run(
        cli(*arguments), capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout
