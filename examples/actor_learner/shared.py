"""Arrays in shared memory, which several processes read and write without copying."""

from __future__ import annotations

import itertools
import os
from multiprocessing.shared_memory import SharedMemory

import numpy as np

_numbers = itertools.count()


class SharedArray:
    """A numpy array of zeros that child processes see. Its maker must ``free`` it."""

    def __init__(self, shape: tuple[int, ...], dtype: type) -> None:
        self.shape, self.dtype = shape, dtype
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        name = f"actor_learner_{os.getpid()}_{next(_numbers)}"
        self.memory = SharedMemory(name, create=True, size=size)
        self.array = self._view()
        self.array[:] = 0

    def _view(self) -> np.ndarray:
        return np.ndarray(self.shape, self.dtype, self.memory.buf)

    def __getstate__(self) -> dict[str, object]:
        """For a child that is spawned: the name of the memory, not what is in it."""
        return {"shape": self.shape, "dtype": self.dtype, "memory": self.memory}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.array = self._view()

    def free(self) -> None:
        # The memory cannot be closed while an array looks at it.
        del self.array
        self.memory.close()
        self.memory.unlink()
