"""A value that a name stood for at a line: what was described of it, as questions are asked of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Final

from rlprof.libraries.known import LIBRARIES
from rlprof.model.recording import SeenValue
from rlprof.units import whole_number

_ARRAYS: Final = ("numpy.ndarray",)
_CONTAINERS: Final = frozenset({"list", "tuple", "dict", "collections.deque"})
_MODULE: Final = "torch.nn.modules.module.Module"
_ENVIRONMENTS: Final = frozenset(
    name for library in LIBRARIES for name in library.environment_classes
)
_DTYPES: Final = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_GROWN: Final = 1.3
"""The last size over the first, from which on it grows."""
_NUMBERS: Final = frozenset({"int", "float", "bool"})
_NUMBERS_OF_NUMPY: Final = ("numpy.float", "numpy.int", "numpy.uint", "numpy.bool")
_TRUTHS: Final = frozenset({"bool", "numpy.bool", "numpy.bool_"})
_TEXTS: Final = frozenset({"str", "bytes", "NoneType"})
_PARTS_SHOWN: Final = 3


def is_number(type_name: str) -> bool:
    """Tell whether a type is one of Python's or numpy's numbers; truth values are some, too. By its whole name: ``interest.Rate`` is a
    program's own.
    """
    return type_name in _NUMBERS or type_name.startswith(_NUMBERS_OF_NUMPY)


def is_truth(type_name: str) -> bool:
    """Tell whether a type is that of truth values."""
    return type_name in _TRUTHS


def _is_plain(type_name: str) -> bool:
    return is_number(type_name) or type_name in _TEXTS


class Value:
    """Value that one name stood for, as it was seen last, and how that changed."""

    def __init__(self, seen: Sequence[SeenValue]) -> None:
        """``seen`` in the order of time, at least one."""
        self._seen = seen
        self.fields = seen[-1].fields

    @property
    def type(self) -> str:
        """With its module, but for built-in ones: ``numpy.ndarray``, ``list``."""
        return self.fields.get("type", "")

    @property
    def length(self) -> int | None:
        return whole_number(self.fields.get("length", ""))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of an array or a tensor."""
        return shape_of(self.fields)

    @property
    def shapes(self) -> frozenset[tuple[int, ...]]:
        """All shapes that an array or a tensor was seen to have."""
        return frozenset(shape for look in self._seen if (shape := shape_of(look.fields)))

    @property
    def lengths(self) -> frozenset[int]:
        """Rows that an array or a tensor was seen to have."""
        return frozenset(shape[0] for shape in self.shapes)

    @property
    def shapes_of_one_rank(self) -> int:
        """The number of different shapes that an array, or the first one in a container, was seen to have with as many dimensions."""
        prefix = "" if self.is_array else "first."
        shapes = {shape for look in self._seen if (shape := shape_of(look.fields, prefix))}
        return max(Counter(map(len, shapes)).values(), default=0)

    @property
    def counts(self) -> frozenset[int]:
        """Elements that a container was seen to have."""
        told = (whole_number(look.fields.get("length", "")) for look in self._seen)
        return frozenset(count for count in told if count is not None)

    @property
    def looks_by_length(self) -> Counter[int]:
        """Looks that found it so long, by the rows of an array and the elements of a container."""
        found: Counter[int] = Counter()
        for look in self._seen:
            shape, count = shape_of(look.fields), whole_number(look.fields.get("length", ""))
            found.update(
                {length: look.looks for length in (*(shape or ())[:1], count) if length is not None}
            )
        return found

    @property
    def types(self) -> frozenset[str]:
        """All types that it was seen to have."""
        return frozenset(look.fields.get("type", "") for look in self._seen)

    @property
    def function(self) -> str:
        """The function that it is, with its module: ``numpy.append``; empty for what is none."""
        return self.fields.get("function", "")

    @property
    def owner(self) -> str:
        """The class whose object a method, or what computes an attribute, belongs to."""
        return self.fields.get("owner", "")

    @property
    def file(self) -> str:
        """The file in which the function, or the class of the object, is defined."""
        return self.fields.get("file", "")

    @property
    def line(self) -> int:
        """The first of the function, its decorators included; 0 for what is none."""
        return whole_number(self.fields.get("line", "")) or 0

    @property
    def is_compiled(self) -> bool:
        """True if it is a function that is not written in Python, so that no frame shows it at work."""
        return bool(self.function) and not self.file

    @property
    def made(self) -> str:
        """The class that it is, with its module; empty for what is none."""
        return self.fields.get("class", "")

    @property
    def has_denormals(self) -> bool:
        """True if most of two looks or more found an array with denormal numbers in it: one that fades has none at first."""
        found = sum(look.looks for look in self._seen if look.fields.get("denormals") == "1")
        return found >= 2 and 2 * found >= sum(look.looks for look in self._seen)

    def is_mostly_zeros(self, fewest_looks: int) -> bool:
        """Tell whether so many looks found an array of which nearly all numbers are zeros, and none another one."""
        return sum(look.looks for look in self._seen) >= fewest_looks and all(
            look.fields.get("zeros") == "1" for look in self._seen
        )

    @property
    def is_standard(self) -> bool:
        """True if it is stdout or stderr, or a method of theirs."""
        return self.fields.get("standard") == "1"

    @property
    def stream(self) -> str:
        """The other end of an opened stream, of one of its methods, or of ``print``: ``file``, ``pipe``, ``socket``, ``pair`` (of either) or
        ``device``; empty where that is not known, or it is none.
        """
        return self.fields.get("stream", "")

    @property
    def bases(self) -> list[str]:
        """Its type and the classes that this is derived from."""
        return [self.type, *self.fields.get("bases", "").split(",")]

    @property
    def is_network(self) -> bool:
        return _MODULE in self.bases

    @property
    def networks(self) -> int:
        """Networks of one class in a container of Python's or torch's; 0 for anything else."""
        are_networks = _MODULE in (self.items, *self.fields.get("first.bases", "").split(","))
        return (self.length or 0) if are_networks and not self.is_mixed else 0

    def numbered(self, stem: str) -> int:
        """Networks of one class in a network whose names are ``stem`` and a number; 0 where they are not its largest group of such."""
        return int(self.fields.get("numbered", 0)) if self.fields.get("stem") == stem else 0

    @property
    def are_alike(self) -> bool | None:
        """True if the first few networks in a container, or under numbered names, have parameters of the same shapes; None where that was not seen."""
        told = self.fields.get("alike")
        return None if told is None else told == "1"

    @property
    def is_double(self) -> bool:
        """True if it is a network that an optimizer moves, with parameters in double precision."""
        return self.is_network and self.fields.get("dtype") == "torch.float64"

    @property
    def holds_tokens(self) -> bool:
        """True if it is a tensor of numbers that networks of torch embed: of 32 or 64 bits."""
        return self.fields.get("dtype") in ("torch.int32", "torch.int64")

    def is_untrained(self, fewest_looks: int) -> bool:
        """Tell whether it is a network whose parameters are given gradients, and which no optimizer moves, nor anything else that
        torch counts.
        """
        return self.fields.get("gradients") == "1" and self.is_frozen(fewest_looks)

    def is_frozen(self, fewest_looks: int) -> bool:
        """Tell whether it is a network that so many looks found as it was, and not in an optimizer's hands."""
        looks = [look for look in self._seen if "optimized" in look.fields]
        states = {(look.fields["optimized"], look.fields.get("changes")) for look in looks}
        return (
            sum(look.looks for look in looks) >= fewest_looks
            and len(states) == 1
            and looks[0].fields["optimized"] == "0"
        )

    @property
    def unchanged_looks(self) -> int:
        """Looks that found the contents of the look before, at these lines; 0 where one of them did not."""
        return 0 if self.changed else self._sum("same")

    @property
    def changed(self) -> bool:
        """True if a look found other contents than the look before, at these lines."""
        return bool(self._sum("other"))

    @property
    def pairs(self) -> tuple[int, int]:
        """Looks a few samples after another one that was compared: how many found the same contents, and how many there were."""
        same = self._sum("same_soon")
        return same, same + self._sum("other_soon")

    @property
    def calls_again(self) -> tuple[int, int]:
        """Calls of its function that were looked at: how many had inputs that another one had, and how many there were."""
        calls = self._most("calls")
        return calls - self._most("once"), calls

    def windows(self, field: str) -> int:
        """Windows of the recording in which the function of one whose values were compared was ``entered`` or left, or its line was
        ``reached``.
        """
        return self._most(field)

    def _most(self, field: str) -> int:
        return max(whole_number(look.fields.get(field, "")) or 0 for look in self._seen)

    def _sum(self, field: str) -> int:
        return sum(whole_number(look.fields.get(field, "")) or 0 for look in self._seen)

    @property
    def is_environment(self) -> bool:
        """True if it is an environment of a library's interface, or a class of such."""
        return not _ENVIRONMENTS.isdisjoint(self.bases)

    @property
    def is_array(self) -> bool:
        return self.shape is not None

    @property
    def is_container(self) -> bool:
        """True for a list, a tuple, a dictionary and a deque."""
        return self.type in _CONTAINERS

    @property
    def items(self) -> str:
        """The type of the elements of a container; empty where it has none."""
        return self.fields.get("first.type", "")

    @property
    def first(self) -> Value | None:
        """The first element of a container, as last seen; None where it has none."""
        fields = _without(self.fields, "first.")
        return Value([self._seen[-1]._replace(fields=fields)]) if fields else None

    @property
    def is_mixed(self) -> bool:
        """True if the first few elements of a container were seen to be of several classes."""
        return self.fields.get("mixed") == "1"

    @property
    def numbers_of_first(self) -> int | None:
        """The number of numbers that the first element of a container is, where that is an array of numpy's."""
        shape = shape_of(self.fields, "first.") if self.items in _ARRAYS else None
        return None if shape is None else prod(shape)

    @property
    def is_plain(self) -> bool:
        """True if it is a number, a truth value, a text or None."""
        return _is_plain(self.type)

    @property
    def holds_objects(self) -> bool:
        """True if its elements are arrays, containers or objects, and neither numbers, texts nor networks."""
        items = self.items
        return (
            bool(items)
            and not _is_plain(items)
            and _MODULE not in self.fields.get("first.bases", "").split(",")
        )

    @property
    def numbers(self) -> int | None:
        """The number of numbers that it is; None for what is neither a number nor an array or a list of them."""
        if is_number(self.type):
            return 1
        if self.shape is not None:
            return prod(self.shape)
        return self.length if is_number(self.items) else None

    @property
    def leaves(self) -> int:
        """Numbers, texts or objects in it, where all that it holds is like the first."""
        if (numbers := self.numbers) is not None:
            return numbers
        first = _size(_without(self.fields, "first."))
        return (self.length or 0) * (1 if first is None else first)

    @property
    def is_on_cpu(self) -> bool:
        """False for a tensor on another device, or a container of such: to read it may be a wait for it."""
        return all(self.fields.get(name, "cpu") == "cpu" for name in ("device", "first.device"))

    @property
    def is_one_row(self) -> bool:
        """True if it is an array without a batch dimension, or with a batch of one; or a list of numbers."""
        shape = self.shape
        if shape is None:
            return self.type in ("list", "tuple") and self.items in ("int", "float")
        return len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)

    def grows(self) -> bool:
        """Tell whether it was longer at nearly every look."""
        sizes = [size for look in self._seen if (size := _size(look.fields)) is not None]
        rises = sum(later > earlier for earlier, later in pairwise(sizes))
        return (
            len(sizes) >= 3
            and sizes[-1] > _GROWN * max(1, sizes[0])
            and rises >= (len(sizes) - 1) * 0.7
        )

    def in_words(self) -> str:
        """``array of 16 × 8 float64``, ``list of 48 arrays of 160 float64``, ``Sim``."""
        return _in_words(self.fields, "")


