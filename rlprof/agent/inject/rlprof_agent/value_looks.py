"""Looks at the values that a line works on: described, never kept, and nothing of the program is called.

The recorder asks for them by frame: it knows which lines are hot, and reads in their source which names they use.
A path is a name and the steps from it: ``.attribute``, ``i`` and a number, or ``s`` and a text, for what is indexed
with it. A description is fields ``name=value``; what is first in a container has its own as ``first.name=value``.
An empty one stands for a name that nothing was found for.

A path that begins with ``COUNT`` and the name of a method goes on with the first and the last line of a statement and a path
to an object: from then on its calls in that statement are counted as steps.
"""

from __future__ import annotations

import sys

from . import layout
from .counted import own_environments

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Optional

    from .mailbox import Mailbox

LINE, PART = "\n", "\x1f"
"""What stands between paths or descriptions, and between the steps or fields of one."""

COUNT = "\x1e"
"""Before the name of a method whose calls are to be counted."""

_READS_FRAMES = frozenset(("f_locals", "getargvalues"))
"""Who uses one of these names may hold the snapshot of another frame's locals, which a look renews and empties."""
_READS_ITSELF = _READS_FRAMES.union(
    ("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe")
)
"""The same of its own."""

_CO_OPTIMIZED = 1
_KEEPS_SNAPSHOT = sys.version_info < (3, 13)
"""Whether ``f_locals`` of a function stays in its frame, and with it every value, until the next one."""

_MOST_ELEMENTS = 4
"""Of a container, compared with the first."""
_MOST_KEYS = 1_000
"""Of a dictionary that is looked up in, each of which takes some 20 ns to check."""
_MOST_BASES = 8
_MOST_TEXT = 200
_PATIENCE = 100
"""Samples in which frames may be that do not come."""
_MOST_AT_ONCE = 4
"""Looks of one stack, each of which takes some 10 µs for a name."""

# Not from ``types``, which would be one more in ``sys.modules``.
FunctionType: Any = type(layout.window_cell)
MethodType: Any = type(layout.window_cell.__get__(0))
MemberDescriptorType: Any = type(FunctionType.__globals__)
ModuleType: Any = type(sys)
BuiltinFunctionType: Any = type(len)
MethodDescriptorType: Any = type(str.join)

# By identity, for ``==`` asks the metaclass.
_SIZED = frozenset(map(id, (str, bytes, bytearray, memoryview, range, set, frozenset)))
_INDEXED = frozenset(map(id, (list, tuple)))
_FUNCTIONS = frozenset(
    map(
        id,
        (FunctionType, BuiltinFunctionType, MethodDescriptorType, staticmethod, classmethod),
    )
)

_NUMPY_FUNCTIONS = ("=numpy.ufunc", "=numpy._ArrayFunctionDispatcher")

_MISSING: Any = object()

# Of any class, be its metaclass what it may.
_classes_of: Any = type.__dict__["__mro__"].__get__
_names_of: Any = type.__dict__["__dict__"].__get__
_qualname_of: Any = type.__dict__["__qualname__"].__get__
_module_of: Any = type.__dict__["__module__"].__get__
_flags_of: Any = type.__dict__["__flags__"].__get__
_IS_METACLASS = 1 << 31
"""``Py_TPFLAGS_TYPE_SUBCLASS``."""
_plain: Any = str.__str__
"""A text as no class of the program's, whose methods would be called."""
_members_of: Any = ModuleType.__dict__["__dict__"].__get__


def may_look(frame: FrameType, innermost: Optional[FrameType]) -> bool:
    """Whether neither the code of ``frame`` nor what it is in the middle of has hold of its locals."""
    if not _READS_ITSELF.isdisjoint(frame.f_code.co_names):
        return False
    if not frame.f_code.co_flags & _CO_OPTIMIZED:
        names = frame.f_globals
        if frame.f_locals is not names or type(names) is not dict:
            return False  # A class body, whose locals become the class, or a namespace of the program's own making.
    while innermost is not None and innermost is not frame:
        if not _READS_FRAMES.isdisjoint(innermost.f_code.co_names):
            return False
        innermost = innermost.f_back
    return True


