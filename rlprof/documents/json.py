"""Values of JSON documents: numbers as far as they are known, and text that strict readers take."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

import rlprof

_DIGITS: Final = 6
"""Significant digits of a measured value: more than any measurement here has."""

_UNUSUAL = re.compile(r"[^\n\x20-\x7e]")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

Number = float | None
"""A measured value; None where it could not be measured. What is not finite is written as null, too."""


KindT = TypeVar("KindT")


def filled(kind: Callable[..., KindT], source: object, /, **own: object) -> KindT:
    """A ``kind`` of what ``source`` has under the names of its keys, but for those that are given.

    Records in it are filled likewise, alone and in sequences; seconds of what is told in µs.
    """
    return kind(
        **{
            key: _converted(own[key] if key in own else _told(source, key), record)
            for key, record in _records_of(kind).items()
        }
    )


def document_as_text(kind: Callable[..., Struct], source: object, /, **own: object) -> str:
    """A document as text: what ``filled`` makes, with the format and its version, which the types of ``kind`` name, and that of rlprof."""
    hints = get_type_hints(kind)
    (name,), (version,) = get_args(hints["format"]), get_args(hints["version"])
    head = {"format": name, "version": version, "rlprof": rlprof.__version__}
    return as_json_text(filled(kind, source, **head, **own))


@lru_cache(maxsize=256)
def _records_of(kind: Any) -> Mapping[str, type | None]:
    """For each key of ``kind`` the struct, dataclass or named tuple that its values are made of, if any."""
    return {key: _record_in(hint) for key, hint in get_type_hints(kind).items()}


def _record_in(hint: Any) -> type | None:
    if isinstance(hint, type) and (
        hasattr(hint, "__struct_fields__") or is_dataclass(hint) or hasattr(hint, "_fields")
    ):
        return hint
    return next(filter(None, map(_record_in, get_args(hint))), None)


def _told(source: object, key: str) -> object:
    if key.endswith("_s") and not hasattr(source, key):
        return seconds(getattr(source, f"{key[:-2]}_us"))
    return getattr(source, key)


def _converted(value: object, record: type | None) -> object:
    if record is None or value is None or isinstance(value, record):
        return value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return tuple(_converted(item, record) for item in value)
    return filled(record, value)


def means(description: str) -> Meta:
    """Describe a key, for its schema."""
    return Meta(description=description)


def one_of(*values: str) -> Meta:
    """List the texts that a key may have, for its schema."""
    return Meta(extra_json_schema={"enum": [*values]})


class DocumentHead(Struct, frozen=True):
    """Keys that tell whether the rest of a document can be read."""

    format: str = ""
    version: int = 0


class Note(Struct, frozen=True):
    level: Annotated[str, one_of("info", "warning", "error")]
    slug: Annotated[str, means("Anchor in docs/messages.md.")]
    text: str


class Interval(Struct, frozen=True):
    """A best guess, and the interval that it lies in."""

    median: float
    low: float
    high: Annotated[Number, means("Null where it has no upper end.")]


def as_json_text(
    document: Struct | Mapping[str, Json], *, indent: int = 2, is_rounded: bool = False
) -> str:
    """``document`` as text that strict readers take; with ``indent`` 0 on one line.

    Its numbers are written as ``number`` has them. With ``is_rounded`` they stay what they are.
    """
    values = msgspec.to_builtins(document)
    if not is_rounded:
        values = _as_written(values)
    text = json.dumps(values, indent=indent or None, ensure_ascii=False, allow_nan=False)
    return _UNUSUAL.sub(_spelled_out, text) + "\n"


def seconds(us: float) -> float:
    return us / 1_000_000


def number(value: float) -> float | None:
    """``value`` as it is written: rounded, and null where it is not finite."""
    return rounded(value) if math.isfinite(value) else None


def rounded(value: float) -> float:
    """``value``, which is finite, to what can be known; whole numbers stay whole."""
    return int(value) if value == int(value) else float(f"{value:.{_DIGITS}g}")


def _as_written(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: _as_written(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_written(item) for item in value]
    return value


def _spelled_out(match: re.Match[str]) -> str:
    """A character as a JSON escape when it is not printable; a lone surrogate as its name."""
    character = match[0]
    if character.isprintable():
        return character
    escaped = json.dumps(character)[1:-1]
    return f"\\{escaped}" if "\ud800" <= character <= "\udfff" else escaped
