"""What two runs come to that took turns: the rate of each in its own turns, while both were steady."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rlprof.errors import MeasureError
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.running.turns import TURN_S, TurnsTaken
from rlprof.model.counters import D2H_BYTES, GPU_SYNCS, H2D_BYTES
from rlprof.model.profile import Interval

Run = tuple[MeasuredRun, TurnsTaken]

_OF_A_GPU: Final = (GPU_SYNCS, H2D_BYTES, D2H_BYTES)

_MOST_IDLE: Final = 0.05
"""Part of the turns that may pass in waiting alone."""


def in_own_turns(first: Run, second: Run) -> tuple[MeasuredRun, MeasuredRun]:
    """Both runs, with a rate, as if the turns of the other had not been.

    The rate is that of all steps of the time in which both were steady: what the machine did meanwhile, both
    have met. Raises :class:`MeasureError` where one used a GPU, where it waited for longer than turns last, and
    where they were not steady at the same time.
    """
    for run, _ in (first, second):
        _refuse_gpu(run)
    windows = [run.steady for run, _ in (first, second)]
    if not all(windows):
        raise _never_together()
    start, end = max(it[0].start for it in windows), min(it[-1].end for it in windows)
    return _alone(first, start, end), _alone(second, start, end)


def _alone(its: Run, start: float, end: float) -> MeasuredRun:
    """With the rate of its own turns in the whole windows between two times."""
    run, taken = its
    assert run.sps is not None, "without a rate runs take no turns"
    steps = active_s = 0.0
    for window in run.steady:
        if start <= window.start and window.end <= end:
            steps += window.steps
            active_s += taken.active_in(window.start, window.end)
    if not steps or not active_s:
        raise _never_together()
    if taken.idle_in(start, end) > _MOST_IDLE:
        raise _waits_too_long(run)
    rate = steps / active_s
    return replace(
        run,
        sps=Interval(*(rate * it / run.sps.median for it in run.sps)),
        wall_s=run.wall_s * taken.share,
        waiting=taken.waiting_in(start, end),
    )


def _refuse_gpu(run: MeasuredRun) -> None:
    used = [name for name in _OF_A_GPU if run.counters.per_step.get(name)]
    if used:
        raise MeasureError(
            f"{run.side.value} uses a GPU ({', '.join(used)}), and a GPU goes on while a process is stopped",
            slug="turns-on-gpu",
            hint="leave --interleave out: base and head then run one after the other",
        )


def _waits_too_long(run: MeasuredRun) -> MeasureError:
    return MeasureError(
        f"{run.side.value} waits for longer than its turns of {1000 * TURN_S:.0f} ms, and what it waits for goes on "
        "while the other side runs",
        slug="turns-too-short",
        hint="leave --interleave out: base and head then run one after the other",
    )


def _never_together() -> MeasureError:
    return MeasureError(
        "base and head, which took turns, were never in their steady phases at the same time",
        slug="no-steady-rate",
        hint="let them train for longer, or leave --interleave out, as where one side is many times faster and ends "
        "before the other is steady: they then run one after the other",
    )
