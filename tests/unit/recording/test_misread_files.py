from __future__ import annotations

import pytest

from rlprof.model.recording import TORN_FRAME, Frame
from rlprof.recording.misread_files import MisreadFiles

SCRIPT = "/home/me/train.py"
OTHER = "/home/me/agent.py"


def mended(*frames: Frame, known: set[Frame]) -> tuple[Frame, ...]:
    return MisreadFiles(known).mended(frames)


def test_a_line_that_is_known_tells_the_file():
    told = mended(Frame("<module>", "main", 7), known={Frame(SCRIPT, "main", 7)})

    assert told == (Frame(SCRIPT, "main", 7),)


def test_it_is_the_file_of_all_that_was_read_with_the_same_text():
    known = {Frame(SCRIPT, "main", 7)}

    told = mended(Frame("<module>", "<module>", 90), Frame("<module>", "main", 7), known=known)

    assert [frame.file for frame in told] == [SCRIPT, SCRIPT]


def test_it_is_remembered_for_lines_that_nobody_knows():
    files = MisreadFiles({Frame(SCRIPT, "main", 7)})
    files.mended((Frame("<module>", "main", 7),))

    assert files.mended((Frame("<module>", "wait", 3),)) == (Frame(SCRIPT, "wait", 3),)


def test_a_line_that_becomes_known_later_mends_what_comes_then():
    known: set[Frame] = set()
    files = MisreadFiles(known)
    misread = (Frame("<module>", "main", 7),)
    assert files.mended(misread) == misread

    known.add(Frame(SCRIPT, "main", 7))

    assert files.mended(misread) == (Frame(SCRIPT, "main", 7),)


def test_a_line_of_several_files_tells_nothing():
    misread = Frame("<module>", "main", 7)
    known = {Frame(SCRIPT, "main", 7), Frame(OTHER, "main", 7)}

    assert mended(misread, known=known) == (misread,)


@pytest.mark.parametrize(
    "file",
    [SCRIPT, "train.py", "<string>", "<frozen importlib._bootstrap>", "<ipython-input-1>", ":"],
)
def test_what_is_a_file_or_stands_for_one_is_left(file: str):
    frame = Frame(file, "main", 7)

    assert mended(frame, TORN_FRAME, known={Frame(OTHER, "main", 7)}) == (frame, TORN_FRAME)
