"""A page's ``Before`` really runs and is found; its ``After`` runs and is not."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping

import pytest

from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding
from tests.detector_pages import snippets
from tests.factories import a_run
from tests.line_tracer import LineTracer, Spent, Stack
from tests.page_programs import PROGRAMS, program
from tests.profile_factory import Script, detect

SCRIPT = "/home/researcher/project/train.py"
STEPS = 100
STEADY_S = 10
DETECTORS = {detector.id: detector for detector in discover_detectors()}
pytestmark = pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning")
SEVERAL_PROCESSES = (
    "found by what several processes do at the same time; the tracer follows one thread"
)
SEVERAL_THREADS = "found by what several threads do at the same time; the tracer follows one"
NOT_IN_STEADY_TIME = (
    "found by what comes before the steady phase, which is all that the tracer sees"
)
NOT_RUN = {
    "allocator-churn": "found by calls that give back memory of a GPU, which do nothing without one",
    "debug-modes": "switches a mode of torch on for the whole process, and for the tests after it",
    "copied-rows": "found by the values that agents look at; the tracer looks at none",
    "cuda-in-env-workers": "found by the memory that processes hold on a GPU",
    "dataloader-workers": SEVERAL_PROCESSES,
    "dataset-crosses-bus": "found by copies to a GPU, which agents count",
    "growing-cost": "found by how the time of a step changes; the tracer sums it up",
    "history-rerun": "found by the values that agents look at; the tracer looks at none",
    "padded-sequences": "its page has the function that fills up alone, and no update on what that returns",
    "dense-traces": "found by the values that agents look at; the tracer looks at none",
    "ensemble-loop": "found by the values that agents look at; the tracer looks at none",
    "expired-waits": SEVERAL_THREADS,
    "fp64": "found by the values that agents look at; the tracer looks at none",
    "gil-contention": SEVERAL_THREADS,
    "history-statistics": "found by the values that agents look at; the tracer looks at none",
    "hot-spot": "names any line that nothing else explains; so the After has one too",
    "ipc-per-step": SEVERAL_PROCESSES,
    "learner-starved": SEVERAL_PROCESSES,
    "lock-contention": SEVERAL_THREADS,
    "memory-growth": "found by the memory of processes over time; the tracer counts time alone",
    "network-not-frozen": "found by the values that agents look at; the tracer looks at none",
    "number-loop": "found by the values that agents look at; the tracer looks at none",
    "pickle-heavy": SEVERAL_PROCESSES,
    "process-startup": NOT_IN_STEADY_TIME,
    "repeated-work": "found by the values that agents look at; the tracer looks at none",
    "stale-training": "found by the numbers of updates and steps; the tracer counts time alone",
    "startup-bound": NOT_IN_STEADY_TIME,
    "denormals": "found by the values that agents look at; the tracer looks at none",
    "mostly-zeros": "found by the values that agents look at; the tracer looks at none",
    "table-sweep": "found by the values that agents look at; the tracer looks at none",
    "thread-oversubscription": "found by threads that run no Python, which the tracer cannot see",
    "too-many-workers": SEVERAL_PROCESSES,
    "uneven-chunks": SEVERAL_PROCESSES,
    "workers-in-turn": SEVERAL_PROCESSES,
    "worker-starved": SEVERAL_PROCESSES,
}
"""Detectors whose page has no program here, and why not."""
NEEDS = {"import torch": "torch", "from omegaconf": "omegaconf", "import numpy": "numpy"}


def run(source: str) -> Mapping[Stack, Spent]:
    """Time by stack of the program's ``main``, once all that happens but once has happened."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(source, SCRIPT, "exec"), names)
    main = names["main"]
    assert callable(main)
    main(2)
    gc.collect()
    gc.freeze()  # What the other tests made is not the program's.
    tracer = LineTracer()
    with tracer.on():
        main(STEPS)
    gc.unfreeze()
    return tracer.stacks()


def found(detector_id: str, source: str) -> list[Finding]:
    stacks = run(source)
    whole = sum(spent.busy_s + spent.idle_s for spent in stacks.values())
    times = STEADY_S / whole  # as if the loop had gone on as it went
    story = a_run(SCRIPT, steady_s=STEADY_S).process(steps=STEPS * times)
    for stack, spent in stacks.items():
        story.spends(spent.busy_s * times, *stack)
        story.spends(spent.idle_s * times, *stack, idle=True)
    return detect(DETECTORS[detector_id], story, Script(SCRIPT, source))


def test_time_is_told_by_the_line_that_takes_it():
    source = """
import time

def main(n):
    sum(range(9 * n))
    time.sleep(0.01)
    return [sum(range(1000 * n)) for _ in [1]]
"""

    stacks = run(source)

    heaviest = max(stacks, key=lambda stack: stacks[stack].busy_s)
    assert heaviest[0] == f"{SCRIPT}:7 main"
    assert stacks[heaviest].busy_s > 10 * stacks[f"{SCRIPT}:5 main",].busy_s
    assert stacks[f"{SCRIPT}:6 main",].idle_s > 0.005


def test_each_page_is_run_or_says_why_not():
    built_in = {
        name
        for name, detector in DETECTORS.items()
        if detector.in_samples is not None
        and detector.in_samples.detect.__module__.startswith("rlprof.")
    }

    assert PROGRAMS.keys() & NOT_RUN.keys() == set()
    assert PROGRAMS.keys() | NOT_RUN.keys() <= built_in
    missing = sorted(built_in - PROGRAMS.keys() - NOT_RUN.keys())
    assert not missing, (
        f"add programs to tests/page_programs.py, or reasons to NOT_RUN here: {missing}"
    )


@pytest.fixture(autouse=True)
def _undisturbed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    if torch := sys.modules.get("torch"):
        torch.distributions.Distribution.set_default_validate_args(True)


@pytest.fixture(params=sorted(PROGRAMS))
def detector_id(request):
    for line, module in NEEDS.items():
        if line in PROGRAMS[request.param]:
            pytest.importorskip(module, reason=f"{module} is missing (make test installs it)")
    if torch := sys.modules.get("torch"):
        # Beside other programs a team of threads waits for its members for longer than it works.
        torch.set_num_threads(1)
    return request.param


def test_what_is_to_be_changed_is_found(detector_id):
    (_, before), _ = snippets(detector_id)

    assert any(found(detector_id, program(detector_id, before)) for _ in range(3))


def test_what_it_is_changed_into_is_not_found(detector_id):
    _, (_, after) = snippets(detector_id)

    # A run that another program interrupts has its wait on whatever line it was at.
    runs = (found(detector_id, program(detector_id, after)) for _ in range(3))
    assert [] in runs
