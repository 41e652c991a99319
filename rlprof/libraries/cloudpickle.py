"""cloudpickle."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, Transport

LIBRARY: Final = Library(
    name="cloudpickle",
    packages=("cloudpickle",),
    samples=("cloudpickle.py",),
    transfer=EVERYTHING,
    transport={EVERYTHING: {ANY: Transport.PICKLING}},
    saving=r".*\.py$",
    is_launcher=True,
)
