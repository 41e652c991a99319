"""The places at which a program reads tensors on the host, as its agent counts them."""

from __future__ import annotations

from collections.abc import Sequence
from mmap import mmap
from operator import add
from typing import Final, NamedTuple

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.model.counters import D2H_BYTES, GPU_SYNCS, H2D_BYTES, WOULD_SYNC
from rlprof.model.recording import TO_THE_GPU, SyncSite
from rlprof.units import whole_number

_PAGEABLE: Final = "pageable"


class _Site(NamedTuple):
    """Fields that name a place, in the order of ``SyncSite``."""

    file: str
    function: str
    line: int
    method: str
    device: str


class SiteTable:
    """Reads the part of a mailbox that is about sites."""

    def __init__(self, memory: mmap, cells: Sequence[int]) -> None:
        """``cells`` are the mailbox's control cells."""
        self._memory = memory
        self._control = cells
        first, end = layout.SITES_START, layout.SITE_NAMES_START
        self._cells = memoryview(memory)[first:end].cast("q")
        self._names: list[_Site] = []
        self._seen: dict[str, int] = {}
        self._last: list[SyncSite] | None = None

    def close(self) -> None:
        """Give the memory back; :meth:`sites` tells what it told last."""
        self._last = self._now(0)
        self._cells.release()

    def sites(self, process: int) -> list[SyncSite]:
        """All sites of ``process`` with what was counted there since its start."""
        if self._last is None:
            return self._now(process)
        return [site._replace(process=process) for site in self._last]

    def _now(self, process: int) -> list[SyncSite]:
        self._read_names()
        found: dict[_Site, list[int]] = {}
        for number, site in enumerate(self._names):
            totals = self._totals(number)
            # One line may be several code locations, and move between them as Python specialises it.
            before = found.get(site)
            found[site] = totals if before is None else [*map(add, before, totals)]
        return [
            SyncSite(process, *site, calls, wait_ns // 1000, size)
            for site, (calls, wait_ns, size) in found.items()
            if calls
        ]

    def new_counts(self) -> dict[str, float]:
        """Return what all sites counted since the last call, as counters of the run."""
        if not self._control[layout.CELL_SITES_USED]:
            return {}
        self._read_names()
        totals = dict.fromkeys((GPU_SYNCS, WOULD_SYNC, H2D_BYTES, D2H_BYTES), 0)
        for number, site in enumerate(self._names):
            calls, _, size = self._totals(number)
            if site.device == "cpu":
                totals[WOULD_SYNC] += calls
            elif TO_THE_GPU in site.method:
                totals[H2D_BYTES] += size
                # Through pinned memory the host goes on at once.
                totals[GPU_SYNCS] += calls if _PAGEABLE in site.method else 0
            else:
                totals[D2H_BYTES] += size
                totals[GPU_SYNCS] += calls
        new = {name: float(total - self._seen.get(name, 0)) for name, total in totals.items()}
        self._seen = totals
        return {name: value for name, value in new.items() if value}

    def _totals(self, number: int) -> list[int]:
        first = layout.CELLS_PER_SITE * number
        return self._cells[first : first + layout.CELLS_PER_SITE].tolist()

    def _read_names(self) -> None:
        used = min(layout.SPARE_SITE, self._control[layout.CELL_SITES_USED])
        while len(self._names) < used:
            start = layout.SITE_NAMES_START + len(self._names) * layout.SITE_NAME_SIZE
            name = self._memory[start : start + layout.SITE_NAME_SIZE].rstrip(b"\0")
            # Names may be cut within a character, and a program may write anywhere.
            parts = name.decode("utf-8", "ignore").split("\0", 4)
            method, device, line, function, file = parts + [""] * (5 - len(parts))
            number = whole_number(line) or 0
            self._names.append(_Site(file, function, number, method, device))
