"""Objects made bytes, for another process or for a disk."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, Transport

LIBRARIES: Final = (
    Library(
        name="Orbax and safetensors",
        also=("orbax", "safetensors"),
        samples=("torch.py",),
        saving=r".*\.py$",
    ),
    Library(
        name="cloudpickle",
        packages=("cloudpickle",),
        samples=("cloudpickle.py",),
        transfer=EVERYTHING,
        transport={EVERYTHING: {ANY: Transport.PICKLING}},
        saving=r".*\.py$",
        is_launcher=True,
    ),
    Library(
        name="dill",
        also=("dill",),
        transfer=EVERYTHING,
        transport={EVERYTHING: {ANY: Transport.PICKLING}},
    ),
)
