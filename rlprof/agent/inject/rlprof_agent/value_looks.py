"""Looks at the values that a line works on: described, never kept, and nothing of the program is called.

The recorder asks for them by frame: it knows which lines are hot, and reads in their source which names they use.
A path is a name and the steps from it: ``.attribute``, ``i`` and a number, or ``s`` and a text, for what is indexed
with it. What is there is told as ``value_descriptions.py`` has it; an empty description stands for a name that nothing was
found for.

Of a path that begins with ``PRINT`` it is also told whether its value is what it was at the look before (``value_prints.py``). Paths with a ``PAIR``
are looked at a second time, in one of the next samples that meets the function, to tell what stays the same from call to call.

A path that begins with ``COUNT`` and the name of a method goes on with the first and the last line of a statement and a path
to an object: from then on its calls in that statement are counted as steps.
"""

from __future__ import annotations

from . import foreign_errors, layout
from .counted import own_environments
from .foreign_errors import CO_OPTIMIZED, KEEPS_SNAPSHOT
from .plain_reads import (
    FUNCTIONS,
    INDEXED,
    LINE,
    MISSING,
    PART,
    MemberDescriptorType,
    ModuleType,
    in_classes,
    is_field_of_named_tuple,
    is_metaclass,
    members_of,
    name_of,
    own_attribute,
)
from .real import time
from .value_descriptions import described, function_fields
from .value_prints import MOST_LEAVES, print_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Optional

    from .mailbox import Mailbox

COUNT = "\x1e"
"""Before the name of a method whose calls are to be counted."""
PRINT = "\x1d"
"""Before the name at the beginning of a path whose value is to be compared."""
PAIR = "\x1c"
"""The same, of a value that is to be compared a second time soon."""

_READS_FRAMES = frozenset(("f_locals", "getargvalues"))
"""Who uses one of these names may hold the snapshot of another frame's locals, which a look renews and empties."""
_READS_ITSELF = _READS_FRAMES.union(
    ("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe")
)
"""The same of its own."""

_HANDS_OUT = frozenset(map(id, (locals, vars, dir, eval, exec)))
"""The functions, which a program may have under other names."""

_MOST_KEYS = 1_000
"""Most keys of a dictionary that is looked up in, each of which takes some 20 ns to check."""
_SHORT = 0xFFFFFFFF
"""Bits that are compared."""
_PATIENCE = 100
"""Samples in which frames may be that do not come."""
_SOON = 6
"""Samples after a look in which the second one of a pair may come."""
_MOST_AT_ONCE = 4
"""Looks of one stack, each of which takes some 10 µs for a name."""
_MOST_SPENT = MOST_LEAVES // 4
"""Leaves that a look has compared after which the others of its stack wait for another sample."""


def may_look(frame: FrameType, innermost: Optional[FrameType]) -> bool:
    """Tell whether neither the code of ``frame`` nor what it is in the middle of has hold of its locals."""
    names = frame.f_globals
    called = frame.f_code.co_names
    if not _READS_ITSELF.isdisjoint(called) or type(names) is not dict:
        return False
    if any(id(names.get(name)) in _HANDS_OUT for name in called):
        return False
    if not frame.f_code.co_flags & CO_OPTIMIZED and frame.f_locals is not names:
        return False  # A class body, whose locals become the class, or a namespace of the program's own making.
    while innermost is not None and innermost is not frame:
        if not _READS_FRAMES.isdisjoint(innermost.f_code.co_names):
            return False
        innermost = innermost.f_back
    return True


def look(frame: FrameType, paths: str, leaves: list[int]) -> str:
    """Return what ``paths`` lead to in ``frame``, as descriptions in their order; ``leaves`` is how many may be compared."""
    names = frame.f_locals
    try:
        return LINE.join(
            [_followed(path.split(PART), names, frame, leaves) for path in paths.split(LINE)]
        )
    finally:
        if KEEPS_SNAPSHOT and frame.f_code.co_flags & CO_OPTIMIZED:
            names.clear()


def _followed(steps: list[str], names: Any, frame: FrameType, leaves: list[int]) -> str:
    """The description of what is at the end of ``steps``, or of how the program would get on from there."""
    name = steps[0].lstrip(PRINT + PAIR)
    is_compared = name != steps[0]
    value, computed = _at_the_end([name, *steps[1:]], names, frame)
    if value is MISSING:
        return computed
    try:
        fields = described(value)
        contents = print_of(value, leaves) if is_compared else None
    except BaseException as error:
        if foreign_errors.goes_on_from_a_look(error):
            raise
        return ""  # It is not what it seems, as a tensor that has no shape.
    return PART.join(fields if contents is None else [*fields, "print=%x" % (contents & _SHORT)])


