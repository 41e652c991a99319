"""Faults of what is done at each step."""

from __future__ import annotations

from .code import Code
from .fault import Fault

_ROLLING = "$kept[$count % $size] = $reward\n"
_NUMPY = "import numpy as np"
_LOGGING = "import logging\nimport numpy as np"

EAGER_LOGGING = Fault(
    "eager-logging",
    ("eager-log-format",),
    {
        "step": Code(
            _ROLLING + '$log.debug(f"step {$count}: reward {$reward}, lately {$kept}")',
            imports=_LOGGING,
            definitions='$log = logging.getLogger("training")',
            kept="np.zeros($size)",
        )
    },
    {
        "step": Code(
            _ROLLING + '$log.debug("step %d: reward %s, lately %s", $count, $reward, $kept)',
            definitions='$log = logging.getLogger("training")',
            kept="np.zeros($size)",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=15,
    unit_us=1.3,
    sizes=(4, 700),
    is_rare=True,
)

_JOURNAL = """class $Journal:
    def __init__(self, level):
        self.level = level

    def $note(self, text):
        if self.level > 2:
            print(text)


$journal = $Journal(1)"""

EAGER_JOURNAL = Fault(
    "eager-own-logger",
    ("eager-log-format",),
    {
        "step": Code(
            _ROLLING + '$journal.$note(f"{$count} {$reward} " + str($kept))',
            imports=_NUMPY,
            definitions=_JOURNAL,
            kept="np.zeros($size)",
        )
    },
    {
        "step": Code(
            _ROLLING
            + "if $journal.level > 2:\n"
            + '    $journal.$note(f"{$count} {$reward} " + str($kept))',
            definitions=_JOURNAL,
            kept="np.zeros($size)",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=15,
    unit_us=1.3,
    sizes=(4, 700),
    is_rare=True,
)

_LOG_FILE = (
    '$log = logging.getLogger("steps")\n'
    "$log.setLevel(logging.INFO)\n"
    '$log.addHandler(logging.FileHandler("steps.log", mode="w"))\n'
    "$log.propagate = False"
)

LOGGING_EMIT = Fault(
    "log-each-step",
    ("output-per-step",),
    {
        "step": Code(
            '$log.info("step %d: reward %.3f", $count, $reward)',
            imports="import logging",
            definitions=_LOG_FILE,
        )
    },
    {"step": Code('$log.info("step %d: reward %.3f", $count, $reward)', definitions=_LOG_FILE)},
    roles=frozenset({"reward", "count"}),
    base_us=13,
    unit_us=0.01,
    is_rare=True,
    rarer=1000,
)

PRINTING = Fault(
    "print-each-step",
    ("output-per-step",),
    {
        "step": Code(
            "$kept[$count % 50] = $reward\n"
            'print("step", $count, "reward", round($reward, 3), "mean", round(sum($kept) / 50, 3))',
            kept="[0.0] * 50",
        )
    },
    {
        "step": Code(
            "$kept[$count % 50] = $reward\n"
            'print("step", $count, "reward", round($reward, 3), "mean", round(sum($kept) / 50, 3))',
            kept="[0.0] * 50",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=4,
    unit_us=0.01,
    is_rare=True,
    rarer=1000,
)

FLUSHING = Fault(
    "flush-each-step",
    ("output-per-step",),
    {
        "step": Code(
            '$kept.write(f"{$count},{$reward}\\n")\n$kept.flush()', kept='open("rewards.csv", "w")'
        )
    },
    {"step": Code('$kept.write(f"{$count},{$reward}\\n")', kept='open("rewards.csv", "w")')},
    roles=frozenset({"reward", "count"}),
    base_us=3,
    unit_us=0.01,
    is_rare=True,
)

OPENING = Fault(
    "open-each-step",
    ("output-per-step",),
    {
        "step": Code(
            'with open("returns.txt", "a") as $tmp:\n    $tmp.write(f"{$count} {$reward}\\n")'
        )
    },
    {"step": Code('$kept.write(f"{$count} {$reward}\\n")', kept='open("returns.txt", "w")')},
    roles=frozenset({"reward", "count"}),
    base_us=25,
    unit_us=0.01,
    is_rare=True,
)

OMEGACONF = Fault(
    "omegaconf-in-loop",
    ("omegaconf-in-loop",),
    {
        "constants": Code(
            result="($kept.agent.discount, $kept.agent.rate)",
            imports="from omegaconf import OmegaConf",
            kept='OmegaConf.create({"agent": {"discount": 0.96, "rate": 0.01}})',
        )
    },
    {
        "constants": Code(
            result="$kept",
            kept="(0.96, 0.01)",
        )
    },
    needs=("omegaconf",),
    base_us=22,
    unit_us=0.01,
)

TINY_CLIP = Fault(
    "numpy-clip-of-a-number",
    ("numpy-tiny-ops",),
    {"shaped": Code(result="float(np.clip($reward, -1.0, 1.0))", imports=_NUMPY)},
    roles=frozenset({"reward"}),
    base_us=7,
    unit_us=0.01,
)

TINY_MEAN = Fault(
    "numpy-on-three-numbers",
    ("numpy-tiny-ops", "array-conversion-in-loop"),
    {
        "shaped": Code(
            "$tmp = np.mean([$reward, 0.5 * $reward, 0.0])\n$tmp2 = np.abs($tmp) + np.sign($reward)",
            "float(np.clip($reward + 0.01 * $tmp2, -1.0, 1.0))",
            imports=_NUMPY,
        )
    },
    {
        "shaped": Code(
            "$tmp = 0.5 * $reward\n$tmp2 = abs($tmp) + (($reward > 0) - ($reward < 0))",
            "max(-1.0, min(1.0, $reward + 0.01 * $tmp2))",
        )
    },
    roles=frozenset({"reward"}),
    base_us=18,
    unit_us=0.01,
)

CONVERSION = Fault(
    "array-of-a-dict",
    ("array-conversion-in-loop",),
    {
        "step": Code(
            "$kept[$count % $size] = $reward\n"
            "if int(np.argmax(np.array(list($kept.values())))) < 0:\n"
            '    print("no best")',
            imports=_NUMPY,
            kept="{number: 0.0 for number in range($size)}",
        )
    },
    {
        "step": Code(
            '$kept[$count % $size] = $reward\nif int($kept.argmax()) < 0:\n    print("no best")',
            kept="np.zeros($size)",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=6,
    unit_us=0.05,
    sizes=(16, 4000),
    is_rare=True,
)

BACK_AND_FORTH = Fault(
    "list-and-back",
    ("array-conversion-in-loop", "numpy-tiny-ops"),
    {
        "step": Code(
            _ROLLING
            + "$tmp = $kept.tolist()\n$tmp[0] += $reward\n"
            + "$kept[:] = np.array([0.999 * $item for $item in $tmp])",
            imports=_NUMPY,
            kept="np.zeros($size)",
        )
    },
    {
        "step": Code(
            _ROLLING + "$kept[0] += $reward\nnp.multiply($kept, 0.999, out=$kept)",
            kept="np.zeros($size)",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=3,
    unit_us=0.09,
    sizes=(32, 4000),
    is_rare=True,
)

COLLECTING = Fault(
    "gc-collect",
    ("gc-pressure",),
    {"step": Code("gc.collect()", imports="import gc")},
    {"step": Code("")},
    roles=frozenset({"count"}),
    base_us=25000,
    unit_us=0.01,
    is_rare=True,
)

GROWING_MEMORY = Fault(
    "memory-that-grows",
    ("memory-growth",),
    {
        "step": Code(
            "$kept.append(np.full(256, $reward))",
            imports=_NUMPY,
            kept="[]",
        )
    },
    {
        "step": Code(
            "$kept.append(np.full(256, $reward))",
            "",
            "from collections import deque",
            kept="deque(maxlen=64)",
        )
    },
    roles=frozenset({"reward", "count"}),
    is_rare=True,
    calls_per_s=4000,
    is_free=True,
)

# Four hundred rows and from the start again: the cost of a step is the same early and late in a run.
APPENDING = Fault(
    "np-append",
    ("growing-array",),
    {
        "step": Code(
            "$kept.rows = np.append($kept.rows, np.full((1, $size), $reward), axis=0)\n"
            "if len($kept.rows) >= 400:\n    $kept.rows = np.empty((0, $size))",
            imports="import types\nimport numpy as np",
            kept="types.SimpleNamespace(rows=np.empty((0, $size)))",
        )
    },
    {
        "step": Code(
            "$kept.rows[$count % 400] = $reward",
            kept="types.SimpleNamespace(rows=np.empty((400, $size)))",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=8,
    unit_us=0.3,
    sizes=(4, 600),
    is_rare=True,
)

JOINING_TENSORS = Fault(
    "torch-cat",
    ("growing-array",),
    {
        "step": Code(
            "$kept.rows = torch.cat([$kept.rows, torch.full((1, $size), $reward)])\n"
            "if len($kept.rows) >= 400:\n    $kept.rows = torch.empty((0, $size))",
            imports="import types\nimport torch",
            kept="types.SimpleNamespace(rows=torch.empty((0, $size)))",
        )
    },
    {
        "step": Code(
            "$kept.rows[$count % 400] = $reward",
            kept="types.SimpleNamespace(rows=torch.empty((400, $size)))",
        )
    },
    roles=frozenset({"reward", "count"}),
    within=("torch",),
    base_us=7,
    unit_us=0.12,
    sizes=(8, 1500),
    is_rare=True,
)

COPYING_BOARD = Fault(
    "deepcopy-of-a-board",
    ("deepcopy-in-loop",),
    {
        "step": Code(
            "$kept[$count % $size][$count % 8] = $reward\n"
            "if copy.deepcopy($kept) is $kept:\n"
            '    print("the same board")',
            imports="import copy",
            kept="[[0.0] * 8 for _ in range($size)]",
        )
    },
    {
        "step": Code(
            "$kept[$count % $size][$count % 8] = $reward\n"
            "if [$item[:] for $item in $kept] is $kept:\n"
            '    print("the same board")',
            kept="[[0.0] * 8 for _ in range($size)]",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=3,
    unit_us=6,
    sizes=(2, 200),
    is_rare=True,
)

_SLOPES = """class $Ground:
    def __init__(self, count):
        self.heights = np.arange(count) * 0.5 % 7

    def $steepness(self):
        slopes = np.gradient(self.heights)
        return np.abs(slopes) / (1.0 + slopes.max())


$ground = $Ground($size)"""

TABLE_AGAIN = Fault(
    "table-made-again",
    ("repeated-work",),
    {
        "step": Code(
            "$tmp = float($ground.$steepness()[$count % $size]) + $reward",
            imports=_NUMPY,
            definitions=_SLOPES,
        )
    },
    {
        "step": Code(
            "$tmp = float($kept[$count % $size]) + $reward",
            definitions=_SLOPES,
            kept="$ground.$steepness()",
        )
    },
    roles=frozenset({"reward", "count"}),
    base_us=25,
    unit_us=0.012,
    sizes=(50, 50_000),
    is_rare=True,
)

_SEEN_BEFORE = "np.random.default_rng(1).normal(size=$size)"

STATISTICS_AGAIN = Fault(
    "statistics-again",
    ("repeated-work",),
    {
        "step": Code(
            "$tmp = $kept.mean()\n$tmp2 = $kept.std() + 1e-6\n$tmp3 = ($reward - $tmp) / $tmp2",
            imports=_NUMPY,
            kept=_SEEN_BEFORE,
        )
    },
    {
        "step": Code(
            "$tmp, $tmp2 = $kept\n$tmp3 = ($reward - $tmp) / $tmp2",
            kept=f"(lambda it: (it.mean(), it.std() + 1e-6))({_SEEN_BEFORE})",
        )
    },
    roles=frozenset({"reward"}),
    base_us=15,
    unit_us=0.003,
    sizes=(500, 200_000),
    is_rare=True,
)

FAULTS = (
    TABLE_AGAIN,
    STATISTICS_AGAIN,
    EAGER_LOGGING,
    EAGER_JOURNAL,
    LOGGING_EMIT,
    PRINTING,
    FLUSHING,
    OPENING,
    OMEGACONF,
    TINY_CLIP,
    TINY_MEAN,
    CONVERSION,
    BACK_AND_FORTH,
    COLLECTING,
    GROWING_MEMORY,
    APPENDING,
    JOINING_TENSORS,
    COPYING_BOARD,
)
