"""A try from beginning to end, with a bench, a clock and plans that are made up."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.errors import MeasureError, RlprofError
from rlprof.experiments import conductor as module
from rlprof.experiments import words
from rlprof.experiments.conductor import (
    COUNTED_BY_S,
    FIRST_PLAN_S,
    NEXT_PLAN,
    Conductor,
    TryPlan,
)
from rlprof.experiments.plan import Plan, PlannedFinding, PlannedOption
from rlprof.experiments.slot_lengths import (
    FED_SLOT_S,
    FINE_POLL,
    POLL,
    SHORTEST_SLOT_S,
)
from rlprof.model.experiment import Experiment, TreatmentKind, TryOutcome
from rlprof.recording import ending
from rlprof.recording.ending import KILL_AFTER_S, TERMINATE_AFTER_S
from rlprof.recording.experimenting import AgentOfProcess, CpuTimes
from rlprof.recording.mailboxes.treatment_desk import TreatmentState
from tests.treated_processes import Process, agents

POLL_S = 0.01


class World:
    """A training of two hundred steps a second, and the bench at which it is tried."""

    def __init__(self, saved: dict[str, float], plans: Sequence[Plan | RlprofError]) -> None:
        self.now_s = 1000.0
        self.begun_s = self.now_s
        self.saved = saved
        """What each treatment saves, by its ``what``."""
        self.plans = list(plans)
        self.asked_at_s: list[float] = []
        self.asked_for_ceilings: list[bool] = []
        self.processes = [Process()]
        self.rate = 200.0
        self.interrupted_s: list[float] = []
        self.terminated_s: list[float] = []
        self.killed_s: list[float] = []
        self.kept: list[int] = []
        self.others = 0.0
        """Cores that other programs use."""
        self.is_told_to_end = False
        self.is_recorded = True
        self.asked_for_agents = 0
        self.texts_kept = 0
        self.stopped_planner = False
        self.has_core = 1.0
        """Part of the time in which it has one."""
        self._queued_s = 0.0
        self._made = 0.0

    # The bench

    @property
    def elapsed_s(self) -> float:
        return self.now_s - self.begun_s

    def agents(self) -> list[AgentOfProcess]:
        self.asked_for_agents += 1
        return agents(self.processes)

    def stop_recording(self) -> None:
        self.is_recorded = False

    def keep_texts(self) -> None:
        self.texts_kept += 1

    def helped_by(self, process: object) -> None:
        assert process == "planner"

    def cpu_times(self) -> CpuTimes:
        return CpuTimes(self.elapsed_s, self.elapsed_s * (1 + self.others))

    def queued_s(self, pid: int) -> float:
        assert pid == 1000
        return self._queued_s

    def keep(self, experiments: Sequence[Experiment]) -> None:
        self.kept.append(len(experiments))

    def interrupt_target(self) -> None:
        self.interrupted_s.append(self.now_s)

    def terminate_target(self) -> None:
        self.terminated_s.append(self.now_s)

    def kill_all(self) -> None:
        self.killed_s.append(self.now_s)

    # The world

    @property
    def ended_s(self) -> list[float]:
        """The moments at which its processes were told to end."""
        return [*self.interrupted_s, *self.terminated_s, *self.killed_s]

    def passes(self, seconds: float) -> None:
        until_s = self.now_s + max(seconds, POLL_S)
        while self.now_s < until_s:
            self.now_s += POLL_S
            self._queued_s += (1 - self.has_core) * POLL_S
            for process in self.processes:
                process.lives(self.now_s)
                rate = self.rate
                if process.state is TreatmentState.ON:
                    for part in marshal.loads(process.data):
                        rate /= 1 - self.saved.get(part["what"], 0.0)
                self._made += POLL_S * rate
                process.counts["steps"] = int(self._made)

    def planner(self, _file: Path, _now_s: float, *, of_ceilings: bool) -> Any:
        self.asked_at_s.append(self.elapsed_s)
        self.asked_for_ceilings.append(of_ceilings)
        plan = self.plans.pop(0)

        def made(_: float) -> Plan:
            if isinstance(plan, RlprofError):
                raise plan
            return plan

        def stop() -> None:
            self.stopped_planner = True

        return SimpleNamespace(process="planner", plan=made, stop=stop)


@pytest.fixture
def play(monkeypatch):
    """Plays a try in a world until the training would end, or for so many seconds."""

    def _play(
        world: World, *, seconds: float = 300.0, stop: Any = None, **wishes: Any
    ) -> tuple[Conductor, list[str]]:
        clock = SimpleNamespace(
            monotonic=lambda: world.now_s, monotonic_ns=lambda: int(world.now_s * 1e9)
        )
        monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(ending, "time", clock)
        monkeypatch.setattr(module, "PlannerProcess", world.planner)
        told: list[str] = []
        wishes = {"budget_s": 120.0} | wishes
        conductor = Conductor(TryPlan(Path("run.rlprof"), **wishes), tell=told.append)
        until_s = world.now_s + seconds
        while world.now_s < until_s and not (stop is not None and stop(conductor)):
            world.passes(conductor.turn(world))  # type: ignore[arg-type]
        return conductor, told

    return _play


def option(treatment: str, *, kind: str = "gain", what: str | None = None) -> PlannedOption:
    part: dict[str, str | int] = {"way": "setting", "what": what or treatment}
    return PlannedOption(treatment, f"does {treatment}", kind, [part])


def a_finding(
    name: str, *options: PlannedOption, rank: int = 1, refusal: str = ""
) -> PlannedFinding:
    return PlannedFinding(name, rank, name, "train.py", 7, "step", 0.1, 0.9, list(options), refusal)


def a_plan(*findings: PlannedFinding, counter: str = "steps") -> Plan:
    return Plan(True, counter, list(findings))


ONE = a_plan(a_finding("one", option("first")))


def test_one_finding_is_measured_kept_and_told(play):
    world = World({"first": 0.5}, [ONE])

    conductor, told = play(world, seconds=60)

    (experiment,) = conductor.experiments
    assert (experiment.finding, experiment.treatment) == ("one", "first")
    assert (experiment.outcome, experiment.kind) == (TryOutcome.MEASURED, TreatmentKind.GAIN)
    assert experiment.measured is not None
    assert experiment.measured.median == pytest.approx(0.5, abs=0.05)
    assert experiment.predicted == (0.1, 0.9)
    assert world.kept == [1]
    assert not world.is_recorded
    assert conductor.failure is None
    assert [line.split(":")[0] for line in told] == [
        "the training is steady",
        "tries one (train.py",
        "one",
        "all is measured; ends the training (--keep-going lets it train on)",
    ]


def test_a_ceiling_is_that_of_no_call_at_all(play):
    half = replace(option("first", kind="ceiling"), leaves=0.2)
    world = World({"first": 0.4}, [a_plan(a_finding("one", half))])

    conductor, _ = play(world, seconds=60)

    (experiment,) = conductor.experiments
    assert experiment.measured is not None
    assert experiment.measured.median == pytest.approx(0.5, abs=0.05)


def test_nothing_is_done_before_the_first_plan(play):
    world = World({}, [ONE])

    _, told = play(world, seconds=FIRST_PLAN_S - 0.5)

    assert (told, world.asked_at_s, world.texts_kept) == ([], [], 0)
    assert world.is_recorded


def test_a_training_that_is_not_steady_is_asked_again_ever_later(play):
    world = World({"first": 0.5}, [Plan(False), Plan(False), Plan(False), ONE])

    conductor, _ = play(world, seconds=60)

    assert len(world.asked_at_s) == 4
    for earlier, later in zip(world.asked_at_s, world.asked_at_s[1:], strict=False):
        assert later / earlier == pytest.approx(NEXT_PLAN, abs=0.1)
    assert world.texts_kept == 4
    assert len(conductor.experiments) == 1


def test_a_plan_that_cannot_be_made_ends_it(play):
    world = World({}, [MeasureError("no plan", slug="try-not-planned", hint="")])

    conductor, _ = play(world, seconds=20)

    assert conductor.failure is not None
    assert conductor.failure.message == "no plan"
    assert world.interrupted_s


def test_a_program_that_counts_nothing_is_told_so_and_ended(play):
    world = World({}, 9 * [a_plan(counter="")])

    conductor, _ = play(world, seconds=2 * COUNTED_BY_S)

    assert conductor.failure is not None
    assert conductor.failure.slug == "try-counts-nothing"
    assert world.interrupted_s
    assert world.asked_at_s[-1] >= COUNTED_BY_S


def test_a_program_that_loads_for_long_is_waited_for(play):
    world = World({"first": 0.5}, [a_plan(counter=""), a_plan(counter=""), ONE])

    conductor, _ = play(world, seconds=90)

    assert [each.finding for each in conductor.experiments] == ["one"]
    assert conductor.failure is None


def test_a_program_that_counts_too_seldom_is_told_so(play):
    world = World({}, [ONE])
    world.rate = 0.1

    conductor, _ = play(world, seconds=60)

    assert conductor.failure is not None
    assert conductor.failure.slug == "try-counts-seldom"
    assert not conductor.experiments


def test_findings_without_a_treatment_are_told_and_left(play):
    world = World({"first": 0.5}, [a_plan(a_finding("two", refusal="it is odd"), *ONE.findings)])

    conductor, told = play(world, seconds=60)

    assert told[0] == "does not try two (train.py:7): it is odd"
    assert told[1].startswith("the training is steady: 1 finding ")
    assert [each.finding for each in conductor.experiments] == ["one"]


@pytest.mark.parametrize("wanted", ["two", "2"])
def test_one_finding_by_its_name_or_its_rank(wanted, play):
    plan = a_plan(*ONE.findings, a_finding("two", option("second"), rank=2))

    conductor, _ = play(World({"second": 0.4}, [plan]), seconds=60, finding=wanted)

    assert [each.finding for each in conductor.experiments] == ["two"]


def test_a_finding_that_is_not_there_is_told_and_nothing_tried(play):
    world = World({}, [ONE])

    conductor, _ = play(world, seconds=30, finding="three")

    assert conductor.failure is not None
    assert conductor.failure.slug == "no-such-finding"
    assert not conductor.experiments
    assert world.interrupted_s


def test_a_finding_that_is_not_there_does_not_end_a_training_that_is_to_go_on(play):
    world = World({}, [ONE])

    conductor, told = play(world, seconds=60, finding="three", keeps_going=True)

    assert told == [
        "nothing is tried: there is no finding three in this training; its findings are: 1 one"
    ]
    assert conductor.failure is not None
    assert conductor.failure.slug == "no-such-finding"
    assert world.ended_s == []
    # Nothing was measured, so that nothing keeps it from being recorded.
    assert world.is_recorded
    assert world.asked_for_agents == 0


@pytest.mark.parametrize("plan", [a_plan(counter=""), MeasureError("no plan", slug="s", hint="h")])
def test_whatever_fails_a_training_that_is_to_go_on_is_not_ended(plan, play):
    world = World({}, 9 * [plan])

    conductor, told = play(world, seconds=2 * COUNTED_BY_S, keeps_going=True)

    assert conductor.failure is not None
    assert [line.partition(":")[0] for line in told] == ["nothing is tried"]
    assert world.ended_s == []
    assert world.is_recorded


def test_own_treatments_are_tried_beside_a_finding_that_is_not_there(play):
    world = World({"skip": 0.3}, [ONE])

    conductor, _ = play(world, seconds=60, finding="three", own=[own()])

    assert [each.treatment for each in conductor.experiments] == ["skip"]
    assert conductor.failure is not None


def test_where_nothing_is_found_the_training_is_ended(play):
    world = World({}, [a_plan()])

    conductor, _ = play(world, seconds=30)

    assert (conductor.failure, conductor.experiments) == (None, [])
    assert world.interrupted_s


def own() -> PlannedFinding:
    return PlannedFinding("", 0, "mine", "mod", 0, "f", 0.0, 0.0, [option("skip", kind="ceiling")])


def test_treatments_of_the_users_come_first_or_alone(play):
    world = World({"first": 0.5, "skip": 0.3}, [ONE])
    conductor, _ = play(world, seconds=90, own=[own()], finding="one")
    assert [each.treatment for each in conductor.experiments] == ["skip", "first"]
    assert conductor.experiments[0].predicted is None

    world = World({"skip": 0.3}, [ONE])
    conductor, _ = play(world, seconds=60, own=[own()], only_own=True)
    assert [each.treatment for each in conductor.experiments] == ["skip"]


# One treatment after another


def test_gains_are_tried_together_at_last(play):
    findings = [a_finding(name, option(name), rank=i) for i, name in enumerate("abc", 1)]
    ceiling = a_finding("d", option("d", kind="ceiling"), rank=4)
    world = World({"a": 0.3, "b": 0.5, "c": 0.0, "d": 0.5}, [a_plan(*findings, ceiling)])

    conductor, _ = play(world, seconds=200)

    *_, last = conductor.experiments
    assert [each.treatment for each in conductor.experiments] == [
        "a",
        "b",
        "c",
        "d",
        "all-together",
    ]
    # Without what gains nothing, and without what changes results.
    assert last.measured is not None
    assert last.measured.median == pytest.approx(1 - 0.7 * 0.5, abs=0.05)
    assert last.finding == ""
    # What each was said to save of what the others leave.
    assert last.predicted == pytest.approx((1 - 0.9**2, 1 - 0.1**2))
    assert world.kept == [1, 2, 3, 4, 5]


def test_one_gain_alone_is_not_tried_again(play):
    conductor, _ = play(World({"first": 0.5}, [ONE]), seconds=100)

    assert len(conductor.experiments) == 1


def test_if_nothing_of_what_was_asked_for_could_be_tried_that_is_an_error(play):
    world = World({}, [ONE])
    world.processes = [Process(arms_as=TreatmentState.ABSENT)]

    conductor, _ = play(world, seconds=60, own=[own()], only_own=True)

    assert conductor.failure is not None
    assert "not reached (no process has loaded what it would change)" in conductor.failure.message
    assert "as the program imports them" in conductor.failure.hint


@pytest.mark.parametrize("state", [TreatmentState.REFUSED, TreatmentState.ABSENT])
def test_where_one_treatment_does_not_reach_the_next_is_tried(state, play):
    class Picky(Process):
        def _arm(self) -> None:
            first = marshal.loads(self.data)[0]["what"] == "first"
            self.state = state if first else TreatmentState.OFF
            self.why = "it is odd" if state is TreatmentState.REFUSED and first else ""

    plan = a_plan(a_finding("one", option("first"), option("second")))
    world = World({"second": 0.4}, [plan])
    world.processes = [Picky()]

    conductor, told = play(world, seconds=90)

    outcomes = [(each.treatment, each.outcome) for each in conductor.experiments]
    expected = TryOutcome.REFUSED if state is TreatmentState.REFUSED else TryOutcome.NOT_REACHED
    assert outcomes == [("first", expected), ("second", TryOutcome.MEASURED)]
    assert conductor.experiments[0].measured is None
    assert any("does second" in line for line in told)


def test_a_treatment_that_is_withdrawn_is_not_tried_another_way(play):
    plan = a_plan(a_finding("one", option("first"), option("second")))
    world = World({}, [plan])
    world.processes = [Process(fails_s=1014.0)]

    conductor, _ = play(world, seconds=60)

    (experiment,) = conductor.experiments
    assert experiment.outcome is TryOutcome.WITHDRAWN
    assert "ValueError: of ours" in experiment.note


def test_the_budget_is_for_all(play):
    findings = [a_finding(name, option(name), rank=i) for i, name in enumerate("abcdef", 1)]
    world = World(dict.fromkeys("abcdef", 0.3), [a_plan(*findings)])

    conductor, told = play(world, seconds=100, budget_s=25.0)

    tried = len(conductor.experiments)
    assert 1 <= tried < 6
    (line,) = [line for line in told if "the budget is spent" in line]
    assert line.count("train.py:7") == 6 - tried
    assert "all-together" not in {each.treatment for each in conductor.experiments}
    # Ten seconds up to the plan, and what it takes to notice.
    assert world.interrupted_s[0] - world.begun_s < 10 + 25 + 5


def test_what_others_use_is_told(play):
    world = World({"first": 0.5}, [ONE])
    world.others = 1.5

    conductor, _ = play(world, seconds=60)

    assert conductor.experiments[0].note == "other programs used 1.5 cores meanwhile"


def test_workers_that_come_and_go_are_counted(play):
    world = World({"first": 0.4}, [ONE])
    world.processes = [Process(), Process()]
    gone = []

    def goes(conductor: Conductor) -> bool:
        if world.elapsed_s > 20 and not gone:
            gone.append(world.processes.pop())
        return False

    conductor, _ = play(world, seconds=100, stop=goes)

    assert gone
    assert [each.finding for each in conductor.experiments] == ["one"]


# Runs of their own


def a_restart(name: str, rank: int = 1) -> PlannedFinding:
    option = PlannedOption(name, f"does {name}", "gain", [], restart=name)
    return a_finding("ipc-per-step", option, rank=rank)


def test_what_needs_a_restart_is_left_for_runs_of_its_own(play):
    world = World({"first": 0.5}, [a_plan(a_restart("other", 2), *ONE.findings)])

    conductor, told = play(world, seconds=100, budget_s=60.0)

    assert told[0] == (
        "the training is steady: 2 findings to try, 1 of them by runs of their own, in 60 s at most"
    )
    assert [each.finding for each in conductor.restarts] == ["ipc-per-step"]
    assert [each.finding for each in conductor.experiments] == ["one"]
    (experiment,) = conductor.experiments
    assert conductor.budget_left_s == pytest.approx(60 - experiment.seconds)


def test_a_finding_with_treatments_of_both_kinds_is_tried_by_both(play):
    (by_runs,) = a_restart("other").options
    both = a_finding("dataloader-workers", option("first"), by_runs)

    conductor, told = play(World({"first": 0.5}, [a_plan(both)]), seconds=100)

    assert "1 finding to try, 1 of them by runs of their own" in told[0]
    assert [each.treatment for each in conductor.experiments] == ["first"]
    (left,) = conductor.restarts
    assert [each.treatment for each in left.options] == ["other"]


def test_where_nobody_makes_runs_that_is_told(play):
    world = World({"first": 0.5}, [a_plan(a_restart("other"), *ONE.findings)])

    conductor, told = play(world, seconds=60, makes_runs=False)

    assert told[:2] == [
        "does not try ipc-per-step (train.py:7): it takes runs of its own, which `rlprof try` makes without --keep-going",
        "the training is steady: 1 finding to try, in 120 s at most",
    ]
    assert conductor.restarts == []


@pytest.mark.parametrize("runs_s", [0.0, 180.0])
def test_of_a_budget_that_was_spent_there_is_left_what_was_meant_for_runs(runs_s, play):
    conductor, _ = play(World({"first": 0.5}, [ONE]), seconds=60, budget_s=20.0, runs_s=runs_s)
    conductor.experiments *= 5

    assert conductor.budget_left_s == runs_s


def test_time_for_runs_is_told_where_there_are_any(play):
    plan = a_plan(a_restart("other", 2), *ONE.findings)

    _, told = play(World({"first": 0.5}, [plan]), seconds=60, runs_s=180.0)
    _, of_one = play(World({"first": 0.5}, [ONE]), seconds=60, runs_s=180.0)

    assert told[0].endswith("in 300 s at most")
    assert of_one[0].endswith("in 120 s at most")


# Parts of training


@pytest.mark.parametrize("ceilings", [False, True])
def test_a_plan_of_parts_of_training_is_made_where_that_is_asked_for(ceilings, play):
    world = World({"first": 0.5}, [ONE])

    play(world, seconds=20, ceilings=ceilings)

    assert world.asked_for_ceilings == [ceilings]


def test_parts_of_training_are_ceilings_and_never_tried_together(play):
    parts = [
        PlannedFinding(
            "", rank, "", "train.py", 7, "step", 0.4, 0.4, [option(name, kind="ceiling")]
        )
        for rank, name in enumerate(["free-environment", "free-learning"], 1)
    ]
    world = World({"free-environment": 0.4, "free-learning": 0.3}, [a_plan(*parts)])

    conductor, _ = play(world, seconds=150, ceilings=True)

    told = [(each.treatment, each.kind) for each in conductor.experiments]
    assert told == [
        ("free-environment", TreatmentKind.CEILING),
        ("free-learning", TreatmentKind.CEILING),
    ]


# How often counts are read, and how long slots are


def test_time_without_a_core_is_left_out_of_one_process(play):
    world = World({"first": 0.5}, [ONE])
    world.has_core = 0.5

    conductor, _ = play(world, seconds=80)

    (experiment,) = conductor.experiments
    assert experiment.measured is not None
    assert experiment.measured.median == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("processes", "wait_s"), [(1, FINE_POLL * SHORTEST_SLOT_S), (2, POLL * FED_SLOT_S / 2)]
)
def test_counts_are_read_less_often_where_units_are_short_beside_slots(processes, wait_s, play):
    world = World({"first": 0.5}, [ONE])
    world.processes = [Process() for _ in range(processes)]
    waits = []

    def looks(conductor: Conductor) -> bool:
        if conductor._under_way is not None:
            waits.append(conductor._poll_s(world.agents()))
        return False

    play(world, seconds=20, stop=looks)

    assert set(waits) == {wait_s}


# The end


def test_the_training_is_ended_politely_and_then_less_so(play):
    world = World({"first": 0.5}, [ONE])

    play(world, seconds=100)

    assert len(world.interrupted_s) == len(world.terminated_s) == len(world.killed_s) == 1
    begun_s = world.interrupted_s[0]
    assert world.terminated_s[0] - begun_s == pytest.approx(TERMINATE_AFTER_S, abs=0.5)
    assert world.killed_s[0] - begun_s == pytest.approx(KILL_AFTER_S, abs=0.5)


def test_nothing_is_left_in_any_process_at_the_end(play):
    world = World({"first": 0.5}, [ONE])

    play(world, seconds=100)

    assert [each.state for each in world.processes] == [TreatmentState.NOT_HEARD]


def test_a_training_that_is_to_go_on_is_let_go(play):
    world = World({"first": 0.5}, [ONE])

    conductor, told = play(world, seconds=100, keeps_going=True)

    assert len(conductor.experiments) == 1
    assert world.ended_s == []
    assert [each.state for each in world.processes] == [TreatmentState.NOT_HEARD]
    assert not any("ends the training" in line for line in told)


def test_a_training_that_ends_early_cuts_it_short(play):
    world = World({"first": 0.5}, [ONE])
    conductor, _ = play(world, stop=lambda _: world.elapsed_s > 15)
    assert not conductor.experiments

    conductor.target_ended(world)

    (experiment,) = conductor.experiments
    assert (experiment.outcome, experiment.measured) == (TryOutcome.CUT_SHORT, None)
    assert experiment.note == "the training ended"
    assert world.kept == [1]
    assert conductor.failure is None


def test_what_was_measured_before_is_kept(play):
    plan = a_plan(*ONE.findings, a_finding("two", option("second"), rank=2))
    world = World({"first": 0.5, "second": 0.5}, [plan])
    conductor, _ = play(world, stop=lambda each: each.experiments and world.elapsed_s > 30)

    conductor.target_ended(world)

    assert conductor.experiments[0].outcome is TryOutcome.MEASURED
    assert world.kept[-1] == len(conductor.experiments)


def test_a_training_that_ends_before_there_is_a_plan_is_told_so(play):
    world = World({}, [ONE])
    conductor, _ = play(world, stop=lambda _: world.asked_at_s)

    conductor.target_ended(world)

    assert conductor.failure is not None
    assert conductor.failure.slug == "try-ended-early"
    assert world.stopped_planner


def test_a_training_that_somebody_stops_before_there_is_a_plan_is_told_so(play):
    world = World({}, [ONE])
    conductor, _ = play(world, stop=lambda _: world.asked_at_s)
    world.is_told_to_end = True

    conductor.target_ended(world)

    assert conductor.failure is not None
    assert conductor.failure.slug == "try-stopped-early"


def test_once_somebody_ends_the_training_nothing_is_treated_any_more(play):
    world = World({"first": 0.5}, [ONE])

    def interrupts(_: Conductor) -> bool:
        world.is_told_to_end = world.elapsed_s > 15
        return world.elapsed_s > 60

    conductor, _ = play(world, stop=interrupts)

    (experiment,) = conductor.experiments
    assert experiment.outcome is TryOutcome.CUT_SHORT
    assert experiment.note == "the training was told to end"
    assert [each.state for each in world.processes] == [TreatmentState.NOT_HEARD]
    # How it ends is between the two.
    assert world.ended_s == []
    conductor.target_ended(world)
    assert len(conductor.experiments) == 1


@pytest.mark.parametrize(("goes_on_s", "lines"), [(1, 0), (10, 1)])
def test_a_training_that_goes_on_once_it_was_told_to_end_is_told_once(play, goes_on_s, lines):
    world = World({"first": 0.5}, [ONE])

    def interrupts(_: Conductor) -> bool:
        world.is_told_to_end = world.elapsed_s > 15
        return world.elapsed_s > 15 + goes_on_s

    _, told = play(world, stop=interrupts)

    assert told.count(words.waits_for_its_end()) == lines
