"""What a recording is asked to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_INTERVAL_US: Final = 10_000
"""Costs a sampled process nothing to be seen; 1 ms costs a third of the sps on a full machine."""


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """The options of ``rlprof run`` that concern recording."""

    command: tuple[str, ...]
    """What to start, the interpreter included."""
    script: str
    """How the run is called: the script, module or program."""
    run_file: Path
    interval_us: int | None = None
    """Fixed sampling interval; None for the default, finer at first while cores are free."""
    duration_s: float | None = None
    """Stop recording after this long; the target goes on."""
    agent: bool = True
    probe: bool = True
    austin: str | None = None
    """Path of the sampler to use."""
    label: str | None = None
    sps_pattern: re.Pattern[bytes] | None = None
    """Finds steps or sps in the target's output."""
    steps_from: str | None = None
    """``module:qualname`` of what makes a step each time that it is called."""
