"""The load of the machine in the steady phase, and whether its CPUs are what the run is held up by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlprof.model.activity import NO_LOAD, HostLoad
from rlprof.model.calibration import calibrated
from rlprof.model.gauges import CPU_US, HOST_CPU_US
from rlprof.model.recording import Recording
from rlprof.pace.steps import Span

SATURATED_DEMAND: Final = calibrated(
    1.05,
    unit="times the CPU time there is",
    source="1.6 to 2.4 where spinning or too many processes slowed training, 1.0 for as many busy "
    "workers as cores",
    date="2026-11-21",
)
"""CPU time wanted (got, or queued for), from which on a full host has too few cores for the run."""

_MOSTLY_FULL: Final = calibrated(
    0.65,
    unit="part of the CPU time there is",
    source="recorded runs on two cores: with each limit from 0.5 to 0.68 the prices hold what was saved; beyond it, "
    "that of actor_learner 7 to 8 (0.18 saved) is 0.21 to 0.47, and the polling of ipc_polling (0.40) has none",
    date="2026-11-23",
)
"""CPU time got, from which on the run fills the host by itself, wanting more than there is: processes in
lock-step leave gaps, and yet wait for cores at other moments."""

_SATURATING_PART: Final = calibrated(
    0.25,
    unit="part of the CPU time there is",
    source="with one of two cores taken by others, a main process that spins cost 0.45 of the "
    "rate, as on a machine of its own",
    date="2026-11-21",
)
"""With others that fill the rest of it (``_FULL``), from which on the CPUs still bound the run."""

_FULL: Final = 0.9
"""CPU time used by everybody over CPU time there is."""


def host_load(recording: Recording, steady: Span | None) -> HostLoad:
    if steady is None:
        return NO_LOAD
    by_threads = [0.0] * len(recording.processes)
    by_process = [0.0] * len(recording.processes)
    queued = 0
    for clock in recording.clocks:
        if steady.first <= clock.window <= steady.last:
            by_threads[recording.threads[clock.thread].process] += clock.on_cpu_us
            queued += clock.run_queue_us
    host = 0.0
    for gauge in recording.gauges:
        if steady.first <= gauge.window <= steady.last:
            if gauge.name == CPU_US:
                by_process[gauge.process] += gauge.value
            elif gauge.name == HOST_CPU_US:
                host += gauge.value
    # The gauge counts threads that are not Python's too, but misses the last moment.
    cpu_us = list(map(max, by_threads, by_process))
    got = sum(cpu_us)
    windows = recording.windows
    length = windows[steady.last].end_us - windows[steady.first].start_us
    cores = usable_cores(recording.run.host)
    available = cores * length
    # Of a part of the machine, by affinity or quota, its load says nothing.
    others = host - _recorders_us(recording, length)
    used = max(got, others) if recording.run.host.get("cores") == f"{cores:g}" else got
    is_full = got >= _MOSTLY_FULL * available or (
        got >= _SATURATING_PART * available and used >= _FULL * available
    )
    saturated = is_full and used + queued >= SATURATED_DEMAND * available
    return HostLoad(
        got_us=round(got),
        queued_us=queued,
        available_us=available,
        cores=cores,
        native_us=round(got - sum(by_threads)),
        by_process=tuple((process, round(us)) for process, us in enumerate(cpu_us) if us),
        saturated=saturated,
        own_part=got / used if saturated else 1.0,
    )


def _recorders_us(recording: Recording, length_us: int) -> float:
    """CPU time of rlprof itself in ``length_us`` of the run: it is no load that stays."""
    own = sum(recording.overhead.get(f"{part}_cpu_us", 0) for part in ("samplers", "recorder"))
    return own * length_us / max(1, recording.run.wall_us)


_MOST_CORES: Final = 100_000.0


def usable_cores(host: Mapping[str, str]) -> float:
    """Cores that the run may use, 1 when the recording does not say."""
    for fact in ("usable_cores", "cores"):
        try:
            return min(max(1.0, float(host[fact])), _MOST_CORES)
        except (KeyError, ValueError):
            continue
    return 1.0


def wants_more_cores(load: HostLoad) -> bool:
    """Tell whether the run wants more CPU time than there is, whoever has it."""
    return load.got_us + load.queued_us > SATURATED_DEMAND * load.available_us
