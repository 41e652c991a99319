from __future__ import annotations

from rlprof.detectors.cuda_in_env_workers import DETECTOR, MIN_BYTES, SHOWN
from rlprof.discovery import discover_detectors
from rlprof.model import gauges
from rlprof.model.finding import Finding
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import detect, profile_of

MIB = 1 << 20
ON_FIRST = gauges.of_gpu(gauges.GPU_PROCESS_MEMORY_BYTES, 0)
HOST = {"usable_cores": "8", "gpu:0:name": "NVIDIA H200", "gpu:0:memory_bytes": str(16_000 * MIB)}


def a_training(*worker_bytes: float, workers: int = 2) -> RunBuilder:
    """A learner that holds 4 GiB of the GPU, and workers that step environments of their own."""
    run = a_run("train.py", steady_s=10).with_run(host=HOST)
    run.process("main").spends(10.0, "train.py:9 learn").counts("updates", 100)
    run.gauge(ON_FIRST, 4_096 * MIB)
    for number in range(workers):
        run.process("worker").counts("steps:gymnasium.env", 1_000)
        run.spends(10.0, "train.py:20 work", "env.py:5 step")
        if number < len(worker_bytes):
            run.gauge(ON_FIRST, worker_bytes[number])
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run)


def test_workers_that_hold_memory_of_the_gpu():
    (finding,) = found(a_training(300 * MIB, 500 * MIB))

    assert finding.title == "2 environment workers hold 800.0 MiB of GPU memory"
    assert finding.evidence == (
        "on GPU 0 NVIDIA H200: pid 1002 500.0 MiB, pid 1001 300.0 MiB",
        "that is 5.0 % of the memory of GPU 0",
    )


def test_one_worker_of_many():
    (finding,) = found(a_training(300 * MIB, workers=4))

    assert finding.title == "an environment worker holds 300.0 MiB of GPU memory"


def test_a_long_list_of_workers_is_cut():
    (finding,) = found(a_training(*[300 * MIB] * 8, workers=8))

    assert finding.title.startswith("8 environment workers hold 2.3 GiB")
    assert finding.evidence[0].count("pid") == SHOWN
    assert finding.evidence[0].endswith("and 3 more")


def test_silent_just_under_its_threshold():
    assert not found(a_training(MIN_BYTES - 1, MIN_BYTES - 1))


def test_silent_when_only_the_learner_uses_the_gpu():
    assert not found(a_training())


def test_silent_where_the_driver_does_not_say_who_holds_the_memory():
    run = a_training().gauge("gpu:0:memory_bytes", 5_000 * MIB)

    assert not found(run)


def test_silent_on_workers_that_learn():
    run = a_run("train.py").process("main").spends(10.0, "train.py:9 wait", idle=True)
    run.process("learner").counts("updates", 100).spends(10.0, "train.py:30 learn")

    assert not found(run.gauge(ON_FIRST, 300 * MIB))


def test_no_steps_are_promised():
    priced = sell_samples(profile_of(a_training(300 * MIB, 500 * MIB)), discover_detectors())[
        0
    ].ranking()

    assert DETECTOR.id not in {finding.finding.detector for finding in priced.listed}
    (seen,) = [finding for finding in priced.also_seen if finding.finding.detector == DETECTOR.id]
    assert seen.saved_share == (0, 0)
