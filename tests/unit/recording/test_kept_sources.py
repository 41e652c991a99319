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
    ("content", "text"),
    [
        (b"\xef\xbb\xbfx = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe4'\n", "# -*- coding: latin-1 -*-\nx = 'ä'\n"),
        (b"x = 'ok'  # \xe4\n", "x = 'ok'  # \\xe4\n"),
        (b"# coding: zip\nx = 1\n", "# coding: zip\nx = 1\n"),
        (b"# coding: nothing\nx = 1\n", "# coding: nothing\nx = 1\n"),
    ],
)
def test_they_are_kept_as_python_reads_them(tmp_path, content: bytes, text: str):
    (tmp_path / "train.py").write_bytes(content)

    assert read_source(str(tmp_path / "train.py")) == text


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
