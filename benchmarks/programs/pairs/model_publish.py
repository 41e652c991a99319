"""Actor-critic with two actors: after each update the learner sends them all weights by a queue.

``--fixed`` keeps the weights in shared memory and sends a word instead.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import multiprocessing as mp
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
ROLLOUT = 24
OBSERVATION = 24
ACTIONS = 4
HIDDEN = 512


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(OBSERVATION, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh()
        )
        self.policy = nn.Linear(HIDDEN, ACTIONS)
        self.value = nn.Linear(HIDDEN, 1)

    def forward(self, observations):
        features = self.body(observations)
        return self.policy(features), self.value(features).squeeze(-1)


class Hopper:
    """A linear system with noise and a target; a batch of one."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        dynamics = self.rng.normal(size=(OBSERVATION, OBSERVATION))
        self.dynamics = 0.9 * dynamics / np.abs(np.linalg.eigvals(dynamics)).max()
        self.pushes = self.rng.normal(size=(ACTIONS, OBSERVATION))
        self.state = self.rng.normal(size=OBSERVATION)

    def step(self, action):
        self.state = self.dynamics @ self.state + self.pushes[action]
        return self.state.astype(np.float32), -float(np.abs(self.state).mean())


def actor(seed, shared_model, commands, rollouts):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    env = Hopper(seed)
    model = ActorCritic() if shared_model is None else shared_model
    observation = env.state.astype(np.float32)
    while True:
        command = commands.get()
        if command == "stop":
            return
        if command != "collect":
            model.load_state_dict(
                {name: torch.from_numpy(array) for name, array in command.items()}
            )
        observations, actions, rewards = [], [], []
        with torch.no_grad():
            for _ in range(ROLLOUT):
                logits, _ = model(torch.from_numpy(observation)[None])
                action = int(torch.distributions.Categorical(logits=logits).sample())
                observations.append(observation)
                actions.append(action)
                observation, reward = env.step(action)
                rewards.append(reward)
        rollouts.put((np.stack(observations), np.array(actions), np.array(rewards, np.float32)))


def update(model, optimizer, batch):
    observations, actions, rewards = batch
    logits, values = model(observations)
    advantages = rewards - values
    log_probs = torch.distributions.Categorical(logits=logits).log_prob(actions)
    loss = -(log_probs * advantages.detach()).mean() + 0.5 * advantages.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def publish(model, commands):
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    for queue in commands:
        queue.put(weights)


def main():
    options = arguments()
    torch.set_num_threads(1)
    context = mp.get_context("fork")
    model = ActorCritic()
    if options.fixed:
        model.share_memory()
    commands = [context.Queue() for _ in range(NUM_ACTORS)]
    rollouts = context.Queue()
    shared = model if options.fixed else None
    actors = [
        context.Process(target=actor, args=(seed, shared, commands[seed], rollouts), daemon=True)
        for seed in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        if options.fixed:
            for queue in commands:
                queue.put("collect")
        else:
            publish(model, commands)
        parts = zip(*[rollouts.get() for _ in actors], strict=True)
        update(model, optimizer, [torch.from_numpy(np.concatenate(part)) for part in parts])
        rlprof.step(NUM_ACTORS * ROLLOUT)
        watch.count(NUM_ACTORS * ROLLOUT)
    for queue in commands:
        queue.put("stop")
    for process in actors:
        process.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
