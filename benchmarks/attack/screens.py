"""Screens of a terminal, cell by cell, bare and beside rlprof: in tmux, at moments that the program chooses."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial

from benchmarks.attack.arena import Arena, Failed, needs_program
from benchmarks.attack.row import Row

COLUMNS, LINES = 80, 24

HELD_S = 1.5
"""At each moment the program does nothing for so long: time for others to write on its screen."""

PRELUDE = """
import os, sys, time
from pathlib import Path

def moment(name):
    sys.stdout.flush()
    Path(f"at-{name}").touch()
    while not os.path.exists(f"on-{name}"):
        time.sleep(0.01)

print("begins", flush=True)
"""

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "plain-prints": (
        "Lines, one by one, past the last row of the screen.",
        """
for number in range(30):
    print("episode", number, "return", number * 3)
    if number == 10:
        moment("one")
moment("two")
print("ends")
""",
    ),
    "progress-bar": (
        "A bar like tqdm's, on stderr, with prints between.",
        """
for number in range(0, 101, 4):
    bar = "█" * (number // 4)
    sys.stderr.write(f"\\r{number:3}%|{bar:25}| {number}/100 [00:00<00:00, 99.9it/s]")
    sys.stderr.flush()
    if number == 40:
        moment("one")
    if number == 60:
        sys.stderr.write("\\r\\x1b[K")
        print("checkpoint saved")
moment("two")
sys.stderr.write("\\n")
""",
    ),
    "two-bars": (
        "Nested bars, with the cursor moved up and down.",
        """
for outer in range(3):
    sys.stdout.write(f"\\router {outer}\\n")
    for inner in range(5):
        sys.stdout.write(f"\\rinner {inner}/5")
    sys.stdout.write("\\x1b[A")
    moment(str(outer))
sys.stdout.write("\\n\\n")
""",
    ),
    "carriage-returns": (
        "A line that is written over and over.",
        """
for number in range(50):
    print(f"\\rstep {number}", end="", flush=True)
    if number in (9, 30):
        moment(str(number))
print()
""",
    ),
    "no-newline-at-the-end": (
        "A last line without its end, in the middle of the screen.",
        """
print("x" * 200)
print("loss 0.5", end="")
moment("one")
""",
    ),
    "table": (
        "The table of Stable-Baselines3, again and again.",
        """
for number in range(4):
    print("-" * 40)
    for name in ("rollout/ep_rew_mean", "time/fps", "time/iterations", "train/loss"):
        print(f"| {name:24} | {number * 10:9} |")
    print("-" * 40)
    if number in (0, 2):
        moment(str(number))
moment("end")
""",
    ),
    "colours-and-title": (
        "Colours, a title and an alternate screen of its own.",
        """
print("\\x1b[31mred\\x1b[0m \\x1b]2;my title\\x07 \\x1b[1;44mblue\\x1b[0m")
moment("one")
sys.stdout.write("\\x1b[?1049h\\x1b[2J\\x1b[5;10Hdashboard")
moment("two")
sys.stdout.write("\\x1b[?1049l")
print("back")
moment("three")
""",
    ),
    "bottom-row": (
        "A status in the last row, drawn by address.",
        """
for number in range(3):
    sys.stdout.write(f"\\x1b7\\x1b[24;1Hstatus {number}\\x1b[K\\x1b8")
    print("line", number)
    moment(str(number))
""",
    ),
}
"""What each prints between its moments."""


def compare(arena: Arena, text: str) -> str:
    needs_program("tmux")
    (arena.work / "program.py").write_text(PRELUDE + text)
    bare = _screens(arena, [sys.executable, "program.py"])
    seen = _screens(arena, arena.recorded("program.py"))
    for name, screen in bare.items():
        if seen.get(name) != screen:
            raise Failed(f"at {name}: {_difference(screen, seen.get(name, []))}")
    return f"{len(bare)} screens, cell by cell"


def _screens(arena: Arena, command: list[str]) -> dict[str, list[str]]:
    """The screen at each moment and at the end, from the program's first line on."""
    for path in [*arena.work.glob("at-*"), *arena.work.glob("on-*"), *arena.work.glob("code")]:
        path.unlink()
    screen = _Screen(arena, command)
    seen: dict[str, list[str]] = {}
    try:
        while True:
            arena.wait_for("a moment of the program", lambda: screen.is_over() or screen.moments())
            if not screen.moments():
                break
            name = screen.moments()[0]
            time.sleep(HELD_S)
            seen[name] = screen.look()
            (arena.work / f"on-{name}").touch()
        seen["the end"] = screen.look()
    finally:
        screen.close()
    return seen


class _Screen:
    """A tmux of our own with one window, in which a command runs."""

    def __init__(self, arena: Arena, command: list[str]) -> None:
        self._arena = arena
        self._tmux = ["tmux", "-S", str(arena.folder / "tmux"), "-f", "/dev/null"]
        quoted = " ".join(f"'{word}'" for word in command)
        # The shell keeps the screen as the program has left it.
        shell = f"stty -echo; printf '\\033[2J\\033[H'; {quoted}; echo $? >code; sleep 600"
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        begin = [*self._tmux, "new-session", "-d", *size, "sh", "-c", shell]
        ended = arena.run(begin)
        if "server exited" in ended.complaint:
            ended = arena.run(begin)  # Its own race at the start, on a full machine.
        if ended.code != 0:
            raise Failed(f"tmux: {ended.complaint}")
        arena.run([*self._tmux, "set", "-g", "status", "off"])

    def is_over(self) -> bool:
        return (self._arena.work / "code").exists()

    def moments(self) -> list[str]:
        """Those in which the program waits to be let on."""
        work = self._arena.work
        return [
            path.name[3:]
            for path in work.glob("at-*")
            if not (work / f"on-{path.name[3:]}").exists()
        ]

    def look(self) -> list[str]:
        """Every row as it stands, with its colours; once two looks agree."""
        before: list[str] = []
        while True:
            shown = subprocess.run(
                [*self._tmux, "capture-pane", "-p", "-e", "-S", "-"],
                capture_output=True,
                text=True,
                check=True,
                timeout=30,
            ).stdout.splitlines()
            if shown == before:
                return _from_first_line(shown)
            before = shown
            time.sleep(0.1)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False, timeout=30)


def _from_first_line(shown: list[str]) -> list[str]:
    """rlprof may say one line before the program begins, and none after that."""
    rows = [row.rstrip() for row in shown]
    while rows and not rows[-1]:
        rows.pop()
    if rows and rows[0] != "begins" and "rlprof" in rows[0]:
        return rows[1:]
    return rows


def _difference(own: list[str], other: list[str]) -> str:
    for number in range(max(len(own), len(other))):
        wanted = own[number] if number < len(own) else ""
        shown = other[number] if number < len(other) else ""
        if wanted != shown:
            return f"row {number + 1} shows {shown[:90]!r} instead of {wanted[:90]!r}"
    return "nothing"


ROWS: tuple[Row, ...] = tuple(
    Row(
        f"screen-{name}",
        "screen",
        told,
        partial(compare, text=text),
        is_fast=name in ("no-newline-at-the-end",),
    )
    for name, (told, text) in PROGRAMS.items()
)
