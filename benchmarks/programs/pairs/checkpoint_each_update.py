"""A learner and two actors that compute for it: network and optimizer are saved at each update.

``--fixed`` saves at every 50th. The kernel writes the file on the learner's core.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import multiprocessing as mp
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
ROLLOUT = 32
OBSERVATION = 32
ACTIONS = 5
HIDDEN = 256


def q_network():
    return nn.Sequential(
        nn.Linear(OBSERVATION, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN, ACTIONS),
    )  # fmt: skip


def actor(seed, network, rollouts):
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    pushes = rng.normal(size=(ACTIONS, OBSERVATION))
    state = rng.normal(size=OBSERVATION)
    while True:
        rows = []
        for _ in range(ROLLOUT):
            observation = state.astype(np.float32)
            with torch.no_grad():
                action = int(network(torch.from_numpy(observation)[None]).argmax())
            state = 0.9 * state + pushes[action] + 0.1 * rng.normal(size=OBSERVATION)
            rows.append((observation, action, np.float32(-np.abs(state).mean())))
        rollouts.put(tuple(map(np.array, zip(*rows, strict=True))))


def update(network, optimizer, rollout):
    observations, actions, rewards = map(torch.from_numpy, rollout)
    chosen = network(observations.repeat(8, 1)).gather(1, actions.repeat(8)[:, None]).squeeze(1)
    loss = (chosen - rewards.repeat(8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    options = arguments()
    torch.set_num_threads(1)
    context = mp.get_context("fork")
    network = q_network().share_memory()
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)
    rollouts = context.Queue(maxsize=8)
    actors = [
        context.Process(target=actor, args=(seed, network, rollouts), daemon=True)
        for seed in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    watch = Stopwatch(options.seconds)
    updates = 0
    with tempfile.TemporaryDirectory() as folder:
        while watch.is_running():
            update(network, optimizer, rollouts.get())
            updates += 1
            if not options.fixed or updates % 50 == 0:
                state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(state, Path(folder) / "checkpoint.pt")
            rlprof.step(ROLLOUT)
            watch.count(ROLLOUT)
    for process in actors:
        process.kill()
        process.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
