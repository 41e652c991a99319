"""Number the places in code at which stacks are taken, and tell the recorder of each once."""

from __future__ import annotations

from . import layout
from .code_places import file_of
from .held_codes import HeldCodes
from .mailbox import Mailbox

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType

_MODULE_CALL = "_call_impl"
"""Through this method of ``torch.nn.Module`` goes every call of a network."""


class FrameNumbers:
    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self.by_place: dict[tuple[int, int], int] = {}
        """By the identity of the code and the instruction."""
        self._of_sent: dict[tuple[str, str, int, int], int] = {}
        """Those of code that was sent, by file, function, line and instruction: joblib sends it with each task, and it is another object each
        time."""
        self._codes = HeldCodes()
        self.saw_torch = False
        """True if a module of torch was seen at work."""

    @property
    def are_too_many(self) -> bool:
        return self._codes.are_too_many

    def clear(self) -> None:
        self.by_place.clear()
        self._of_sent.clear()
        self._codes.clear()

    def number(self, frame: FrameType) -> int:
        """Return the number of where ``frame`` is; -1 where there is no room to tell of it."""
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        number = self.by_place.get(key)
        if number is None:
            number = self._new_number(frame)
            if number >= 0:
                self.by_place[key] = number
                self._codes.hold(code)
        return number

    def _new_number(self, frame: FrameType) -> int:
        code = frame.f_code
        file, function = file_of(code, frame.f_globals), getattr(code, "co_qualname", code.co_name)
        # None on instructions that the compiler made up.
        line = frame.f_lineno or code.co_firstlineno
        place = (file, function, line, frame.f_lasti)
        if place in self._of_sent:
            return self._of_sent[place]
        if code.co_name == _MODULE_CALL:
            self.saw_torch = True
        number = len(self.by_place)
        names = [_encoded(file), _encoded(function)]
        head = layout.FRAME.pack(layout.TAG_FRAME, number, line, *map(len, names))
        if not self._mailbox.write(head + b"".join(names)):
            return -1
        if code.co_filename == layout.UNNAMED_FILE:
            self._of_sent[place] = number
        return number


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")[: layout.MAX_NAME]
