"""The little of Protocol Buffers that a profile takes: no training should have to install protobuf."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_VARINT: Final = 0
_LENGTH: Final = 2
_SIXTY_FOUR_BITS: Final = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Seven bits at a time, the lowest first; a negative number as its two's complement of 64 bits."""
    rest = value & _SIXTY_FOUR_BITS
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def number(field: int, value: int) -> bytes:
    """An integer or a truth value. What is 0 is left out, as proto3 has it."""
    return varint(field << 3 | _VARINT) + varint(value) if value else b""


def numbers(field: int, values: Iterable[int]) -> bytes:
    """A packed list: zeros in it are kept."""
    return message(field, b"".join(map(varint, values)))


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | _LENGTH) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())
