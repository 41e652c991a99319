from __future__ import annotations

import os
import re

import pytest

from rlprof.recording.program.output_tap import OutputTap


class Tapped:
    """A tap, and both ends of what it stands between."""

    def __init__(self, pattern: str) -> None:
        self.reading, self._ours = os.pipe()
        os.set_blocking(self.reading, False)
        self.tap = OutputTap(self._ours, re.compile(pattern))

    def prints(self, *pieces: bytes) -> None:
        for piece in pieces:
            os.write(self.tap.target_end, piece)
            self.tap.pump()

    def passed_on(self) -> bytes:
        return os.read(self.reading, 1 << 16)

    def ends(self) -> None:
        self.tap.close_target_end()
        self.tap.pump()


@pytest.fixture
def tapped() -> type[Tapped]:
    return Tapped


def test_every_byte_is_passed_on(tapped):
    between = tapped(r"x(\d+)")

    between.prints(b"\x00\xff\r\n", b"no newline")

    assert between.passed_on() == b"\x00\xff\r\nno newline"


def test_the_latest_step_count_is_kept(tapped):
    between = tapped(r"step=(?P<steps>[\d,_]+)")

    between.prints(b"step=100\nstep=1,2", b"50\n", b"loss=3\nstep=2_000\n")

    assert between.tap.steps == 2000
    assert between.tap.sps is None


@pytest.mark.parametrize("pattern", ["fps [│|] (?P<steps>\\d+)", r"\u2502 (?P<steps>\d+)", r"fps . (?P<steps>\d+)"])  # fmt: skip
def test_a_pattern_may_have_any_letters(tapped, pattern):
    between = tapped(pattern)
    line = "│ fps │ 1200 │\n".encode()

    between.prints(line[:7], line[7:])

    assert between.tap.steps == 1200


def test_a_pattern_may_have_bytes_that_are_no_letters(tapped):
    between = tapped(os.fsdecode(b"\xff (?P<steps>\\d+)"))

    between.prints(b"\xff 7\n")

    assert between.tap.steps == 7


def test_a_rate_comes_from_a_group_named_sps_or_from_the_first(tapped):
    named, first = tapped(r"(\w+) (?P<sps>[\d.]+)/s"), tapped(r"SPS: (\d+)")

    named.prints(b"env 12.5/s\n")
    first.prints(b"SPS: 840\r")

    assert (named.tap.sps, first.tap.sps) == (12.5, 840)


def test_a_progress_bar_is_matched_at_each_redraw(tapped):
    between = tapped(r"(?P<steps>\d+)/100")

    between.prints(b"\r 10/100", b"\r 20/100")

    assert between.tap.steps == 10
    between.ends()
    assert between.tap.steps == 20
    assert not between.tap.is_open


def test_what_is_no_number_is_passed_over(tapped):
    between = tapped(r"steps=(?P<steps>\S+)")

    between.prints(b"steps=12\nsteps=many\n")

    assert between.tap.steps == 12


def test_output_without_line_ends_is_matched_and_not_kept_for_ever(tapped):
    between = tapped(r"(?P<steps>\d+);")

    for _ in range(40):
        between.prints(b"x" * 4000)
        between.passed_on()
    between.prints(b"77;", b"\n")

    assert between.tap.steps == 77
    assert len(between.tap._line) == 0


def test_a_reader_that_is_gone_closes_the_tap(tapped):
    between = tapped(r"x(\d)")
    os.close(between.reading)

    between.prints(b"x1")

    assert not between.tap.is_open
    with pytest.raises(BrokenPipeError):
        os.write(between.tap.target_end, b"more")


def test_a_full_disk_costs_what_did_not_fit_and_nothing_else(tapped):
    between = tapped(r"x(\d+)")
    place = os.dup(between.tap.ours)
    full = os.open("/dev/full", os.O_WRONLY)

    os.dup2(full, between.tap.ours)
    between.prints(b"x1\n", b"x23\n")
    os.dup2(place, between.tap.ours)
    between.prints(b"x4\n")

    assert between.tap.is_open
    assert (between.tap.lost_bytes, between.tap.lost_because) == (7, "No space left on device")
    assert between.passed_on() == b"x4\n"
    assert between.tap.sps == 4


def test_the_group_that_took_part_holds_the_rate(tapped):
    between = tapped(r"SPS: (\d+)|fps=(\d+)|(done)?!")

    between.prints(b"fps=12\n!\n")

    assert between.passed_on() == b"fps=12\n!\n"
    assert between.tap.sps == 12


@pytest.mark.parametrize("text", [b"nan", b"inf", b"-inf", b"1e999", b"-5"])
def test_a_rate_or_count_that_nothing_can_have_is_passed_over(tapped, text):
    between = tapped(r"sps=(\S+)|steps=(?P<steps>\S+)")

    between.prints(b"sps=5\nsteps=7\n", b"sps=" + text + b"\nsteps=" + text + b"\n")

    assert (between.tap.sps, between.tap.steps) == (5, 7)


def test_a_pattern_that_fails_ends_the_matching_and_not_the_output(tapped):
    between = tapped(r"no group \d")

    between.prints(b"no group 1\n", b"more\n")
    between.ends()

    assert between.passed_on() == b"no group 1\nmore\n"
    assert between.tap.sps is None


def test_an_error_while_matching_is_kept_from_the_target(tapped):
    class Broken:
        def finditer(self, _line):
            raise MemoryError

    between = tapped(r"x(\d)")
    between.tap._pattern = Broken()

    between.prints(b"x1\n", b"x2\n")

    assert between.passed_on() == b"x1\nx2\n"
    assert between.tap._pattern is None


def test_a_reader_that_is_slow_holds_up_nobody_and_gets_every_byte(tapped):
    between = tapped(r"x(\d+)")
    os.set_blocking(between.tap.target_end, False)
    written = 0
    while not between.tap.is_behind:
        written += os.write(between.tap.target_end, b"y" * 4096)
        between.tap.pump()

    got = b""
    while len(got) < written:
        got += between.passed_on()
        between.tap.flush()

    assert got == b"y" * written
    assert not between.tap.is_behind
