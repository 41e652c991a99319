"""Comparisons of runs that read like their story: ``compared(a_training(), a_training(copying_s=3))``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

import jsonschema

from rlprof.comparison.compare import Comparison, compare
from rlprof.comparison.stacks import ROOT_LABEL, StackBox, Stacks
from rlprof.report.build import build_report
from tests.factories import RunBuilder, a_run

HOME = "/home/researcher/project"
LOOP = f"{HOME}/train.py:40 train"
STEP = f"{HOME}/train.py:12 step"
LEARN = f"{HOME}/train.py:20 learn"
ACT = f"{HOME}/train.py:30 act"
DEEPCOPY = f"{HOME}/.venv/lib/python3.11/site-packages/worlds/copy.py:128 deepcopy"
"""A function that no detector knows: only the call tree tells of it."""
OMEGACONF = f"{HOME}/.venv/lib/python3.11/site-packages/omegaconf/dictconfig.py:355 __getattr__"

CHECK = jsonschema.Draft202012Validator(
    json.loads(files("rlprof.gate").joinpath("check.schema.json").read_text("utf-8"))
)
"""Of the JSON of a check, which has what the recorded pair of it tells."""


def a_training(*, steps: int = 1000, copying_s: float = 0.0, speed: float = 1.0) -> RunBuilder:
    """Twenty seconds, all steady: acting, learning and stepping, and copies for the rest. ``speed`` is
    the machine's: the same steps in less time.
    """
    run = a_run("train.py", start_up_s=1, steady_s=20 / speed).process("main", steps=steps)
    rest = (20 - copying_s) / speed
    run = run.spends(rest * 0.1, LOOP).spends(rest * 0.3, LOOP, ACT)
    run = run.spends(rest * 0.4, LOOP, LEARN).spends(rest * 0.2, LOOP, STEP)
    if copying_s:
        run = run.spends(copying_s / speed, LOOP, STEP, DEEPCOPY)
    return run


def reading_its_configuration(seconds: float, *, learning_s: float = 0.0) -> RunBuilder:
    """Twenty seconds, all steady: reading and learning for so many, and the loop itself for the rest."""
    run = a_run("train.py", start_up_s=1, steady_s=20).process("main", steps=1000)
    run = run.spends(20 - seconds - learning_s, LOOP)
    if learning_s:
        run = run.spends(learning_s, LOOP, LEARN)
    return run.spends(seconds, LOOP, STEP, OMEGACONF) if seconds else run


def compared(base: RunBuilder, new: RunBuilder, *, metric: str = "wall") -> Comparison:
    reports = [
        build_report(
            builder.with_run(id=name).recording(), detailed=True, run_file=f"{name}.rlprof"
        )
        for name, builder in (("base", base), ("new", new))
    ]
    return compare(*reports, metric=metric)


def stacks_of(
    paths: Mapping[tuple[str, ...], Sequence[int]],
    *,
    blocks: int,
    block_us: int = 1_000_000,
    interval_us: float = 10_000.0,
) -> Stacks:
    """Own time in each block by path of function names; the first name is a role. ``name@file`` puts
    a function in a file, others are in ``train.py``.
    """
    boxes = [StackBox(-1, ROOT_LABEL, "", 0, "root", (0,) * blocks, 0)]
    index: dict[tuple[str, ...], int] = {(): 0}
    for path in sorted(paths):
        for depth in range(1, len(path) + 1):
            if path[:depth] in index:
                continue
            name, _, file = path[depth - 1].partition("@")
            index[path[:depth]] = len(boxes)
            kind, place = ("process", "") if depth == 1 else ("yours", file or "train.py")
            own = tuple(paths.get(path[:depth], (0,) * blocks))
            boxes.append(StackBox(index[path[: depth - 1]], name, place, 7, kind, own, 0))
    return Stacks(
        boxes=tuple(boxes),
        box_of_node={},
        block_us=(block_us,) * blocks,
        block_steps=(100.0,) * blocks,
        interval_us=interval_us,
    )
