"""Profiles that the real austin and the real py-spy make, reported by the real CLI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlprof.recording.samplers.austin import find_austin
from tests.live_processes import DEADLINE_S

TARGET = """
import multiprocessing, threading, time

def sleeps():
    while True:
        time.sleep(0.01)

def hot():
    total = 0
    for number in range(20_000):
        total += number * number
    return total

def trains():
    end = time.monotonic() + 2
    while time.monotonic() < end:
        hot()

if __name__ == "__main__":
    threading.Thread(target=sleeps, daemon=True).start()
    worker = multiprocessing.get_context("fork").Process(target=trains)
    worker.start()
    trains()
    worker.join()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TARGET)
    return path


def profiled(*command: object) -> None:
    subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "AUSTIN_NO_LOGGING": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=DEADLINE_S,
    )


def report_of(profile: Path) -> dict:
    """The JSON report, made where the script lies."""
    answer = subprocess.run(
        [sys.executable, "-m", "rlprof", "report", str(profile), "--format", "json"],
        cwd=profile.parent,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def assert_hot(report: dict, script: Path) -> None:
    hottest = report["findings"][0]["locations"][0]
    assert hottest["file"] == str(script)
    assert hottest["function"] == "hot"
    assert hottest["share"] > 0.5
    assert hottest["source"] in ("total += number * number", "for number in range(20_000):")
    assert report["throughput"]["steady_sps"] is None
    assert "foreign-profile" in {note["slug"] for note in report["quality"]["notes"]}


@pytest.mark.parametrize(
    "options",
    [(), ("-s",), ("-b", "-f")],
    ids=lambda options: " ".join(options) or "plain",
)
def test_austin(tmp_path, script, options):
    austin = find_austin()
    if not austin.writes_text:
        pytest.skip("austin 4 knows neither -b nor -s: pip install 'austin-dist<4'")
    profile = tmp_path / "profile"

    profiled(austin.path, "-C", "-i", "5ms", *options, "-o", profile, sys.executable, script)

    report = report_of(profile)
    assert_hot(report, script)
    assert sorted(process["role"] for process in report["processes"]) == ["main", "worker"]


@pytest.mark.parametrize("options", [(), ("--threads", "--full-filenames")], ids=["plain", "told"])
def test_py_spy(tmp_path, script, options):
    py_spy = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if py_spy is None:
        pytest.skip("needs py-spy: pip install py-spy")
    profile = tmp_path / "profile"
    command = [py_spy, "record", "--format", "raw", "--subprocesses", *options, "-o", profile]

    profiled(*command, "--", sys.executable, script)

    report = report_of(profile)
    assert_hot(report, script)
    assert [process["role"] for process in report["processes"]] == ["main", "worker"]
