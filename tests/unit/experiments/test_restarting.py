"""Tries by runs of their own, with a runner that is made up."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.errors import MeasureError
from rlprof.experiments import restarting
from rlprof.experiments.plan import PlannedFinding, PlannedOption
from rlprof.experiments.restarting import BETWEEN_RUNS, TOLD, TRAINS_S, VARIABLE, RestartTries
from rlprof.experiments.turns import FIRST_PAIRS
from rlprof.gate.program import Program, Side
from rlprof.gate.runner import PARTS
from rlprof.model.experiment import TreatmentKind, TryOutcome

PAIR_S = 32.0


def a_finding(name: str = "ipc-per-step") -> PlannedFinding:
    option = PlannedOption(
        "environments-in-process", "runs it anew", "gain", [], restart="environments-in-process"
    )
    return PlannedFinding(name, 1, name, "train.py", 7, "step", 0.2, 0.6, [option])


class World:
    """Pairs of runs, each of half a minute; ``ratio`` tells how much faster the treated one is, by the number of the pair.

    ``parts`` tells how fast the treated one is in parts of its time, beside its mean rate.
    """

    def __init__(self, ratio: Callable[[int], float], parts: tuple[float, ...] = ()) -> None:
        self.parts = parts
        self.now_s = 50.0
        self.pairs: list[tuple[Program, Program]] = []
        self.alone: list[Side] = []
        self.has_something_to_treat = True
        self.settings: dict[str, Any] = {}
        self.folders: list[Path] = []
        self._ratio = ratio

    def runner(self, folder: Path, **settings: Any) -> Any:
        assert folder.is_dir()
        self.folders.append(folder)
        self.settings = settings
        return SimpleNamespace(measure_in_turns=self._measure, measure=self._alone)

    def _alone(self, program: Program, pair: int) -> Any:
        self.alone.append(program.side)
        if program.side is Side.HEAD:
            self._treat(program)
        self.now_s += PAIR_S / 2
        ratio = self._ratio(pair) if program.side is Side.HEAD else 1.0
        return self._run(100.0 * ratio)

    def _run(self, rate: float, parts: tuple[float, ...] = ()) -> Any:
        return SimpleNamespace(
            sps=SimpleNamespace(median=rate), sps_of_parts=tuple(rate * part for part in parts)
        )

    def _treat(self, head: Program) -> None:
        if self.has_something_to_treat:
            Path(head.environment[TOLD]).touch()

    def _measure(self, base: Program, head: Program, pair: int) -> tuple[Any, Any]:
        self.pairs.append((base, head))
        self._treat(head)
        self.now_s += PAIR_S
        ratio = self._ratio(pair)
        evenly = (1.0,) * len(self.parts)
        return self._run(100.0, evenly), self._run(100.0 * ratio, self.parts)


@pytest.fixture
def play(monkeypatch):
    def _play(
        world: World, *findings: PlannedFinding, budget_s: float = 600.0, uses_gpu: bool = False
    ) -> tuple[RestartTries, list[str]]:
        monkeypatch.setattr(restarting, "Runner", world.runner)
        monkeypatch.setattr(restarting, "time", SimpleNamespace(monotonic=lambda: world.now_s))
        told: list[str] = []
        tries = RestartTries(
            ("python", "train.py"), "train.py", "env:Env.step", told.append, uses_gpu
        )
        tries.run(findings or (a_finding(),), budget_s)
        return tries, told

    return _play


def test_pairs_of_runs_tell_what_it_saves(play):
    world = World(lambda _: 2.0)

    tries, told = play(world)

    (experiment,) = tries.experiments
    assert (experiment.outcome, experiment.kind) == (TryOutcome.MEASURED, TreatmentKind.GAIN)
    assert (experiment.finding, experiment.treatment) == ("ipc-per-step", "environments-in-process")
    assert experiment.measured == pytest.approx((0.5, 0.5, 0.5))
    assert experiment.predicted == (0.2, 0.6)
    assert (experiment.pairs, experiment.slot_s) == (FIRST_PAIRS, TRAINS_S / 2)
    assert experiment.seconds == FIRST_PAIRS * PAIR_S
    assert experiment.note == "by runs that took turns"
    assert told == [
        "tries ipc-per-step (train.py:7): runs it anew",
        *[f"  pair {number}: 2.00× as fast treated" for number in range(1, 6)],
        "ipc-per-step: 2.00× (2.00× to 2.00×), 5 pairs in 160 s; samples told 1.25× to 2.50× "
        "(by runs that took turns)",
    ]


def test_parts_of_one_pair_of_runs_are_pairs_and_runs_may_be_off_as_a_whole(play):
    tries, told = play(World(lambda _: 2.0, parts=(1.0,) * PARTS))

    (experiment,) = tries.experiments
    assert (experiment.pairs, experiment.seconds) == (PARTS, PAIR_S)
    assert experiment.measured is not None
    assert experiment.measured == pytest.approx(
        (0.5, 1 - 0.5 * exp(BETWEEN_RUNS), 1 - 0.5 * exp(-BETWEEN_RUNS))
    )
    assert experiment.slot_s == TRAINS_S / 2 / PARTS
    assert told[1] == "  pair 1: 2.00× as fast treated"


def test_where_parts_differ_there_are_more_pairs_of_runs(play):
    tries, _ = play(World(lambda _: 2.0, parts=(0.8, 1.25, 1.0, 0.9, 1.1)))

    (experiment,) = tries.experiments
    assert experiment.pairs >= 2 * PARTS


def test_one_run_is_as_it_is_and_the_other_is_told_what_to_change(play):
    world = World(lambda _: 2.0)

    play(world)

    for base, head in world.pairs:
        assert (base.side, head.side) == (Side.BASE, Side.HEAD)
        assert base.environment == dict(os.environ)
        told = head.environment[TOLD]
        assert head.environment == {
            **os.environ,
            VARIABLE: "environments-in-process",
            TOLD: told,
        }
        assert Path(told).parent in world.folders
        assert base.command == head.command == ("python", "train.py")
        assert base.folder == Path.cwd()
    assert world.settings["trains_s"] == TRAINS_S
    assert world.settings["counting"].function == "env:Env.step"


def test_on_a_gpu_runs_come_one_after_the_other_and_which_is_first_alternates(play):
    world = World(lambda _: 2.0)

    tries, _ = play(world, uses_gpu=True)

    (experiment,) = tries.experiments
    assert not world.pairs
    assert world.alone[:4] == [Side.BASE, Side.HEAD, Side.HEAD, Side.BASE]
    assert len(world.alone) == 2 * FIRST_PAIRS
    assert experiment.measured == pytest.approx((0.5, 0.5, 0.5))
    assert experiment.note == "by runs one after the other"
    # As long as each has where they take turns.
    assert world.settings["trains_s"] == experiment.slot_s == TRAINS_S / 2


@pytest.mark.parametrize("uses_gpu", [False, True])
def test_runs_in_which_there_was_nothing_to_treat_say_nothing(uses_gpu, play):
    world = World(lambda _: 1.0)
    world.has_something_to_treat = False

    tries, told = play(world, uses_gpu=uses_gpu)

    (experiment,) = tries.experiments
    assert (experiment.outcome, experiment.measured, experiment.pairs) == (
        TryOutcome.NOT_REACHED,
        None,
        0,
    )
    assert told[-1] == "ipc-per-step: not reached (a treated run had nothing to treat)"


def test_nothing_of_them_stays_on_disk(play):
    world = World(lambda _: 2.0)

    play(world)

    assert world.folders
    assert not any(folder.exists() for folder in world.folders)


def test_where_pairs_differ_there_are_more_of_them(play):
    world = World(lambda pair: exp(log(2.0) + (0.1 if pair % 2 else -0.1)))

    tries, _ = play(world)

    (experiment,) = tries.experiments
    assert experiment.outcome is TryOutcome.MEASURED
    assert experiment.pairs > FIRST_PAIRS
    assert experiment.measured is not None
    assert experiment.measured.low <= 0.5 <= experiment.measured.high


def test_where_the_budget_is_too_small_for_an_interval_the_first_pair_is_the_last(play):
    tries, _ = play(World(lambda _: 2.0), budget_s=FIRST_PAIRS * PAIR_S - 1)

    (experiment,) = tries.experiments
    assert (experiment.outcome, experiment.measured) == (TryOutcome.NOT_CLEAR, None)
    assert experiment.pairs == 1
    assert experiment.note == (
        "a pair of runs takes 32 s, and an interval takes 5: --budget 190s is enough"
    )


@pytest.mark.parametrize("failing", [1, 3, FIRST_PAIRS])
def test_a_run_that_cannot_be_measured_refuses_it_in_its_words(failing, play):
    def ratio(pair: int) -> float:
        if pair == failing:
            raise MeasureError("head uses a GPU\nthe last lines were", slug="gpu", hint="")
        return 2.0

    tries, told = play(World(ratio))

    (experiment,) = tries.experiments
    assert (experiment.outcome, experiment.measured) == (TryOutcome.REFUSED, None)
    assert (experiment.pairs, experiment.note) == (failing - 1, "head uses a GPU")
    assert told[-1] == "ipc-per-step: refused (head uses a GPU)"


def test_one_finding_that_is_refused_leaves_the_next(play):
    def ratio(pair: int) -> float:
        if len(world.pairs) == 1:
            raise MeasureError("it fails", slug="s", hint="")
        return 2.0

    world = World(ratio)
    tries, _ = play(world, a_finding("ipc-per-step"), a_finding("too-many-workers"))

    assert [each.outcome for each in tries.experiments] == [TryOutcome.REFUSED, TryOutcome.MEASURED]


@pytest.mark.parametrize("budget_s", [0.0, PAIR_S])
def test_a_finding_for_which_no_time_is_left_is_told(budget_s, play):
    findings = a_finding("ipc-per-step"), a_finding("too-many-workers")

    tries, told = play(World(lambda _: 2.0), *findings, budget_s=budget_s)

    assert len(tries.experiments) == (1 if budget_s else 0)
    left = [] if budget_s else ["ipc-per-step (train.py:7)"]
    assert told[-1] == (
        "the budget is spent (--budget), and not tried: "
        + ", ".join([*left, "too-many-workers (train.py:7)"])
    )
