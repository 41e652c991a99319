"""Files that a user names: pipes and devices are refused at once, and nothing is read without a bound."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from rlprof.inputs import open_input, read_input


def test_a_file_and_a_link_to_one_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")

    assert read_input(tmp_path / "file", 7) == read_input(tmp_path / "link", 7) == b"content"


def test_more_than_the_bound_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"content")

    with pytest.raises(OSError, match=r"larger than 6 B"):
        read_input(tmp_path / "file", 6)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))

    for place, why in (
        (tmp_path / "pipe", "it is a pipe"),
        (tmp_path / "socket", "it is a socket"),
        (Path("/dev/zero"), "it is a device"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(OSError, match=why):
            open_input(place)


def test_a_pipe_that_takes_the_place_of_a_file_is_refused(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    as_file = (tmp_path / "file").stat()
    monkeypatch.setattr(Path, "stat", lambda _: as_file)

    with pytest.raises(OSError, match="it is a pipe"):
        open_input(tmp_path / "pipe")
