"""Faults of how processes are started, and of what goes between them."""

from __future__ import annotations

from .code import Code
from .fault import Fault

FRESH_POOL = Fault(
    "pool-per-generation",
    ("process-startup",),
    {
        "score": Code(
            'with mp.get_context("fork").Pool(2) as $tmp:\n    $tmp2 = $tmp.map($work, $candidates)',
            "$tmp2",
            imports="import multiprocessing as mp",
        )
    },
    waits=True,
)

FRESH_EXECUTOR = Fault(
    "executor-per-generation",
    ("process-startup",),
    {
        "score": Code(
            "with futures.ProcessPoolExecutor(2, mp.get_context('spawn')) as $tmp:\n"
            "    $tmp2 = list($tmp.map($work, $candidates))",
            "$tmp2",
            imports="import multiprocessing as mp\nfrom concurrent import futures",
        )
    },
    waits=True,
)

_PIPED = """def $worker(make, seed, line):
    world = make(seed)
    line.send(world.$reset())
    while True:
        move = line.recv()
        if move is None:
            break
        line.send(world.$step(move))


class $Piped:
    def __init__(self, make, count, seed):
        context = mp.get_context("fork")
        self.lines, self.children = [], []
        for number in range(count):
            ours, theirs = context.Pipe()
            child = context.Process(target=$worker, args=(make, seed + number, theirs))
            child.daemon = True
            child.start()
            self.lines.append(ours)
            self.children.append(child)

    def $reset(self):
        return np.array([line.recv() for line in self.lines], dtype=np.float32)

    def $step(self, moves):
        for line, move in zip(self.lines, moves.tolist()):
            line.send(move)
        seen, gains, ends = zip(*[line.recv() for line in self.lines])
        return (
            np.array(seen, dtype=np.float32),
            np.array(gains, dtype=np.float32),
            np.array(ends, dtype=np.float32),
        )

    def close(self):
        for line, child in zip(self.lines, self.children):
            line.send(None)
            child.join(2)"""

WORKERS_OF_CHEAP_WORLDS = Fault(
    "messages-per-step",
    ("ipc-per-step",),
    {
        "vector": Code(
            result="$Piped($cls, $total, $seed)",
            imports="import multiprocessing as mp\nimport numpy as np",
            definitions=_PIPED,
        )
    },
    allowed=frozenset({"too-many-workers", "pickle-heavy", "worker-starved"}),
    at_setup=True,
    waits=True,
)

LARGE_MESSAGES = Fault(
    "large-messages",
    ("pickle-heavy",),
    {
        "message": Code(
            "$kept[0, : len($gained)] = $gained",
            "($seen, $taken, $gained, $kept.copy())",
            imports="import numpy as np",
            kept="np.zeros((256, 4096), dtype=np.float32)",
        )
    },
    {
        "message": Code(
            "$kept[0, : len($gained)] = $gained",
            "($seen, $taken, $gained)",
            kept="np.zeros((256, 4096), dtype=np.float32)",
        )
    },
    waits=True,
)

PUBLISHING = Fault(
    "weights-through-queues",
    ("model-publish", "pickle-heavy"),
    {
        "publish": Code(
            "$tmp = {$item: $tmp2.numpy().copy() for $item, $tmp2 in $net.state_dict().items()}\n"
            "for $tmp3 in $boxes:\n"
            "    $tmp3.put($tmp)",
            imports="import queue\nimport torch",
        ),
        "fetch": Code(
            "$tmp = None\n"
            "try:\n"
            "    while True:\n"
            "        $tmp = $box.get_nowait()\n"
            "except queue.Empty:\n"
            "    pass\n"
            "if $tmp is not None:\n"
            "    $net.load_state_dict({$item: torch.from_numpy($tmp2) for $item, $tmp2 in $tmp.items()})",
            imports="import queue\nimport torch",
        ),
    },
    waits=True,
)

ASKING_WITH_SLEEP = Fault(
    "asking-with-sleep",
    ("ipc-polling",),
    {
        "receive": Code(
            "while $inbox.empty():\n    time.sleep(0.0005)", "$inbox.get()", imports="import time"
        )
    },
    is_free=True,
    waits=True,
)

ASKING_BUSILY = Fault(
    "asking-without-rest",
    ("ipc-polling",),
    {"receive": Code("while $inbox.empty():\n    pass", "$inbox.get()")},
    waits=True,
)

FAULTS = (
    FRESH_POOL,
    FRESH_EXECUTOR,
    WORKERS_OF_CHEAP_WORLDS,
    LARGE_MESSAGES,
    PUBLISHING,
    ASKING_WITH_SLEEP,
    ASKING_BUSILY,
)
