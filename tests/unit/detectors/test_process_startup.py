from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors import startup_bound
from rlprof.detectors.process_startup import DETECTOR, MIN_MAKING, MOST_REMOVABLE
from rlprof.detectors.recognisers.processes.worker_start import (
    MIN_SHARE_ONCE,
    MIN_SHARE_REMADE,
    REMADE_ROUNDS,
)
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding, PricedFinding
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import Process, Recording
from rlprof.profile.build import build_profile
from rlprof.report.findings import sell_samples
from tests.factories import SECOND, RunBuilder, a_run
from tests.profile_factory import (
    BOOTSTRAP,
    SITE,
    STDLIB,
    Script,
    detect,
    lines_of,
    profile_of,
    with_import_system,
)

TRAIN = Script(
    "train.py",
    """
    import torch

    def work(connection):
        while True:
            connection.send(env.step(connection.recv()))

    for generation in range(60):
        with Pool(4) as pool:
            returns = pool.map(episode, seeds)
    """,
)
SPAWN = ("<string>:1 <module>", f"{STDLIB}/multiprocessing/spawn.py:122 spawn_main")
PREPARE = (*SPAWN, f"{STDLIB}/multiprocessing/spawn.py:240 prepare")
RUNS = (*SPAWN, f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap")
FIND = f"{BOOTSTRAP}:1176 _find_and_load"
TORCH = f"{SITE}/torch/__init__.py:5 <module>"
IMPORT_TORCH = (TRAIN.at("import torch", "<module>"), FIND, TORCH)
STEP = TRAIN.at("env.step", "work")
POOL = TRAIN.at("with Pool", "<module>")
MAKES = (
    POOL,
    f"{STDLIB}/multiprocessing/pool.py:215 Pool.__init__",
    f"{STDLIB}/multiprocessing/process.py:121 BaseProcess.start",
    f"{STDLIB}/multiprocessing/popen_fork.py:66 Popen._launch",
)
WAITS = (
    TRAIN.at("pool.map", "<module>"),
    f"{STDLIB}/multiprocessing/pool.py:367 Pool.map",
    f"{STDLIB}/multiprocessing/pool.py:768 ApplyResult.get",
)


def spawned_workers(*, imports_s: float, steady_s: float, workers: int = 4) -> RunBuilder:
    """``workers`` import torch side by side, with the host to themselves, then step."""
    run = a_run("train.py", start_up_s=imports_s, steady_s=steady_s).with_run(
        host={"usable_cores": "2"}
    )
    run.process("main").spends(steady_s, "train.py:1 <module>", idle=True)
    for name in range(workers):
        run.process(f"worker {name}", steps=1_000)
        run.spends(imports_s, *PREPARE, *IMPORT_TORCH, start_up=True, cpu=2 / workers)
        run.spends(steady_s, *RUNS, STEP)
    return run


def test_the_start_of_the_agent_in_workers_is_no_import_of_theirs():
    site = (FIND, "<frozen site>:616 <module>", "<frozen site>:548 execsitecustomize", FIND)
    run = a_run("train.py", start_up_s=4.0, steady_s=4.0)
    run.process("main").spends(4.0, "train.py:1 <module>", idle=True)
    for name in range(4):
        run.process(f"worker {name}", steps=1_000)
        run.spends(3.9, *site, start_up=True).spends(0.1, *PREPARE, *IMPORT_TORCH, start_up=True)
        run.spends(4.0, *RUNS, STEP)

    assert detect(DETECTOR, run, TRAIN) == []


def remade_pools(
    *,
    making_s: float = 3.0,
    tasks_s: float = 1.0,
    rounds: int = 20,
    below: tuple[str, ...] = (),
    working_s: float = 0.0,
) -> Recording:
    """10 s of pools of 4 forked processes, one after the other; main waits while it neither forks nor works. Tasks run ``below`` a library."""
    run = a_run("train.py", start_up_s=0.5, steady_s=10.0).with_run(host={"usable_cores": "2"})
    run.process("main", steps=10_000).spends(making_s, *MAKES)
    run.spends(working_s, "train.py:9 learn")
    run.spends(10.0 - making_s - working_s, *WAITS, idle=True)
    for name in range(4 * rounds):
        run.process(f"worker {name}")
        run.spends(tasks_s / (4 * rounds), *RUNS[2:], *below, "train.py:20 episode")
    recording = run.recording()
    each = recording.run.wall_us // rounds
    processes = tuple(
        process
        if process.id == 0
        else lives(process, (process.id - 1) // 4 * each, (process.id - 1) // 4 * each + each - 1)
        for process in recording.processes
    )
    return replace(recording, processes=processes)


def lives(process: Process, start_us: int, end_us: int) -> Process:
    return replace(process, started_us=start_us, ended_us=end_us)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def found_in(recording: Recording) -> list[Finding]:
    sources = {TRAIN.file: TRAIN.text}
    return list(DETECTOR.in_samples.detect(build_profile(replace(recording, sources=sources))))


def listed(profile: Profile) -> list[PricedFinding]:
    return list(sell_samples(profile, discover_detectors())[0].ranking().listed)


def test_names_what_spawned_workers_import():
    (finding,) = found(spawned_workers(imports_s=6.0, steady_s=4.0))

    assert finding.title == "4 workers import torch for 60 % of the run"
    assert finding.phase is PhaseKind.START_UP
    assert lines_of(finding) == [TRAIN.line("import torch")]
    assert "6.0 s of the run goes into imports in them (torch)" in finding.evidence[0]
    assert "before the workers are forked" in finding.fix


def test_spawned_workers_are_told_of_fork_and_forkserver():
    recording = spawned_workers(imports_s=6.0, steady_s=4.0).recording()
    spawned = tuple(
        replace(process, start_method="spawn") if process.id else process
        for process in recording.processes
    )

    (finding,) = found_in(with_import_system(replace(recording, processes=spawned)))

    assert "set_forkserver_preload" in finding.fix
    assert "4 processes started by spawn" in finding.evidence[0]


def test_silent_just_under_its_threshold():
    def with_share(share: float) -> list[Finding]:
        return found(spawned_workers(imports_s=100 * share, steady_s=100 * (1 - share)))

    assert with_share(MIN_SHARE_ONCE - 0.01) == []
    assert len(with_share(MIN_SHARE_ONCE + 0.01)) == 1


def test_silent_on_a_healthy_run():
    """Started once, for a training that lasts."""
    assert found(spawned_workers(imports_s=3.0, steady_s=60.0)) == []


def test_silent_when_the_end_of_the_program_was_not_seen():
    stopped = spawned_workers(imports_s=6.0, steady_s=4.0).note("info", "recording-stopped", "")

    assert found(stopped) == []


def test_silent_on_a_program_without_workers():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=100)
    run.spends(6.0, *IMPORT_TORCH, start_up=True).spends(4.0, STEP)

    assert found(run) == []


def test_ranks_by_its_price():
    """On 2 cores 4 imports take twice as long as one does."""
    first = listed(profile_of(spawned_workers(imports_s=6.0, steady_s=4.0), TRAIN))[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low == pytest.approx(0.6 * 0.5, abs=0.06)
    assert first.saved_share.high == pytest.approx(0.6 * MOST_REMOVABLE, abs=0.06)


def test_imports_of_workers_are_not_told_twice():
    profile = profile_of(spawned_workers(imports_s=6.0, steady_s=4.0), TRAIN)

    assert len(list(DETECTOR.in_samples.detect(profile))) == 1
    assert list(startup_bound.DETECTOR.in_samples.detect(profile)) == []


def test_nothing_is_certain_where_all_import_side_by_side():
    """Two workers on two cores wait as long as one would."""
    (finding,) = found(spawned_workers(imports_s=6.0, steady_s=4.0, workers=2))

    assert finding.savings[0].removable.low == 0.0


def test_names_pools_that_are_made_in_the_loop():
    (finding,) = found_in(remade_pools(making_s=3.0))

    assert finding.title == "80 processes are made and ended in the loop (train.py:8)"
    assert finding.phase is PhaseKind.STEADY
    assert "30 % of the steady time" in finding.evidence[0]
    assert "the whole set was made 20 times" in finding.evidence[1]


def test_the_place_is_where_processes_are_started_however_long_joining_them_takes():
    joins = (
        TRAIN.at("returns", "<module>"),
        f"{STDLIB}/multiprocessing/process.py:149 BaseProcess.join",
    )
    run = a_run("train.py", start_up_s=0.5, steady_s=10.0).with_run(host={"usable_cores": "2"})
    run.process("main", steps=10_000).spends(1.0, *MAKES).spends(9.0, *joins, idle=True)
    for name in range(40):
        run.process(f"worker {name}").spends(0.2, *RUNS[2:], "train.py:20 episode")
    recording = run.recording()
    each = recording.run.wall_us // 40
    processes = tuple(
        process
        if process.id == 0
        else lives(process, process.id * each - each, process.id * each - 1)
        for process in recording.processes
    )

    (finding,) = found_in(replace(recording, processes=processes))

    assert lines_of(finding)[0] == TRAIN.line("with Pool")


def test_silent_just_under_the_time_that_making_takes():
    assert found_in(remade_pools(making_s=10 * (MIN_MAKING - 0.005))) == []
    assert len(found_in(remade_pools(making_s=10 * (MIN_MAKING + 0.005)))) == 1


def test_a_pool_for_training_and_one_for_evaluation_are_not_remade():
    rounds = int(REMADE_ROUNDS)

    assert found_in(remade_pools(rounds=rounds)) == []


def test_a_kept_pool_leaves_the_tasks():
    """1 s of tasks on 2 cores of 10 s, 3 s of forks, and waits that nothing explains."""
    (finding,) = found_in(remade_pools(making_s=3.0, tasks_s=1.0))

    assert finding.remainder is not None
    assert finding.remainder.left.low == pytest.approx(0.05, abs=0.03)
    assert 0.2 < finding.remainder.left.high < 0.5


LOADER = (f"{SITE}/torch/utils/data/_utils/worker.py:271 _worker_loop",)


def test_workers_of_a_loader_are_kept_from_epoch_to_epoch():
    (pool,) = found_in(remade_pools(working_s=5.0, tasks_s=8.0))
    (loader,) = found_in(remade_pools(working_s=5.0, tasks_s=8.0, below=LOADER))

    assert "Make the pool once" in pool.fix
    assert "persistent_workers=True" in loader.fix
    assert loader.remainder is not None
    assert pool.remainder is not None
    assert loader.remainder.left.low < pool.remainder.left.low, "batches are loaded meanwhile"


def test_waits_for_long_tasks_are_not_for_sale():
    """Tasks that fill both cores: only the making of the pools can go, and 30 ms of each cold start."""
    (finding,) = found_in(remade_pools(making_s=1.0, tasks_s=18.0))

    assert finding.remainder is not None
    assert finding.remainder.left.high > 0.9
    assert finding.remainder.left.low > 0.9 - 80 * 0.03 / 2 / 10 - 0.01


def test_imports_of_pools_made_again_count_from_a_smaller_share():
    def with_share(share: float) -> list[Finding]:
        run = a_run("train.py", start_up_s=0.5, steady_s=100.0).process("main", steps=10_000)
        run.spends(100 * (1 - share), "train.py:1 <module>")
        for name in range(10):
            run.process(f"worker {name}").spends(10 * share, *PREPARE, *IMPORT_TORCH)
        recording = run.recording()
        processes = tuple(
            process
            if process.id == 0
            else lives(process, process.id * 9 * SECOND, (process.id * 9 + 8) * SECOND)
            for process in recording.processes
        )
        sources = {TRAIN.file: TRAIN.text}
        renamed = replace(recording, processes=processes, sources=sources)
        return list(DETECTOR.in_samples.detect(build_profile(with_import_system(renamed))))

    assert with_share(MIN_SHARE_REMADE - 0.01) == []
    (finding,) = with_share(MIN_SHARE_REMADE + 0.01)
    assert "Make the pool once" in finding.fix


def test_a_pool_that_ends_slowly_is_still_one_of_many():
    """Each pool is gone only when a third of the next one's time is over."""
    recording = remade_pools()
    slow = tuple(
        replace(process, ended_us=process.ended_us + 170_000)
        if process.id and process.ended_us
        else process
        for process in recording.processes
    )

    (finding,) = found_in(replace(recording, processes=slow))

    assert "80 processes in all, 6 at a time" in finding.evidence[1]


def test_what_a_kept_pool_spares_is_told_once():
    """Spawned workers that import in each generation: a finding in the steady phase, none besides."""
    recording = remade_pools(making_s=0.5)
    imports = a_run("train.py", start_up_s=0.5, steady_s=10.0).process("main", steps=10_000)
    imports.spends(0.5, *MAKES).spends(9.5, *WAITS, idle=True)
    for name in range(80):
        imports.process(f"worker {name}").spends(0.08, *PREPARE, *IMPORT_TORCH)
        imports.spends(0.02, *RUNS, "train.py:20 episode")
    spawning = replace(with_import_system(imports.recording()), processes=recording.processes)

    (finding,) = found_in(replace(spawning, run=recording.run))

    assert finding.phase is PhaseKind.STEADY
    assert finding.remainder is not None
    assert finding.remainder.left.high < 0.5
