"""Which files are kept with a recording."""

from __future__ import annotations

import pytest

from rlprof.recording.sources import read_source


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", "x = 1\n"),
        ("newer.py", "type Pair[T] = tuple[T, T]\nprint(\n"),
        ("train", "#!/usr/bin/env python3\nx = 1\n"),
        ("launch", "import os\n"),
    ],
)
def test_programs_are(tmp_path, name: str, text: str):
    (tmp_path / name).write_text(text)

    assert read_source(str(tmp_path / name)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conf.yaml", "password: hunter2\n"),
        (".env", "API_TOKEN=abc\n"),
        ("page.html", "<a href='?token=1'>\n"),
        ("passwd", "bin:x:2:2:bin:/bin\n"),
        ("keys", "API_TOKEN = abc\n"),
        ("settings.ini", "[a]\npassword = b\n"),
    ],
)
def test_what_a_program_compiles_under_another_name_is_not(tmp_path, name: str, text: str):
    """A loader of configurations names its file for tracebacks."""
    (tmp_path / name).write_text(text)

    assert read_source(str(tmp_path / name)) is None
