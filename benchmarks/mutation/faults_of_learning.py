"""Faults of policies, batches, replays, losses and updates."""

from __future__ import annotations

from .code import Code
from .fault import Fault

_TORCH = "import torch"
_BOTH = "import numpy as np\nimport torch"

ROW_BY_ROW = Fault(
    "policy-row-by-row",
    ("python-env-loop", "python-loop-over-tensor"),
    {
        "policy": Code(
            "$tmp = []\n"
            "for $item in $obs:\n"
            "    with torch.no_grad():\n"
            "        $tmp.append($net(torch.from_numpy($item)))",
            "torch.stack($tmp)",
            imports=_TORCH,
        )
    },
)

ROW_BY_ROW_LISTED = Fault(
    "policy-row-by-row-listed",
    ("python-env-loop", "python-loop-over-tensor"),
    {
        "policy": Code(
            result="torch.stack([$net(torch.as_tensor($item)).detach() for $item in $obs])",
            imports=_TORCH,
        )
    },
    allowed=frozenset({"grads-in-rollout"}),
)

PLAYER_BY_PLAYER = Fault(
    "policy-player-by-player",
    ("python-env-loop",),
    {
        "crowd": Code(
            "$tmp = {}\n"
            "for $item, $tmp2 in $seen.items():\n"
            "    with torch.no_grad():\n"
            "        $tmp3 = torch.softmax($net(torch.from_numpy($tmp2)), dim=0)\n"
            "    $tmp[$item] = int(torch.multinomial($tmp3, 1))",
            "$tmp",
            imports=_TORCH,
        )
    },
)

PLAYERS_IN_A_DICT = Fault(
    "policy-in-a-dict-comprehension",
    ("python-env-loop", "grads-in-rollout"),
    {
        "crowd": Code(
            "with torch.no_grad():\n"
            "    $tmp = {$item: $net(torch.from_numpy(row)) for $item, row in $seen.items()}",
            "{$item: int(torch.multinomial(torch.softmax($tmp2, 0), 1)) for $item, $tmp2 in $tmp.items()}",
            imports=_TORCH,
        )
    },
)

GRADIENTS = Fault(
    "gradients-in-rollout",
    ("grads-in-rollout",),
    {"act": Code("$tmp = $net(torch.from_numpy($obs))", "$tmp.detach().numpy()", imports=_TORCH)},
    base_us=12,
    unit_us=0.01,
)

VALIDATING = Fault(
    "distributions-checked",
    ("distribution-validation",),
    {
        "chosen": Code(
            "$tmp = torch.distributions.Categorical(logits=$logits)\n$tmp2 = $tmp.sample()",
            "($tmp2.numpy(), $tmp.log_prob($tmp2).numpy())",
            imports=_TORCH,
        )
    },
    {
        "chosen": Code(
            "$tmp = torch.distributions.Categorical(logits=$logits, validate_args=False)\n"
            "$tmp2 = $tmp.sample()",
            "($tmp2.numpy(), $tmp.log_prob($tmp2).numpy())",
        )
    },
)

TENSOR_OF_LIST = Fault(
    "tensor-of-a-list-of-arrays",
    ("tensor-from-list",),
    {"batch": Code(result="torch.tensor($rows)", imports=_TORCH)},
)

FLOAT_TENSOR_OF_LIST = Fault(
    "floattensor-of-lists",
    ("tensor-from-list", "array-conversion-in-loop"),
    {
        "batch": Code(
            "$tmp = [$item.tolist() for $item in $rows]",
            "torch.FloatTensor($tmp)",
            imports=_TORCH,
        )
    },
)

_LOOPED = (
    "$tmp, $tmp2 = {zeros}, {last}\n"
    "for $index in range($rewards.shape[0] - 1, -1, -1):\n"
    "    $item = {values}[$index + 1] if $index + 1 < len($rewards) else {ending}\n"
    "    $tmp3 = {rewards}[$index] + 0.99 * $item * (1 - {overs}[$index]) - {values}[$index]\n"
    "    $tmp2 = $tmp3 + 0.94 * (1 - {overs}[$index]) * $tmp2\n"
    "    $tmp[$index] = $tmp2"
)

GAE_OF_TENSORS = Fault(
    "gae-over-tensors",
    ("gae-loop", "python-loop-over-tensor"),
    {
        "gae": Code(
            "r, v, e, z = (torch.from_numpy(given) for given in ($rewards, $values, $overs, $last))\n"
            + _LOOPED.format(
                zeros="torch.zeros_like(r)",
                last="torch.zeros_like(z)",
                values="v",
                rewards="r",
                overs="e",
                ending="z",
            ),
            "$tmp",
            imports=_BOTH,
        )
    },
)

