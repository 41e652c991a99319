"""Thousands of short children, where few files may be open: nothing is kept of those that have ended."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from rlprof.runfile.reader import read_run
from tests.live_processes import cli

FORKS = """
import os, sys

for number in range(int(sys.argv[1])):
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
print("trained")
"""

CHILDREN = 5_000
FILES = 256
DESCRIPTORS = 200
"""What rlprof may have open at any moment: a descriptor for each child would be 5 000."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_five_thousand_children_with_few_descriptors(write, tmp_path):
    run_file = tmp_path / "run.rlprof"
    command = cli("run", "--no-report", "-o", run_file, write(FORKS), str(CHILDREN))
    with subprocess.Popen(
        ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        most = _MostDescriptors(running.pid)
        most.start()
        out, err = running.communicate(timeout=800)
    most.join()

    assert (running.returncode, out, err) == (0, b"trained\n", b"")
    recording = read_run(run_file)
    assert recording.run.complete
    assert len(recording.processes) > CHILDREN // 2
    assert most.seen < DESCRIPTORS


class _MostDescriptors(threading.Thread):
    """Watches how many descriptors a process has open, until it ends."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.seen = 0
        self._folder = Path(f"/proc/{pid}/fd")

    def run(self) -> None:
        done = threading.Event()
        while not done.wait(0.05):
            try:
                self.seen = max(self.seen, len(os.listdir(self._folder)))  # noqa: PTH208 - a count
            except OSError:
                return
