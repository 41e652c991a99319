"""GPUs in a recorded run, by the real ``pynvml`` and a driver's library that stands in."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests import nvml_stand_in
from tests.live_processes import DEADLINE_S, cli
from tests.nvml_stand_in import stand_in_environment

WORKERS_ON_THE_GPU = """
    import multiprocessing
    import os
    import sys
    import time

    import gymnasium


    class Env(gymnasium.Env):
        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            end = time.monotonic() + 0.002
            while time.monotonic() < end:
                pass
            return 0, 0.0, False, False, {}


    def work(processes):
        with open(processes, "a") as file:
            file.write(f"{os.getpid()} {300 << 20}\\n")
        env = Env()
        env.reset()
        end = time.monotonic() + 6
        while time.monotonic() < end:
            env.step(0)


    if __name__ == "__main__":
        workers = [
            multiprocessing.Process(target=work, args=(os.environ["STAND_IN_PROCESSES"],))
            for _ in range(2)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
"""


def test_gpus_are_in_the_run_file_and_in_the_report(rlprof_run, write, tmp_path):
    environment = stand_in_environment(tmp_path, processes=tmp_path / "processes")

    result = rlprof_run(write(WORKERS_ON_THE_GPU), env=environment, report=True)

    assert result.code == 0
    assert "GPU 0" in result.err + result.out.decode()
    host = result.recording.run.host
    assert (host["gpu_driver"], host["gpu:0:name"]) == ("NVIDIA 999.01", "NVIDIA Stand-in")
    gauges = [gauge for gauge in result.recording.gauges if gauge.name.startswith("gpu:")]
    assert {gauge.value for gauge in gauges if gauge.name == "gpu:0:power_w"} == {
        nvml_stand_in.POWER_W
    }
    assert (
        len({gauge.process for gauge in gauges if gauge.name == "gpu:0:process_memory_bytes"}) == 2
    )
    assert "gpu:0:temperature_c" not in {gauge.name for gauge in gauges}


@pytest.mark.slow
def test_the_json_report_has_the_steady_phase_of_the_gpu(rlprof_run, write, tmp_path):
    environment = stand_in_environment(tmp_path, processes=tmp_path / "processes")
    result = rlprof_run(write(WORKERS_ON_THE_GPU), env=environment)

    answer = subprocess.run(
        cli("report", result.run_file, "--format", "json"),
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )

    report = json.loads(answer.stdout)
    (gpu,) = report["resources"]["gpus"]
    assert (gpu["index"], gpu["name"]) == (0, "NVIDIA Stand-in")
    assert gpu["utilisation"] == nvml_stand_in.UTILISATION
    assert gpu["memory_bytes"] == nvml_stand_in.MEMORY_BYTES
    assert gpu["clock_share"] == nvml_stand_in.CLOCK_SHARE
    assert gpu["throttled_by_power"] == 1
    assert gpu["temperature_c"] is None
    assert [process["role"] for process in gpu["processes"]] == ["environment worker"] * 2
    assert "cuda-in-env-workers" in {finding["id"] for finding in report["also_seen"]}
