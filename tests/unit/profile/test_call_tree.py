from __future__ import annotations

from collections import Counter

from rlprof.model.recording import Frame
from rlprof.profile.build import build_profile
from tests.factories import a_run

LOOP = "/p/train.py:40 train"
HERE = "/p/train.py:12 step"
THERE = "/p/train.py:20 act"


def test_each_line_is_asked_once_however_many_stacks_lead_to_it():
    run = a_run("train.py", steady_s=10).process("main", steps=1000)
    for stack in ([LOOP, HERE], [LOOP, THERE, HERE], [LOOP, THERE, THERE, HERE, THERE]):
        run = run.spends(1, *stack)
    tree = build_profile(run.recording()).steady
    asked: Counter[Frame] = Counter()

    found = [*tree.topmost(lambda frame: bool(asked.update([frame])) or frame.function == "step")]

    assert len(found) == 3
    assert set(asked.values()) == {1}