GAE_BY_ELEMENT = Fault(
    "gae-element-by-element",
    ("gae-loop", "python-loop-over-tensor"),
    {
        "gae": Code(
            "r, v, e, z = (torch.from_numpy(given) for given in ($rewards, $values, $overs, $last))\n"
            "$tmp = torch.zeros_like(r)\n"
            "for column in range(r.shape[1]):\n"
            "    $tmp2 = torch.tensor(0.0)\n"
            "    for $index in reversed(range(r.shape[0])):\n"
            "        $item = v[$index + 1, column] if $index + 1 < len(r) else z[column]\n"
            "        $tmp3 = 1 - e[$index, column]\n"
            "        $tmp2 = (\n"
            "            r[$index, column] + 0.99 * $item * $tmp3 - v[$index, column]\n"
            "            + 0.94 * $tmp3 * $tmp2\n"
            "        )\n"
            "        $tmp[$index, column] = $tmp2",
            "$tmp",
            imports=_BOTH,
        )
    },
)

NORMALISING_BY_ELEMENT = Fault(
    "returns-normalised-one-by-one",
    ("python-loop-over-tensor", "tensor-from-list"),
    {
        "returns": Code(
            "$tmp, $tmp2 = $returns.mean(), $returns.std() + 1e-8",
            "torch.stack([($item - $tmp) / $tmp2 for $item in $returns])",
            imports=_TORCH,
        )
    },
)

_OBJECTS = """class $Drawer:
    def __init__(self, capacity, width, seed):
        self.rng = random.Random(seed)
        self.rows = {made}

    def $add(self, seen, taken, gained, then):
        self.rows.append((seen, taken, gained, then))
{shift}
    def $draw(self, count):
{drawing}
        seen, taken, gained, then = zip(*chosen)
        return (
            np.stack(seen),
            np.array(taken),
            np.array(gained, dtype=np.float32),
            np.stack(then),
        )"""

REPLAY_OF_OBJECTS = Fault(
    "replay-of-tuples",
    ("replay-sampling", "array-conversion-in-loop"),
    {
        "memory": Code(
            result="$Drawer($capacity, $width, $seed)",
            imports="import random\nimport numpy as np\nfrom collections import deque",
            definitions=_OBJECTS.format(
                made="deque(maxlen=capacity)",
                shift="",
                drawing="        chosen = self.rng.sample(self.rows, count)",
            ),
        )
    },
    at_setup=True,
)

REPLAY_ONE_BY_ONE = Fault(
    "replay-one-by-one",
    ("replay-sampling", "array-conversion-in-loop"),
    {
        "memory": Code(
            result="$Drawer($capacity, $width, $seed)",
            imports="import random\nimport numpy as np",
            definitions=_OBJECTS.format(
                made="[]\n        self.capacity = capacity",
                shift="        if len(self.rows) > self.capacity:\n            del self.rows[0]\n",
                drawing="        chosen = []\n        while len(chosen) < count:\n"
                "            chosen.append(self.rows[int(self.rng.random() * len(self.rows))])",
            ),
        )
    },
    at_setup=True,
)

_PRIORITISED = """class $Drawer:
    def __init__(self, capacity, width, seed):
        self.rng = np.random.default_rng(seed)
        self.seen = np.zeros((capacity, width), dtype=np.float32)
        self.then = np.zeros((capacity, width), dtype=np.float32)
        self.taken = np.zeros(capacity, dtype=np.int64)
        self.gained = np.zeros(capacity, dtype=np.float32)
        self.weight = {weights}
        self.size = self.at = 0

    def $add(self, seen, taken, gained, then):
        self.seen[self.at], self.then[self.at] = seen, then
        self.taken[self.at], self.gained[self.at] = taken, gained
        self.weight[self.at] = 0.1 + abs(gained)
        self.at = (self.at + 1) % len(self.taken)
        self.size = max(self.size, self.at)

{drawing}
        return self.seen[rows], self.taken[rows], self.gained[rows], self.then[rows]"""

