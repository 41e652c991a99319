"""Programs in Python that a loop starts anew each time, and waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.process_startup import DETECTOR
from rlprof.model.counters import PROCESS_STARTS
from rlprof.model.finding import Finding
from rlprof.profile.build import build_profile
from tests.factories import SECOND, a_run
from tests.profile_factory import BOOTSTRAP, SITE, STDLIB, Script, lines_of, with_import_system

TRAIN = Script(
    "train.py",
    """
    import subprocess

    def main(env):
        while True:
            env.step(act())
            told = subprocess.run([sys.executable, "-c", EVALUATE], capture_output=True)

    def once(env):
        told = subprocess.check_output([sys.executable, "-c", EVALUATE])
    """,
)
RUN = f"{STDLIB}/subprocess.py:548 run"
AWAITS = (
    RUN,
    f"{STDLIB}/subprocess.py:2108 Popen._communicate",
    f"{STDLIB}/selectors.py:415 select",
)
EACH_TIME = TRAIN.at("subprocess.run", "main")
STEP = TRAIN.at("env.step", "main")
IMPORTS = (
    "<string>:1 <module>",
    f"{BOOTSTRAP}:1176 _find_and_load",
    f"{SITE}/numpy/__init__.py:5 <module>",
)
PROGRAMS = 6


def found(
    *,
    line: str = EACH_TIME,
    working_s: float = 0.05,
    waits_s: float = 9.0,
    programs: int = PROGRAMS,
    others: int = 0,
    by: str = "subprocess",
    covered: float = 0.8,
) -> list[Finding]:
    """What is told of ten seconds, most of which the main process waits for programs of 1.5 s each."""
    run = a_run("train.py", start_up_s=1.0, steady_s=10.0).process("main", steps=1_000)
    run.spends(waits_s, line, *AWAITS, idle=True).spends(10.0 - waits_s, STEP)
    run.counts(PROCESS_STARTS, programs + others)
    for name in range(programs):
        run.process(f"program {name}").spends(1.5 - working_s, *IMPORTS)
        run.spends(working_s, "<string>:4 <module>")
    recording = with_import_system(run.recording())
    each = round(1.5 * SECOND)
    processes = tuple(
        process
        if process.id == 0
        else replace(
            process,
            start_method=by,
            started_us=SECOND + (process.id - 1) * each,
            ended_us=SECOND + process.id * each - 1,
            clock_covered_us=round(covered * each),
        )
        for process in recording.processes
    )
    sources = {TRAIN.file: TRAIN.text}
    profile = build_profile(replace(recording, processes=processes, sources=sources))
    return [each for each in DETECTOR.in_samples.detect(profile) if "started anew" in each.title]


def test_programs_that_are_started_anew_for_each_task():
    (finding,) = found()

    assert finding.title == "6 programs in Python are started anew in the loop (train.py:6)"
    assert lines_of(finding) == [TRAIN.line("subprocess.run")]
    (saving,) = finding.savings
    assert saving.removable == pytest.approx((0.85 * 0.967, 0.995 * 0.967), abs=0.01)


def test_what_they_do_themselves_stays():
    (finding,) = found(working_s=0.75)

    assert finding.savings[0].removable == pytest.approx((0.85 / 2, 0.995 / 2), abs=0.01)
    assert found(working_s=1.48) == []


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"line": TRAIN.at("subprocess.check_output", "once")}, id="once"),
        pytest.param({"programs": 2}, id="few"),
        pytest.param({"others": 3}, id="programs that nobody saw beside them"),
        pytest.param({"by": "fork"}, id="workers"),
        pytest.param({"covered": 0.1}, id="no sampler was there"),
        pytest.param({"waits_s": 0.2}, id="hardly waited for"),
    ],
)
def test_silent_where_nothing_would_be_gained_or_nobody_knows(changed):
    assert found(**changed) == []
