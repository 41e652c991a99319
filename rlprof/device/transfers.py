"""Copies between host and device: how much, which way, through what memory, and what they took."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlprof.model.trace import Row, Trace
from rlprof.units import whole_number

_NAME: Final = re.compile(r"Memcpy (?P<direction>\w+) \((?P<from>\w+) -> (?P<to>\w+)\)")

_ROCM_KINDS: Final = {"1": "HtoD", "2": "DtoH", "3": "DtoD"}
"""``kind`` of the call: the device's row of a ROCm copy to pinned memory says DtoD."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """All copies of one kind. Times in µs."""

    direction: str
    """``HtoD``, ``DtoH``, ``DtoD``, ``PtoP``."""
    memory: str
    """Memory of the host's side: ``pageable``, ``pinned``, ``host`` where it is not told, ``device``."""
    count: int
    bytes: int
    host_us: float
    """In the calls that start them; of pageable ones with the wait that follows."""
    device_us: float
    median_bytes: float

    @property
    def is_upload(self) -> bool:
        return self.direction == "HtoD"

    @property
    def crosses_bus(self) -> bool:
        return self.direction in ("HtoD", "DtoH")


def uploads(trace: Trace) -> list[Row]:
    """Rows of the device that copy from the host, in order."""
    return _going(trace, "HtoD")


def downloads(trace: Trace) -> list[Row]:
    """Rows of the device that copy to the host, in order."""
    return _going(trace, "DtoH")


def _going(trace: Trace, direction: str) -> list[Row]:
    if not trace.copies:
        return []
    calls = {call.args.correlation: call for call in trace.calls if call.args.correlation}
    return [copy for copy in trace.copies if _kind(copy, calls)[0] == direction]


def find_transfers(trace: Trace) -> tuple[Transfer, ...]:
    """By direction and memory, those that take most of the host's time first."""
    if not trace.copies:
        return ()
    calls = {call.args.correlation: call for call in trace.calls if call.args.correlation}
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for copy in trace.copies:
        groups[_kind(copy, calls)].append(copy)
    found = [_transfer(kind, copies, calls) for kind, copies in groups.items()]
    return tuple(
        sorted(found, key=lambda transfer: (-transfer.host_us, transfer.direction, transfer.memory))
    )


def _kind(copy: Row, calls: Mapping[int, Row]) -> tuple[str, str]:
    match = _NAME.match(copy.name)
    if match is None:
        return "other", "device"
    direction = match["direction"]
    call = calls.get(copy.args.correlation)
    if call is not None and call.name.startswith("hip"):
        direction = _ROCM_KINDS.get(str(call.args.kind), direction)
    ends = {match["from"].lower(), match["to"].lower()} - {"device"}
    return direction, min(ends) if ends else "device"


def _transfer(kind: tuple[str, str], copies: list[Row], calls: Mapping[int, Row]) -> Transfer:
    sizes = sorted(_bytes_of(copy, calls) for copy in copies)
    started = {copy.args.correlation for copy in copies}
    return Transfer(
        direction=kind[0],
        memory=kind[1],
        count=len(copies),
        bytes=sum(sizes),
        host_us=sum(calls[number].dur for number in started if number in calls),
        device_us=sum(copy.dur for copy in copies),
        median_bytes=sizes[len(sizes) // 2],
    )


def _bytes_of(copy: Row, calls: Mapping[int, Row]) -> int:
    """Return the bytes of the device's row; older ROCm writes them on the call only."""
    for row in (copy, calls.get(copy.args.correlation)):
        size = whole_number(str(row.args.bytes)) if row is not None else None
        if size:
            return size
    return 0
