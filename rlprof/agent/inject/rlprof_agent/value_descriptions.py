"""What is told of a value: its type, size, elements and origin. Nothing of it is kept, and nothing of the program is called.

A description is fields ``name=value``; what is first in a container has its own as ``first.name=value``.
"""

from __future__ import annotations

import sys

from . import layout, optimized

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

LINE, PART = "\n", "\x1f"
"""What stands between paths or descriptions, and between the steps or fields of one."""

_MOST_ELEMENTS = 4
"""Of a container, compared with the first."""
_MOST_BASES = 8
_MOST_TEXT = 200
_MOST_PARAMETERS = 100
"""Of a network, and modules in it; each takes 1 to 2 µs."""

# Not from ``types``, which would be one more in ``sys.modules``.
FunctionType: Any = type(layout.window_cell)
MethodType: Any = type(layout.window_cell.__get__(0))
MemberDescriptorType: Any = type(FunctionType.__globals__)
ModuleType: Any = type(sys)
BuiltinFunctionType: Any = type(len)
MethodDescriptorType: Any = type(str.join)

# By identity, for ``==`` asks the metaclass.
_SIZED = frozenset(map(id, (str, bytes, bytearray, memoryview, range, set, frozenset)))
INDEXED = frozenset(map(id, (list, tuple)))
FUNCTIONS = frozenset(
    map(
        id,
        (FunctionType, BuiltinFunctionType, MethodDescriptorType, staticmethod, classmethod),
    )
)

_NUMPY_FUNCTIONS = ("=numpy.ufunc", "=numpy._ArrayFunctionDispatcher")

_PARAMETER = "torch.nn.parameter.Parameter"

MISSING: Any = object()

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
members_of: Any = ModuleType.__dict__["__dict__"].__get__


def is_metaclass(kind: type) -> bool:
    """Whether what is of class ``kind`` is a class itself."""
    return bool(_flags_of(kind) & _IS_METACLASS)


def in_classes(kind: type, name: str) -> Any:
    """What ``kind`` or its bases define by ``name``, or ``MISSING``."""
    for each in _classes_of(kind):
        members = _names_of(each)
        if name in members:
            return members[name]
    return MISSING


def own_attribute(owner: Any, name: str) -> Any:
    """An attribute of the object's own, in a slot, or registered with a module of torch's."""
    try:
        # Not through ``__dict__``, which is made anew where Python 3.11 and 3.12 keep values in the object.
        return object.__getattribute__(owner, name)
    except AttributeError:
        pass
    for registry in ("_modules", "_parameters", "_buffers"):
        if in_classes(type(owner), registry) is not MISSING:
            return MISSING  # A property of that name would be called.
        try:
            held = object.__getattribute__(owner, registry)
        except AttributeError:
            return MISSING
        if type(held) is dict and name in held:
            return held[name]
    return MISSING


def described(value: Any, prefix: str = "") -> list[str]:
    """The fields of ``value``, each with ``prefix`` before its name."""
    kind = type(value)
    fields = [prefix + "type=" + name_of(kind)]
    if id(kind) in _SIZED:
        fields.append(prefix + "length=%d" % len(value))
    elif id(kind) in INDEXED or kind is dict or fields[0].endswith("=collections.deque"):
        fields.append(prefix + "length=%d" % len(value))
        if value and not prefix:
            fields += _elements(value, kind)
    elif kind is MethodType:
        fields += function_fields(value.__func__, prefix)
        fields.append(prefix + "owner=" + name_of(type(value.__self__)))
    elif id(kind) in FUNCTIONS:
        fields += function_fields(value, prefix)
    elif is_metaclass(kind):
        fields += [prefix + "class=" + name_of(value), *_origin(value, prefix)]
    elif fields[0].endswith("=functools.partial"):
        # With all that is told of what it calls, but for the type.
        fields += described(own_attribute(value, "func"), prefix)[1:]
    elif fields[0].endswith(_NUMPY_FUNCTIONS):
        name = own_attribute(value, "__name__")
        fields.append(prefix + "function=" + _joined("numpy", name if type(name) is str else "?"))
    elif kind is not ModuleType:
        fields += _array(value, kind, prefix) or _object(value, kind, prefix)
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
            return [*described(first, "first."), "mixed=1"]
    return described(first, "first.")


