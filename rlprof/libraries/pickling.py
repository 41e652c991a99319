"""Objects made bytes, and models on disk."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, Transport

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
    samples=("numpy_pickle.py",),
    saving=r"numpy_pickle\.py$",
    drives=EVERYTHING,
    is_launcher=True,
)
