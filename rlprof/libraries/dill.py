"""dill."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, Transport

LIBRARY: Final = Library(
    name="dill",
    also=("dill",),
    transfer=EVERYTHING,
    transport={EVERYTHING: {ANY: Transport.PICKLING}},
)
