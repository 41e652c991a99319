from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.profile import Phase, PhaseKind
from rlprof.pace import phases
from rlprof.profile.build import build_profile
from tests.factories import a_run
from tests.profile_factory import BOOTSTRAP, SITE

SECOND = 1_000_000


def test_a_worker_has_a_start_up_of_its_own():
    """It is spawned after 2 s, when main begins to step, and imports until the fourth second."""
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, "train.py:12 step")
    recording = run.process("worker").spends(10.0, "env.py:5 step").recording()
    late = replace(recording.processes[1], started_us=2 * SECOND, ended_us=9 * SECOND)

    profile = build_profile(replace(recording, processes=(recording.processes[0], late)))

    assert profile.process_phases[0] == (
        Phase(PhaseKind.START_UP, 0, 2 * SECOND),
        Phase(PhaseKind.STEADY, 2 * SECOND, 12 * SECOND),
    )
    assert profile.process_phases[1] == (Phase(PhaseKind.STEADY, 2 * SECOND, 9 * SECOND),)


def test_imports_at_first_are_a_process_s_start_up():
    run = a_run(start_up_s=4.0, steady_s=6.0).process("main", steps=600)
    run.spends(6.0, "train.py:12 step").process("worker")
    run.spends(
        3.9,
        f"{BOOTSTRAP}:1176 _find_and_load",
        f"{SITE}/torch/__init__.py:9 <module>",
        start_up=True,
    )
    recording = run.spends(6.0, "env.py:5 step").recording()
    real = BOOTSTRAP.replace("_", " ", 1)
    nodes = tuple(
        node._replace(frame=node.frame._replace(file=real))
        if node.frame.file == BOOTSTRAP
        else node
        for node in recording.nodes
    )

    profile = build_profile(replace(recording, nodes=nodes))

    assert profile.process_phases[1][0] == Phase(PhaseKind.START_UP, 0, 4 * SECOND)


@pytest.mark.parametrize(
    ("imports_ms", "others_ms", "until"),
    [
        ([0, 9, 100, 100, 0], [0, 20, 0, 0, 100], 4),
        ([100, 100, 0, 0, 0], [0, 0, 100, 100, 100], 2),
        ([0, 0, 100, 100, 0], [90, 90, 0, 0, 100], 0),
    ],
    ids=["the interpreter starts first", "nothing before", "a program of its own before"],
)
def test_imports_may_begin_a_little_late(imports_ms, others_ms, until):
    imports = [1000 * each for each in imports_ms]
    active = [1000 * sum(each) for each in zip(imports_ms, others_ms, strict=True)]

    assert phases._leading(imports, active, from_window=0) == until
