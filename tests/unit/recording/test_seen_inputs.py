from __future__ import annotations

from rlprof.recording.looks.seen_inputs import SeenInputs


def seen(inputs: str, process: int = 0) -> SeenInputs:
    """Each letter stands for the inputs at one look."""
    found = SeenInputs()
    for each in inputs:
        found.add(process, each)
    return found


def test_counts_calls_and_those_whose_inputs_no_other_one_had():
    found = seen("abacad")

    assert (found.calls, found.once) == (6, 3)


def test_two_looks_in_a_row_may_be_at_one_call():
    assert seen("aaabbb").calls == 2


def test_each_process_has_calls_of_its_own():
    found = seen("a")
    found.add(1, "a")

    assert (found.calls, found.once) == (2, 0)


def test_inputs_that_are_all_new_are_not_asked_for_for_ever():
    new = "".join(map(chr, range(1000, 1200)))

    assert not seen(new[:20]).are_all_new
    assert seen(new).are_all_new
    assert not seen(new + new[0]).are_all_new
