"""A training that is recorded and tried, from its start to what takes runs of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rlprof.errors import RlprofError
from rlprof.experiments import words
from rlprof.experiments.conductor import Conductor, TryPlan
from rlprof.experiments.restarting import RestartTries
from rlprof.gate.interruption import Interrupted, interruptible
from rlprof.gate.processes import adopting_orphans
from rlprof.recording.record import record
from rlprof.recording.recorder import RunEnd
from rlprof.recording.settings import RecordingSettings
from rlprof.runfile.amending import amend_experiments


def try_training(
    settings: RecordingSettings, plan: TryPlan, tell: Callable[[str], None]
) -> RlprofError | None:
    """Record it, try its findings, and leave what was measured in the run file.

    Returns what is wrong all the same: the training failed by itself, or nothing could be tried. ``tell`` shows a line to the user.
    """
    conductor = Conductor(plan, tell=tell)
    ended = record(settings, experimenter=conductor)
    if ended.failure is not None:
        tell(f"{ended.failure.message}; {settings.run_file} holds what was recorded before")
    # What has failed may have been harmed by us, and may fail again.
    elif conductor.restarts and conductor.has_ended_it and ended.told_by is None:
        _try_by_runs(conductor, settings, tell)
    if has_failed(ended, has_ended_it=conductor.has_ended_it):
        return words.training_failed(ended.exit_code)
    return conductor.failure


def has_failed(ended: RunEnd, *, has_ended_it: bool) -> bool:
    """Tell whether the training ended in an error of its own; ``has_ended_it``: we have asked it to end."""
    return ended.exit_code != 0 and not (has_ended_it or ended.was_stopped)


def _try_by_runs(
    conductor: Conductor, settings: RecordingSettings, tell: Callable[[str], None]
) -> None:
    """Try what cannot be switched while the training runs, in what is left of the budget."""
    tries = RestartTries(
        settings.command, settings.script, settings.steps_from, tell, conductor.uses_gpu
    )
    with suppress(Interrupted), interruptible(), adopting_orphans():
        tries.run(conductor.restarts, conductor.budget_left_s)
    amend_experiments(settings.run_file, [*conductor.experiments, *tries.experiments])
