"""The content of a trace, unpacked, but no more of it than can be borne: a few MB may be packed terabytes; and mended, where
it is not quite JSON: cut off when the run was killed, or with characters unescaped.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import BinaryIO, Final, NamedTuple

from rlprof.units import size

# --- mending --------------------------------------------------------------------------------

_CUTS: Final = 64
"""Ends of objects that are tried, from the end: a row has a few nested ones."""

_BAD_ESCAPE: Final = re.compile(r'\\(?!["\\/bfnrtu])')
"""A backslash of a Windows path (pytorch issue 98432)."""

_NAME: Final = re.compile(
    r'("cat":\s*"[^"]*"\s*,\s*"name":\s*")(.*?)("\s*,\s*"(?:pid|ph|tid|ts|id|s)":)'
)
"""The name of a row up to the key after it: quotes within are not escaped (pytorch issue 130622)."""


class NotATraceError(Exception):
    """Nothing of it can be read as a trace."""


class Repair(NamedTuple):
    document: object
    damage: tuple[str, ...]
    """Faults, in words."""


def repaired(data: bytes) -> Repair:
    """The JSON document that ``data`` was meant to be.

    Raises :class:`NotATraceError`.
    """
    text = data.decode("utf-8", errors="replace")
    start = text.find('"traceEvents"')
    if start < 0 and not text.lstrip().startswith("["):
        raise NotATraceError("it has no traceEvents")
    mended = _NAME.sub(_escaped, _BAD_ESCAPE.sub(r"\\\\", text))
    if (document := _loads(text)) is not None:
        return Repair(document, ("control characters in names were mended",))
    if (document := _loads(mended)) is not None:
        return Repair(document, ("names with unescaped characters were mended",))
    for whole in (text, mended):
        if (document := _cut(whole, is_list=start < 0)) is not None:
            return Repair(document, ("the file ends too early: rows after the cut are missing",))
    raise NotATraceError("it is damaged beyond its end")


def _loads(text: str) -> object | None:
    try:
        document: object = json.loads(text, strict=False)
    except ValueError:
        return None
    return document


def _escaped(match: re.Match[str]) -> str:
    name = re.sub(r'(?<!\\)"', lambda _: '\\"', match[2])
    return f"{match[1]}{name}{match[3]}"


def _cut(text: str, *, is_list: bool) -> object | None:
    """Return what is left when the row that was being written is left out."""
    closing = "]" if is_list else "]}"
    end = len(text)
    for _ in range(_CUTS):
        end = text.rfind("}", 0, end)
        if end < 0:
            break
        document = _loads(text[: end + 1] + closing)
        if isinstance(document, list) or (isinstance(document, dict) and "traceEvents" in document):
            return document
    return None


# --- unpacking ------------------------------------------------------------------------------

MOST_BYTES: Final = 2 << 30
"""Largest trace that is read, unpacked. Rows take about three times that in memory."""

MOST_BYTES_IN_A_RUN: Final = 256 << 20
"""Largest trace of a window that a recorder keeps, unpacked. Windows are short so that theirs stay far below it."""

_LEAST_PER_OBJECT: Final = 32
_LEAST_PER_VALUE: Final = 6
"""Bytes; real traces have 100 and 12 at least. What is denser takes many times its length in memory."""
_ALWAYS_BORNE: Final = 1 << 20

_CHUNK: Final = 4 << 20
GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
"""``wbits`` of zlib for the format of gzip."""

GZIP_MAGIC: Final = b"\x1f\x8b"
_ZIP_MAGIC: Final = b"PK\x03\x04"


class TooLargeError(NotATraceError):
    """A trace that holds more than is read."""


def content_of(file: BinaryIO, most_bytes: int) -> tuple[bytes, tuple[str, ...]]:
    """The bytes of ``file``, unpacked when it is gzipped, and what was wrong with its packing.

    Raises :class:`NotATraceError`.
    """
    damage: list[str] = []
    magic = file.read(4)
    file.seek(0)
    if magic == _ZIP_MAGIC:
        raise NotATraceError("it is a zip archive: unpack it first")
    is_packed = magic[:2] == GZIP_MAGIC
    chunks = []
    total = 0
    for chunk in _unpacked(file, damage) if is_packed else iter(partial(file.read, _CHUNK), b""):
        chunks.append(chunk)
        total += len(chunk)
        if total > most_bytes:
            raise TooLargeError(f"it is larger than {size(most_bytes)}")
    if damage and not total:
        raise NotATraceError(damage[0])
    content = b"".join(chunks)
    _check_density(content)
    return content, tuple(damage)


def content_in(packed: bytes) -> bytes:
    """The same of a window in a run file, which must be whole."""
    content, damage = content_of(BytesIO(packed), MOST_BYTES_IN_A_RUN)
    if damage:
        raise NotATraceError(damage[0])
    return content


def _unpacked(file: BinaryIO, damage: list[str]) -> Iterator[bytes]:
    """Yield what a gzip file holds, as far as it goes; what is wrong with it is added to ``damage``."""
    member = zlib.decompressobj(GZIP_WINDOW)
    while packed := file.read(_CHUNK):
        while packed:
            try:
                # Zeros of 2 GiB pack into 2 MiB: no more is unpacked at once than can be borne.
                yield member.decompress(packed, 8 * _CHUNK)
            except zlib.error as reason:
                damage.append(f"the gzip file is damaged ({reason})")
                return
            if not member.eof:
                packed = member.unconsumed_tail
            elif packed := member.unused_data:
                member = zlib.decompressobj(GZIP_WINDOW)
    yield member.flush()
    if not member.eof:
        damage.append("the gzip file ends too early")


def _check_density(content: bytes) -> None:
    objects = content.count(b"{")
    values = objects + content.count(b"[") + content.count(b",")
    borne = len(content) + _ALWAYS_BORNE
    if objects * _LEAST_PER_OBJECT > borne or values * _LEAST_PER_VALUE > borne:
        raise NotATraceError("it holds hardly more than brackets and commas")
