"""What is counted in a program of which no stacks are taken any more."""

from __future__ import annotations

import pytest

from tests.e2e.test_counting import STAND_INS, counted

TRAIN = """
import asyncio, cProfile, signal, socket
from gymnasium.core import Env, Wrapper

class Maze(Env):
    def step(self, action):
        return action, 0.0, False, False, {{}}

env = Wrapper(Maze())

def train():
    for _ in range({steps}):
        env.step(0)

async def serve():
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)
    train()

{pause}
{train}
"""
STEPS = 400_000

PAUSES = {
    "asyncio handles a signal": ("", "asyncio.run(serve())"),
    "the program was profiled": ("cProfile.run('env.step(0)')", "train()"),
    "a descriptor is woken": (
        "ours, theirs = socket.socketpair(); ours.setblocking(False); signal.set_wakeup_fd(ours.fileno())",
        "train()",
    ),
    "a thread handles signals": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
        "train()",
    ),
}


@pytest.mark.parametrize(("pause", "train"), PAUSES.values(), ids=PAUSES)
def test_calls_are_counted_while_no_stacks_are_taken(pause, train, write, rlprof_run):
    for name, text in STAND_INS.items():
        (write("").parent / name).parent.mkdir(parents=True, exist_ok=True)
        write(text, name)
    script = write(TRAIN.format(pause=pause, train=train, steps=STEPS))

    recorded = rlprof_run(script, options=["--torch", "off"])

    assert recorded.code == 0, (recorded.out, recorded.err)
    # At its end a program that was profiled is not told what came after the last look.
    steps = STEPS + pause.count("env.step")
    assert sum(counted(recorded, "steps:gymnasium.env")) == pytest.approx(steps, rel=0.06)
