"""Lead a try from the start of the training to its end: wait for the steady phase, try one treatment after the other, end the training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rlprof.errors import RlprofError
from rlprof.experiments import words
from rlprof.experiments.outcomes import UnderWay, experiment_of, has_held, told_of_others
from rlprof.experiments.plan import Plan, PlannedFinding, PlannedOption
from rlprof.experiments.planner import PlannerProcess
from rlprof.experiments.rates import CountLog, Rhythm, StepTotal
from rlprof.experiments.slot_lengths import LISTEN_POLL_S, slot_lengths
from rlprof.experiments.trying import TreatmentTry, TryEnd, leave
from rlprof.experiments.turns import SlotTurns
from rlprof.model.experiment import Experiment, TryOutcome
from rlprof.recording.ending import TrainingEnd
from rlprof.recording.experimenting import AgentOfProcess, Bench
from rlprof.recording.mailboxes.treatment_desk import as_bytes

BUDGET_S: Final = 120.0
"""Time for all treatments together, where the user gives none."""

RUNS_S: Final = 180.0
"""Time beyond that for runs of their own, where there are any: five pairs take two to four minutes."""

FIRST_PLAN_S: Final = 10.0
"""Seconds of the run after which its findings are asked for the first time."""

NEXT_PLAN: Final = 1.4
"""Times the seconds at one plan, after which the next is made if the steady phase had not begun."""

COUNTED_BY_S: Final = 60.0
"""Seconds of the run by which every training counts something: until then it may load a library (torch with CUDA took 12 s), a model or data."""

WAIT_S: Final = 0.2
"""How often it is looked whether something is due, while nothing is measured."""

ENDS_WITHIN_S: Final = 3.0
"""After it was asked to end; of a training that has not ended by then a line tells so."""

RHYTHM_S: Final = 2.0
"""Time in which the rhythm of a program is listened to, and longer where it has none by then."""

LONGEST_RHYTHM_S: Final = 20.0

_UNTRIED: Final = (TryOutcome.NOT_REACHED, TryOutcome.REFUSED)
"""Outcomes of what changed nothing."""


@dataclass(frozen=True, slots=True)
class TryPlan:
    """The user's wishes."""

    run_file: Path
    budget_s: float
    """For all treatments together."""
    runs_s: float = 0.0
    """More of it, for runs of their own, where there are any."""
    finding: str | None = None
    """The id or the rank of the one finding to try."""
    own: Sequence[PlannedFinding] = ()
    """Treatments of the user's own."""
    only_own: bool = False
    ceilings: bool = False
    """True to free the training of each of its parts in turn, in place of trying findings."""
    keeps_going: bool = False
    """True if the training goes on untreated once all is measured."""
    makes_runs: bool = True
    """True if somebody makes runs for what cannot be switched, once the training has ended."""


