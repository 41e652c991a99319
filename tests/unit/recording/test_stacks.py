from __future__ import annotations

from rlprof.agent.inject.rlprof_agent.layout import UNNAMED_FILE
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.recording import stacks
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


def test_the_frames_that_lead_to_a_node_come_innermost_first():
    table = StackTable()

    assert list(table.frames(table.node([MAIN, STEP]))) == [STEP, MAIN]


def test_code_without_a_file_has_that_in_which_its_function_is_known():
    table = StackTable()
    unnamed = Frame(UNNAMED_FILE, "step", 4)
    early = table.node([MAIN, unnamed])

    step = table.node([MAIN, STEP])

    assert next(table.frames(early)) == unnamed
    assert next(table.frames(table.node([MAIN, unnamed]))) == OTHER
    assert table.node([MAIN, STEP]) == step


def test_code_without_a_file_stays_so_where_two_files_have_such_a_function():
    table = StackTable()
    unnamed = Frame(UNNAMED_FILE, "step", 4)
    table.node([MAIN, STEP])
    table.node([MAIN, Frame("wrappers.py", "step", 3)])

    assert next(table.frames(table.node([MAIN, unnamed]))) == unnamed


def test_of_too_many_stacks_the_nearest_known_caller_stands_for_the_rest(monkeypatch):
    monkeypatch.setattr(stacks, "MAX_NODES", 2)
    monkeypatch.setattr(stacks, "MAX_KNOWN", 3)
    table = StackTable()
    known = table.node([MAIN, STEP])
    assert table.notes() == []

    for line in range(10, 20):
        deeper = Frame("train.py", "search", line)
        assert table.node([MAIN, STEP, deeper, OTHER]) == known
    assert table.node([MAIN]) == table.node([MAIN, OTHER])
    assert [note.slug for note in table.notes()] == ["stacks-cut"]
    assert len(table.take_new()[1]) == 2


def test_a_stack_that_begins_anew_has_a_node_even_then(monkeypatch):
    monkeypatch.setattr(stacks, "MAX_NODES", 1)
    table = StackTable()
    table.node([MAIN])

    assert table.node([OTHER, STEP]) == 1
    assert list(table.frames(1)) == [OTHER]
