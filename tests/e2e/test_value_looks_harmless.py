"""Looks at values taken a thousand times a second leave a program as it is, in each Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from rlprof.agent import INJECT_DIR

PROGRAM = """\
import asyncio, contextlib, json, signal, sys, time, weakref

sys.path.insert(0, sys.argv[2])
from rlprof_agent.plain_reads import LINE, PART
from rlprof_agent.value_looks import look, may_look

looks = 0

def on_timer(signum, frame):
    global looks
    innermost = frame
    while frame is not None:
        if frame.f_code.co_filename == __file__ and may_look(frame, innermost):
            code = frame.f_code
            names = [*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names]
            paths = [*names, *(PART.join(("self", "." + name)) for name in code.co_names)]
            if paths:
                look(frame, LINE.join(paths), [10_000])
                looks += 1
        frame = frame.f_back

class Node:
    __slots__ = ("value", "next", "__weakref__")

class Counter:
    made = 0

    def __init__(self):
        Counter.made += 1
        self.total = 0

    @property
    def doubled(self):
        self.total += 1
        return 2 * self.total

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.total += 1000
        return 0

def closures(n):
    total = 0
    def add(k):
        nonlocal total
        total += k
        return total
    return [add(k) for k in range(n)][-1], {k: add(k) for k in range(3)}

def generators(n):
    def inner(k):
        while k:
            got = yield k
            k -= 1 if got is None else got
    return sum(inner(n)) + sum(x for x in inner(n) if x % 2)

def unbound(n):
    found = 0
    for k in range(n):
        value = k
        del value
        try:
            value
        except UnboundLocalError:
            found += 1
        with contextlib.suppress(ZeroDivisionError):
            1 / (k % 2)
            found += 1
    return found

def released(n):
    gone = 0
    for k in range(n):
        node = Node()
        node.value = [k]
        ref = weakref.ref(node)
        node = None
        gone += ref() is None
    return gone

def recursion(k):
    return 1 if k < 2 else recursion(k - 1) + recursion(k - 2)

async def tasks(n):
    async def one(k):
        await asyncio.sleep(0)
        return k
    return sum(await asyncio.gather(*(one(k) for k in range(n))))

def objects(n):
    counter = Counter()
    seen = [counter.doubled for _ in range(n)]
    return counter.total, seen[-1], Counter.made

def reads_itself(n):
    x = n
    kept = locals()
    for _ in range(200):
        sum(range(50))
    return sorted(kept)

def workload(round):
    class Body:
        a = round
        b = [a] * 3
    return [closures(200), generators(150), unbound(200), released(200), recursion(13),
            asyncio.run(tasks(20)), objects(100)[:2], reads_itself(round), Body.b]

is_looked_at = sys.argv[1] == "looked-at"
if is_looked_at:
    signal.signal(signal.SIGALRM, on_timer)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
results = [workload(round) for round in range(40)]
signal.setitimer(signal.ITIMER_REAL, 0)
print(json.dumps({"results": results, "looks": looks}))
"""


def run(python: Path, script: Path, how: str) -> dict[str, object]:
    done = subprocess.run(
        [python, script, how, INJECT_DIR], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_the_program_computes_what_it_would(tmp_path, each_python):
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)

    bare = run(each_python, script, "bare")
    looked_at = run(each_python, script, "looked-at")

    assert looked_at["results"] == bare["results"]
    assert looked_at["looks"] > 20
    assert bare["looks"] == 0
