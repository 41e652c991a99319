"""PPO of Stable-Baselines3 on eight CartPoles in one process."""

from __future__ import annotations

import argparse
import sys

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from benchmarks.programs.stopwatch import Stopwatch, tell

NUM_ENVS = 8
HORIZON = 128


class Until(BaseCallback):
    """Ends the training when time is over."""

    def __init__(self, watch: Stopwatch) -> None:
        super().__init__()
        self.watch = watch

    def _on_step(self) -> bool:
        self.watch.count(NUM_ENVS)
        return self.watch.is_running()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    watch = Stopwatch(parser.parse_args().seconds)
    torch.set_num_threads(1)
    envs = make_vec_env("CartPole-v1", n_envs=NUM_ENVS, seed=0)
    model = PPO("MlpPolicy", envs, n_steps=HORIZON, batch_size=256, device="cpu", seed=0)
    model.learn(sys.maxsize, callback=Until(watch))
    envs.close()
    tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)


if __name__ == "__main__":
    main()
