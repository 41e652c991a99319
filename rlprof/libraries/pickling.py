"""Objects made bytes, and models on disk."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, Transport
from rlprof.model.activity import WaitKind

CHECKPOINTS: Final = Library(
    name="Orbax and safetensors",
    also=("orbax", "safetensors"),
    samples=("torch.py",),
    saving=r".*\.py$",
)
"""Orbax and safetensors: models on disk."""
CLOUDPICKLE: Final = Library(
    name="cloudpickle",
    packages=("cloudpickle",),
    samples=("cloudpickle.py",),
    transfer=EVERYTHING,
    transport={EVERYTHING: {ANY: Transport.PICKLING}},
    saving=r".*\.py$",
    is_launcher=True,
)
DILL: Final = Library(
    name="dill",
    also=("dill",),
    transfer=EVERYTHING,
    transport={EVERYTHING: {ANY: Transport.PICKLING}},
)
JOBLIB: Final = Library(
    name="joblib",
    packages=("joblib",),
    samples=("numpy_pickle.py", "parallel.py"),
    saving=r"numpy_pickle\.py$",
    waits={r"parallel\.py$": {"_retrieve": WaitKind.POLL}},
    instead_of_polling="Parallel naps for 10 ms each time that it finds a task not done. Give each of its calls more to do, or take a "
    "concurrent.futures.ProcessPoolExecutor that is made once: its map(f, tasks, chunksize=n) waits without naps.",
    drives=EVERYTHING,
    is_launcher=True,
)
