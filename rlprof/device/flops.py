"""Floating-point operations of a trace that was recorded with the shapes of its inputs.

Counted as all of the field does: two for each multiplication and addition of a product of matrices or of a
convolution, nothing for the rest, which is little beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import msgspec

from rlprof.device.peaks import Precision
from rlprof.tracefile.reader import ShapedArgs, ShapedOp

_FACTORS: Final = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
"""Products of matrices: the position of the first factor among the inputs."""

_CONVOLUTION: Final = "aten::convolution"
_CONVOLUTION_BACKWARD: Final = "aten::convolution_backward"

_PRECISIONS: Final[dict[str, Precision]] = {
    "float": "fp32",
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
}
"""By the type of a product's first factor, as torch writes it."""


@dataclass(frozen=True, slots=True)
class Flops:
    """Operations that the ops of a trace computed."""

    count: float
    precision: Precision | None
    """Precision of most of it; None where that has no name here."""


def count_flops(rows: Iterable[ShapedOp]) -> Flops | None:
    """None for a trace without shapes, or without any such op."""
    uses_tf32 = False
    total = 0.0
    by_type: dict[str, float] = {}
    for op in rows:
        uses_tf32 = uses_tf32 or "tf32" in op.name
        count = _of(op)
        if count:
            total += count
            kind = _type_of(op)
            by_type[kind] = by_type.get(kind, 0.0) + count
    if not total:
        return None
    kind = max(by_type, key=by_type.__getitem__)
    if kind == "float" and uses_tf32:
        return Flops(total, "tf32")
    return Flops(total, _PRECISIONS.get(kind))


def _of(op: ShapedOp) -> float:
    first = _FACTORS.get(op.name)
    is_convolution = op.name in (_CONVOLUTION, _CONVOLUTION_BACKWARD)
    if first is None and not is_convolution:
        return 0.0
    shapes = _values(op.args.shapes)
    try:
        if first is not None:
            left, right = shapes[first], shapes[first + 1]
            return float(2 * prod(left) * right[-1])
        if op.name == _CONVOLUTION_BACKWARD:
            # The gradients of the input and of the weights, each as dear as the convolution.
            gradient, _, weight = shapes[:3]
            return float(4 * prod(gradient) * prod(weight[1:]))
        inputs, weight = shapes[:2]
        places = inputs[0] * prod(_output(op.args, inputs, weight))
        return float(2 * places * prod(weight))
    except (IndexError, TypeError, ValueError):
        return 0.0  # Shapes of another kind than this op's: a version of torch that is not known.


def _output(args: ShapedArgs, inputs: Sequence[int], weight: Sequence[int]) -> list[int]:
    """The size of a convolution's output along each dimension of space.

    Raises ValueError where the trace does not tell.
    """
    settings = _values(args.concrete)
    if len(settings) < 7:
        raise ValueError
    stride, padding, dilation = (msgspec.json.decode(setting) for setting in settings[3:6])
    if settings[6] != "False":
        raise ValueError  # Transposed.
    return [
        (inputs[2 + axis] + 2 * padding[axis] - dilation[axis] * (weight[2 + axis] - 1) - 1)
        // stride[axis]
        + 1
        for axis in range(len(stride))
    ]


def _type_of(op: ShapedOp) -> str:
    types = _values(op.args.types)
    position = _FACTORS.get(op.name, 0)
    return str(types[position]) if position < len(types) else ""


def _values(raw: msgspec.Raw) -> list[Any]:
    """Return what a field holds; nothing where it is missing or no list."""
    try:
        found = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return []
    return found if isinstance(found, list) else []
