"""Treatments: changes of the program that are switched on and off while it runs, to measure what each is worth.

Only ``rlprof try`` asks for any. The recorder writes what a treatment is, one at a time, and says when it is to be on; the stack probe
obeys in its handler, in the main thread, between two instructions of the program's. One file for each way to change something:
it has a class whose objects are armed once, and then put on and taken off as often as is asked.
"""

from __future__ import annotations

import marshal

from .. import foreign_errors, layout
from ..real import sys, time

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ..mailbox import Mailbox

WAYS = {
    "edit": ("edits", "Edit"),
    "call": ("calls", "TreatedCalls"),
    "configuration": ("configurations", "Configurations"),
    "setting": ("settings", "Setting"),
}
"""The file of this folder and its class, by the ``way`` of a part of a treatment."""


_UNDISTURBED_NS = 50_000
"""Most time that an answer takes: it is some microseconds."""


class RefusedError(Exception):
    """It cannot be applied exactly; the message says why."""


class AbsentError(Exception):
    """Nothing of what is to be treated is loaded in this process."""


class AskedPart:
    """A part of a treatment, as the recorder asks for it, and whom its calls report to."""

    __slots__ = ("cost_ns", "failed", "frame_ns", "part", "passed_on", "reached", "treated")

    def __init__(
        self,
        part: dict[str, Any],
        reached: list[int],
        failed: Callable[[BaseException], None],
        cost_ns: Optional[list[int]] = None,
    ) -> None:
        self.part = part
        self.cost_ns = [0] if cost_ns is None else cost_ns
        """One item: the time that calls took which were answered without being made. What is left out for nothing is worth more by that."""
        self.frame_ns = 0
        """Part of that for each call which is spent around our function."""
        self.reached = reached
        """One item: how often the treated place was come to while it was on."""
        self.failed = failed
        """Takes the treatment away: a treated call met an error of ours."""
        self.treated = self.passed_on = 0
        """Calls of those that come to the place which it has changed, and which it has left as they were."""

    def costs(self, took_ns: int) -> None:
        """Count the time of a call that was answered without being made.

        Not what it waited for a core meanwhile: that is left out of the slot by itself, and many times as long.
        """
        self.cost_ns[0] += self.frame_ns + min(took_ns, _UNDISTURBED_NS)

    def treats(self) -> None:
        """Count a call that is changed."""
        self.treated += 1
        self.reached[0] += 1

    def passes_on(self, most: int, why: str) -> None:
        """Count a call that is left as it was. Of more than ``most``, and more than are changed, too little is treated to measure what the fix is worth."""
        self.passed_on += 1
        if self.passed_on > most and self.passed_on > self.treated:
            self.failed(RefusedError(why))


