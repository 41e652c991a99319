"""Reads GPUs window by window, and never holds up the recorder for it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from rlprof.model import gauges as names
from rlprof.model.recording import Note
from rlprof.recording.gpus.amd import AmdGpus, load_amdsmi
from rlprof.recording.gpus.base import GpuLibrary, GpuState
from rlprof.recording.gpus.nvidia import NvidiaGpus, load_nvml
from rlprof.recording.gpus.visible import visible_gpus
from rlprof.recording.machine import procfs

VendorT = TypeVar("VendorT")

GPU_SHARE: Final = 0.01
"""Part of the time that reading GPUs may take: a dear one is read less often."""

GPUS_S: Final = 0.002
"""Longest that the GPUs of one window are asked for, one GPU at least; the rest come next time."""


def find_gpus(environment: Mapping[str, str]) -> GpuReader | None:
    """Those that a program with ``environment`` may use; None where none can be asked.

    The first call after a start of the machine may take seconds: the driver wakes up.
    """
    library = _set_up(load_nvml, NvidiaGpus) or _set_up(load_amdsmi, AmdGpus)
    if library is None:
        return None
    in_pci_order = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    chosen = visible_gpus(library.gpus, library.masks(environment), in_pci_order=in_pci_order)
    if not chosen:
        library.close()
        return None
    return GpuReader(library, chosen)


def _set_up(
    load: Callable[[], VendorT | None], gpus_of: Callable[[VendorT], GpuLibrary]
) -> GpuLibrary | None:
    try:
        vendor = load()
        library = None if vendor is None else gpus_of(vendor)
    # Vendors' libraries raise what they like, and no gauge is worth a recording.
    except Exception:
        return None
    return library if library is not None and library.gpus else None


class GpuReader:
    """The GPUs of one run."""

    def __init__(
        self,
        library: GpuLibrary,
        indices: tuple[int, ...],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``clock`` (seconds) measures what reading costs."""
        self.notes: list[Note] = []
        """Notes on what was lost on the way."""
        self._library = library
        self._clock = clock
        self._longest_ago = deque(indices)
        self._again_us = 0

    def facts(self) -> dict[str, str]:
        """Return what is known of the GPUs and their driver, as texts for the facts of the host."""
        texts = {"gpu_driver": self._library.driver}
        for index in sorted(self._longest_ago):
            for name, text in self._library.gpus[index].texts().items():
                texts[f"gpu:{index}:{name}"] = text
        return texts

    def read(self, now_us: int, processes: Mapping[int, int]) -> Iterator[tuple[int, str, float]]:
        """Yield (process, gauge, value); ``processes`` has the ids of the run's own by pid.

        What is of a whole GPU is kept with process 0, as the machine's gauges are.
        """
        if now_us < self._again_us:
            return
        before = self._clock()
        for _ in range(len(self._longest_ago)):
            index = self._longest_ago.popleft()
            state = self._state(index, now_us)
            if state is not None:
                self._longest_ago.append(index)
                for name, level in state.levels.items():
                    yield 0, names.of_gpu(name, index), level
                for pid, size in _known(state.process_bytes).items():
                    if pid in processes:
                        held = names.of_gpu(names.GPU_PROCESS_MEMORY_BYTES, index)
                        yield processes[pid], held, size
            if self._clock() - before > GPUS_S:
                break
        self._again_us = now_us + round((self._clock() - before) * 1e6 / GPU_SHARE)

    def close(self) -> None:
        self._library.close()

    def _state(self, index: int, now_us: int) -> GpuState | None:
        try:
            return self._library.read(index)
        except Exception as error:  # As in `_set_up`: whatever it is, the recording goes on.
            name = self._library.gpus[index].name
            self.notes.append(
                Note(
                    "warning",
                    "gpu-lost",
                    f"GPU {index} ({name}) could not be read any more after {now_us / 1e6:.0f} s "
                    f"({error}): its gauges end there.",
                )
            )
            return None


def _known(process_bytes: Mapping[int, int]) -> Mapping[int, int]:
    """Nothing where a driver outside of a container gives pids that mean other processes in it.

    Its pids are taken for ours only if each names a process that there is.
    """
    there = all(procfs.read_stat(pid) is not None for pid in process_bytes)
    return process_bytes if there else {}