@dataclass
class Conductor:
    """An :class:`~rlprof.recording.experimenting.Experimenter`."""

    plan: TryPlan
    tell: Callable[[str], None]
    """Shows a line to the user."""
    experiments: list[Experiment] = field(default_factory=list)
    failure: RlprofError | None = None
    """Why nothing could be tried."""
    restarts: list[PlannedFinding] = field(default_factory=list)
    """Findings whose treatment is applied where a run starts."""
    _planner: PlannerProcess | None = None
    _next_plan_s: float = FIRST_PLAN_S
    _made: Plan | None = None
    _waiting: list[PlannedFinding] = field(default_factory=list)
    _under_way: UnderWay | None = None
    _log: CountLog = field(default_factory=CountLog)
    _totals: dict[int, int] = field(default_factory=dict)
    _rhythm: Rhythm | None = None
    _began_s: float = 0.0
    """When the recording was stopped, so that trying could begin (monotonic clock)."""
    _number: int = 0
    _held: list[tuple[PlannedFinding, PlannedOption]] = field(default_factory=list)
    _is_done: bool = False
    _told_to_end_s: float | None = None
    """When somebody else was first known to have asked the training to end (monotonic clock)."""
    _has_told_that_it_waits: bool = False
    _end: TrainingEnd = field(default_factory=TrainingEnd)

    def turn(self, bench: Bench) -> float:
        now_s = time.monotonic()
        if bench.is_told_to_end:
            self._leave_to_its_end(bench, now_s)
            return WAIT_S
        if self._is_done:
            return self._see_off(bench)
        if self._made is None:
            self._follow_plan(bench, now_s)
            return WAIT_S
        agents = bench.agents()
        self._count(bench, agents, now_s)
        if self._rhythm is None:
            self._listen(now_s)
        elif self._under_way is None:
            self._next(bench, agents, now_s)
        else:
            self._follow(bench, agents, now_s)
        return self._poll_s(agents)

    @property
    def has_ended_it(self) -> bool:
        """True if the training did not end by itself."""
        return self._end.has_begun

    @property
    def uses_gpu(self) -> bool:
        return self._made is not None and self._made.uses_gpu

    @property
    def budget_left_s(self) -> float:
        """Seconds for what is tried after the training has ended."""
        spent_s = sum(each.seconds for each in self.experiments)
        return max(0.0, self.plan.budget_s - spent_s) + self.plan.runs_s

    def target_ended(self, bench: Bench) -> None:
        if self._planner is not None:
            self._planner.stop()
            self._planner = None
        if self._under_way is not None:
            self._keep(bench, TryEnd(TryOutcome.CUT_SHORT, "the training ended"), time.monotonic())
        if self._end.has_begun:
            bench.terminate_all()  # Its workers, where it has left without them.
        if self._made is None and self.failure is None:
            stopped = bench.is_told_to_end
            self.failure = words.stopped_too_early() if stopped else words.ended_too_early()

    # The plan

    def _follow_plan(self, bench: Bench, now_s: float) -> None:
        if self._planner is None:
            if bench.elapsed_s >= self._next_plan_s:
                bench.keep_texts()
                self._planner = PlannerProcess(
                    self.plan.run_file, now_s, of_ceilings=self.plan.ceilings
                )
                bench.helped_by(self._planner.process)
            return
        try:
            plan = self._planner.plan(now_s)
        except RlprofError as error:
            self._give_up(error)
            return
        if plan is None:
            return
        self._planner = None
        is_loading = not plan.counter and bench.elapsed_s < COUNTED_BY_S
        if not plan.is_steady or is_loading:
            self._next_plan_s = bench.elapsed_s * NEXT_PLAN
            return
        if not plan.counter:
            self._give_up(words.nothing_counted())
            return
        self._made = plan
        self._waiting = self._chosen(plan)
        if self.failure is not None and not self._waiting:
            self._give_up(self.failure)
            return
        for planned in [each for each in self._waiting if not each.options]:
            self.tell(words.not_tried(planned))
        self.restarts = [*_with_options(self._waiting, by_restart=True)]
        if not self.plan.makes_runs:
            for planned in self.restarts:
                self.tell(words.takes_own_runs(planned))
            self.restarts = []
        self._waiting = [*_with_options(self._waiting, by_restart=False)]
        whole_s = self.plan.budget_s + (self.plan.runs_s if self.restarts else 0.0)
        self.tell(words.begins(self._waiting, self.restarts, whole_s))
        bench.stop_recording()
        self._began_s = now_s

    def _chosen(self, plan: Plan) -> list[PlannedFinding]:
        if self.plan.only_own:
            return list(self.plan.own)
        wanted = self.plan.finding
        found = [
            planned
            for planned in plan.findings
            if wanted is None or wanted in (planned.finding, str(planned.rank))
        ]
        if wanted is not None and not found:
            self.failure = words.no_such_finding(wanted, plan.findings)
        return [*self.plan.own, *found]

    def _give_up(self, error: RlprofError) -> None:
        self.failure = error
        self._planner = None
        self._is_done = True
        if self.plan.keeps_going:
            self.tell(f"nothing is tried: {error.message}; {error.hint}")

    # Measuring

    def _count(self, bench: Bench, agents: Sequence[AgentOfProcess], now_s: float) -> None:
        """Read the totals. Those of processes that have ended stay."""
        assert self._made is not None
        for agent in agents:
            self._totals[agent.number] = agent.mailbox.total(self._made.counter)
        queued_s = bench.queued_s(agents[0].pid) if len(agents) == 1 else 0.0
        cost_s = max((agent.mailbox.treatment.told().cost_s for agent in agents), default=0.0)
        self._log.add(StepTotal(now_s, sum(self._totals.values()), queued_s, cost_s))

    def _listen(self, now_s: float) -> None:
        passed_s = now_s - self._began_s
        if passed_s < RHYTHM_S:
            return
        rhythm = self._log.rhythm(self._began_s)
        if rhythm is None or passed_s < 3 * rhythm.unit_s:
            if passed_s >= LONGEST_RHYTHM_S:
                self._give_up(words.counts_too_seldom(LONGEST_RHYTHM_S))
            return
        self._rhythm = rhythm

    def _next(self, bench: Bench, agents: Sequence[AgentOfProcess], now_s: float) -> None:
        left_s = self._began_s + self.plan.budget_s - now_s
        if self._waiting and left_s > 0:
            planned = self._waiting.pop(0)
            self._begin(bench, planned, planned.options, agents, now_s)
            return
        if self._waiting:
            self.tell(words.no_time_for(self._waiting))
        self._waiting = []
        if len(self._held) > 1 and left_s > 0:
            together = words.together(self._held)
            self._held = []
            self._begin(bench, together, together.options, agents, now_s)
            return
        if self.plan.only_own and all(each.outcome in _UNTRIED for each in self.experiments):
            self.failure = words.own_untried(self.experiments)
        self._is_done = True

    def _begin(
        self,
        bench: Bench,
        planned: PlannedFinding,
        options: Sequence[PlannedOption],
        agents: Sequence[AgentOfProcess],
        now_s: float,
    ) -> None:
        assert self._made is not None
        assert self._rhythm is not None
        self._number += 1
        lengths = slot_lengths(self._rhythm, len(agents))
        option, *others = options
        latest_s = self._began_s + self.plan.budget_s
        trying = TreatmentTry(
            self._number,
            as_bytes([{**part, "counter": self._made.counter} for part in option.parts]),
            self._rhythm,
            turns=SlotTurns(lengths.slot_s, lengths.lengthens, lengths.trusted_s),
            # Of several processes nobody knows whose wait for a core holds up whom.
            leaves_queue_out=len(agents) == 1 and not option.changes_load,
            ends_s=min(now_s + lengths.longest_try_s, latest_s),
            # Slots in which nothing was counted make no pair.
            latest_s=min(now_s + 2 * lengths.longest_try_s, latest_s),
            begun_s=now_s,
        )
        self.tell(words.tries(planned, option))
        self._under_way = UnderWay(planned, option, tuple(others), trying, bench.cpu_times())

    def _follow(self, bench: Bench, agents: Sequence[AgentOfProcess], now_s: float) -> None:
        assert self._under_way is not None
        ended = self._under_way.trying.turn(now_s, time.monotonic_ns(), agents, self._log)
        if ended is None:
            return
        leave(agents)
        under_way = self._under_way
        self._keep(bench, ended, now_s)
        # What was counted is known by the turns; the next begins anew.
        self._log.counts[:-1] = []
        if ended.outcome in _UNTRIED and under_way.others:
            self._begin(bench, under_way.planned, under_way.others, agents, now_s)

    def _keep(self, bench: Bench, ended: TryEnd, now_s: float) -> None:
        assert self._under_way is not None
        under_way, self._under_way = self._under_way, None
        experiment = experiment_of(
            under_way,
            ended,
            now_s,
            told_of_others(under_way.cpu, bench, now_s, under_way.trying.begun_s),
        )
        self.experiments.append(experiment)
        self.tell(words.tried(experiment))
        if has_held(experiment) and under_way.planned.finding:
            self._held.append((under_way.planned, under_way.option))
        bench.keep(self.experiments)

    def _poll_s(self, agents: Sequence[AgentOfProcess]) -> float:
        if self._rhythm is None:
            return LISTEN_POLL_S
        return slot_lengths(self._rhythm, len(agents)).poll_s

    # The end

    def _leave_to_its_end(self, bench: Bench, now_s: float) -> None:
        """Treat nothing any more: what the training does now, such as a last checkpoint, is done once."""
        if self._told_to_end_s is None:
            self._told_to_end_s = now_s
        elif now_s - self._told_to_end_s >= ENDS_WITHIN_S and not self._has_told_that_it_waits:
            self._has_told_that_it_waits = True
            self.tell(words.waits_for_its_end())
        if bench.is_recorded:
            # Nothing was treated by now; and to ask for agents would end their stacks.
            return
        leave(bench.agents())
        if self._under_way is not None:
            self._keep(bench, TryEnd(TryOutcome.CUT_SHORT, "the training was told to end"), now_s)

    def _see_off(self, bench: Bench) -> float:
        """End the training as its user would, and then less politely."""
        if not bench.is_recorded:
            leave(bench.agents())
        if self.plan.keeps_going:
            return WAIT_S
        if not self._end.has_begun:
            self.tell(words.ends_training())
        return self._end.go_on(bench)


def _with_options(
    findings: Iterable[PlannedFinding], *, by_restart: bool
) -> Iterator[PlannedFinding]:
    """Yield the findings that can be tried in that way, with the treatments that can."""
    for planned in findings:
        options = [option for option in planned.options if bool(option.restart) == by_restart]
        if options:
            yield replace(planned, options=options)
