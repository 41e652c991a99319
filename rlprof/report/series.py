"""How a run went over time: its rate, CPUs and memory by role, and GPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from rlprof.model import gauges as names
from rlprof.model.detail import TimeSeries
from rlprof.model.profile import Throughput
from rlprof.model.recording import Recording


def time_series(
    recording: Recording, throughput: Throughput, roles: Mapping[int, str]
) -> tuple[TimeSeries, ...]:
    """One value of each for every window of ``recording``; what was never measured is left out."""
    return (
        *_rate(recording, throughput),
        *_by_role(recording, roles, names.CPU_US, "cores"),
        *_by_role(recording, roles, names.RSS_BYTES, "memory"),
        *_gpus(recording),
    )


def _rate(recording: Recording, throughput: Throughput) -> Iterator[TimeSeries]:
    rates = {start: rate for start, _, rate in throughput.series}
    if rates:
        unit = "updates/s" if throughput.unit == "updates" else "sps"
        values = tuple(rates.get(window.start_us) for window in recording.windows)
        yield TimeSeries("rate", unit, unit, values)


def _by_role(
    recording: Recording, roles: Mapping[int, str], gauge_name: str, group: str
) -> Iterator[TimeSeries]:
    """Levels of the processes of a role add up; amounts become cores: time per time."""
    sums: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for gauge in recording.gauges:
        if gauge.name == gauge_name:
            sums[roles[gauge.process]][gauge.window] += gauge.value
    unit = "cores" if group == "cores" else "bytes"
    for role, of_role in sorted(sums.items(), key=lambda it: (-sum(it[1].values()), it[0])):
        per = [it.length_us if group == "cores" else 1 for it in recording.windows]
        values = (of_role[i] / per[i] if i in of_role and per[i] else None for i in range(len(per)))
        yield TimeSeries(group, role, unit, tuple(values))


def _gpus(recording: Recording) -> Iterator[TimeSeries]:
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for gauge in recording.gauges:
        index = names.gpu_of(gauge.name)
        if index is not None and gauge.name == names.of_gpu(names.GPU_UTILISATION, index):
            found[index][gauge.window] = gauge.value
    for index, of_gpu in sorted(found.items()):
        values = tuple(of_gpu.get(window.id) for window in recording.windows)
        yield TimeSeries("gpu", f"GPU {index}", "share", values)
