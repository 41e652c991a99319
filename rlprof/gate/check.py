"""A check, from what is asked for to what it came to."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rlprof.errors import MeasureError
from rlprof.gate.baseline import Baseline, check_machine, fingerprint_here, read_baseline
from rlprof.gate.bases import CheckSettings, PairedBase, SavedBase
from rlprof.gate.causes import record_pair
from rlprof.gate.decision import Verdict
from rlprof.gate.interruption import Interrupted
from rlprof.gate.judge import Tell, judge, measure_baseline, outcome_without_runs
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Counting, Program, Side, as_typed, interpreter_of
from rlprof.gate.runner import Runner
from rlprof.gate.words import first_line
from rlprof.gate.worktrees.sides import CommitBase, ComparedPrograms, in_worktree
from rlprof.model.recording import Note
from rlprof.recording.machine.host import git_state
from rlprof.recording.redaction.arguments import redact_argument


class CommandBase(NamedTuple):
    """Another command, started in the same folder."""

    command: tuple[str, ...]

    @property
    def name(self) -> str:
        return as_typed(self.command)


class FileBase(NamedTuple):
    """Base that a baseline file holds."""

    file: Path
    is_machine_relaxed: bool
    """True if it may be of another machine."""

    @property
    def name(self) -> str:
        return str(self.file)


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """The way in which a program is measured, and judged."""

    head: Program
    settings: CheckSettings
    counting: Counting
    timeout_s: float
    """Time limit of one run."""
    looks_for_causes: bool = False
    """True if a last pair is recorded in full, where head does not pass."""

    def runner(self, folder: Path) -> Runner:
        return Runner(
            folder,
            timeout_s=self.timeout_s,
            counting=self.counting,
            needs_rate=not self.settings.counters_only,
        )


def run_check(
    plan: CheckPlan, base: CommitBase | CommandBase | FileBase, folder: Path, tell: Tell
) -> Outcome:
    """Measure the program of ``plan`` against ``base``; what runs leave on disk lies in ``folder``.

    Raises ``UsageError`` for a base that is not there. What could not be measured is an outcome, too.
    """
    runner = plan.runner(folder)
    outcome: Outcome | None = None
    try:
        if isinstance(base, FileBase):
            return _against_file(plan, base, runner, tell)
        with _sides(plan, base, folder, tell) as sides:
            outcome = _in_pairs(plan, sides, runner, tell)
    except (MeasureError, Interrupted) as why:
        if outcome is not None and isinstance(why, Interrupted):
            # While the worktree is removed: what was found stands.
            return replace(outcome, stopped_by=why.signum)
        # Nothing ran: who reads a file must learn that too.
        return outcome_without_runs(why, base.name, plan.head, plan.settings)
    return outcome


def new_baseline(plan: CheckPlan, runs: int | None, folder: Path, tell: Tell) -> Baseline:
    """Return what so many runs of the program come to, by default as many as a check may make.

    Raises :class:`MeasureError` when a run fails.
    """
    # Both series of a check rest on these: with few rates it stays inconclusive for ever.
    settings = plan.settings
    usual = settings.first_pairs if settings.counters_only else settings.decision.max_pairs
    return measure_baseline(
        plan.head,
        plan.runner(folder),
        runs=usual if runs is None else runs,
        machine=_machine_of(plan.head),
        commit=git_state(plan.head.folder) or "",
        tell=tell,
        counters_only=settings.counters_only,
    )


def _against_file(plan: CheckPlan, base: FileBase, runner: Runner, tell: Tell) -> Outcome:
    baseline = read_baseline(base.file)
    notes = check_machine(
        baseline, base.file, _machine_of(plan.head), is_relaxed=base.is_machine_relaxed
    )
    saved = SavedBase(baseline, base.name, plan.head, runner)
    outcome = saved.with_saved_figures(judge(saved, plan.settings, tell))
    return replace(outcome, notes=(*notes, *outcome.notes))


def _sides(
    plan: CheckPlan, base: CommitBase | CommandBase, folder: Path, tell: Tell
) -> AbstractContextManager[ComparedPrograms]:
    """Both programs, while they can be run."""
    if isinstance(base, CommitBase):
        return in_worktree(plan.head, base, folder, timeout_s=plan.timeout_s, tell=tell)
    other = replace(
        plan.head,
        side=Side.BASE,
        command=base.command,
        script=Path(redact_argument(base.command[0])).name,
        name=base.name,
    )
    return nullcontext(ComparedPrograms(other, plan.head, ()))


def _in_pairs(plan: CheckPlan, sides: ComparedPrograms, runner: Runner, tell: Tell) -> Outcome:
    base, head, notes = sides
    settings = plan.settings
    outcome = judge(PairedBase(base, head, runner, settings.in_turns), settings, tell)
    outcome = replace(outcome, notes=(*notes, *outcome.notes))
    if not plan.looks_for_causes or outcome.verdict not in (
        Verdict.REGRESSION,
        Verdict.INCONCLUSIVE,
    ):
        return outcome
    tell("a last pair, recorded in full")
    try:
        return record_pair(base, head, runner, outcome)
    except (Exception, Interrupted) as error:
        # The verdict stands without them, be it a failed run, a bug of ours or a signal.
        stopped_by = error.signum if isinstance(error, Interrupted) else None
        why = (
            "it was told to stop" if stopped_by else first_line(str(error)) or type(error).__name__
        )
        note = Note("warning", "no-causes", f"The causes are not known: {why}.")
        return replace(outcome, notes=(*outcome.notes, note), stopped_by=stopped_by)


def _machine_of(program: Program) -> dict[str, str]:
    python = interpreter_of(program.command, program.environment)
    return fingerprint_here(python, program.environment)
