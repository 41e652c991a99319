"""AMD's GPUs, by AMD SMI: ROCm brings the library and its Python module together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, Protocol, cast

from rlprof.model import gauges as names
from rlprof.recording.gpus.base import GpuFacts, GpuState

_MIB: Final = 1 << 20
"""``amdsmi_get_gpu_vram_usage`` counts in these."""


class AmdSmi(Protocol):
    """The part of ``amdsmi`` that is used. What a GPU does not tell is the text ``N/A``."""

    AmdSmiException: type[Exception]
    AmdSmiClkType: Any
    AmdSmiTemperatureType: Any
    AmdSmiTemperatureMetric: Any

    def amdsmi_init(self) -> None: ...
    def amdsmi_shut_down(self) -> None: ...
    def amdsmi_get_processor_handles(self) -> list[Any]: ...
    def amdsmi_get_gpu_driver_info(self, handle: Any) -> dict[str, Any]: ...
    def amdsmi_get_gpu_asic_info(self, handle: Any) -> dict[str, Any]: ...
    def amdsmi_get_gpu_device_uuid(self, handle: Any) -> str: ...
    def amdsmi_get_gpu_vram_usage(self, handle: Any) -> dict[str, Any]: ...
    def amdsmi_get_gpu_activity(self, handle: Any) -> dict[str, Any]: ...
    def amdsmi_get_power_info(self, handle: Any) -> dict[str, Any]: ...
    def amdsmi_get_clock_info(self, handle: Any, kind: Any) -> dict[str, Any]: ...
    def amdsmi_get_temp_metric(self, handle: Any, sensor: Any, metric: Any) -> Any: ...
    def amdsmi_get_gpu_process_list(self, handle: Any) -> list[Any]: ...


def load_amdsmi() -> AmdSmi | None:
    """None where ROCm is not installed, or has no module for this interpreter."""
    try:
        return cast("AmdSmi", import_module("amdsmi"))
    except Exception:  # Without its library the module fails in a way of its own in each version.
        return None


class AmdGpus:
    """The GPUs that AMD SMI shows, in its order."""

    def __init__(self, smi: AmdSmi) -> None:
        """Raise ``smi.AmdSmiException`` where the driver does not answer."""
        self._smi = smi
        smi.amdsmi_init()
        self._handles = list(smi.amdsmi_get_processor_handles())
        self._gpus = {index: self._facts(handle) for index, handle in enumerate(self._handles)}

    @property
    def driver(self) -> str:
        told = self._ask(self._smi.amdsmi_get_gpu_driver_info, self._handles[0])
        return f"AMD {_text(told, 'driver_version')}".rstrip()

    @property
    def gpus(self) -> Mapping[int, GpuFacts]:
        return self._gpus

    def masks(self, environment: Mapping[str, str]) -> tuple[str | None, ...]:
        # HIP takes CUDA's variable where its own is not set.
        hip = environment.get("HIP_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES"))
        return (environment.get("ROCR_VISIBLE_DEVICES"), hip)

    def read(self, index: int) -> GpuState:
        handle = self._handles[index]
        processes = self._ask(self._smi.amdsmi_get_gpu_process_list, handle) or ()
        held = {
            process["pid"]: _number(process.get("memory_usage"), "vram_mem")
            for process in processes
            if isinstance(process, Mapping)  # Before ROCm 6 these were handles of the C library.
        }
        return GpuState(
            levels=dict(self._levels(handle)),
            process_bytes={pid: int(size) for pid, size in held.items() if size},
        )

    def close(self) -> None:
        self._ask(self._smi.amdsmi_shut_down)

    def _facts(self, handle: Any) -> GpuFacts:
        chip = self._ask(self._smi.amdsmi_get_gpu_asic_info, handle)
        memory = _number(self._ask(self._smi.amdsmi_get_gpu_vram_usage, handle), "vram_total")
        return GpuFacts(
            name=_text(chip, "market_name") or "AMD GPU",
            uuid=str(self._ask(self._smi.amdsmi_get_gpu_device_uuid, handle) or ""),
            memory_bytes=None if memory is None else int(memory * _MIB),
            compute_capability=_text(chip, "target_graphics_version"),
            max_clock_mhz=_number(self._clocks(handle), "max_clk"),
        )

    def _levels(self, handle: Any) -> Iterator[tuple[str, float]]:
        smi = self._smi
        busy = _number(self._ask(smi.amdsmi_get_gpu_activity, handle), "gfx_activity")
        if busy is not None:
            yield names.GPU_UTILISATION, busy / 100
        memory = _number(self._ask(smi.amdsmi_get_gpu_vram_usage, handle), "vram_used")
        if memory is not None:
            yield names.GPU_MEMORY_BYTES, memory * _MIB
        # The first from MI300 on, the second before.
        power = _number(
            self._ask(smi.amdsmi_get_power_info, handle),
            "current_socket_power",
            "average_socket_power",
        )
        if power is not None:
            yield names.GPU_POWER_W, power
        clock = _number(self._clocks(handle), "clk", "cur_clk")
        if clock is not None:
            yield names.GPU_CLOCK_MHZ, clock
        heat = self._ask(
            smi.amdsmi_get_temp_metric,
            handle,
            smi.AmdSmiTemperatureType.HOTSPOT,
            smi.AmdSmiTemperatureMetric.CURRENT,
        )
        if isinstance(heat, int | float):
            yield names.GPU_TEMPERATURE_C, heat

    def _clocks(self, handle: Any) -> Any:
        return self._ask(self._smi.amdsmi_get_clock_info, handle, self._smi.AmdSmiClkType.GFX)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what ``function`` tells; None where this GPU or driver does not tell it."""
        try:
            return function(*arguments)
        except self._smi.AmdSmiException:
            return None


def _number(told: Any, *keys: str) -> float | None:
    """The first of ``keys`` that is told as a number."""
    if not isinstance(told, Mapping):
        return None
    numbers = (told.get(key) for key in keys)
    return next((float(number) for number in numbers if isinstance(number, int | float)), None)


def _text(told: Any, key: str) -> str:
    text = told.get(key, "") if isinstance(told, Mapping) else ""
    return "" if text == "N/A" else str(text)
