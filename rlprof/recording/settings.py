"""Tell what a recording is asked to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from rlprof.model.calibration import calibrated

DEFAULT_INTERVAL_US: Final = calibrated(
    10_000,
    unit="µs",
    source="1 ms costs a third of the sps on a full machine",
    date="2026-11-21",
)
"""Costs a sampled process nothing to be seen."""


DEFAULT_TORCH_STEPS: Final = 10
"""Optimizer steps in a window of torch's profiler: enough to tell the typical one, and a few megabytes."""


class TorchWindowPolicy(Enum):
    """The time for windows of torch's profiler."""

    OFF = "off"
    """Never, and nothing of torch is touched."""
    AUTO = "auto"
    """After the warm-up, while they cost less than a hundredth of the time."""
    ALWAYS = "always"
    """At once: for programs that end after seconds."""


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """The options of ``rlprof run`` that concern recording."""

    command: tuple[str, ...]
    """Command to start, the interpreter included."""
    script: str
    """How the run is called: the script, module or program."""
    run_file: Path
    interval_us: int | None = None
    """Fixed sampling interval; None for the default, finer at first while cores are free."""
    duration_s: float | None = None
    """Stop recording after this long; the target goes on."""
    agent: bool = True
    probe: bool = True
    sampling: bool = True
    """True if austin samples the processes; without it and the probe a run is counted only."""
    austin: str | None = None
    """Path of the sampler to use."""
    label: str | None = None
    sps_pattern: re.Pattern[str] | None = None
    """Finds steps or sps in the target's output."""
    values: bool = True
    """True if agents look at the values that hot lines work on."""
    torch: TorchWindowPolicy = TorchWindowPolicy.AUTO
    torch_steps: int = DEFAULT_TORCH_STEPS
    """Optimizer steps in each window."""
    steps_from: str | None = None
    """``module:qualname`` of what makes a step each time that it is called."""
    counts_all: bool = False
    """True if all is counted from the first on. Else reads of tensors are counted a part of the time where they cost the program more than 0.4 %, and an
    environment of the program's own is found by its use, and counted from then on."""

    is_try: bool = False
    """True if agents are ready to treat the program."""

    @property
    def recognises_steps(self) -> bool:
        """True if that is done: where the user says what counts, nothing else does."""
        return not self.counts_all and self.steps_from is None and self.sps_pattern is None