def look(frame: FrameType, paths: str) -> str:
    """What ``paths`` lead to in ``frame``, as descriptions in their order."""
    names = frame.f_locals
    try:
        return LINE.join([_followed(path.split(PART), names, frame) for path in paths.split(LINE)])
    finally:
        if _KEEPS_SNAPSHOT and frame.f_code.co_flags & _CO_OPTIMIZED:
            names.clear()


def _followed(steps: list[str], names: Any, frame: FrameType) -> str:
    """The description of what is at the end of ``steps``, or of how the program would get on from there."""
    value, computed = _at_the_end(steps, names, frame)
    return computed if value is _MISSING else PART.join(_fields(value, ""))


def _at_the_end(steps: list[str], names: Any, frame: FrameType) -> tuple[Any, str]:
    """The value at the end of ``steps``, or ``_MISSING`` and a description of what would compute it."""
    value = names.get(steps[0], _MISSING)
    for outer in (frame.f_globals, frame.f_builtins):
        if value is _MISSING and type(outer) is dict:
            value = outer.get(steps[0], _MISSING)
    computed = ""
    for step in steps[1:]:
        if value is _MISSING:
            return _MISSING, ""
        if step[0] == ".":
            value, computed = _attribute(value, step[1:])
        else:
            value = _item(value, step)
    return value, computed


def _item(container: Any, step: str) -> Any:
    kind = type(container)
    key: Any = int(step[1:]) if step[0] == "i" else step[1:]
    if kind is dict:
        return container.get(key, _MISSING) if _has_plain_keys(container) else _MISSING
    if id(kind) in _INDEXED and step[0] == "i" and -len(container) <= key < len(container):
        return container[key]
    return _MISSING


def _has_plain_keys(mapping: dict[Any, Any]) -> bool:
    """Whether no key's own ``==`` would be asked."""
    if len(mapping) > _MOST_KEYS:
        return False
    return all(type(key) is str or type(key) is int for key in mapping)


def _attribute(owner: Any, name: str) -> tuple[Any, str]:
    """The attribute, or ``_MISSING`` and a description of what would compute it."""
    kind = type(owner)
    if kind is ModuleType:
        return _members_of(owner).get(name, _MISSING), ""
    if _flags_of(kind) & _IS_METACLASS:
        return _in_classes(owner, name), ""
    found = _in_classes(kind, name)
    if type(found) is property:
        fields = ["type=property", *_function(found.fget, "")]
        return _MISSING, PART.join([*fields, "owner=" + _name(kind)])
    if found is not _MISSING and _in_classes(type(found), "__get__") is not _MISSING:
        if type(found) is MemberDescriptorType:
            return _own(owner, name), ""
        return (found if id(type(found)) in _FUNCTIONS else _MISSING), ""
    value = _own(owner, name)
    if value is _MISSING and _in_classes(kind, "__getattr__") is not _MISSING:
        return _MISSING, PART.join(("type=__getattr__", "owner=" + _name(kind)))
    return value, ""


def _in_classes(kind: type, name: str) -> Any:
    for each in _classes_of(kind):
        members = _names_of(each)
        if name in members:
            return members[name]
    return _MISSING


def _own(owner: Any, name: str) -> Any:
    """An attribute of the object's own, in a slot, or registered with a module of torch's."""
    try:
        # Not through ``__dict__``, which is made anew where Python 3.11 and 3.12 keep values in the object.
        return object.__getattribute__(owner, name)
    except AttributeError:
        pass
    for registry in ("_modules", "_parameters", "_buffers"):
        if _in_classes(type(owner), registry) is not _MISSING:
            return _MISSING  # A property of that name would be called.
        try:
            held = object.__getattribute__(owner, registry)
        except AttributeError:
            return _MISSING
        if type(held) is dict and name in held:
            return held[name]
    return _MISSING


