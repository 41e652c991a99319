"""Tell what is told of a value: its type, size, elements and origin. Nothing of it is kept, and nothing of the program is called.

A description is fields ``name=value``; what is first in a container has its own as ``first.name=value``.
"""

from __future__ import annotations

import sys

from . import foreign_errors, layout, optimized
from .code_places import file_of
from .opened_streams import leads_to, printed_to
from .plain_reads import (
    FUNCTIONS,
    INDEXED,
    MISSING,
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    beside_torch_modes,
    classes_of,
    in_classes,
    is_class,
    is_made_by_a_program,
    is_metaclass,
    joined,
    loaded,
    members_of,
    module_of,
    name_of,
    own_attribute,
    plain,
    qualname_of,
    registered,
    text_of,
)
from .value_prints import truths_of_numbers

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

_MOST_ELEMENTS = 4
"""Most elements of a container compared with the first."""
_MOST_BASES = 8
_MOST_PARAMETERS = 100
"""Most parameters of a network, and modules in it; each takes 1 to 2 µs."""

# By identity, for ``==`` asks the metaclass.
_SIZED = frozenset(map(id, (str, bytes, bytearray, range, set, frozenset)))
_NUMPY_FUNCTIONS = ("=numpy.ufunc", "=numpy._ArrayFunctionDispatcher")

_NETWORK = "torch.nn.modules.module.Module"
_LISTS = "torch.nn.modules.container"
_FEWEST_NUMBERED = 3
"""Networks with numbered names of which it is told."""

_CYTHON = "cython_function_or_method"


def described(value: Any, prefix: str = "") -> list[str]:
    """The fields of ``value``, each with ``prefix`` before its name."""
    kind = type(value)
    fields = [prefix + "type=" + name_of(kind)]
    if id(kind) in _SIZED:
        fields.append(prefix + "length=%d" % len(value))
    elif id(kind) in INDEXED or _is_dict(kind) or is_class(kind, "collections", "deque"):
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
    elif is_class(kind, "functools", "partial"):
        # With all that is told of what it calls, but for the type.
        fields += described(own_attribute(value, "func"), prefix)[1:]
    elif fields[0].endswith(_NUMPY_FUNCTIONS) and not is_made_by_a_program(kind):
        name = own_attribute(value, "__name__")
        fields.append(prefix + "function=" + joined("numpy", name if type(name) is str else "?"))
    elif fields[0].endswith(_CYTHON) and _reads_its_name_in_c(kind):
        fields.append(prefix + "function=" + joined(value.__module__, value.__name__))
    elif kind is not ModuleType:
        fields += _array(value, kind, prefix) or _object(value, kind, prefix)
    stream = value.__self__ if kind is BuiltinFunctionType else value
    if _is_standard(stream):
        fields.append(prefix + "standard=1")
    led = printed_to() if value is print else leads_to(stream)
    if led:
        fields.append(prefix + "stream=" + led)
    return fields


def _is_standard(value: Any) -> bool:
    """Tell whether it is the stream that a terminal shows."""
    return value is not None and (value is sys.stdout or value is sys.stderr)


def _is_dict(kind: type) -> bool:
    return kind is dict or is_class(kind, "collections", "defaultdict")


def _elements(container: Any, kind: type) -> list[str]:
    """Return what its first element is, and whether the next few are of the same type."""
    elements = iter(container.values() if _is_dict(kind) else container)
    first = next(elements)
    few = [first]
    for _ in range(_MOST_ELEMENTS):
        element = next(elements, first)
        if type(element) is not type(first):
            return [*described(first, "first."), "mixed=1"]
        few.append(element)
    fields = described(first, "first.")
    if type(first) is list and first:  # A row of a table.
        fields.append("first.first.type=" + name_of(type(first[0])))
        if any(type(each) is not type(first[0]) for each in first[: _MOST_ELEMENTS + 1]):
            fields.append("first.mixed=1")
    is_network = any(_NETWORK in field for field in fields if field.startswith("first.bases="))
    return [*fields, *(_alike(few[:_MOST_ELEMENTS]) if is_network else ())]


def _array(value: Any, kind: type, prefix: str) -> list[str]:
    """Shape and element type of an array of numpy's or torch's, whose own code reads them."""
    if is_class(kind, "numpy", "ndarray"):
        truths = [] if prefix else truths_of_numbers(value)
        return [
            *_shaped(prefix, value.shape, value.dtype.kind + str(value.dtype.itemsize)),
            *truths,
        ]
    beside = (
        beside_torch_modes() if is_class(kind, "torch", "Tensor") or _is_parameter(kind) else None
    )
    if beside is None:
        return []
    with beside:
        device, gradient = "device=" + value.device.type, "grad=%d" % value.requires_grad
        return [*_shaped(prefix, value.shape, str(value.dtype)), prefix + device, prefix + gradient]


def _shaped(prefix: str, shape: Any, dtype: str) -> list[str]:
    return [prefix + "shape=" + ",".join(map(str, shape)), prefix + "dtype=" + dtype]


def _is_parameter(kind: type) -> bool:
    return is_class(kind, "torch.nn.parameter", "Parameter")


def _reads_its_name_in_c(kind: type) -> bool:
    """Tell whether an object's name and module are read by the code of its type, as of Cython's functions."""
    name, module = in_classes(kind, "__name__"), in_classes(kind, "__module__")
    return type(name) is GetSetDescriptorType and type(module) is MemberDescriptorType


