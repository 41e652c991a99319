"""By the documentation of AMD SMI: its answers are dictionaries, and ``N/A`` what a GPU does not tell."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from rlprof.model import gauges as names
from rlprof.recording.gpus.amd import AmdGpus

MIB = 1 << 20


class AmdSmiLibraryError(Exception):
    pass


class Driver:
    """Stands in for ``amdsmi``, with one MI300X. What ``answers`` lacks fails."""

    AmdSmiException = AmdSmiLibraryError
    AmdSmiClkType = SimpleNamespace(GFX="gfx")
    AmdSmiTemperatureType = SimpleNamespace(HOTSPOT="hotspot")
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT="current")

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {
            "init": None,
            "get_processor_handles": ["a handle"],
            "get_gpu_driver_info": {"driver_name": "amdgpu", "driver_version": "6.10.5"},
            "get_gpu_asic_info": {
                "market_name": "AMD Instinct MI300X",
                "target_graphics_version": "gfx942",
            },
            "get_gpu_device_uuid": "GPU-amd-0",
            "get_gpu_vram_usage": {"vram_total": 196_592, "vram_used": 2_048},
            "get_gpu_activity": {"gfx_activity": 70, "umc_activity": 10, "mm_activity": "N/A"},
            "get_power_info": {"current_socket_power": 420, "average_socket_power": "N/A"},
            "get_clock_info": {"clk": 1_050, "min_clk": 132, "max_clk": 2_100},
            "get_temp_metric": 61,
            "get_gpu_process_list": [{"pid": 41, "memory_usage": {"vram_mem": 300 * MIB}}],
            **answers,
        }

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def function(*_arguments: Any) -> Any:
            answer = self.answers.get(name.removeprefix("amdsmi_"), AmdSmiLibraryError("not told"))
            if isinstance(answer, Exception):
                raise answer
            return answer

        return function


def test_what_a_gpu_is():
    gpus = AmdGpus(Driver())

    assert gpus.driver == "AMD 6.10.5"
    assert gpus.gpus[0].texts() == {
        "name": "AMD Instinct MI300X",
        "memory_bytes": str(196_592 * MIB),
        "compute_capability": "gfx942",
        "max_clock_mhz": "2100",
    }


def test_what_a_gpu_does():
    state = AmdGpus(Driver()).read(0)

    assert state.levels == {
        names.GPU_UTILISATION: 0.7,
        names.GPU_MEMORY_BYTES: 2_048 * MIB,
        names.GPU_POWER_W: 420,
        names.GPU_CLOCK_MHZ: 1_050,
        names.GPU_TEMPERATURE_C: 61,
    }
    assert state.process_bytes == {41: 300 * MIB}


def test_names_that_older_libraries_use():
    driver = Driver(
        get_power_info={"average_socket_power": 250},
        get_clock_info={"cur_clk": 1_700, "max_clk": 1_700},
        get_gpu_process_list=[object()],
    )

    state = AmdGpus(driver).read(0)

    assert state.levels[names.GPU_POWER_W] == 250
    assert state.levels[names.GPU_CLOCK_MHZ] == 1_700
    assert state.process_bytes == {}


def test_what_a_gpu_does_not_tell_is_left_out():
    nothing = AmdSmiLibraryError("not supported")
    driver = Driver(
        get_gpu_asic_info=nothing,
        get_gpu_activity={"gfx_activity": "N/A"},
        get_power_info=nothing,
        get_clock_info=nothing,
        get_temp_metric="N/A",
        get_gpu_process_list=nothing,
    )

    gpus = AmdGpus(driver)

    assert gpus.gpus[0].texts() == {"name": "AMD GPU", "memory_bytes": str(196_592 * MIB)}
    assert set(gpus.read(0).levels) == {names.GPU_MEMORY_BYTES}


def test_variables_that_hide_gpus_in_the_order_they_apply():
    gpus = AmdGpus(Driver())

    assert gpus.masks({"CUDA_VISIBLE_DEVICES": "1"}) == (None, "1")
    assert gpus.masks(
        {"ROCR_VISIBLE_DEVICES": "2", "HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}
    ) == ("2", "0")
