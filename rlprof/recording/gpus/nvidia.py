# ruff: noqa: N802 - functions are called as NVIDIA calls them
"""NVIDIA's GPUs, by NVML: the library of the driver that nvidia-smi asks too."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, Protocol, cast

from rlprof.model import gauges as names
from rlprof.recording.gpus.base import GpuFacts, GpuState

_LIBRARY: Final = "libnvidia-ml.so.1"

_SM_CLOCK: Final = 1
"""``NVML_CLOCK_SM`` of nvml.h, as the numbers below."""
_TEMPERATURE_GPU: Final = 0
_GONE: Final = frozenset({15, 16})
"""``NVML_ERROR_GPU_IS_LOST`` and ``NVML_ERROR_RESET_REQUIRED``."""

_BY_POWER: Final = 0x4 | 0x80
"""Clock lowered to stay within the power limit, or by the brake of the power supply."""
_REASONS: Final = "nvmlDeviceGetCurrentClocksThrottleReasons"
_REASONS_SINCE_13: Final = "nvmlDeviceGetCurrentClocksEventReasons"
"""The same under the name that stays when NVIDIA removes the first, with CUDA 13 or later."""

_BY_HEAT: Final = 0x20 | 0x40
"""Clock lowered by the driver or by the hardware, because it is too hot."""


class Nvml(Protocol):
    """The part of ``pynvml`` that is used."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlSystemGetDriverVersion(self) -> str: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any: ...
    def nvmlDeviceGetName(self, handle: Any) -> str: ...
    def nvmlDeviceGetUUID(self, handle: Any) -> str: ...
    def nvmlDeviceGetCudaComputeCapability(self, handle: Any) -> tuple[int, int]: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any: ...
    def nvmlDeviceGetMaxClockInfo(self, handle: Any, kind: int) -> int: ...
    def nvmlDeviceGetEnforcedPowerLimit(self, handle: Any) -> int: ...
    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any: ...
    def nvmlDeviceGetPowerUsage(self, handle: Any) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int) -> int: ...
    def nvmlDeviceGetTemperature(self, handle: Any, sensor: int) -> int: ...
    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any) -> int: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> list[Any]: ...


def load_nvml() -> Nvml | None:
    """None without a driver or without nvidia-ml-py."""
    try:
        # Before the import, which takes 15 ms (measured): most machines have no such driver.
        ctypes.CDLL(_LIBRARY)
        return cast("Nvml", import_module("pynvml"))
    except (OSError, ImportError):
        return None


class NvidiaGpus:
    """The GPUs that NVML shows, in the order of their PCI addresses."""

    def __init__(self, nvml: Nvml) -> None:
        """Raise ``nvml.NVMLError`` where the driver does not answer."""
        self._nvml = nvml
        nvml.nvmlInit()
        self._handles: dict[int, Any] = {}
        for index in range(self._ask(nvml.nvmlDeviceGetCount) or 0):
            try:
                self._handles[index] = nvml.nvmlDeviceGetHandleByIndex(index)
            except nvml.NVMLError:
                continue  # Lost, or not permitted: the others may be asked all the same.
        self._gpus = {index: self._facts(handle) for index, handle in self._handles.items()}

    @property
    def driver(self) -> str:
        return f"NVIDIA {self._ask(self._nvml.nvmlSystemGetDriverVersion) or ''}".rstrip()

    @property
    def gpus(self) -> Mapping[int, GpuFacts]:
        return self._gpus

    def masks(self, environment: Mapping[str, str]) -> tuple[str | None, ...]:
        return (environment.get("CUDA_VISIBLE_DEVICES"),)

    def read(self, index: int) -> GpuState:
        handle = self._handles[index]
        processes = self._try(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        return GpuState(
            levels=dict(self._levels(handle)),
            # None for a process: the driver knows of it, but not how much it holds.
            process_bytes={
                process.pid: process.usedGpuMemory for process in processes if process.usedGpuMemory
            },
        )

    def close(self) -> None:
        self._ask(self._nvml.nvmlShutdown)

    def _facts(self, handle: Any) -> GpuFacts:
        nvml = self._nvml
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        capability = self._ask(nvml.nvmlDeviceGetCudaComputeCapability, handle)
        limit_mw = self._ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
        return GpuFacts(
            name=self._ask(nvml.nvmlDeviceGetName, handle) or "NVIDIA GPU",
            uuid=self._ask(nvml.nvmlDeviceGetUUID, handle) or "",
            memory_bytes=None if memory is None else memory.total,
            compute_capability="" if capability is None else "{}.{}".format(*capability),
            max_clock_mhz=self._ask(nvml.nvmlDeviceGetMaxClockInfo, handle, _SM_CLOCK),
            power_limit_w=None if limit_mw is None else limit_mw / 1000,
        )

    def _levels(self, handle: Any) -> Iterator[tuple[str, float]]:
        nvml = self._nvml
        if (rates := self._try(nvml.nvmlDeviceGetUtilizationRates, handle)) is not None:
            yield names.GPU_UTILISATION, rates.gpu / 100
        if (memory := self._try(nvml.nvmlDeviceGetMemoryInfo, handle)) is not None:
            yield names.GPU_MEMORY_BYTES, memory.used
        if (power_mw := self._try(nvml.nvmlDeviceGetPowerUsage, handle)) is not None:
            yield names.GPU_POWER_W, power_mw / 1000
        if (clock := self._try(nvml.nvmlDeviceGetClockInfo, handle, _SM_CLOCK)) is not None:
            yield names.GPU_CLOCK_MHZ, clock
        heat = self._try(nvml.nvmlDeviceGetTemperature, handle, _TEMPERATURE_GPU)
        if heat is not None:
            yield names.GPU_TEMPERATURE_C, heat
        ask_reasons = getattr(nvml, _REASONS, None) or getattr(nvml, _REASONS_SINCE_13, None)
        reasons = None if ask_reasons is None else self._try(ask_reasons, handle)
        if reasons is not None:
            yield names.GPU_THROTTLED_BY_HEAT, float(reasons & _BY_HEAT != 0)
            yield names.GPU_THROTTLED_BY_POWER, float(reasons & _BY_POWER != 0)

    def _try(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what ``function`` tells; None where this GPU or driver does not tell it.

        Raises ``NVMLError`` when the GPU is gone: nothing more will be told.
        """
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            if getattr(error, "value", None) in _GONE:
                raise
            return None

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """As ``_try``, but a GPU that is gone just tells nothing."""
        try:
            return function(*arguments)
        except self._nvml.NVMLError:
            return None
