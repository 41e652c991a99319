"""Recurrent networks of torch and their states, as they were seen at a line."""

from __future__ import annotations

from math import prod
from typing import Final

from rlprof.source.value import Value

_MODULE: Final = "torch.nn.modules.rnn."


def recurrent_kind(value: Value) -> str:
    """The class of torch that a recurrent network is, or is derived from: ``LSTM``, ``GRUCell``; empty for what is none."""
    return next(
        (base.removeprefix(_MODULE) for base in value.bases if base.startswith(_MODULE)), ""
    )


def is_object_of(value: Value, class_name: str) -> bool:
    """Tell whether it is an object of a class of that name, or of one derived from it."""
    return any(base.rpartition(".")[2] == class_name for base in value.bases)


def state_shape(value: Value) -> tuple[int, ...]:
    """Shape of a state: a tensor, or the first of a pair; empty for what is neither."""
    if value.type == "torch.Tensor":
        return value.shape or ()
    text = value.fields.get("first.shape", "") if value.items == "torch.Tensor" else ""
    return tuple(int(size) for size in text.split(",")) if text else ()


def step_work(state: Value) -> int:
    """Multiplications of a step, but for a factor: batch × width²; 0 for what is no state."""
    shape = state_shape(state)
    return prod(shape[:-1]) * shape[-1] ** 2 if shape else 0