def _at_the_end(steps: list[str], names: Any, frame: FrameType) -> tuple[Any, str]:
    """The value at the end of ``steps``, or ``MISSING`` and a description of what would compute it."""
    value = names.get(steps[0], MISSING)
    for outer in (frame.f_globals, frame.f_builtins):
        if value is MISSING and type(outer) is dict:
            value = outer.get(steps[0], MISSING)
    computed = ""
    for step in steps[1:]:
        if value is MISSING:
            return MISSING, ""
        if step[0] == ".":
            value, computed = _attribute(value, step[1:])
        else:
            value = _item(value, step)
    return value, computed


def _item(container: Any, step: str) -> Any:
    kind = type(container)
    key: Any = int(step[1:]) if step[0] == "i" else step[1:]
    if kind is dict:
        return container.get(key, MISSING) if _has_plain_keys(container) else MISSING
    if id(kind) in INDEXED and step[0] == "i" and -len(container) <= key < len(container):
        return container[key]
    return MISSING


def _has_plain_keys(mapping: dict[Any, Any]) -> bool:
    """Tell whether no key's own ``==`` would be asked."""
    if len(mapping) > _MOST_KEYS:
        return False
    return all(type(key) is str or type(key) is int for key in mapping)


def _attribute(owner: Any, name: str) -> tuple[Any, str]:
    """The attribute, or ``MISSING`` and a description of what would compute it."""
    kind = type(owner)
    if kind is ModuleType:
        return members_of(owner).get(name, MISSING), ""
    if is_metaclass(kind):
        return in_classes(owner, name), ""
    found = in_classes(kind, name)
    if type(found) is property:
        fields = ["type=property", *function_fields(found.fget)]
        return MISSING, PART.join([*fields, "owner=" + name_of(kind)])
    if found is not MISSING and in_classes(type(found), "__get__") is not MISSING:
        if type(found) is MemberDescriptorType or is_field_of_named_tuple(found):
            return own_attribute(owner, name), ""
        return (found if id(type(found)) in FUNCTIONS else MISSING), ""
    value = own_attribute(owner, name)
    if value is MISSING and in_classes(kind, "__getattr__") is not MISSING:
        return MISSING, PART.join(("type=__getattr__", "owner=" + name_of(kind)))
    return value, ""