def _fields(value: Any, prefix: str) -> list[str]:
    kind = type(value)
    fields = [prefix + "type=" + _name(kind)]
    if id(kind) in _SIZED:
        fields.append(prefix + "length=%d" % len(value))
    elif id(kind) in _INDEXED or kind is dict or fields[0].endswith("=collections.deque"):
        fields.append(prefix + "length=%d" % len(value))
        if value and not prefix:
            fields += _elements(value, kind)
    elif kind is MethodType:
        fields += _function(value.__func__, prefix)
        fields.append(prefix + "owner=" + _name(type(value.__self__)))
    elif id(kind) in _FUNCTIONS:
        fields += _function(value, prefix)
    elif _flags_of(kind) & _IS_METACLASS:
        fields += [prefix + "class=" + _name(value), *_origin(value, prefix)]
    elif fields[0].endswith("=functools.partial"):
        # With all that is told of what it calls, but for the type.
        fields += _fields(_own(value, "func"), prefix)[1:]
    elif fields[0].endswith(_NUMPY_FUNCTIONS):
        name = _own(value, "__name__")
        fields.append(prefix + "function=" + _joined("numpy", name if type(name) is str else "?"))
    elif kind is not ModuleType:
        fields += _array(value, kind, prefix) or _origin(kind, prefix)
    if _is_standard(value.__self__ if kind is BuiltinFunctionType else value):
        fields.append(prefix + "standard=1")
    return fields


def _is_standard(value: Any) -> bool:
    """Whether it is the stream that a terminal shows."""
    return value is not None and (value is sys.stdout or value is sys.stderr)


def _elements(container: Any, kind: type) -> list[str]:
    """What its first element is, and whether the next few are of the same type."""
    elements = iter(container.values() if kind is dict else container)
    first = next(elements)
    for _ in range(_MOST_ELEMENTS):
        if type(next(elements, first)) is not type(first):
            return [*_fields(first, "first."), "mixed=1"]
    return _fields(first, "first.")


def _array(value: Any, kind: type, prefix: str) -> list[str]:
    """Shape and element type of an array of numpy's or torch's, whose own code reads them."""
    name = _name(kind)
    if name == "numpy.ndarray":
        shape, dtype, device = value.shape, value.dtype.kind + str(value.dtype.itemsize), ""
    elif name in ("torch.Tensor", "torch.nn.parameter.Parameter") and _torch_is_plain():
        shape, dtype, device = value.shape, str(value.dtype), value.device.type
    else:
        return []
    fields = ["shape=" + ",".join(map(str, shape)), "dtype=" + dtype]
    if device:
        fields += ["device=" + device, "grad=%d" % value.requires_grad]
    return [prefix + field for field in fields]


def _torch_is_plain() -> bool:
    """Whether no mode of the program's would be called to read a tensor's shape."""
    torch = sys.modules.get("torch._C")
    if type(torch) is not ModuleType:
        return False
    count = _members_of(torch).get("_len_torch_function_stack")
    return count is not None and count() == 0


def _function(value: Any, prefix: str) -> list[str]:
    """Which function it is, and where it is defined."""
    if type(value) is staticmethod or type(value) is classmethod:
        value = value.__func__
    value = _uncounted(value)
    if type(value) is FunctionType:
        code = value.__code__
        name = _joined(value.__module__, getattr(code, "co_qualname", value.__qualname__))
        place = ["file=" + _text(code.co_filename), "line=%d" % code.co_firstlineno]
    elif type(value) is BuiltinFunctionType:
        name, place = _joined(value.__module__, _builtin(value)), []
    elif type(value) is MethodDescriptorType:
        name, place = _joined(_name(value.__objclass__), value.__name__), []
    else:
        return []
    return [prefix + field for field in ("function=" + name, *place)]


def _uncounted(function: Any) -> Any:
    """The program's function where ``function`` is one of ours that counts its calls."""
    while type(function) is FunctionType and function.__code__.co_filename == layout.COUNTED_FILE:
        names = function.__code__.co_freevars
        if "original" not in names:
            break
        function = function.__closure__[names.index("original")].cell_contents
    return function


