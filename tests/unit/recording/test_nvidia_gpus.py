from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.model import gauges as names
from rlprof.recording.gpus.nvidia import NvidiaGpus
from tests import nvml_stand_in
from tests.nvml_stand_in import stand_in_environment

# Of nvml.h.
NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND, GPU_IS_LOST = 3, 4, 13, 15
POWER_CAP, HEAT = 0x4, 0x40
MIB = 1 << 20


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


class Driver:
    """Stands in for ``pynvml``, with two GPUs. What ``fails`` names fails with that code."""

    NVMLError = NVMLError

    def __init__(self, **fails: int) -> None:
        self.fails = fails
        self.answers: dict[str, Any] = {
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlSystemGetDriverVersion": "550.54.15",
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceGetHandleByIndex": "a handle",
            "nvmlDeviceGetName": "NVIDIA H200",
            "nvmlDeviceGetUUID": "GPU-1",
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 << 30, used=2 << 30),
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37, memory=11),
            "nvmlDeviceGetPowerUsage": 310_500,
            "nvmlDeviceGetClockInfo": 990,
            "nvmlDeviceGetTemperature": 61,
            "nvmlDeviceGetCurrentClocksThrottleReasons": 0,
            "nvmlDeviceGetComputeRunningProcesses": [],
        }

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def function(*_arguments: Any) -> Any:
            if name in self.fails:
                raise NVMLError(self.fails[name])
            return self.answers[name]

        return function


def holding(pid: int, byte_count: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=byte_count)


def test_what_a_gpu_is():
    gpus = NvidiaGpus(Driver())

    assert gpus.driver == "NVIDIA 550.54.15"
    assert sorted(gpus.gpus) == [0, 1]
    assert gpus.gpus[0].texts() == {
        "name": "NVIDIA H200",
        "memory_bytes": str(80 << 30),
        "compute_capability": "9.0",
        "max_clock_mhz": "1980",
        "power_limit_w": "700",
    }


def test_what_a_gpu_does():
    driver = Driver()
    driver.answers["nvmlDeviceGetComputeRunningProcesses"] = [holding(41, 300 * MIB)]
    driver.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = POWER_CAP

    state = NvidiaGpus(driver).read(0)

    assert state.levels == {
        names.GPU_UTILISATION: 0.37,
        names.GPU_MEMORY_BYTES: 2 << 30,
        names.GPU_POWER_W: 310.5,
        names.GPU_CLOCK_MHZ: 990,
        names.GPU_TEMPERATURE_C: 61,
        names.GPU_THROTTLED_BY_HEAT: 0,
        names.GPU_THROTTLED_BY_POWER: 1,
    }
    assert state.process_bytes == {41: 300 * MIB}


def test_a_clock_lowered_by_heat():
    driver = Driver()
    driver.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = HEAT

    levels = NvidiaGpus(driver).read(0).levels

    assert (levels[names.GPU_THROTTLED_BY_HEAT], levels[names.GPU_THROTTLED_BY_POWER]) == (1, 0)


def test_a_process_whose_memory_is_not_told_is_left_out():
    driver = Driver()
    driver.answers["nvmlDeviceGetComputeRunningProcesses"] = [holding(41, None), holding(42, MIB)]

    assert NvidiaGpus(driver).read(0).process_bytes == {42: MIB}


@pytest.mark.parametrize("code", [NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND])
def test_what_a_gpu_does_not_tell_is_left_out(code):
    driver = Driver(
        nvmlDeviceGetUtilizationRates=code,
        nvmlDeviceGetPowerUsage=code,
        nvmlDeviceGetEnforcedPowerLimit=code,
        nvmlDeviceGetComputeRunningProcesses=code,
    )

    gpus = NvidiaGpus(driver)
    state = gpus.read(0)

    assert names.GPU_UTILISATION not in state.levels
    assert names.GPU_POWER_W not in state.levels
    assert state.levels[names.GPU_MEMORY_BYTES] == 2 << 30
    assert state.process_bytes == {}
    assert "power_limit_w" not in gpus.gpus[0].texts()


def test_a_gpu_that_may_not_be_asked_is_left_out():
    assert NvidiaGpus(Driver(nvmlDeviceGetHandleByIndex=NO_PERMISSION)).gpus == {}


def test_a_gpu_that_is_lost_says_so():
    driver = Driver()
    gpus = NvidiaGpus(driver)

    driver.fails["nvmlDeviceGetUtilizationRates"] = GPU_IS_LOST

    with pytest.raises(NVMLError):
        gpus.read(0)


def test_a_driver_that_does_not_answer_says_so():
    with pytest.raises(NVMLError):
        NvidiaGpus(Driver(nvmlInit=NO_PERMISSION))


READS_ONCE = """
import json, os
from rlprof.recording.gpus.reader import find_gpus

gpus = find_gpus(os.environ)
rows = list(gpus.read(1_000_000, {os.getpid(): 3})) if gpus is not None else []
print(json.dumps({"pid": os.getpid(), "facts": gpus and gpus.facts(), "rows": rows}))
"""


def read_once(environment: dict[str, str]) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-c", READS_ONCE],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_the_real_library_with_a_driver_that_stands_in(tmp_path):
    environment = stand_in_environment(tmp_path, processes=tmp_path / "processes")
    (tmp_path / "processes").write_text(f"{os.getpid()} {300 * MIB}\n")

    found = read_once(environment)

    assert found["facts"] == {
        "gpu_driver": "NVIDIA 999.01",
        "gpu:0:name": "NVIDIA Stand-in",
        "gpu:0:memory_bytes": str(8 << 30),
        "gpu:0:compute_capability": "9.0",
        "gpu:0:max_clock_mhz": "1800",
        "gpu:0:power_limit_w": "300",
    }
    # The one process on it is of another program; its temperature it does not tell.
    assert found["rows"] == [
        [0, "gpu:0:utilisation", nvml_stand_in.UTILISATION],
        [0, "gpu:0:memory_bytes", nvml_stand_in.MEMORY_BYTES],
        [0, "gpu:0:power_w", nvml_stand_in.POWER_W],
        [0, "gpu:0:clock_mhz", 900],
        [0, "gpu:0:throttled_by_heat", 0],
        [0, "gpu:0:throttled_by_power", 1],
    ]


def test_a_program_that_may_use_no_gpu_has_no_rows(tmp_path):
    hidden = stand_in_environment(tmp_path) | {"CUDA_VISIBLE_DEVICES": ""}

    assert read_once(hidden)["facts"] is None


def test_a_library_that_is_none_of_a_driver_is_no_driver(tmp_path):
    (tmp_path / "libnvidia-ml.so.1").write_text("not a library")

    assert read_once({"LD_LIBRARY_PATH": str(tmp_path)})["facts"] is None
