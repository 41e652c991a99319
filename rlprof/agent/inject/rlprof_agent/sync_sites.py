"""Places where the program reads tensors on the host, counted in memory shared with the recorder."""

from __future__ import annotations

from . import foreign_errors, layout
from .code_places import file_of
from .held_codes import HeldCodes

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Optional

    from .mailbox import Mailbox

_LIBRARY = "/torch/"
"""Part of the path of torch's own files: what they read is the doing of who called them."""

_ON_THE_CPU_ANYWAY = ("/torch/optim/", "/torch/utils/data/")
"""Files whose reads stay on the CPU wherever the training is: step counts, orders of samples."""


class SyncSites:
    """The sites of one method on one kind of device: code locations, each with its cells."""

    def __init__(self, method: str, device: str) -> None:
        self.slots: dict[tuple[int, int], int] = {}
        """Index of the first cell, by the ``id`` of the calling code and its instruction; none for
        those functions of torch's whose callers are what counts."""
        self._method = method
        self._device = device
        self._codes = HeldCodes()
        """Those seen."""
        self._in_library: set[int] = set()
        self._stays_here: set[int] = set()
        """Ids of those in the library whose reads are on the CPU anyway."""
        self.renew(None)

    def renew(self, mailbox: Optional[Mailbox]) -> None:
        """Count in ``mailbox`` from now on: at the start, and in a forked child."""
        self._mailbox = mailbox
        self.slots.clear()
        self.cells = _private_cells() if mailbox is None else mailbox.site_cells

    def find(self, frame: Optional[FrameType]) -> int:
        """The first cell for a call from ``frame``, which ``slots`` does not have; for none, the one that all share."""
        spare = layout.CELLS_PER_SITE * layout.SPARE_SITE
        if frame is None:
            return spare
        if self._codes.are_too_many:
            self._codes.clear()
            self._in_library.clear()
            self._stays_here.clear()
            self.slots.clear()
        caller: Optional[FrameType] = frame
        # Of reads in the library each comes here: of which line they are depends on who called it.
        while caller is not None:
            code = id(caller.f_code)
            if code not in self._codes:
                self._classify(caller.f_code)
            if code not in self._in_library:
                break
            caller = caller.f_back
        if id(frame.f_code) in self._stays_here:
            self.slots[id(frame.f_code), frame.f_lasti] = spare
            return spare
        site = caller or frame
        key = (id(site.f_code), site.f_lasti)
        found = self.slots.get(key)
        if found is None:
            found = self.slots[key] = layout.CELLS_PER_SITE * self._new_site(site)
        return found

    def add(self, first: int, wait_ns: int, tensor: Any) -> None:
        """Count a call at the site whose cells begin at ``first``, which moved ``tensor``."""
        cells = self.cells
        cells[first + layout.SITE_COUNT] += 1
        cells[first + layout.SITE_WAIT_NS] += wait_ns
        try:
            cells[first + layout.SITE_BYTES] += tensor.nbytes
        except Exception as error:
            foreign_errors.pass_on(error)
            # A sparse tensor, or one that has no data yet, does not say.

    def _classify(self, code: CodeType) -> None:
        self._codes.hold(code)
        if _LIBRARY in code.co_filename:
            self._in_library.add(id(code))
            if self._device == "cpu" and any(
                place in code.co_filename for place in _ON_THE_CPU_ANYWAY
            ):
                self._stays_here.add(id(code))

    def _new_site(self, site: FrameType) -> int:
        if self._mailbox is None:
            return layout.SPARE_SITE
        code = site.f_code
        function: str = getattr(code, "co_qualname", code.co_name)
        line = site.f_lineno or code.co_firstlineno
        return self._mailbox.new_site(
            (self._method, self._device, str(line), function[:80], file_of(code, site.f_globals))
        )


def _private_cells() -> memoryview:
    """Return the cells of a process without a recorder."""
    return memoryview(bytearray(8 * layout.CELLS_PER_SITE * layout.MAX_SITES)).cast("q")