class ProcessTreatment:
    """The treatment of this process, armed or on."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: list[Any] = []
        self._on: list[Any] = []
        """Those that were put on; the last one may have failed in the middle of it."""
        self._state = 0
        self._reached = [0]
        self._cost_ns = [0]

    def follow(self, mailbox: Mailbox) -> None:
        """Do what the recorder asks for by now."""
        cells = mailbox.cells
        asked = cells[layout.CELL_TREATMENT_ASKED]
        if asked != self._number:
            self._take_off()
            self._number = asked
            self._parts = []
            if asked:
                self._arm(mailbox)
        if not asked:
            return
        if self._state in (layout.TREATMENT_OFF, layout.TREATMENT_ON):
            silent_ns = time.monotonic_ns() - cells[layout.CELL_TREATMENT_BEAT_NS]
            if silent_ns > layout.TREATMENT_PATIENCE_NS:
                self._withdraw(mailbox, "rlprof went silent")
            elif bool(cells[layout.CELL_TREATMENT_WANTED]) != (self._state == layout.TREATMENT_ON):
                self._switch(mailbox)
        cells[layout.CELL_TREATMENT_REACHED] = self._reached[0]
        cells[layout.CELL_TREATMENT_COST_NS] = self._cost_ns[0]
        cells[layout.CELL_TREATMENT_STATE] = asked * layout.TREATMENT_STATES + self._state

    def stop(self, mailbox: Mailbox, why: str) -> None:
        """Withdraw what there is: nobody switches it any more."""
        if self._state in (layout.TREATMENT_OFF, layout.TREATMENT_ON):
            self._withdraw(mailbox, why)

    def end(self) -> None:
        """Leave nothing of it in the program."""
        self._take_off()
        self._number, self._parts, self._state = 0, [], 0

    def _arm(self, mailbox: Mailbox) -> None:
        (size,) = layout.LENGTH.unpack_from(mailbox.treatment, 0)
        start = layout.LENGTH.size
        parts = marshal.loads(bytes(mailbox.treatment[start : start + size]))
        self._state = 0
        self._reached, self._cost_ns = [0], [0]
        _reply(mailbox, "")
        failed = self._failing(mailbox, self._number)
        here, refusal = [], ""
        for alike in _in_one_function(parts):
            try:
                file, name = WAYS[alike[0]["way"]]
                module = __import__(__name__ + "." + file, fromlist=[name])
                asked = [AskedPart(part, self._reached, failed, self._cost_ns) for part in alike]
                here.append(getattr(module, name)(*asked))
            except AbsentError:
                pass
            except RefusedError as error:
                refusal = refusal or str(error)
            except Exception as error:
                # Of ours, or of a file of the user's: to go on without it would measure nothing.
                foreign_errors.pass_on(error)
                refusal = refusal or _told(error)
        self._parts = here
        self._state = layout.TREATMENT_OFF
        if refusal:
            self._parts = []
            self._state = layout.TREATMENT_REFUSED
            _reply(mailbox, refusal)
        elif not here:
            self._state = layout.TREATMENT_ABSENT

    def _failing(self, mailbox: Mailbox, number: int) -> Callable[[BaseException], None]:
        """Return what a treated call reports an error of its own to."""

        def failed(error: BaseException) -> None:
            if number != self._number or self._state != layout.TREATMENT_ON:
                return
            if type(error) is RefusedError:
                self._withdraw(mailbox, str(error), layout.TREATMENT_REFUSED)
            else:
                self._withdraw(mailbox, _told(error))

        return failed

    def _switch(self, mailbox: Mailbox) -> None:
        if self._state == layout.TREATMENT_ON:
            self._take_off()
            if self._state == layout.TREATMENT_ON:
                self._state = layout.TREATMENT_OFF
            return
        self._state = layout.TREATMENT_ON
        try:
            for part in self._parts:
                self._on.append(part)
                part.put_on()
        except RefusedError as error:
            self._withdraw(mailbox, str(error), layout.TREATMENT_REFUSED)
        except Exception as error:
            self._withdraw(mailbox, _told(error))
            foreign_errors.pass_on(error)

    def _withdraw(
        self, mailbox: Mailbox, why: str, state: int = layout.TREATMENT_WITHDRAWN
    ) -> None:
        self._take_off()
        self._state = state
        _reply(mailbox, why)
        mailbox.cells[layout.CELL_TREATMENT_STATE] = (
            self._number * layout.TREATMENT_STATES + self._state
        )

    def _take_off(self) -> None:
        if self._state != layout.TREATMENT_ON:
            return
        on, self._on = self._on, []
        for part in reversed(on):
            try:
                part.take_off()
            except Exception as error:
                foreign_errors.pass_on(error)


def _in_one_function(parts: Any) -> list[list[dict[str, Any]]]:
    """The parts, and in one list those that compile the same function anew: of two codes it could have one alone."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for number, part in enumerate(parts):
        is_edit = part["way"] == "edit"
        function = (part["file"], part["line"], part["name"]) if is_edit else number
        groups.setdefault(function, []).append(part)
    return [*groups.values()]


def _told(error: BaseException) -> str:
    try:
        return "%s: %s" % (type(error).__name__, error)
    except Exception as failed:
        foreign_errors.pass_on(failed)
        return type(error).__name__


def _reply(mailbox: Mailbox, text: str) -> None:
    told = text.encode("utf-8", "backslashreplace")[: layout.REPLY_SIZE - layout.LENGTH.size]
    start = layout.LENGTH.size
    mailbox.reply[start : start + len(told)] = told
    mailbox.reply[:start] = layout.LENGTH.pack(len(told))


_treatment = ProcessTreatment()
"""That of this process. A forked child has its parent's, whose functions are treated in it as they were there, until its own
recorder tells it otherwise."""


def load() -> None:
    """Import all ways, before the program begins: later it could be in the middle of an import of what they need."""
    for file, _ in WAYS.values():
        __import__(__name__ + "." + file)


def follow(mailbox: Mailbox) -> None:
    _treatment.follow(mailbox)


def stop(mailbox: Mailbox, why: str) -> None:
    _treatment.stop(mailbox, why)


def end() -> None:
    """Take away what there is: nobody measures any more."""
    _treatment.end()


def library(name: str) -> Any:
    """The module ``name`` as the program has it. Raises ``AbsentError`` where it was not imported."""
    module = sys.modules.get(name)
    if module is None:
        raise AbsentError(name)
    return module