def _without(fields: Mapping[str, str], prefix: str) -> Mapping[str, str]:
    """Return the fields that have the prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in fields.items()
        if name.startswith(prefix)
    }


def shape_of(fields: Mapping[str, str], prefix: str = "") -> tuple[int, ...] | None:
    text = fields.get(f"{prefix}shape")
    if text is None:
        return None
    sizes = map(whole_number, text.split(","))
    return tuple(size for size in sizes if size is not None)


def _size(fields: Mapping[str, str]) -> int | None:
    """Elements of a container, rows of an array, or all of what it has where rows are not what changes."""
    shape = shape_of(fields)
    if shape is None:
        return whole_number(fields.get("length", ""))
    return prod(shape)


def _in_words(fields: Mapping[str, str], prefix: str) -> str:
    kind = fields.get(f"{prefix}type", "")
    shape = shape_of(fields, prefix)
    if shape is not None:
        what = "tensor" if kind.startswith("torch.") else "array"
        parts = " × ".join(map(str, shape[:_PARTS_SHOWN])) or "one"
        device = fields.get(f"{prefix}device", "")
        on = f" on {device}" if device not in ("", "cpu") else ""
        return f"{what} of {parts} {_dtype(fields.get(f'{prefix}dtype', ''))}{on}"
    name = kind.rpartition(".")[2]
    length = fields.get(f"{prefix}length")
    if length is None:
        return name
    if kind in ("str", "bytes", "bytearray"):
        return f"{name} of {length}"
    first = _in_words(fields, "first.") if not prefix and "first.type" in fields else ""
    return f"{name} of {length}{f' ({first} first)' if first else ''}"


def _dtype(text: str) -> str:
    kind, width = text[:1], text[1:]
    if text.startswith("torch."):
        return text.removeprefix("torch.")
    return f"{_DTYPES[kind]}{8 * int(width)}" if kind in _DTYPES and whole_number(width) else text
