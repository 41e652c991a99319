"""REINFORCE on what a collector of TorchRL brings from CartPole, all in one process."""

from __future__ import annotations

import argparse

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs.libs.gym import GymEnv
from torchrl.modules import OneHotCategorical, ProbabilisticActor

from benchmarks.programs.stopwatch import Stopwatch, tell

BATCH = 128
"""Steps for an update."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    watch = Stopwatch(parser.parse_args().seconds)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env = GymEnv("CartPole-v1")
    net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    policy = ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        spec=env.action_spec,
        in_keys=["logits"],
        distribution_class=OneHotCategorical,
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    collector = Collector(env, policy, frames_per_batch=BATCH, total_frames=-1)
    for batch in collector:
        chosen = policy.get_dist(batch).log_prob(batch["action"])
        rewards = batch["next", "reward"].squeeze(-1)
        loss = -(chosen * (rewards - rewards.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.count(batch.numel())
        if not watch.is_running():
            break
    collector.shutdown()
    tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)


if __name__ == "__main__":
    main()
