from __future__ import annotations

from rlprof.model.recording import NO_PARENT, Frame
from rlprof.recording.stacks import StackTable

MAIN = Frame("train.py", "<module>", 9)
STEP = Frame("train.py", "step", 3)
OTHER = Frame("train.py", "step", 4)


def test_a_stack_has_one_node_however_often_it_is_seen():
    table = StackTable()

    assert table.node([MAIN, STEP]) == table.node((MAIN, STEP))
    assert table.node([MAIN, OTHER]) != table.node([MAIN, STEP])


def test_what_is_new_is_handed_out_once_with_parents_first():
    table = StackTable()
    table.node([MAIN, STEP])

    frames, nodes = table.take_new()

    assert frames == [(0, MAIN), (1, STEP)]
    assert nodes == [(0, NO_PARENT, 0), (1, 0, 1)]
    assert table.take_new() == ([], [])
    assert table.node([MAIN]) == 0


def test_the_same_frame_under_another_caller_is_another_node():
    table = StackTable()
    recursive = table.node([STEP, STEP])
    plain = table.node([STEP])

    _, nodes = table.take_new()

    assert recursive != plain
    assert len(nodes) == 2
