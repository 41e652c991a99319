"""Healthy programs with sockets, and what a fault has to know of them to be of a size."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .code import Socket, parts_of
from .names import Names

FOLDER = Path(__file__).parent / "hosts"


@dataclass(frozen=True)
class Host:
    """One healthy program; its text is ``hosts/NAME.txt``."""

    name: str
    step_us: float
    """Of one step of the whole program, all workers together, on the machine it was written on."""
    steps_between: Mapping[str, float] = field(default_factory=dict)
    """Steps from one call of a socket to the next, where it is not one."""
    needs: tuple[str, ...] = ("numpy",)
    allowed: frozenset[str] = frozenset()
    """Findings that are true of the healthy program."""
    fixed_names: Mapping[str, str] = field(default_factory=dict)
    """Names that a library asks for."""
    is_alone: bool = True
    """Whether it starts no processes, and can run in some."""

    @cached_property
    def template(self) -> str:
        return (FOLDER / f"{self.name}.txt").read_text()

    @cached_property
    def sockets(self) -> dict[str, Socket]:
        """By kind."""
        return {part.kind: part for part in parts_of(self.template) if isinstance(part, Socket)}


GYM_NAMES = {"step": "step", "reset": "reset"}
TORCH = ("numpy", "torch")
GYM = ("numpy", "torch", "gymnasium")

HOSTS = (
    Host("tabular", 2.6, {"world": 100, "episode": 100}),
    Host("linear", 24.0, {"world": 60, "episode": 60}),
    Host("evolution", 0.9, {"generation": 16 * 200, "world": 200}),
    Host(
        "evolution_pool",
        1.0,
        {"generation": 16 * 1000, "score": 16 * 1000},
        is_alone=False,
    ),
    Host("search", 550.0, {"branch": 1 / 24, "episode": 60, "world": 60}),
    Host("reinforce", 80.0, {"world": 60, "episode": 60, "update": 60, "optimizer": 60}, TORCH),
    Host(
        "dqn",
        700.0,
        {"world": 60, "episode": 60, "update": 4, "target": 4, "optimizer": 4},
        TORCH,
    ),
    Host("ppo", 22.0, {"step": 16, "policy": 16, "update": 2048, "optimizer": 512}, TORCH),
    Host("agents", 45.0, {"step": 6, "crowd": 6, "update": 600, "optimizer": 600}, TORCH),
    Host(
        "actor_learner",
        45.0,
        {"message": 256, "receive": 256, "publish": 256, "update": 256, "optimizer": 256},
        TORCH,
        is_alone=False,
        allowed=frozenset({"learner-starved", "worker-starved", "environment-step-bound"}),
    ),
    Host(
        "vector",
        36.0,
        {"step": 8, "policy": 8, "update": 512, "optimizer": 512},
        TORCH,
        is_alone=True,
    ),
    Host(
        "gym_ppo",
        70.0,
        {"step": 8, "policy": 8, "update": 1024, "optimizer": 512},
        GYM,
        fixed_names=GYM_NAMES,
    ),
    Host(
        "gym_q",
        50.0,
        {"gymworld": 200, "gymepisode": 200},
        ("numpy", "gymnasium"),
        fixed_names=GYM_NAMES,
    ),
    Host(
        "sb3",
        240.0,
        {"update": 256, "episode": 100},
        ("numpy", "torch", "gymnasium", "stable_baselines3"),
        fixed_names=GYM_NAMES,
        allowed=frozenset({"optimizer-not-fused", "distribution-validation"}),
    ),
    Host(
        "torchrl",
        800.0,
        {"update": 128, "optimizer": 128},
        ("numpy", "torch", "gymnasium", "torchrl"),
        fixed_names=GYM_NAMES,
        allowed=frozenset({"distribution-validation"}),
    ),
)

_ENDING = """\
    def rates(self):
        since, busy_since, steps = self.half
        made = self.steps - steps
        return made / (self.now - since), made / (self.busy - busy_since)"""

METER = (
    f'''class $Meter:
    """How fast the training goes in the second half of its time."""

    def __init__(self, seconds):
        self.seconds, self.steps = seconds, 0
        self.begun, self.half, self.now, self.busy = None, None, 0.0, 0.0

    def $more(self):
        now = self.now = time.perf_counter()
        if self.begun is None:
            self.begun = now if self.steps else None
            return True
        if self.half is None:
            if now - self.begun >= self.seconds / 2:
                self.half = (now, time.process_time(), self.steps)
            return True
        self.busy = time.process_time()
        return now - self.begun < self.seconds

{_ENDING}''',
    f'''class $Meter:
    """Tells each second how fast the training goes."""

    def __init__(self, seconds):
        self.seconds, self.steps = seconds, 0
        self.begun, self.half, self.now, self.told = None, None, 0.0, 0.0
        self.busy = 0.0

    def $more(self):
        now = self.now = time.perf_counter()
        if self.begun is None:
            if self.steps:
                self.begun = self.told = now
            return True
        if now - self.told > 1.0:
            self.told = now
            pace = self.steps / (now - self.begun)
            print(f"{{self.steps}} steps, {{pace:.0f}} a second", flush=True)
        if self.half is None:
            if now - self.begun >= self.seconds / 2:
                self.half = (now, time.process_time(), self.steps)
            return True
        self.busy = time.process_time()
        return now - self.begun < self.seconds

{_ENDING}''',
)
"""Each program tells its own pace, by the wall and by its CPU time; half of them tell it while they run."""

_MAIN = """\
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    sps, sps_of_cpu = {train}
    print(json.dumps({{"sps": sps, "sps_of_cpu": sps_of_cpu}}), flush=True)"""

_PROCESSES = """\
def $part(seconds, seed, results):
    results.put($train(seconds, seed))


def $maker_of_all(seconds, count):
    context = mp.get_context("{way}")
    results = context.SimpleQueue()
    children = [
        context.Process(target=$part, args=(seconds, seed, results)) for seed in range(count)
    ]
    for child in children:
        child.start()
    total = tuple(map(sum, zip(*[results.get() for _ in children])))
    for child in children:
        child.join()
    return total


"""


def main_of(names: Names, rng: random.Random, *, in_processes: bool) -> tuple[str, str]:
    """The end of a program, and what it imports."""
    imports = "import argparse\nimport json\nimport time"
    seed = rng.randrange(1000)
    if not in_processes:
        return _MAIN.format(train=names.fill(f"$train(options.seconds, {seed})")), imports
    way, count = rng.choice(("fork", "spawn")), rng.choice((1, 2))
    text = _PROCESSES.format(way=way).replace("$maker_of_all", "train_in_processes")
    main = _MAIN.format(train=f"train_in_processes(options.seconds, {count})")
    return names.fill(text) + main, f"{imports}\nimport multiprocessing as mp"
