from __future__ import annotations

import pytest

from rlprof.errors import OutputError
from rlprof.recording.guard import PartGuard


def test_a_fault_is_kept_with_its_first_traceback_and_how_often_it_came():
    guard = PartGuard()

    for text in ("first", "second"):
        with guard.part("the gauges"):
            raise ZeroDivisionError(text)

    (note,) = guard.notes()
    assert (note.level, note.slug) == ("error", "recorder-part-failed")
    assert "the gauges failed 2 times" in note.text
    assert "ZeroDivisionError: first" in note.text
    assert "second" not in note.text


def test_parts_are_told_apart_and_those_without_faults_are_not_told():
    guard = PartGuard()

    with guard.part("the scan"):
        raise ValueError
    with guard.part("the gauges"):
        pass

    assert ["the scan failed once" in note.text for note in guard.notes()] == [True]


def test_a_run_file_that_takes_no_more_is_no_fault_of_a_part():
    guard = PartGuard()

    with pytest.raises(OutputError), guard.part("a window"):
        raise OutputError("full", slug="run-file-not-written", hint="")

    assert guard.notes() == []