def _array(value: Any, kind: type, prefix: str) -> list[str]:
    """Shape and element type of an array of numpy's or torch's, whose own code reads them."""
    name = name_of(kind)
    if name == "numpy.ndarray":
        shape, dtype, device = value.shape, value.dtype.kind + str(value.dtype.itemsize), ""
    elif name in ("torch.Tensor", _PARAMETER) and _torch_is_plain():
        shape, dtype, device = value.shape, str(value.dtype), value.device.type
    else:
        return []
    fields = ["shape=" + ",".join(map(str, shape)), "dtype=" + dtype]
    if device:
        fields += ["device=" + device, "grad=%d" % value.requires_grad]
    return [prefix + field for field in fields]


def _object(value: Any, kind: type, prefix: str) -> list[str]:
    """What its class is; of a network, but for one within a container, also how it learns."""
    fields = _origin(kind, prefix)
    if fields and not prefix and "torch.nn.modules.module.Module" in fields[0]:
        fields += _learning(value)
    return fields


def _learning(network: Any) -> list[str]:
    """Of a network of torch's whether an optimizer moves it; where none does, whether it is given gradients all the same, and how
    often its parameters were changed by anything else.
    """
    if not optimized.are_known() or not _torch_is_plain():
        return []
    parameters: list[Any] = []
    modules = [network]
    for module in modules:  # Those within it are added on the way.
        if module is None:
            continue
        own, within = _registered(module, "_parameters"), _registered(module, "_modules")
        if own is None or within is None or len(modules) + len(within) > _MOST_PARAMETERS:
            return []
        modules += within.values()
        for parameter in own.values():
            if optimized.moves(parameter):
                return ["optimized=1"]
            if parameter is not None:
                parameters.append(parameter)
    if not 0 < len(parameters) <= _MOST_PARAMETERS:
        return []
    if {name_of(kind) for kind in {type(each) for each in parameters}} != {_PARAMETER}:
        return []
    try:
        changes = sum([each._version for each in parameters])
    except RuntimeError:
        return []  # Made for inference alone.
    # torch warns where the gradient of what is no leaf is asked for.
    leaves = [each for each in parameters if each.is_leaf and each.requires_grad]
    has_gradients = any(each.grad is not None for each in leaves)
    return ["optimized=0", "gradients=%d" % has_gradients, "changes=%d" % changes]


def _registered(module: Any, registry: str) -> Any:
    """What is registered with a module of torch's, or None where it would have to be computed."""
    if in_classes(type(module), registry) is not MISSING:
        return None
    try:
        held = object.__getattribute__(module, registry)
    except AttributeError:
        return None
    return held if type(held) is dict else None


def _torch_is_plain() -> bool:
    """Whether no mode of the program's would be called to read a tensor's shape."""
    torch = sys.modules.get("torch._C")
    if type(torch) is not ModuleType:
        return False
    count = members_of(torch).get("_len_torch_function_stack")
    return count is not None and count() == 0


def function_fields(value: Any, prefix: str = "") -> list[str]:
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
        name, place = _joined(name_of(value.__objclass__), value.__name__), []
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
    kind = owner if is_metaclass(type(owner)) else type(owner)
    return "%s.%s" % (_plain(_qualname_of(kind)), value.__name__)


def _origin(kind: type, prefix: str) -> list[str]:
    """What a class is derived from, and the file that it is of."""
    bases = [name_of(each) for each in _classes_of(kind)[1:-1][:_MOST_BASES]]
    fields = ["bases=" + ",".join(bases)] if bases else []
    name = _module_of(kind)
    module = sys.modules.get(name) if type(name) is str else None
    if type(module) is ModuleType:
        file = members_of(module).get("__file__")
        if type(file) is str:
            fields.append("file=" + _text(file))
    return [prefix + field for field in fields]


def name_of(kind: type) -> str:
    """The qualified name of a class, with its module."""
    return _joined(_module_of(kind), _qualname_of(kind))


def _joined(module: Any, name: str) -> str:
    """Whoever writes a program may put anything in ``__module__``."""
    is_told = type(module) is str and module != "builtins"
    return _text("%s.%s" % (module, _plain(name)) if is_told else name)


def _text(text: str) -> str:
    """``text`` as it may stand in a field."""
    return str(_plain(text)[:_MOST_TEXT].replace(LINE, " ").replace(PART, " "))
