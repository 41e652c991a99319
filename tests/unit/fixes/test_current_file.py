from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlprof.fixes.current_file import CurrentFile

RECORDED = (
    "import a\n\n\ndef f():\n    x = 1\n    y = 2\n    return x\n\n\ndef g():\n    return 2\n"
)


def read(folder: Path, text: str | bytes, recorded: str = RECORDED) -> CurrentFile | None:
    file = folder / "train.py"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return CurrentFile.read(file, recorded)


def test_lines_of_a_file_as_it_was_are_where_they_were(tmp_path):
    file = read(tmp_path, RECORDED)

    assert file is not None
    assert file.is_as_recorded
    assert file.now(range(5, 7)) == range(5, 7)


def test_line_ends_are_no_difference(tmp_path):
    file = read(tmp_path, RECORDED.replace("\n", "\r\n"))

    assert file is not None
    assert file.is_as_recorded
    assert "\r\n" in file.text


@pytest.mark.parametrize(
    ("text", "lines", "now"),
    [
        (f"# New.\n{RECORDED}", range(4, 8), range(5, 9)),
        (RECORDED.replace("import a\n", ""), range(4, 8), range(3, 7)),
        (RECORDED.replace("y = 2", "y = 3"), range(5, 6), range(5, 6)),
        (RECORDED.replace("y = 2", "y = 3"), range(6, 7), None),
        (RECORDED.replace("y = 2", "y = 3"), range(4, 8), None),
        (RECORDED.replace("y = 2", "y = 3"), range(10, 12), range(10, 12)),
        (RECORDED.replace("    x = 1\n", "    x = 1\n    z = 1\n"), range(4, 8), None),
        ("", range(5, 6), None),
    ],
)
def test_lines_are_found_where_they_are_now(tmp_path, text, lines, now):
    file = read(tmp_path, text)

    assert file is not None
    assert file.now(lines) == now


@pytest.mark.parametrize("content", [b"# coding: latin-1\nx = '\xfc'\n", b"\xef\xbb\xbfx = '\xc3\xbc'\n", "x = 'ü'".encode()])  # fmt: skip
def test_what_is_written_is_what_was_read(tmp_path, content):
    file = read(tmp_path, content)

    assert file is not None
    assert file.encoded(file.text) == content


@pytest.mark.parametrize("content", [b"x = '\xfc'\n", b"# coding: klingon\n"])
def test_what_python_cannot_read_is_no_source(tmp_path, content):
    assert read(tmp_path, content) is None


def test_a_file_that_is_gone_is_no_source(tmp_path):
    assert CurrentFile.read(tmp_path / "gone.py", RECORDED) is None


@pytest.mark.timeout(20)
def test_what_has_no_end_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zeros.py").symlink_to("/dev/zero")

    assert CurrentFile.read(tmp_path / "pipe.py", RECORDED) is None
    assert CurrentFile.read(tmp_path / "zeros.py", RECORDED) is None
