"""Names that torch gives to stretches of the program in a trace."""

from __future__ import annotations

from typing import Final

PROFILER_STEP: Final = "ProfilerStep#"
"""From one call of ``profiler.step()`` to the next."""

OPTIMIZER: Final = "Optimizer."
"""A step of an optimizer, or the zeroing of gradients. Python of torch's between its ops is no work of the program's."""

OPTIMIZER_STEP: Final = "Optimizer.step#"

LOADER: Final = "enumerate(DataLoader)#"
"""Torch waits for the next batch."""

BACKWARD: Final = "autograd::engine::"
"""Ops of the backward pass."""
