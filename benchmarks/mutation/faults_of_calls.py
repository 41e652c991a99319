"""Calls in a step that have a cheaper way."""

from __future__ import annotations

from typing import Final

from .code import Code
from .fault import Fault

_RIGHT: Final = ("slow-call",)

SEARCHED_LIST = Fault(
    "list-searched",
    _RIGHT,
    {
        "step": Code(
            "$tmp = 1.0 if ($count % $size, -1) in $kept else $reward",
            kept="[($item, $item + 1) for $item in range($size)]",
        )
    },
    {
        "step": Code(
            "$tmp = 1.0 if ($count % $size, -1) in $kept else $reward",
            kept="{($item, $item + 1) for $item in range($size)}",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=1,
    unit_us=0.02,
    sizes=(300, 200_000),
    is_rare=True,
)

STATISTICS = Fault(
    "statistics-of-fractions",
    _RIGHT,
    {
        "step": Code(
            "$kept[$count % $size] = float($reward)\n$tmp = statistics.mean($kept)",
            imports="import statistics",
            kept="[0.5] * $size",
        )
    },
    {
        "step": Code(
            "$kept[$count % $size] = float($reward)\n$tmp = statistics.fmean($kept)",
            imports="import statistics",
            kept="[0.5] * $size",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=10,
    unit_us=0.3,
    sizes=(10, 10_000),
    is_rare=True,
)

TEXT_KEY = Fault(
    "text-as-a-key",
    _RIGHT,
    {
        "step": Code(
            "$kept[$count % $size] += 1\n$tmp = {str($kept): $reward}",
            imports="import numpy as np",
            kept="np.zeros($size, int)",
        )
    },
    {
        "step": Code(
            "$kept[$count % $size] += 1\n$tmp = {$kept.tobytes(): $reward}",
            imports="import numpy as np",
            kept="np.zeros($size, int)",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=25,
    unit_us=1.2,
    sizes=(9, 900),
    is_rare=True,
)

FIELD_BY_FIELD = Fault(
    "dataclass-field-by-field",
    _RIGHT,
    {
        "step": Code(
            "$kept.gains[$count % $size] = float($reward)\n$tmp = dataclasses.asdict($kept)",
            imports="import dataclasses",
            definitions="@dataclasses.dataclass\nclass $Moment:\n    gains: list\n    over: bool = False",
            kept="$Moment([0.5] * $size)",
        )
    },
    {
        "step": Code(
            '$kept.gains[$count % $size] = float($reward)\n$tmp = {"gains": $kept.gains, "over": $kept.over}',
            imports="import dataclasses",
            definitions="@dataclasses.dataclass\nclass $Moment:\n    gains: list\n    over: bool = False",
            kept="$Moment([0.5] * $size)",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=4,
    unit_us=0.7,
    sizes=(4, 4_000),
    is_rare=True,
)

FAULTS = (SEARCHED_LIST, STATISTICS, TEXT_KEY, FIELD_BY_FIELD)