def _object(value: Any, kind: type, prefix: str) -> list[str]:
    """Return what its class is; but within a container of a network also how it learns, of an optimizer how it steps."""
    fields = _origin(kind, prefix)
    if fields and not prefix and "torch.optim.optimizer.Optimizer" in fields[0]:
        fields += optimized.settings_of(value)
    if fields and not prefix and _NETWORK in fields[0]:
        fields += _learning(value)
        if is_class(kind, _LISTS, "ModuleList") or is_class(kind, _LISTS, "ModuleDict"):
            within = registered(value, "_modules")
            if within:
                fields += ["length=%d" % len(within), *_elements(within, dict)]
        else:
            fields += _numbered(registered(value, "_modules") or {})
    return fields


def _numbered(within: dict[Any, Any]) -> list[str]:
    """Tell of the networks whose names are the same but for a number, as ``add_module(f"model_{i}", ...)`` gives them."""
    by_stem: dict[str, list[Any]] = {}
    for name, network in within.items():
        stem = name.rstrip("0123456789") if type(name) is str else ""
        if stem and stem != name:
            by_stem.setdefault(stem, []).append(network)
    stem, networks = max(by_stem.items(), key=_most, default=("", []))
    if len(networks) < _FEWEST_NUMBERED or len(set(map(id, map(type, networks)))) > 1:
        return []
    return [
        "stem=" + text_of(stem),
        "numbered=%d" % len(networks),
        *_alike(networks[:_MOST_ELEMENTS]),
    ]


def _most(group: tuple[str, list[Any]]) -> int:
    return len(group[1])


def _alike(networks: list[Any]) -> list[str]:
    """Tell of the networks in a list whether their parameters have the same shapes."""
    beside = beside_torch_modes()
    if beside is None:
        return []
    with beside:
        shapes = [_shapes(each) for each in networks]
    return ["alike=%d" % all(each is not None and each == shapes[0] for each in shapes)]


def _shapes(network: Any) -> Optional[list[Any]]:
    found: list[Any] = []
    for parameter in _parameters(network):
        if parameter is not None and not _is_parameter(type(parameter)):
            return None
        found.append(None if parameter is None else tuple(parameter.shape))
    return found


def _parameters(network: Any) -> Iterator[Any]:
    """Yield the parameters of a network and of those within it, None for one that it does without; where they cannot be told, or are too
    many, ``MISSING`` comes last.
    """
    modules = [network]
    for module in modules:  # Those within it are added on the way.
        if module is None:
            continue
        own, within = registered(module, "_parameters"), registered(module, "_modules")
        if own is None or within is None or len(modules) + len(within) > _MOST_PARAMETERS:
            yield MISSING
            return
        modules += within.values()
        yield from own.values()


def _learning(network: Any) -> list[str]:
    """Tell of a network of torch's whether an optimizer moves it; where none does, whether it is given gradients all the same, and how
    often its parameters were changed by anything else.
    """
    beside = beside_torch_modes() if optimized.are_known() else None
    if beside is None:
        return []
    with beside:
        return _learning_beside(network)


def _learning_beside(network: Any) -> list[str]:
    parameters: list[Any] = []
    for parameter in _parameters(network):
        if parameter is MISSING:
            return []
        is_plain = _is_parameter(type(parameter))
        # One without gradients may have been moved before: by an optimizer of its training in advance.
        if optimized.moves(parameter) and not (is_plain and not parameter.requires_grad):
            return ["optimized=1", *(["dtype=" + str(parameter.dtype)] if is_plain else ())]
        if parameter is not None:
            parameters.append(parameter)
    if not 0 < len(parameters) <= _MOST_PARAMETERS:
        return []
    if not all(map(_is_parameter, map(type, parameters))):
        return []
    try:
        changes = sum([each._version for each in parameters])
    except RuntimeError as error:
        if foreign_errors.trim(error):
            raise
        return []  # Made for inference alone.
    # torch warns where the gradient of what is no leaf is asked for.
    leaves = [each for each in parameters if each.is_leaf and each.requires_grad]
    has_gradients = any(each.grad is not None for each in leaves)
    return ["optimized=0", "gradients=%d" % has_gradients, "changes=%d" % changes]


def function_fields(value: Any, prefix: str = "") -> list[str]:
    """Return which function it is, and where it is defined."""
    if type(value) is staticmethod or type(value) is classmethod:
        value = value.__func__
    value = _uncounted(value)
    if type(value) is FunctionType:
        code = value.__code__
        name = joined(value.__module__, getattr(code, "co_qualname", value.__qualname__))
        place = [
            "file=" + text_of(file_of(code, value.__globals__)),
            "line=%d" % code.co_firstlineno,
        ]
    elif type(value) is BuiltinFunctionType:
        name, place = joined(value.__module__, _builtin(value)), []
    elif type(value) is MethodDescriptorType:
        name, place = joined(name_of(value.__objclass__), value.__name__), []
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
    return "%s.%s" % (plain(qualname_of(kind)), value.__name__)


def _origin(kind: type, prefix: str) -> list[str]:
    """Return what a class is derived from, and the file that it is of."""
    bases = [name_of(each) for each in classes_of(kind)[1:-1][:_MOST_BASES]]
    fields = ["bases=" + ",".join(bases)] if bases else []
    name = module_of(kind)
    module = loaded(name) if type(name) is str else None
    if module is not None:
        file = members_of(module).get("__file__")
        if type(file) is str:
            fields.append("file=" + text_of(file))
    return [prefix + field for field in fields]