REPLAY_PRIORITISED = Fault(
    "prioritised-replay-in-python",
    ("replay-sampling",),
    {
        "memory": Code(
            result="$Drawer(1500, $width, $seed)",
            imports="import numpy as np",
            definitions=_PRIORITISED.format(
                weights="[0.0] * capacity",
                drawing="""\
    def _found(self, mark):
        for row in range(self.size):
            mark -= self.weight[row]
            if mark <= 0:
                return row
        return self.size - 1

    def $draw(self, count):
        total = sum(self.weight)
        rows = [self._found(self.rng.random() * total) for _ in range(count)]""",
            ),
        )
    },
    {
        "memory": Code(
            result="$Drawer(1500, $width, $seed)",
            definitions=_PRIORITISED.format(
                weights="np.zeros(capacity)",
                drawing="""\
    def $draw(self, count):
        heaped = np.cumsum(self.weight[: self.size])
        rows = np.searchsorted(heaped, self.rng.random(count) * heaped[-1])
        rows = np.minimum(rows, self.size - 1)""",
            ),
        )
    },
    at_setup=True,
)

TARGET_BY_PARAMETER = Fault(
    "target-by-parameter",
    ("target-update-per-parameter",),
    {
        "target": Code(
            "for $tmp, $tmp2 in zip($slow.parameters(), $quick.parameters()):\n"
            "    $tmp.data.mul_(0.99).add_(0.01 * $tmp2.data)",
            imports=_TORCH,
        )
    },
)

TARGET_BY_NAME = Fault(
    "target-by-name",
    ("target-update-per-parameter",),
    {
        "target": Code(
            "$tmp = $quick.state_dict()\n"
            "with torch.no_grad():\n"
            "    for $item, $tmp2 in $slow.state_dict().items():\n"
            "        $tmp2.copy_(0.01 * $tmp[$item] + 0.99 * $tmp2)",
            imports=_TORCH,
        )
    },
)

UNFUSED = Fault(
    "optimizer-not-fused",
    ("optimizer-not-fused",),
    {
        "optimizer": Code(
            result="torch.optim.Adam($net.parameters(), lr=1e-3, foreach=False)", imports=_TORCH
        )
    },
    base_us=400,
    unit_us=0.01,
    at_setup=True,
)

_SAVED = Code(
    "torch.save({'net': $net.state_dict(), 'rows': $kept, 'count': $count}, 'last.pt')",
    imports=_TORCH,
    kept="torch.zeros($size, 1000)",
)

CHECKPOINTS = Fault(
    "checkpoint-each-update",
    ("checkpoint-heavy",),
    {"update": _SAVED},
    {"update": _SAVED},
    roles=frozenset({"net", "count"}),
    base_us=700,
    unit_us=2.5,
    sizes=(1, 5000),
    is_rare=True,
    rarer=50,
)

_PICKLED = Code(
    'with open("state.pkl", "wb") as $tmp:\n    pickle.dump(($net.state_dict(), $kept), $tmp)',
    imports="import pickle",
    kept="[(0.5, number) for number in range($size)]",
)

PICKLED_CHECKPOINTS = Fault(
    "pickled-checkpoints",
    ("checkpoint-heavy", "output-per-step"),
    {"update": _PICKLED},
    {"update": _PICKLED},
    roles=frozenset({"net", "count"}),
    base_us=500,
    unit_us=0.2,
    sizes=(10, 100_000),
    is_rare=True,
    rarer=50,
)

_SPREAD = Code(
    "for $item, $tmp in $net.named_parameters():\n"
    "    $tmp2 = np.histogram($tmp.detach().numpy(), bins=$size)\n"
    "    $kept[$item] = ($tmp2, float($tmp.detach().norm()))",
    imports="import numpy as np",
    kept="{}",
)

WEIGHTS_WATCHED = Fault(
    "histograms-of-weights",
    ("monitoring-share",),
    {"update": _SPREAD},
    {"update": _SPREAD},
    roles=frozenset({"net", "count"}),
    base_us=250,
    unit_us=0.3,
    sizes=(16, 1000),
    is_rare=True,
    rarer=50,
)

FAULTS = (
    ROW_BY_ROW,
    ROW_BY_ROW_LISTED,
    PLAYER_BY_PLAYER,
    PLAYERS_IN_A_DICT,
    GRADIENTS,
    VALIDATING,
    TENSOR_OF_LIST,
    FLOAT_TENSOR_OF_LIST,
    GAE_OF_TENSORS,
    GAE_BY_ELEMENT,
    NORMALISING_BY_ELEMENT,
    REPLAY_OF_OBJECTS,
    REPLAY_ONE_BY_ONE,
    REPLAY_PRIORITISED,
    TARGET_BY_PARAMETER,
    TARGET_BY_NAME,
    UNFUSED,
    CHECKPOINTS,
    PICKLED_CHECKPOINTS,
    WEIGHTS_WATCHED,
)
