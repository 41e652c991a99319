"""What is told beside a measured figure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.experiments.outcomes import told_of_others
from rlprof.recording.experimenting import CpuTimes


def a_bench(of_run: float, of_host: float) -> Any:
    return SimpleNamespace(cpu_times=lambda: CpuTimes(of_run, of_host))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ((15.0, 21.0), "other programs used 0.8 cores meanwhile"),
        ((15.0, 16.0), ""),
        # The training has ended: what it used is in the host's time alone.
        ((0.0, 20.0), ""),
    ],
)
def test_cores_that_others_used(now: tuple[float, float], told: str):
    assert told_of_others(CpuTimes(10.0, 12.0), a_bench(*now), now_s=5.0, begun_s=0.0) == told
