"""Faults of what is done with whole environments: made anew, copied, played to see how it goes."""

from __future__ import annotations

from .code import Code
from .fault import Fault

COPYING_SIMULATOR = Fault(
    "deepcopy-of-a-simulator",
    ("deepcopy-in-loop",),
    {"branch": Code(result="copy.deepcopy($env)", imports="import copy")},
)

MAKING_WORLDS = Fault(
    "environment-per-episode",
    ("environment-recreated",),
    {"world": Code(result="$cls($seed)")},
    base_us=2000,
    unit_us=0.01,
)

MAKING_GYM_WORLDS = Fault(
    "gymnasium-make-per-episode",
    ("environment-recreated",),
    {"gymworld": Code(result="gym.make($title)", imports="import gymnasium as gym")},
)


def _evaluation(start: str, step: str) -> Code:
    return Code(
        "$tmp = 0.0\n"
        "for $index in range($size):\n"
        f"    $item, $tmp2 = {start}, False\n"
        "    while not $tmp2:\n"
        f"        {step}\n"
        "        $tmp += $tmp3\n"
        'print(f"after {$count}: {$tmp / $size:.2f}")'
    )


_OWN = _evaluation("$env.$reset()", "$item, $tmp3, $tmp2 = $env.$step($choose($item))")
_OF_GYM = _evaluation(
    "$env.reset()[0]",
    "$item, $tmp3, $tmp2, cut, _ = $env.step($choose($item))\n        $tmp2 = $tmp2 or cut",
)

EVALUATING = Fault(
    "evaluation-per-episode",
    ("evaluation-share",),
    {"episode": _OWN},
    {"episode": _OWN},
    roles=frozenset({"env", "choose", "count"}),
    # It plays as the training does, but learns nothing.
    unit_part=0.4,
    sizes=(1, 4),
    is_rare=True,
    rarer=40,
)

EVALUATING_GYM = Fault(
    "evaluation-per-gym-episode",
    ("evaluation-share",),
    {"gymepisode": _OF_GYM},
    {"gymepisode": _OF_GYM},
    roles=frozenset({"env", "choose", "count"}),
    unit_part=0.6,
    sizes=(1, 4),
    is_rare=True,
    rarer=40,
)

FAULTS = (
    COPYING_SIMULATOR,
    MAKING_WORLDS,
    MAKING_GYM_WORLDS,
    EVALUATING,
    EVALUATING_GYM,
)
