from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from rlprof.model import gauges as names
from rlprof.model.recording import Gauge, Window
from rlprof.recording.gauges import GaugeReader
from rlprof.recording.gpus import reader as gpu_reader
from rlprof.recording.gpus.base import GpuFacts, GpuState
from rlprof.recording.gpus.reader import GPUS_S, GpuReader, find_gpus
from rlprof.recording.gpus.visible import visible_gpus
from rlprof.recording.machine import procfs

SECOND = 1_000_000
MIB = 1 << 20
US, OTHERS, GONE = os.getpid(), os.getppid(), 999_999_999


class Machine:
    """GPUs of which each costs ``cost_s`` of fake time to ask."""

    driver = "NVIDIA 999"

    def __init__(self, *gpus: GpuFacts, cost_s: float = 0.0) -> None:
        self.gpus = dict(enumerate(gpus))
        self.now_s = 0.0
        self.asked: list[int] = []
        self.lost: set[int] = set()
        self.process_bytes: dict[int, int] = {}
        self.is_closed = False
        self._cost_s = cost_s

    def clock(self) -> float:
        return self.now_s

    def masks(self, environment: Mapping[str, str]) -> tuple[str | None, ...]:
        return (environment.get("CUDA_VISIBLE_DEVICES"),)

    def read(self, index: int) -> GpuState:
        self.asked.append(index)
        self.now_s += self._cost_s
        if index in self.lost:
            raise RuntimeError("GPU is lost")
        return GpuState({names.GPU_UTILISATION: 0.5}, self.process_bytes)

    def close(self) -> None:
        self.is_closed = True


def a_machine(*, gpus: int = 1, cost_s: float = 0.0) -> tuple[Machine, GpuReader]:
    machine = Machine(*[GpuFacts("NVIDIA H200")] * gpus, cost_s=cost_s)
    return machine, GpuReader(machine, tuple(range(gpus)), machine.clock)


def read(reader: GpuReader, at_s: float, *pids: int) -> dict[tuple[int, str], float]:
    """Of processes whose ids are 7, 8, ... in the order of ``pids``."""
    processes = {pid: number for number, pid in enumerate(pids, start=7)}
    return {
        (gauge[0], gauge[1]): gauge[2] for gauge in reader.read(round(at_s * SECOND), processes)
    }


def test_the_gauges_of_each_gpu():
    _, reader = a_machine(gpus=2)

    assert read(reader, 1) == {(0, "gpu:0:utilisation"): 0.5, (0, "gpu:1:utilisation"): 0.5}


def test_what_is_known_of_the_gpus_is_among_the_facts_of_the_host():
    machine = Machine(GpuFacts("NVIDIA L4", memory_bytes=24 << 30, power_limit_w=72.0))

    assert GpuReader(machine, (0,)).facts() == {
        "gpu_driver": "NVIDIA 999",
        "gpu:0:name": "NVIDIA L4",
        "gpu:0:memory_bytes": str(24 << 30),
        "gpu:0:power_limit_w": "72",
    }


def test_gauges_of_a_gpu_are_kept_with_the_first_process():
    _, reader = a_machine()

    gauges = GaugeReader(gpus=reader).read(Window(3, 0, SECOND), [])

    assert Gauge(3, 0, "gpu:0:utilisation", 0.5) in gauges


def test_memory_of_the_runs_own_processes():
    machine, reader = a_machine()
    machine.process_bytes = {US: 300 * MIB, OTHERS: 500 * MIB}

    held = {key: value for key, value in read(reader, 1, US).items() if key[0]}

    assert held == {(7, "gpu:0:process_memory_bytes"): 300 * MIB}


def test_pids_of_another_numbering_are_taken_for_nobody():
    machine, reader = a_machine()
    machine.process_bytes = {US: 300 * MIB, GONE: 500 * MIB}
    assert procfs.read_stat(GONE) is None

    assert set(read(reader, 1, US)) == {(0, "gpu:0:utilisation")}


def test_reading_takes_no_more_than_its_share_of_the_time():
    machine, reader = a_machine(cost_s=0.002)

    told = [bool(read(reader, at / 10)) for at in range(1, 11)]

    # 2 ms are 1 % of 200 ms: every second window of 100 ms.
    assert told == [True, False] * 5
    assert len(machine.asked) == 5


def test_dear_gpus_are_asked_in_turn():
    machine, reader = a_machine(gpus=3, cost_s=GPUS_S * 1.5)

    for at in range(1, 5):
        read(reader, at)

    assert machine.asked == [0, 1, 2, 0]


def test_a_gpu_that_is_lost_is_told_of_and_not_asked_again():
    machine, reader = a_machine(gpus=2)
    read(reader, 1)
    machine.lost = {0}

    later = [read(reader, at) for at in (2, 3)]

    assert [set(found) for found in later] == [{(0, "gpu:1:utilisation")}] * 2
    assert machine.asked == [0, 1, 0, 1, 1]
    (note,) = reader.notes
    assert note.slug == "gpu-lost"
    assert "GPU 0 (NVIDIA H200) could not be read any more after 2 s (GPU is lost)" in note.text


def test_a_library_that_is_not_what_it_should_be_is_none(monkeypatch):
    monkeypatch.setattr(gpu_reader, "load_nvml", object)
    monkeypatch.setattr(gpu_reader, "load_amdsmi", object)

    assert find_gpus({}) is None


def test_gpus_that_the_program_may_not_use_are_let_go(monkeypatch):
    machine = Machine(GpuFacts("NVIDIA H200"))
    monkeypatch.setattr(gpu_reader, "load_nvml", object)
    monkeypatch.setattr(gpu_reader, "NvidiaGpus", lambda _nvml: machine)

    assert find_gpus({}) is not None
    assert not machine.is_closed
    assert find_gpus({"CUDA_VISIBLE_DEVICES": ""}) is None
    assert machine.is_closed


ALIKE = {index: GpuFacts("NVIDIA H200", uuid=f"GPU-{index}abc") for index in range(4)}
MIXED = {0: GpuFacts("Tesla T4", uuid="GPU-0"), 1: GpuFacts("NVIDIA A10", uuid="GPU-1")}


@pytest.mark.parametrize(
    ("mask", "left"),
    [
        (None, (0, 1, 2, 3)),
        ("", ()),
        ("-1", ()),
        ("2", (2,)),
        ("3, 1", (3, 1)),
        ("0,9,1", (0,)),
        ("0,-1,1", (0,)),
        ("1,1", (1,)),
        ("GPU-2a,0", (2, 0)),
        ("GPU-", ()),
        ("nonsense", ()),
        ("MIG-5f", (0, 1, 2, 3)),
    ],
)
def test_a_program_may_use_what_cuda_would_show_it(mask, left):
    assert visible_gpus(ALIKE, [mask], in_pci_order=False) == left


def test_one_variable_counts_what_the_other_left():
    assert visible_gpus(ALIKE, ["2,3", "1"], in_pci_order=False) == (3,)


def test_numbers_say_nothing_among_unlike_gpus_unless_counted_as_the_driver_does():
    assert visible_gpus(MIXED, ["0"], in_pci_order=False) == (0, 1)
    assert visible_gpus(MIXED, ["0"], in_pci_order=True) == (0,)
    assert visible_gpus(MIXED, ["GPU-1"], in_pci_order=False) == (1,)
    assert visible_gpus(MIXED, [""], in_pci_order=False) == ()
