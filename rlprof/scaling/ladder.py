"""A ladder: the same training with more and more workers, how it is climbed, and what each run came to."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlprof.errors import RunFileError, exit_code_of_signal
from rlprof.model.activity import BoundBy, HostLoad
from rlprof.model.crash import is_stopped_by
from rlprof.model.gauges import HOST_CPU_US
from rlprof.model.profile import Interval
from rlprof.model.recording import Recording
from rlprof.pace.called_threads import with_called_work
from rlprof.pace.load import host_load, usable_cores
from rlprof.pace.own_pace import at_own_pace
from rlprof.pace.pace import measure_pace
from rlprof.pace.rates import pooled
from rlprof.pace.steady_gauges import SteadyGauges
from rlprof.pace.steps import Span
from rlprof.profile.build import build_profile
from rlprof.recording.record import record
from rlprof.recording.recorder import RunEnd
from rlprof.recording.settings import RecordingSettings
from rlprof.report import wording
from rlprof.runfile.reader import read_run


@dataclass(frozen=True, slots=True)
class LadderRun:
    """One run of the ladder."""

    workers: int
    round: int
    """Counted from 1."""
    run_file: str
    exit_code: int
    """The training's own; 128+n for signal n."""
    sps: Interval | None = None
    why_no_sps: str = ""
    processes: int = 0
    """Python processes seen in it."""
    usable_cores: float = 1.0
    taken_share: float = 0.0
    """Part of the usable cores that other programs had while the run queued for them (0 to 1)."""
    cpu_share: float = 0.0
    """Part of the usable cores that the run itself kept busy (0 to 1)."""
    bound_by_cpus: bool = False
    bound: str = ""
    """Cause that held up the steady steps, as its profile says; empty when it cannot tell."""

    @property
    def failed(self) -> bool:
        return self.exit_code != 0


@dataclass(frozen=True, slots=True)
class Rung:
    """All good runs with one number of workers."""

    workers: int
    sps: Interval
    """Over its runs (``pooled``)."""
    runs: tuple[LadderRun, ...]


def read_ladder_run(
    run_file: Path, *, workers: int, round_number: int, exit_code: int
) -> LadderRun:
    """Return what the run that was recorded in ``run_file`` came to; raises ``RunFileError``."""
    recording = with_called_work(at_own_pace(read_run(run_file)))
    pace = measure_pace(recording)
    load = host_load(recording, pace.steady)
    # As its profile names it: the one thing that its pace does not tell.
    bound = build_profile(recording, pace).bound
    sps = pace.throughput.steps_per_s
    if sps is not None and sps.median <= 0:
        sps = None  # No law goes through zero.
    lack = wording.unglued(wording.lack_of_steps(pace.throughput))
    return LadderRun(
        workers=workers,
        round=round_number,
        run_file=str(run_file),
        exit_code=exit_code,
        sps=sps,
        why_no_sps="" if sps is not None else lack or "its steady rate is zero",
        processes=len(recording.processes),
        usable_cores=usable_cores(recording.run.host),
        taken_share=_taken_share(recording, pace.steady, load),
        cpu_share=load.got_us / max(1.0, load.available_us),
        bound_by_cpus=load.saturated or bound.by is BoundBy.CPUS,
        bound=bound.text,
    )


def rungs_of(runs: Sequence[LadderRun]) -> tuple[Rung, ...]:
    """One rung for each number of workers with a run that ended well and had a rate."""
    good: dict[int, list[LadderRun]] = {}
    for run in runs:
        if run.sps is not None and not run.failed:
            good.setdefault(run.workers, []).append(run)
    return tuple(
        Rung(workers, pooled([run.sps for run in of_count if run.sps is not None]), tuple(of_count))
        for workers, of_count in sorted(good.items())
    )


