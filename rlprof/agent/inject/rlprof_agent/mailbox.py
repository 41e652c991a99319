"""The agent's side of the mailbox: counters, and a ring for records."""

from __future__ import annotations

import _thread

from . import layout
from .real import os
from .shared_memory import expect_room, map_shared


class Mailbox:
    """Shared memory of this process; the memfd's descriptor is for the recorder to receive."""

    def __init__(self, interval_us: int) -> None:
        expect_room(layout.SIZE)
        self.fd = os.memfd_create("rlprof-mailbox", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, layout.SIZE)
        self._memory, self.make_private = map_shared(self.fd, layout.SIZE)
        self.cells = self._memory[: layout.SITES_START].cast("q")
        self.site_cells = self._memory[layout.SITES_START : layout.SITE_NAMES_START].cast("q")
        asked = layout.LOOKS_START
        self.looks_asked = self._memory[asked : asked + layout.LOOKS_SIZE]
        at = layout.TREATMENT_START
        self.treatment = self._memory[at : at + layout.TREATMENT_SIZE]
        self.reply = self._memory[layout.REPLY_START : layout.SIZE]
        self.cells[layout.CELL_MAGIC] = layout.MAGIC
        self.cells[layout.CELL_INTERVAL_US] = interval_us
        self._counters: dict[str, int] = {}
        # A signal handler of the program may count while its main thread is in here.
        self._lock = _thread.RLock()

    def close_descriptor(self) -> None:
        """The mapping stays; the program's descriptor numbers are as without rlprof."""
        os.close(self.fd)
        self.fd = -1

    def counter(self, name: str) -> int:
        """The index in ``cells`` of the counter ``name``, from any thread.

        With the table full it is that of a cell which all further counters share and nobody reads.
        """
        with self._lock:
            index = self._counters.get(name)
            if index is None:
                index = self._counters[name] = self._name_counter(name)
            return index

    def _name_counter(self, name: str) -> int:
        used: int = self.cells[layout.CELL_COUNTERS_USED]
        if used >= layout.MAX_COUNTERS:
            return layout.CELL_UNNAMED
        encoded = name.encode("utf-8", "replace")[: layout.NAME_SIZE]
        start = layout.NAMES_START + used * layout.NAME_SIZE
        self._memory[start : start + len(encoded)] = encoded
        # Last, so that the recorder never sees a name half-written.
        self.cells[layout.CELL_COUNTERS_USED] = used + 1
        return layout.CELL_COUNTERS + used

    def new_site(self, names: tuple[str, ...]) -> int:
        """The number of a further site; with the table full the one that all others share."""
        with self._lock:
            used: int = self.cells[layout.CELL_SITES_USED]
            if used >= layout.SPARE_SITE:
                return layout.SPARE_SITE
            *short, file = (name.encode("utf-8", "replace") for name in names)
            head = b"\0".join([*short, b""])[: layout.SITE_NAME_SIZE]
            room = layout.SITE_NAME_SIZE - len(head)
            encoded = head + (file[-room:] if room else b"")
            start = layout.SITE_NAMES_START + used * layout.SITE_NAME_SIZE
            self._memory[start : start + len(encoded)] = encoded
            # Last, so that the recorder never sees a name half-written.
            self.cells[layout.CELL_SITES_USED] = used + 1
            return used

    def write(self, record: bytes) -> bool:
        """Append ``record``, or return False when the recorder has fallen behind.

        Called from a signal handler: no system call, nothing that can block.
        """
        cells = self.cells
        head = cells[layout.CELL_HEAD]
        if len(record) > layout.RING_SIZE - (head - cells[layout.CELL_TAIL]):
            return False
        at = head % layout.RING_SIZE
        first = record[: layout.RING_SIZE - at]
        start = layout.RING_START + at
        self._memory[start : start + len(first)] = first
        if len(first) < len(record):
            rest = record[len(first) :]
            self._memory[layout.RING_START : layout.RING_START + len(rest)] = rest
        # Last, so that the recorder never sees a record half-written.
        cells[layout.CELL_HEAD] = head + len(record)
        return True
