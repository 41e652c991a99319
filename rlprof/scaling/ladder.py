"""A ladder: the same training with more and more workers, and what each run came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlprof.model.activity import BoundBy, HostLoad
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
from rlprof.report import wording
from rlprof.runfile.reader import read_run
from rlprof.scaling.bound import bound_of


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
    bound = bound_of(recording, pace)
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
    if steady is None or load.available_us <= 0 or not _has_all_cores(run.host):
        return 0.0
    host_cpu_us = SteadyGauges(recording, steady).sums(HOST_CPU_US).get(0)
    if host_cpu_us is None:
        return 0.0
    steady_us = load.available_us / load.cores
    own_us = sum(recording.overhead.values()) * steady_us / max(1, run.wall_us)
    others_us = host_cpu_us - load.got_us - own_us
    return max(0.0, min(load.queued_us, others_us)) / load.available_us


def _has_all_cores(host: Mapping[str, str]) -> bool:
    return host.get("cores") == f"{usable_cores(host):g}"
