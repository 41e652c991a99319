"""Where memory runs out the kernel ends rlprof and its samplers, and nobody of the training."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.live_processes import (
    DEADLINE_S,
    children_named,
    children_with,
    processes_with,
    wait_until,
)

STEPS = r"--sps-pattern=steps=(\d+)"

WITH_CHILDREN = """
    import os, subprocess, sys

    if "in-another-program" not in sys.argv:
        os.execv(sys.executable, [sys.executable, *sys.argv, "in-another-program"])
    if os.fork() == 0:
        waiting = "import sys; print('ready', flush=True); sys.stdin.read()"
        os.execv(sys.executable, [sys.executable, "-c", waiting, __file__])
    sys.stdin.read()
"""


def _score(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def test_rlprof_and_its_samplers_are_ended_before_anybody_of_the_training(write, start):
    script = write(WITH_CHILDREN)
    running = start(script, stdin=subprocess.PIPE)
    running.wait_line("ready")
    wait_until(lambda: children_named(running.pid, "austin"), "a sampler")

    (target,) = children_with(running.pid, "in-another-program")
    (child,) = children_with(target, str(script))

    assert {_score(pid) for pid in (running.pid, *children_named(running.pid, "austin"))} == {1000}
    assert {_score(pid) for pid in (target, child)} == {_score("self")}


def test_what_passes_output_on_after_the_end_is_not_ended_first(write, start, tmp_path):
    script = write(
        """
        import os, sys, time
        if os.fork():
            sys.exit(0)
        while not os.path.exists("go"):
            time.sleep(0.01)
        """
    )
    running = start(script, options=[STEPS])
    assert running.popen.wait(DEADLINE_S) == 0

    scores = {_score(pid) for pid in processes_with(str(running.run_file))}
    (tmp_path / "go").touch()

    assert scores == {_score("self")}