def _builtin(value: Any) -> str:
    """The qualified name, which Python asks the class of its object for, and that may be the program's."""
    owner = value.__self__
    if owner is None or type(owner) is ModuleType:
        return str(value.__name__)
    kind = owner if _flags_of(type(owner)) & _IS_METACLASS else type(owner)
    return "%s.%s" % (_plain(_qualname_of(kind)), value.__name__)


def _origin(kind: type, prefix: str) -> list[str]:
    """What a class is derived from, and the file that it is of."""
    bases = [_name(each) for each in _classes_of(kind)[1:-1][:_MOST_BASES]]
    fields = ["bases=" + ",".join(bases)] if bases else []
    name = _module_of(kind)
    module = sys.modules.get(name) if type(name) is str else None
    if type(module) is ModuleType:
        file = _members_of(module).get("__file__")
        if type(file) is str:
            fields.append("file=" + _text(file))
    return [prefix + field for field in fields]


def _name(kind: type) -> str:
    return _joined(_module_of(kind), _qualname_of(kind))


def _joined(module: Any, name: str) -> str:
    """Whoever writes a program may put anything in ``__module__``."""
    is_told = type(module) is str and module != "builtins"
    return _text("%s.%s" % (module, _plain(name)) if is_told else name)


def _text(text: str) -> str:
    """``text`` as it may stand in a field."""
    return str(_plain(text)[:_MOST_TEXT].replace(LINE, " ").replace(PART, " "))


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

    @property
    def are_due(self) -> bool:
        """Whether there is something to look for, or to tell."""
        return bool(self.wanted or self._counted)

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

    def _want_nothing(self) -> None:
        self.wanted.clear()
        self._in_vain.clear()
        self._waited = 0

    def take(
        self, stack: int, innermost: Optional[FrameType], numbers: dict[tuple[int, int], int]
    ) -> None:
        """Look where a frame of the stack is wanted; ``numbers`` are those of frames, by code and instruction."""
        self._tell_what_counts()
        self._waited += 1
        if self._waited > _PATIENCE:
            self._want_nothing()
        if stack in self._in_vain or not self.wanted:
            return
        frame, left = innermost, _MOST_AT_ONCE
        while frame is not None and left:
            number = numbers.get((id(frame.f_code), frame.f_lasti), -1)
            paths = self.wanted.get(number)
            if paths is not None and may_look(frame, innermost):
                del self.wanted[number]
                left -= 1
                if paths[0] == COUNT:
                    self._count(number, frame, paths)
                    frame = frame.f_back
                    continue
                told = look(frame, paths).encode("utf-8", "backslashreplace")
                if len(told) <= layout.MAX_NAME:
                    head = layout.LOOK.pack(layout.TAG_LOOK, number, len(told))
                    self._mailbox.write(head + told)
            frame = frame.f_back
        if left == _MOST_AT_ONCE:
            self._in_vain.add(stack)

    def _count(self, number: int, frame: FrameType, paths: str) -> None:
        """Begin to count the calls that ``paths`` name, where ``frame`` has their objects by now."""
        code = frame.f_code
        for index, path in enumerate(paths.split(LINE)):
            method, first, last, *owner = path.split(PART)
            names = frame.f_locals
            try:
                stepped, _ = _at_the_end(owner, names, frame)
            finally:
                if _KEEPS_SNAPSHOT and code.co_flags & _CO_OPTIMIZED:
                    names.clear()
            own = None
            if stepped is not _MISSING:
                own = own_environments.find(stepped, method[len(COUNT) :])
            if own is not None:
                own.count_at(code, int(first), int(last))
                self._counted[number, index] = own

    def _tell_what_counts(self) -> None:
        """Those whose first result has come."""
        for place, own in list(self._counted.items()):
            if own.is_judged:
                self._mailbox.write(
                    layout.COUNTED.pack(layout.TAG_COUNTED, *place, min(1, own.size))
                )
                del self._counted[place]
