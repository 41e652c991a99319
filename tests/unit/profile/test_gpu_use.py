from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.model import gauges
from rlprof.model.gauges import of_gpu
from rlprof.model.profile import GpuUse
from rlprof.profile.build import build_profile
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run
from tests.factories import RunBuilder, a_run
from tests.run_files import write_run

GIB = 1 << 30
HOST = {
    "gpu:0:name": "NVIDIA H200",
    "gpu:0:memory_bytes": str(140 * GIB),
    "gpu:0:max_clock_mhz": "1980",
    "gpu:0:power_limit_w": "700",
}


def a_training(**host: str) -> RunBuilder:
    run = a_run(steady_s=10).with_run(host={"usable_cores": "8", **HOST, **host})
    return run.process("learner", steps=1_000).spends(10.0, "train.py:3 learn")


def used(run: RunBuilder) -> tuple[GpuUse, ...]:
    return build_profile(run.recording()).gpus


def test_means_over_the_steady_phase_against_what_the_gpu_has():
    run = a_training().gauge(of_gpu(gauges.GPU_UTILISATION, 0), 0.2, 0.6)
    run.gauge(of_gpu(gauges.GPU_MEMORY_BYTES, 0), 12 * GIB)
    run.gauge(of_gpu(gauges.GPU_POWER_W, 0), 300, 320)
    run.gauge(of_gpu(gauges.GPU_CLOCK_MHZ, 0), 990)
    run.gauge(of_gpu(gauges.GPU_TEMPERATURE_C, 0), 61)
    run.gauge(of_gpu(gauges.GPU_THROTTLED_BY_HEAT, 0), 0)
    run.gauge(of_gpu(gauges.GPU_THROTTLED_BY_POWER, 0), 0, 1)

    (gpu,) = used(run)

    assert (gpu.index, gpu.name) == (0, "NVIDIA H200")
    assert gpu.utilisation == pytest.approx(0.4)
    assert (gpu.memory_bytes, gpu.memory_total_bytes) == (12 * GIB, 140 * GIB)
    assert (gpu.power_w, gpu.power_limit_w) == (pytest.approx(310), 700)
    assert gpu.clock_share == pytest.approx(0.5)
    assert gpu.temperature_c == 61
    assert (gpu.throttled_by_heat, gpu.throttled_by_power) == (0, pytest.approx(0.5))


def test_what_was_not_told_is_not_known():
    (gpu,) = used(a_training(**{"gpu:0:max_clock_mhz": "fast"}).gauge("gpu:0:clock_mhz", 990))

    assert gpu.utilisation is gpu.memory_bytes is gpu.clock_share is None
    assert gpu.process_bytes == ()


def test_start_up_does_not_count():
    # Until the steady phase the gauge has its first value.
    run = a_training().gauge(of_gpu(gauges.GPU_UTILISATION, 0), 0.0, *[0.8] * 1_000)

    assert used(run)[0].utilisation == pytest.approx(0.8, abs=0.05)


def test_gpus_on_which_the_run_holds_memory_are_those_that_it_uses():
    run = a_training().gauge("gpu:0:utilisation", 1.0).gauge("gpu:1:utilisation", 0.3)
    assert [gpu.index for gpu in used(run)] == [0, 1]

    run.gauge(of_gpu(gauges.GPU_PROCESS_MEMORY_BYTES, 1), GIB)

    (gpu,) = used(run)
    assert gpu.index == 1
    assert gpu.process_bytes == ((0, GIB),)


def test_processes_that_hold_memory_the_most_first():
    run = a_training().gauge("gpu:0:process_memory_bytes", GIB)
    run.process("worker").gauge("gpu:0:process_memory_bytes", 3 * GIB)

    (gpu,) = used(run)

    assert gpu.process_bytes == ((1, 3 * GIB), (0, GIB))


def test_without_gauges_there_are_none():
    assert used(a_training()) == ()
    resources = build_report(a_training().recording()).resources
    assert resources is not None
    assert resources.gpus == ()


def test_merged_windows_keep_the_mean(tmp_path: Path):
    run = a_training().gauge("gpu:0:utilisation", 0.2, 0.6)
    run.gauge(of_gpu(gauges.GPU_THROTTLED_BY_HEAT, 0), 0, 1)
    whole = used(run)[0]
    recording = run.recording()
    writer = write_run(tmp_path / "run.rlprof", recording, finish=False)

    # The steady phase in two windows instead of twenty; those of the start-up as they were.
    ids = [window.id for window in recording.windows]
    writer.merge_windows([*([number] for number in ids[:4]), ids[4:14], ids[14:]])
    writer.finish(wall_us=0, exit_code=0, processes=recording.processes, threads=(), overhead={})

    merged = read_run(tmp_path / "run.rlprof").gauges
    halves = [gauge.value for gauge in merged if gauge.name == "gpu:0:utilisation"][-2:]
    assert sum(halves) / 2 == pytest.approx(whole.utilisation)
    throttled = [gauge.value for gauge in merged if gauge.name == "gpu:0:throttled_by_heat"][-2:]
    assert sum(throttled) / 2 == pytest.approx(whole.throttled_by_heat)


def test_the_report_has_what_the_profile_has():
    recording = a_training().gauge("gpu:0:utilisation", 0.4).recording()

    resources = build_report(recording).resources

    assert resources is not None
    assert resources.gpus == build_profile(recording).gpus
