from __future__ import annotations

import io
import sys

import pytest

from rlprof.recording import live
from rlprof.recording.live import LiveLine


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def always_due(monkeypatch):
    monkeypatch.setattr(live, "REDRAW_S", 0.0)


def draw(line: LiveLine) -> None:
    line.update(elapsed_us=3_000_000, processes=2, samples=600, sps=640.0)
    line.clear()


def test_the_line_says_what_has_been_seen(monkeypatch):
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    draw(LiveLine())

    assert "rlprof 3.0 s · 2 processes · 600 samples · 640 sps" in terminal.getvalue()


def test_nothing_is_drawn_where_stderr_is_no_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)

    draw(LiveLine())

    assert stream.getvalue() == ""


def test_it_is_silent_without_a_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)

    draw(LiveLine())


@pytest.mark.parametrize("kind", [FakeTerminal, io.StringIO])
def test_it_is_silent_when_stderr_was_closed_before(monkeypatch, kind):
    closed = kind()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)

    draw(LiveLine())


def test_a_stderr_that_closes_midway_ends_the_line(monkeypatch):
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    line = LiveLine()

    terminal.close()

    draw(line)
    assert not line.is_on
