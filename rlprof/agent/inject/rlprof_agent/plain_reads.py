"""Objects of the program's, read without calling any code of its: of any class, be its metaclass what it may."""

from __future__ import annotations

import sys

from . import foreign_errors, layout

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

LINE, PART = "\n", "\x1f"
"""Separators between paths or descriptions, and between the steps or fields of one."""
_MOST_TEXT = 200

# Not from ``types``, which would be one more in ``sys.modules``.
FunctionType: Any = type(layout.window_cell)
MethodType: Any = type(layout.window_cell.__get__(0))
MemberDescriptorType: Any = type(FunctionType.__globals__)
GetSetDescriptorType: Any = type(FunctionType.__code__)
ModuleType: Any = type(sys)
BuiltinFunctionType: Any = type(len)
MethodDescriptorType: Any = type(str.join)

# By identity, for ``==`` asks the metaclass.
INDEXED = frozenset(map(id, (list, tuple)))
FUNCTIONS = frozenset(
    map(
        id,
        (FunctionType, BuiltinFunctionType, MethodDescriptorType, staticmethod, classmethod),
    )
)

MISSING: Any = object()

# Of any class, be its metaclass what it may.
classes_of: Any = type.__dict__["__mro__"].__get__
names_of: Any = type.__dict__["__dict__"].__get__
qualname_of: Any = type.__dict__["__qualname__"].__get__
module_of: Any = type.__dict__["__module__"].__get__
flags_of: Any = type.__dict__["__flags__"].__get__
_IS_METACLASS = 1 << 31
"""``Py_TPFLAGS_TYPE_SUBCLASS``."""
_IS_ON_HEAP = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``."""
plain: Any = str.__str__
"""A text as no class of the program's, whose methods would be called."""
members_of: Any = ModuleType.__dict__["__dict__"].__get__


def is_metaclass(kind: type) -> bool:
    """Tell whether what is of class ``kind`` is a class itself."""
    return bool(flags_of(kind) & _IS_METACLASS)


def is_made_by_a_program(kind: type) -> bool:
    """Tell whether it was made while Python ran; the classes of Python and numpy themselves were not."""
    return bool(flags_of(kind) & _IS_ON_HEAP)


def with_subclasses(base: type) -> list[type]:
    """Return ``base`` and all classes below it, each once."""
    found, known = [base], {id(base)}
    for each in found:
        subclasses: list[type] = type.__subclasses__(each)
        for subclass in subclasses:
            # By number: a metaclass of the program's may say what is equal.
            if id(subclass) not in known:
                known.add(id(subclass))
                found.append(subclass)
    return found


def in_classes(kind: type, name: str) -> Any:
    """Return what ``kind`` or its bases define by ``name``, or ``MISSING``."""
    for each in classes_of(kind):
        members = names_of(each)
        if name in members:
            return members[name]
    return MISSING


def own_attribute(owner: Any, name: str) -> Any:
    """An attribute of the object's own, in a slot, or registered with a module of torch's; else ``MISSING``."""
    found = kept_as(owner, name)
    for registry in ("_modules", "_parameters", "_buffers"):
        if found is not MISSING:
            break
        held = registered(owner, registry)
        if held is None:
            break
        found = held.get(name, MISSING)
    return found


def registered(module: Any, registry: str) -> Any:
    """The dictionary of what is registered with a module of torch's; None where it would have to be computed."""
    if in_classes(type(module), registry) is not MISSING:
        return None
    held = kept_as(module, registry)
    return held if type(held) is dict else None


def kept_as(owner: Any, name: str) -> Any:
    """An attribute of an object or of its class, a property's included; else ``MISSING``."""
    try:
        # Not through ``__dict__``: where Python 3.11 and 3.12 keep values in the object, that makes it one for good, and all that the
        # program reads of it takes longer (CartPole's step 12 %).
        return object.__getattribute__(owner, name)
    except AttributeError as error:
        if foreign_errors.trim(error):
            raise
        return MISSING


def loaded(name: str) -> Any:
    """The module of that name, if it is imported; its names are ``members_of`` it."""
    modules = sys.modules
    module = modules.get(name) if type(modules) is dict else None
    return module if type(module) is ModuleType else None


def is_class(kind: type, module: str, name: str) -> bool:
    """Tell whether it is the class ``name`` of ``module``; what a class says of itself may be said by another one, too."""
    found = loaded(module)
    return found is not None and members_of(found).get(name) is kind


def is_field_of_named_tuple(found: Any) -> bool:
    """Tell whether it reads an element of the tuple by its name, which is done in C."""
    return is_class(type(found), "_collections", "_tuplegetter")


def beside_torch_modes() -> Any:
    """A context in which no mode of torch hears of what is read of a tensor, as ``set_default_device`` has one on for good; None before
    torch 2.0, and where a trace takes part.
    """
    torch = loaded("torch._C")
    members = members_of(torch) if torch is not None else {}
    trace = members.get("_get_tracing_state")
    # Since there are two of these, the first is for modes, too.
    if "DisableTorchFunctionSubclass" not in members or (trace is not None and trace() is not None):
        return None
    return members["DisableTorchFunction"]()


def name_of(kind: type) -> str:
    """The qualified name of a class, with its module."""
    return joined(module_of(kind), qualname_of(kind))


def joined(module: Any, name: str) -> str:
    """Whoever writes a program may put anything in ``__module__``."""
    is_told = type(module) is str and module != "builtins"
    return text_of("%s.%s" % (module, plain(name)) if is_told else name)


def text_of(text: str) -> str:
    """``text`` as it may stand in a field."""
    return str(plain(text)[:_MOST_TEXT].replace(LINE, " ").replace(PART, " "))
