"""Actor-critic on CartPole with torch and gymnasium: deep, many different stacks, in 1 or more workers."""

from __future__ import annotations

import argparse
import multiprocessing
import time

import gymnasium
import torch
from pacing import announce, make_steps, report
from torch import nn

import rlprof

UPDATE_EVERY = 32


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.Tanh())

    def forward(self, x):
        return x + self.layers(x)


class ActorCritic(nn.Module):
    def __init__(self, inputs, actions, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), Block(width), Block(width))
        self.policy = nn.Sequential(Block(width), nn.Linear(width, actions))
        self.value = nn.Sequential(Block(width), nn.Linear(width, 1))

    def forward(self, x):
        hidden = self.body(x)
        return torch.distributions.Categorical(logits=self.policy(hidden)), self.value(hidden)


class Trainer:
    def __init__(self, seed):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.env = gymnasium.make("CartPole-v1")
        self.model = ActorCritic(4, 2)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.observation, _ = self.env.reset(seed=seed)
        self.losses = []

    def step(self):
        distribution, value = self.model(torch.as_tensor(self.observation))
        action = distribution.sample()
        self.observation, reward, ended, cut, _ = self.env.step(action.item())
        advantage = float(reward) - value.squeeze()
        self.losses.append(-distribution.log_prob(action) * advantage.detach() + advantage**2)
        if len(self.losses) == UPDATE_EVERY:
            self.update()
        if ended or cut:
            self.observation, _ = self.env.reset()
        rlprof.step()

    def update(self):
        loss = torch.stack(self.losses).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        self.losses.clear()


def work(seconds, seed, results):
    results.put(make_steps(seconds, Trainer(seed).step)["steps"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=0, help="0: in the main process")
    arguments = parser.parse_args()
    if not arguments.workers:
        trainer = Trainer(0)
        announce()
        report(**make_steps(arguments.seconds, trainer.step))
        return
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    started = time.perf_counter()
    workers = [
        context.Process(target=work, args=(arguments.seconds, seed, results))
        for seed in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    steps = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    report(steps=steps, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
