from __future__ import annotations

import pytest

from rlprof.detectors import (
    array_conversion_in_loop,
    eager_log_format,
    hot_spot,
    omegaconf_in_loop,
    startup_bound,
)
from rlprof.detectors.base import Detector
from tests.factories import RunBuilder, a_run
from tests.profile_factory import BOOTSTRAP, SITE, STDLIB, Script, detect, lines_of, profile_of

RUNPY = (
    "/usr/lib/python3.11/runpy.py:198 _run_module_as_main",
    "/usr/lib/python3.11/runpy.py:88 _run_code",
)
TRAIN = Script(
    f"{SITE}/my_package/train.py",
    """
    import torch, numpy as np
    def main(cfg):
        for step in range(1000):
            lr = cfg.lr
            logger.debug(f"q = {q}")
            best = q.index(max(q))
            act(np.array(list(rewards)))
            env.step()
    main()
    """,
)
ENTRY = (TRAIN.at("main()", "<module>").replace(":2 ", ":9 "),)
NUMPY = f"{SITE}/numpy/lib/shape.py:3 tile"


def started(*stack: str) -> str:
    return profile_of(a_run().process(steps=10).spends(5.0, *stack)).started_package


def a_training(*stack: str) -> RunBuilder:
    """``python -m my_package.train`` from site-packages, most of it in ``stack``."""
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.spends(7.0, *RUNPY, *ENTRY, *stack)
    return run.spends(3.0, *RUNPY, *ENTRY, TRAIN.at("env.step", "main"), NUMPY)


def test_the_package_that_the_run_started():
    assert started(*RUNPY, *ENTRY, NUMPY) == "my_package"
    assert started("/venv/bin/train:8 <module>", *ENTRY) == "my_package"
    assert started("<string>:1 <module>", f"{STDLIB}/multiprocessing/spawn.py:122 spawn_main",
                   *ENTRY) == "my_package"  # fmt: skip


@pytest.mark.parametrize(
    "stack", [("train.py:3 <module>", NUMPY), ("bin/train:90 <module>", NUMPY)]
)
def test_a_script_of_the_users_started_no_package(stack):
    assert started(*stack) == ""


@pytest.mark.parametrize("launcher", ["hydra/main.py", "torch/distributed/run.py", "ray/worker.py"])
def test_a_launcher_is_not_what_was_started(launcher):
    frame = f"{SITE}/{launcher}:94 decorated_main"

    assert started(*RUNPY, frame, *ENTRY) == "my_package"
    assert started(*RUNPY, frame, "train.py:3 main", NUMPY) == ""
    assert started(*RUNPY, frame) == ""


def test_workers_that_a_library_spawns_are_not_what_was_started():
    run = a_run().process("main", steps=10).spends(1.0, "train.py:3 <module>", NUMPY)
    spawned = (f"{STDLIB}/multiprocessing/spawn.py:122 spawn_main", f"{SITE}/collectors/run.py:9 f")
    for _ in range(3):
        run.process("worker").spends(5.0, "<string>:1 <module>", *spawned)

    assert profile_of(run).started_package == ""


def test_imports_and_threads_of_libraries_have_no_say():
    run = a_run().process(steps=10).spends(1.0, *RUNPY, *ENTRY, NUMPY)
    run.spends(3.0, f"{BOOTSTRAP}:1176 _find_and_load", f"{SITE}/numpy/__init__.py:7 <module>")
    run.thread("tqdm").spends(
        9.0, f"{STDLIB}/threading.py:1002 _bootstrap", f"{SITE}/tqdm/m.py:3 run"
    )

    assert profile_of(run).started_package == "my_package"


@pytest.mark.parametrize(
    ("detector", "piece", "below"),
    [
        (omegaconf_in_loop.DETECTOR, "cfg.lr", f"{SITE}/omegaconf/dictconfig.py:3 __getattr__"),
        (eager_log_format.DETECTOR, "logger.debug", f"{SITE}/numpy/_core/arrayprint.py:3 _array"),
        (array_conversion_in_loop.DETECTOR, "np.array", f"{SITE}/numpy/x.py:3 array"),
        (hot_spot.DETECTOR, "np.array", f"{SITE}/numpy/x.py:3 array"),
    ],
)
def test_detectors_name_the_lines_of_an_installed_training(detector: Detector, piece, below):
    run = a_training(TRAIN.at(piece, "main"), below)

    finding = detect(detector, run, TRAIN)[0]

    assert finding.locations[0].file == TRAIN.file
    assert lines_of(finding)[0] == TRAIN.line(piece)


def test_a_conversion_does_not_claim_what_the_package_does_itself():
    piece = TRAIN.at("np.array", "main")
    own = f"{SITE}/my_package/policy.py:3 Policy.tolist"
    array = f"{SITE}/numpy/x.py:3 array"
    run = a_training(piece, array).spends(3.0, *RUNPY, *ENTRY, piece, array, own)
    profile = profile_of(run, TRAIN)

    claimed = {
        profile.steady.frame(node).file
        for finding in array_conversion_in_loop.DETECTOR.in_samples.detect(profile)
        for saving in finding.savings
        for node in saving.nodes
    }

    assert f"{SITE}/numpy/x.py" in claimed
    assert f"{SITE}/my_package/policy.py" not in claimed


def test_the_imports_of_an_installed_training_are_named_by_its_line():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    importing = TRAIN.at("import torch", "<module>")
    run.spends(
        6.0, *RUNPY, importing, f"{BOOTSTRAP}:1176 _find_and_load",
        f"{SITE}/torch/__init__.py:5 <module>", start_up=True,
    )  # fmt: skip
    run.spends(4.0, *RUNPY, *ENTRY, TRAIN.at("env.step", "main"))

    (finding,) = detect(startup_bound.DETECTOR, run, TRAIN)

    assert lines_of(finding) == [TRAIN.line("import torch")]
