"""The ops of a trace with the shapes of their inputs, which the ordinary reader leaves out: they are half
of such a trace, and are asked for to count operations alone.
"""

from __future__ import annotations

import msgspec

from rlprof.tracefile.packing import content_in
from rlprof.tracefile.repair import NotATraceError

_NONE = msgspec.Raw()


class ShapedArgs(msgspec.Struct, frozen=True):
    """As written: decoded by whoever asks for one."""

    shapes: msgspec.Raw = msgspec.field(default=_NONE, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=_NONE, name="Input type")
    concrete: msgspec.Raw = msgspec.field(default=_NONE, name="Concrete Inputs")
    """Inputs that are no tensors: the stride of a convolution, for instance."""


class ShapedOp(msgspec.Struct, frozen=True):
    """A row with what is needed to count its operations."""

    name: str = ""
    args: ShapedArgs = ShapedArgs()


class _File(msgspec.Struct):
    rows: list[ShapedOp] = msgspec.field(default_factory=list, name="traceEvents")


_DECODER = msgspec.json.Decoder(_File)


def read_shapes(packed: bytes) -> list[ShapedOp]:
    """All rows of a gzipped trace; none of one that is damaged."""
    try:
        return _DECODER.decode(content_in(packed)).rows
    except (NotATraceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
