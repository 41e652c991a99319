"""Behavioural cloning of frames that are shifted and dimmed as they are drawn, by a DataLoader without workers.

``--fixed`` gives it one, which makes batches on the other core.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

FRAMES, SIDE, ACTIONS = 2_000, 64, 6
BATCH = 64
MOST_SHIFTED = 6


class ShiftedFrames(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.frames = rng.integers(0, 255, (FRAMES, SIDE, SIDE), dtype=np.uint8)
        self.actions = rng.integers(0, ACTIONS, FRAMES)

    def __len__(self):
        return FRAMES

    def __getitem__(self, index):
        down, right = np.random.randint(-MOST_SHIFTED, MOST_SHIFTED + 1, 2)
        shifted = np.roll(self.frames[index], (down, right), (0, 1)).astype(np.float32) / 255
        dimmed = shifted * np.random.uniform(0.8, 1.2) + np.random.normal(0, 0.02, shifted.shape)
        return np.clip(dimmed, 0, 1).astype(np.float32)[None], self.actions[index]


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 20 * 20, 64),
        nn.ReLU(),
        nn.Linear(64, ACTIONS),
    )


def main():
    options = arguments()
    torch.set_num_threads(1)
    loader = DataLoader(
        ShiftedFrames(),
        batch_size=BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=1 if options.fixed else 0,
        persistent_workers=options.fixed,
    )
    policy = network()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        for frames, actions in loader:
            loss = nn.functional.cross_entropy(policy(frames), actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            watch.count(BATCH)
            if not watch.is_running():
                break
    tell(watch.sps)


if __name__ == "__main__":
    main()
