"""Secrets in what a program calls the ranges of torch's profiler."""

from __future__ import annotations

import time

import pytest

from rlprof.recording.redaction.ranges import RangeNames

PRETTY = """  {
    "ph": "X",
    "cat": "user_annotation",
    "name": "%s",
    "pid": 7,
    "tid": 7
  },
"""
"""As torch 2.13 writes a range."""
OLDER = """  {
    "ph": "X", "cat": "user_annotation", "name": "%s", "pid": 7, "tid": 7
  },
"""


def hidden(trace: str, *, at_once: int = 1 << 20) -> str:
    names = RangeNames()
    data = trace.encode()
    pieces = [names.hide(data[at : at + at_once]) for at in range(0, len(data), at_once)]
    return b"".join((*pieces, names.rest())).decode()


@pytest.mark.parametrize("event", [PRETTY, OLDER, PRETTY.replace("user", "gpu_user")])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("token=hunter2", "token=xxxxxxx"),
        (
            "fetch https://host/v1?step=1&api_key=hunter2",
            "fetch https://host/v1?step=1&api_key=xxxxxxx",
        ),
        ('é password: "hunter2"', 'é password: "xxxxxxx"'),
        ("postgres://me:hunter2@host", "postgres://me:xxxxxxx@host"),
    ],
)
def test_secrets_in_the_name_of_a_range(event, name, told):
    trace = event % "before" + event % name + event % "after"

    assert hidden(trace) == trace.replace(name, told)


@pytest.mark.parametrize(
    "name",
    [
        "Optimizer.step#Adam.step",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "ProfilerStep#12",
        "## Call CompiledFxGraph fq7Zp0Lx2Vb9Nk4Tr8Wm1q7Zp0Lx2Vb9Nk4Tr8Wm1 ##",
        "Torch-Compiled Region: 0/0",
        "embed tokens of the rollout",
    ],
)
def test_other_names_stay(name):
    assert hidden(PRETTY % name) == PRETTY % name


def test_a_range_that_is_cut_in_two():
    trace = (PRETTY % "step") + (PRETTY % "token=hunter2") * 9

    for at_once in range(len(PRETTY), 3 * len(PRETTY), 7):
        assert hidden(trace, at_once=at_once) == trace.replace("hunter2", "xxxxxxx")


def test_other_events_are_left_alone():
    trace = PRETTY.replace("user_annotation", "python_function") % "train.py(3): token=hunter2"

    assert hidden(trace) == trace


def test_a_large_trace_takes_no_time():
    trace = PRETTY.replace("user_annotation", "cpu_op") % "aten::mm" * 300_000 + PRETTY % "step"
    before_s = time.thread_time()

    hidden(trace)

    # It is 0.1 s; of a real trace a quarter of what packing takes.
    assert time.thread_time() - before_s < 0.5