def _taken_share(recording: Recording, steady: Span | None, load: HostLoad) -> float:
    """Both must be so: the run queued, and others were on the cores. Workers that all wake at once
    queue for each other on an idle machine too.

    0 where the machine's CPU time is not that of the run's cores.
    """
    run = recording.run
    if (
        steady is None
        or load.available_us <= 0
        or run.host.get("cores") != f"{usable_cores(run.host):g}"
    ):
        return 0.0
    host_cpu_us = SteadyGauges(recording, steady).sums(HOST_CPU_US).get(0)
    if host_cpu_us is None:
        return 0.0
    steady_us = load.available_us / load.cores
    own_us = sum(recording.overhead.values()) * steady_us / max(1, run.wall_us)
    others_us = host_cpu_us - load.got_us - own_us
    return max(0.0, min(load.queued_us, others_us)) / load.available_us


# --- climbing: the training is recorded with one number of workers after the other --------------


@dataclass(frozen=True, slots=True)
class Climb:
    """A ladder that was climbed, to its end or as far as somebody let it."""

    runs: tuple[LadderRun, ...]
    stopped_with: int | None = None
    """The exit code that goes with the signal that ended the ladder before its time."""


class Ladder:
    """Runs the training with one number of workers after the other, each into its own run file."""

    def __init__(
        self,
        settings: Callable[[int], RecordingSettings],
        *,
        recorded: Callable[[Path], None],
        tell: Callable[[str], None],
    ) -> None:
        """``settings`` makes those of one run, by its number of workers; ``recorded`` gets the file of each run once
        it is over; ``tell`` gets lines for the user.
        """
        self._settings = settings
        self._recorded = recorded
        self._tell = tell

    def climb(self, counts: Sequence[int], *, rounds: int) -> Climb:
        """Run every number of ``counts`` in each round; one that failed is not run again."""
        runs: list[LadderRun] = []
        failed: set[int] = set()
        total = len(counts) * rounds
        for number, (round_number, workers) in enumerate(climbing_order(counts, rounds), start=1):
            if workers in failed:
                continue
            self._tell(f"{wording.counted(workers, 'worker', 'workers')} (run {number} of {total})")
            try:
                run, outcome = self._run(workers, round_number)
            except KeyboardInterrupt:  # Between the runs: while one runs, it gets the signal.
                return Climb(tuple(runs), exit_code_of_signal(signal.SIGINT))
            runs.append(run)
            if outcome.was_stopped:  # The rest of the ladder is not wanted either.
                told_by = outcome.told_by
                code = run.exit_code if told_by is None else exit_code_of_signal(told_by)
                return Climb(tuple(runs), code)
            if run.failed:
                failed.add(workers)
        return Climb(tuple(runs))

    def _run(self, workers: int, round_number: int) -> tuple[LadderRun, RunEnd]:
        settings = self._settings(workers)
        started = time.monotonic()
        outcome = record(settings)
        self._recorded(settings.run_file)
        try:
            run = read_ladder_run(
                settings.run_file,
                workers=workers,
                round_number=round_number,
                exit_code=outcome.exit_code,
            )
        except RunFileError as error:
            run = LadderRun(
                workers=workers,
                round=round_number,
                run_file=str(settings.run_file),
                exit_code=outcome.exit_code,
                why_no_sps=error.message,
            )
        self._tell(f"{_outcome(run)}, {time.monotonic() - started:.1f} s")
        return run, outcome


def climbing_order(counts: Sequence[int], rounds: int) -> Iterator[tuple[int, int]]:
    """Yield (round, workers). Every other round goes back down, so that a drift of the machine's
    speed falls on few and on many workers alike.
    """
    for number in range(1, rounds + 1):
        for count in counts if number % 2 else reversed(counts):
            yield number, count


def _outcome(run: LadderRun) -> str:
    if is_stopped_by(run.exit_code):
        return "stopped"
    if run.failed:
        return f"failed with exit code {run.exit_code}"
    if run.sps is None:
        return f"no rate: {run.why_no_sps}"
    return wording.unglued(f"{wording.rate(run.sps.median)} sps ({wording.rate_range(run.sps)})")
