from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.calltree import CallTree
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import Frame, Recording
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run

SECOND = 1_000_000


def an_import(module: str) -> tuple[str, str]:
    """The frames of an import; ``recorded`` gives the machinery its real name."""
    return ("importlib._bootstrap:1 _find_and_load", f"/site-packages/{module}:1 <module>")


def recorded(run: RunBuilder) -> Recording:
    """The factory splits frames at blanks, and ``<frozen importlib._bootstrap>`` has one."""
    recording = run.recording()
    nodes = tuple(
        node._replace(frame=Frame("<frozen importlib._bootstrap>", node.frame.function, 1))
        if node.frame.file == "importlib._bootstrap"
        else node
        for node in recording.nodes
    )
    return replace(recording, nodes=nodes)


def wall_s(tree: CallTree, file: str) -> float:
    return sum(
        tree.self_cost(node).wall_us for node in tree.hot_nodes() if file in tree.frame(node).file
    ) / float(SECOND)


def start_up_end_s(profile: Profile) -> float:
    return profile.start_up_us / SECOND


def test_the_time_before_the_first_step_is_start_up():
    run = (
        a_run(start_up_s=2.0)
        .process("main", steps=1000)
        .spends(1.5, *an_import("torch"), start_up=True)
        .spends(0.5, "train.py:5 main", start_up=True)
        .spends(10.0, "train.py:12 step")
    )

    profile = build_profile(recorded(run))

    assert start_up_end_s(profile) == 2.0
    assert wall_s(profile.start_up, "torch") == pytest.approx(1.5)
    assert wall_s(profile.start_up, "train.py") == pytest.approx(0.5)
    assert profile.steady.total.wall_us == 10 * SECOND


def test_an_import_while_training_is_start_up_and_not_steady():
    run = (
        a_run()
        .process("main", steps=1000)
        .spends(9.0, "train.py:12 step")
        .spends(1.0, "train.py:20 log", *an_import("pandas"))
    )

    profile = build_profile(recorded(run))

    assert wall_s(profile.steady, "pandas") == 0
    assert wall_s(profile.start_up, "pandas") == pytest.approx(1.0)


def test_what_an_import_while_training_waits_for_a_core_is_no_wait_of_the_training():
    run = (
        a_run()
        .process("main", steps=1000)
        .spends(4.0, "train.py:12 step", cpu=0.5)
        .spends(6.0, "train.py:20 log", *an_import("pandas"), cpu=0.1)
    )

    profile = build_profile(recorded(run))

    assert profile.bound.text.endswith("working 50 % of the time and waiting for a core 50 %")


def test_an_import_statement_that_runs_again_and_again_is_no_start_up():
    """``from omegaconf.base import X`` in a function: all is loaded, and yet it takes its time."""
    again = "importlib._bootstrap:1390 _handle_fromlist"
    run = a_run().process("main", steps=1000)
    run.spends(7.0, "train.py:12 step").spends(3.0, "train.py:12 step", again)

    profile = build_profile(recorded(run))

    assert profile.steady.total.wall_us == 10 * SECOND


def test_a_training_at_the_top_of_an_imported_module_is_no_import():
    machinery, _ = an_import("")
    run = a_run().process("main", steps=1000)
    run.spends(
        10.0, "main.py:1 <module>", machinery, "train.py:12 <module>", "/site-packages/a.py:1 f"
    )

    profile = build_profile(recorded(run))

    assert profile.steady.total.wall_us == 10 * SECOND


def test_workers_that_import_side_by_side_share_the_run_s_time():
    run = a_run(start_up_s=4.0).process("main").spends(14.0, "train.py:9 wait", idle=True)
    for name in ("one", "two", "three", "four"):
        run.process(name, steps=500)
        run.spends(3.0, *an_import("torch"), start_up=True)
        run.spends(1.0, *an_import("gymnasium"), start_up=True)
        run.spends(10.0, "train.py:12 step")

    profile = build_profile(recorded(run))

    assert wall_s(profile.start_up, "torch") == pytest.approx(3.0, rel=1e-4)
    assert wall_s(profile.start_up, "gymnasium") == pytest.approx(1.0, rel=1e-4)
    assert profile.start_up.total.wall_us <= profile.start_up_us + 100
    assert wall_s(profile.whole, "torch") == pytest.approx(12.0)


