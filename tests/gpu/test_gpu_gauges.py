"""The gauges of a real GPU. Needs an NVIDIA driver and nvidia-ml-py; torch with CUDA for the last."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlprof.model import gauges as names
from rlprof.model.gauges import of_gpu
from rlprof.recording.gpus.reader import GPUS_S, GpuReader, find_gpus
from rlprof.runfile.reader import read_run
from tests.live_processes import DEADLINE_S, cli

pytestmark = pytest.mark.gpu

TRAINS = """
import time

import torch

import rlprof

weights = torch.randn(4096, 4096, device="cuda")
end = time.monotonic() + 8
while time.monotonic() < end:
    for _ in range(50):
        weights = torch.tanh(weights @ weights)
    torch.cuda.synchronize()
    rlprof.step(50)
"""


@pytest.fixture
def gpus():
    found = find_gpus(os.environ)
    if found is None:
        pytest.skip("no GPU whose driver can be asked (or nvidia-ml-py is missing)")
    yield found
    found.close()


def test_what_a_gpu_tells(gpus: GpuReader):
    facts = gpus.facts()
    index = next(int(name.split(":")[1]) for name in facts if name.endswith(":name"))

    levels = {name: value for _, name, value in gpus.read(0, {})}

    assert 0 <= levels[of_gpu(names.GPU_UTILISATION, index)] <= 1
    assert levels[of_gpu(names.GPU_MEMORY_BYTES, index)] > 0
    assert levels[of_gpu(names.GPU_MEMORY_BYTES, index)] <= int(facts[f"gpu:{index}:memory_bytes"])


def test_reading_one_gpu_holds_up_nobody(gpus: GpuReader):
    costs = []
    for at in range(1, 21):
        before = time.perf_counter()
        list(gpus.read(at * 60_000_000, {}))
        costs.append(time.perf_counter() - before)

    print(
        f"a reading takes {sorted(costs)[10] * 1e6:.0f} us (median), {max(costs) * 1e6:.0f} at most"
    )
    # One GPU may go beyond the budget, for it is asked before the clock is looked at.
    assert sorted(costs)[10] < 2 * GPUS_S


def test_a_training_on_the_gpu_keeps_it_busy(gpus: GpuReader, tmp_path: Path):
    torch = pytest.importorskip("torch", reason="torch is missing")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    (tmp_path / "train.py").write_text(TRAINS)

    subprocess.run(
        cli("run", "--no-report", "-o", "run.rlprof", "train.py", python=sys.executable),
        cwd=tmp_path,
        timeout=DEADLINE_S,
        check=True,
    )

    recording = read_run(tmp_path / "run.rlprof")
    busiest = max(gauge.value for gauge in recording.gauges if gauge.name.endswith(":utilisation"))
    assert busiest > 0.8
    assert not {note.slug for note in recording.notes} & {"gpu-lost"}