class ValueLooks:
    """The looks that the recorder asks for, each for the next sample in which its frame is met."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self.wanted: dict[int, str] = {}
        """Paths, by the number of the frame."""
        self._in_vain: set[int] = set()
        """Stacks in which no frame is wanted."""
        self._waited = 0
        """Samples since something was asked for."""
        self._counted: dict[tuple[int, int], own_environments.OwnEnvironment] = {}
        """Whose calls are counted, by the number of the frame and that of the path, until that is told."""
        self._again: list[tuple[int, int, str]] = []
        """Second looks of pairs: the ``id`` of the function's code, the number of the frame that was met, and the paths."""
        self._again_left = 0
        """Samples in which they may come."""
        self._counting_ns = 0
        """CPU time that it took to begin to count calls, and was not told yet."""

    @property
    def are_due(self) -> bool:
        """True if there is something to look for, or to tell."""
        return bool(self.wanted or self._counted or self._again)

    @property
    def are_soon(self) -> bool:
        """True if the second look of a pair is still to come."""
        return bool(self._again)

    def taken_counting_ns(self) -> int:
        """Return the CPU time spent on beginning to count since the last call: a count is timed first, for up to 12 ms. It is no
        look's: the looks of the whole run may cost as much.
        """
        taken, self._counting_ns = self._counting_ns, 0
        return taken

    def hear(self, resets: int) -> None:
        """Take in what is asked for, unless frames were numbered anew since: ``resets`` says how often."""
        cells, batch = self._mailbox.cells, self._mailbox.looks_asked
        since, count = layout.LOOKS.unpack_from(batch, 0)
        self._want_nothing()
        at = layout.LOOKS.size
        for _ in range(count if since == resets else 0):
            number, size = layout.LOOK_ASKED.unpack_from(batch, at)
            at += layout.LOOK_ASKED.size
            self.wanted[number] = bytes(batch[at : at + size]).decode("utf-8", "replace")
            at += size
        # Last: the recorder may ask for more from here on.
        cells[layout.CELL_LOOKS_TAKEN] = cells[layout.CELL_LOOKS_ASKED]

    def forget(self) -> None:
        """Frames are numbered anew: want nothing more of what was asked for."""
        self._want_nothing()
        self._counted.clear()
        self._again.clear()

    def _want_nothing(self) -> None:
        self.wanted.clear()
        self._in_vain.clear()
        self._waited = 0

    def take(
        self, stack: int, innermost: Optional[FrameType], numbers: dict[tuple[int, int], int]
    ) -> None:
        """Look where a frame of the stack is wanted; ``numbers`` are those of frames, by code and instruction."""
        self._announce_counted()
        self._look_again(innermost)
        self._waited += 1
        if self._waited > _PATIENCE:
            self._want_nothing()
        if stack in self._in_vain or not self.wanted:
            return
        frame, left, spent = innermost, _MOST_AT_ONCE, 0
        while frame is not None and left and spent <= _MOST_SPENT:
            number = numbers.get((id(frame.f_code), frame.f_lasti), -1)
            paths = self.wanted.get(number)
            if paths is not None and may_look(frame, innermost):
                # Once will do for a line, which is wanted at each of its instructions.
                for other in [
                    instruction for instruction, same in self.wanted.items() if same == paths
                ]:
                    del self.wanted[other]
                left -= 1
                if paths[0] == COUNT:
                    begun = time.thread_time_ns()
                    try:
                        self._count(number, frame, paths)
                    finally:
                        self._counting_ns += time.thread_time_ns() - begun
                    frame = frame.f_back
                    continue
                spent += self._look(layout.TAG_LOOK, number, frame, paths)
                pairs = [path for path in paths.split(LINE) if path[0] == PAIR]
                if (
                    pairs
                ):  # They stand before all others, so that the recorder knows which is which.
                    self._again.append((id(frame.f_code), number, LINE.join(pairs)))
                    self._again_left = _SOON
            frame = frame.f_back
        if left == _MOST_AT_ONCE:
            self._in_vain.add(stack)

    def _look_again(self, innermost: Optional[FrameType]) -> None:
        """Take the second looks of pairs, of which nobody knows the line that the function will be at."""
        frame, spent = innermost, 0
        while frame is not None and self._again and spent <= _MOST_SPENT:
            for wanted in [second for second in self._again if second[0] == id(frame.f_code)]:
                if may_look(frame, innermost):
                    self._again.remove(wanted)
                    spent += self._look(layout.TAG_LOOK_AGAIN, wanted[1], frame, wanted[2])
            frame = frame.f_back
        self._again_left -= 1
        if self._again_left <= 0:
            self._again.clear()

    def _look(self, tag: int, number: int, frame: FrameType, paths: str) -> int:
        """Tell what ``paths`` lead to; the leaves that were compared for it."""
        leaves = [MOST_LEAVES]
        told = look(frame, paths, leaves).encode("utf-8", "backslashreplace")
        if len(told) <= layout.MAX_NAME:
            self._mailbox.write(layout.LOOK.pack(tag, number, len(told)) + told)
        return MOST_LEAVES - leaves[0]

    def _count(self, number: int, frame: FrameType, paths: str) -> None:
        """Begin to count the calls that ``paths`` name, where ``frame`` has their objects by now."""
        code = frame.f_code
        for index, path in enumerate(paths.split(LINE)):
            method, first, last, *owner = path.split(PART)
            names = frame.f_locals
            try:
                stepped, _ = _at_the_end(owner, names, frame)
            finally:
                if KEEPS_SNAPSHOT and code.co_flags & CO_OPTIMIZED:
                    names.clear()
            own = None
            if stepped is not MISSING:
                own = own_environments.find(stepped, method[len(COUNT) :])
            if own is not None:
                own.count_at(code, int(first), int(last))
                self._counted[number, index] = own

    def _announce_counted(self) -> None:
        """Those whose first result has come."""
        for place, own in list(self._counted.items()):
            if own.is_judged:
                self._mailbox.write(
                    layout.COUNTED.pack(layout.TAG_COUNTED, *place, min(1, own.size))
                )
                del self._counted[place]