def test_a_wait_alone_in_its_time_is_start_up():
    run = (
        a_run(start_up_s=2.0)
        .process("main", steps=100)
        .spends(2.0, "train.py:3 wait_for_port", idle=True, start_up=True)
        .spends(10.0, "train.py:12 step")
    )

    profile = build_profile(recorded(run))

    assert wall_s(profile.start_up, "train.py") == pytest.approx(2.0)


def test_without_steps_start_up_ends_with_the_imports():
    run = (
        a_run(start_up_s=2.0)
        .process("main")
        .spends(2.0, *an_import("torch"), start_up=True)
        .spends(10.0, "train.py:12 step")
    )

    profile = build_profile(recorded(run))

    assert start_up_end_s(profile) == 2.0
    assert profile.steady.total.wall_us == 10 * SECOND
    assert [phase.kind for phase in profile.phases] == [PhaseKind.START_UP, PhaseKind.STEADY]


def test_time_of_which_no_line_is_known_does_not_end_the_imports():
    """On a crowded host the first stack is seen late, and many are torn."""
    run = a_run(start_up_s=2.0).process("main")
    run.spends(1.2, ":NO STACK:", start_up=True).spends(0.8, *an_import("torch"), start_up=True)
    run.spends(10.0, "train.py:12 step")

    profile = build_profile(recorded(run))

    assert start_up_end_s(profile) == 2.0


def test_code_that_a_library_writes_while_it_is_imported_belongs_to_the_import():
    """``dataclass`` writes the methods of a class as text, and executes it."""
    run = a_run(start_up_s=2.0).process("main")
    made = (
        *an_import("torch"),
        "/usr/lib/python3.11/dataclasses.py:433 _create_fn",
        "<string>:1 <module>",
    )
    run.spends(1.2, *made, start_up=True).spends(0.8, *an_import("torch"), start_up=True)
    run.spends(10.0, "train.py:12 step")

    profile = build_profile(recorded(run))

    assert start_up_end_s(profile) == 2.0


def test_without_steps_and_imports_all_is_steady():
    profile = build_profile(recorded(a_run().process("main").spends(10.0, "train.py:12 step")))

    assert profile.start_up_us == 0
    assert profile.steady.total.wall_us == 10 * SECOND


def test_a_run_that_only_imports_has_no_steady_phase():
    run = a_run(start_up_s=2.0, steady_s=0).process("main")
    run.spends(2.0, *an_import("torch"), start_up=True)

    profile = build_profile(recorded(run))

    assert start_up_end_s(profile) == 2.0
    assert profile.steady.total.wall_us == 0
    assert profile.critical.threads == frozenset()


def test_a_late_worker_s_own_set_up_is_never_steady():
    """It steps from the seventh second on; the run has been steady for long."""
    run = a_run(start_up_s=2.0, steady_s=10.0).process("main", steps=1000)
    run.spends(10.0, "train.py:12 step")
    run.process("late").spends(10.0, "train.py:12 step")
    recording = recorded(run)
    late = tuple(
        counter._replace(process=1) for counter in recording.counters if counter.window >= 14
    )
    recording = replace(recording, counters=recording.counters + late)

    profile = build_profile(recording)

    # 10 s of main, and 5 s of the late worker: its first 5 s were its start-up.
    assert profile.steady.total.wall_us == 15 * SECOND
    # Beside a process that steps, its set-up takes half of the host's attention.
    assert wall_s(profile.start_up, "train.py") == pytest.approx(2.5)
