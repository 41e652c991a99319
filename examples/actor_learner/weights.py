"""The learner's weights in shared memory, where the actors fetch them."""

from __future__ import annotations

import numpy as np
import torch
from network import QNetwork
from processes import context
from shared import SharedArray
from torch import nn


class SharedWeights:
    """The last published weights of a network."""

    def __init__(self, network: QNetwork) -> None:
        size = sum(parameter.numel() for parameter in network.parameters())
        self.values = SharedArray((size,), np.float32)
        self.version = SharedArray((1,), np.int64)
        self.lock = context().Lock()
        self.publish(network)

    @torch.no_grad()
    def publish(self, network: QNetwork) -> None:
        values = nn.utils.parameters_to_vector(network.parameters()).cpu().numpy()
        with self.lock:
            self.values.array[:] = values
            self.version.array[0] += 1

    def fetch(self, network: QNetwork, known: int) -> int:
        """Bring ``network`` from version ``known`` up to date; returns its version now."""
        version = int(self.version.array[0])
        if version == known:
            return known
        with self.lock:
            values = torch.from_numpy(self.values.array.copy())
            version = int(self.version.array[0])
        nn.utils.vector_to_parameters(values, network.parameters())
        return version

    def free(self) -> None:
        self.values.free()
        self.version.free()
