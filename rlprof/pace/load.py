"""The load of the machine in the steady phase, and whether its CPUs are what the run is held up by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlprof.model.activity import NO_LOAD, HostLoad
from rlprof.model.gauges import CPU_US, HOST_CPU_US
from rlprof.model.recording import Recording
from rlprof.pace.steps import Span

SATURATED_DEMAND: Final = 1.05
"""CPU time wanted (got, or queued for) over CPU time there is: measured 1.6 to 2.4 where spinning
or too many processes slowed training, 1.0 for as many busy workers as cores."""

_SATURATED_USE: Final = 0.66
"""CPU time got over CPU time there is, from which on the run fills the host by itself. Processes in
lock-step leave gaps: main polling for two workers on two cores got 0.69 to 0.79 and queued for 0.36 to
0.43, and the polling cost 0.4 of the time."""

_OURS_TOO: Final = 0.25
"""With others that fill the rest of it (``_FULL``), from which on the CPUs still bound the run: with one
of two cores taken by others, a main process that spins cost 0.45 of the rate, as on a machine of
its own."""

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
    there_is = cores * length
    # Of a part of the machine, by affinity or quota, its load says nothing.
    others = host - _recorders_us(recording, length)
    used = max(got, others) if recording.run.host.get("cores") == f"{cores:g}" else got
    is_full = got >= _SATURATED_USE * there_is or (
        got >= _OURS_TOO * there_is and used >= _FULL * there_is
    )
    saturated = is_full and used + queued >= SATURATED_DEMAND * there_is
    return HostLoad(
        got_us=round(got),
        queued_us=queued,
        there_is_us=there_is,
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


def usable_cores(host: Mapping[str, str]) -> float:
    """Cores that the run may use, 1 when the recording does not say."""
    for fact in ("usable_cores", "cores"):
        try:
            return max(1.0, float(host[fact]))
        except (KeyError, ValueError):
            continue
    return 1.0
