"""Elementwise kernels one after the other, each of which reads and writes memory anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.kernels import ELEMENTWISE, FP64, kernels_named
from rlprof.device.timeline import device_of
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Range
from rlprof.model.trace import Row
from rlprof.units import count, duration, percent

SHORTEST_CHAIN: Final = 5
FEWEST_KINDS: Final = 3
"""Fewest kinds of kernels in a chain: the same one again and again works on one tensor after the other."""

MIN_SHARE: Final = 0.2
"""Least share of the time that the device works, in such chains."""

MIN_BUSY: Final = 0.5
"""Least busy share of the wall time: a device that waits for launches has the same fix for another reason."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    if view.busiest is None or view.busy_share < MIN_BUSY:
        return
    chains = [*_chains(view)]
    us = sum(row.dur for chain in chains for row in chain)
    if not chains or us < MIN_SHARE * view.busiest.busy_us:
        return
    # One kernel reads and writes once where a chain does so at each of its links.
    saved = sum(sum(row.dur for row in chain) * (1 - 1 / len(chain)) for chain in chains)
    kernels = sum(map(len, chains))
    yield DeviceFinding(
        title="elementwise kernels run one after the other",
        saved_us=Range(0.0, saved),
        evidence=(
            f"{count(kernels)} of them in {count(len(chains))} chains of {SHORTEST_CHAIN} or more take "
            f"{duration(us)}, {percent(us / view.busiest.busy_us)} of the time that the GPU works",
            "whether they work on the same data is not told",
        ),
        fix="torch.compile makes one kernel of a chain.",
        confidence=Confidence.SUSPECTED,
        causes=(),
    )


def _chains(view: TraceView) -> Iterator[list[Row]]:
    """Elementwise kernels that follow each other on their stream; those on doubles are another matter."""
    names = {row.name for row in kernels_named(view.trace, ELEMENTWISE)}
    names -= {row.name for row in kernels_named(view.trace, FP64)}
    streams: dict[tuple[int, int | str], list[Row]] = defaultdict(list)
    for row in view.trace.kernels:
        streams[device_of(row), row.args.stream].append(row)
    for rows in streams.values():
        for is_elementwise, group in groupby(rows, key=lambda row: row.name in names):
            chain = list(group)
            kinds = len({row.name for row in chain})
            if is_elementwise and len(chain) >= SHORTEST_CHAIN and kinds >= FEWEST_KINDS:
                yield chain


DETECTOR: Final = Detector(
    id="eager-pointwise-chains",
    name="elementwise kernels that could be one",
    in_trace=InTrace(detect),
)
