"""How a process ends is told by its agent, and what is printed then is as ever."""

from __future__ import annotations

from tests.live_processes import bare, told

ENDS = """
import multiprocessing, subprocess, sys

def fails():
    raise ValueError("on purpose")

def leaves():
    sys.exit(7)

def ends():
    pass

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        for target in (fails, leaves, ends):
            process = context.Process(target=target)
            process.start()
            process.join()
            print(method, target.__name__, process.exitcode, flush=True)
    subprocess.run([sys.executable, "-c", "1 / 0"])
    subprocess.run([sys.executable, "-c", "raise KeyboardInterrupt"])
    subprocess.run([sys.executable, "-c", "raise SystemExit(3)"])
"""


def test_of_processes_that_nobody_but_their_parent_waits_for(
    write, rlprof_run, each_python, tmp_path
):
    script = write(ENDS)

    result = rlprof_run("--", each_python, script)

    assert told(result.out, result.err) == bare(each_python, script, cwd=tmp_path)
    found = {}
    for process in result.recording.processes[1:]:
        # The resource tracker's is known where it ends soon enough.
        if process.fate != "left-out":
            found.setdefault(process.exit_code, []).append(process)
    assert (
        len(found[1]) == 4
    )  # A worker of each method that failed, and the script that divided by zero.
    assert len(found[7]) == 3
    assert len(found[0]) == 3
