"""Read along with the target's output, for ``--sps-pattern``; every byte is passed on unchanged."""

from __future__ import annotations

import fcntl
import os
import re
import select
import termios
import tty

MAX_LINE = 1 << 16
"""Output without a line end is matched in pieces of this size."""


class OutputTap:
    """Stands between one stream of the target and ours: a terminal for a terminal, else a pipe."""

    def __init__(self, ours: int, pattern: re.Pattern[bytes]) -> None:
        self._ours = ours
        self._pattern = pattern
        self._line = b""
        self.steps: float | None = None
        """The latest cumulative step count, from a group named ``steps``."""
        self.sps: float | None = None
        """The latest rate that the program printed, from a group named ``sps`` or the first one."""
        self.is_open = True
        self._is_terminal = os.isatty(ours)
        if self._is_terminal:
            self.fd, self.target_end = os.openpty()
            # Our own terminal translates line ends; once is enough.
            tty.setraw(self.target_end)
            self.copy_window_size()
        else:
            self.fd, self.target_end = os.pipe()

    def close_target_end(self) -> None:
        """Once the target has it."""
        os.close(self.target_end)

    def copy_window_size(self) -> None:
        if not self._is_terminal:
            return
        try:
            size = fcntl.ioctl(self._ours, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)
        except OSError:
            pass  # A terminal without a size has none to copy.

    def pump(self) -> None:
        """Pass on what has arrived, and look for the pattern in it."""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            data = b""  # EIO: a pseudo-terminal's way to say end of file.
        if not data:
            self._match(self._line)
            self.is_open = False
            os.close(self.fd)
            return
        if not _write_all(self._ours, data):
            # Nobody reads our output any more: the target must see that as without us.
            self.is_open = False
            os.close(self.fd)
            return
        *lines, self._line = re.split(rb"[\r\n]", self._line + data)
        for line in lines:
            self._match(line)
        if len(self._line) > MAX_LINE:
            self._match(self._line)
            self._line = b""

    def leave_behind(self) -> None:
        """Pass on in a process of its own what processes that outlive the target still write."""
        if os.fork() == 0:
            os.setpgid(0, 0)  # Out of reach of the terminal's Ctrl-C, as its writers are.
            while self.is_open:
                self.pump()
            os._exit(0)

    def _match(self, line: bytes) -> None:
        for found in self._pattern.finditer(line):
            groups = found.groupdict()
            try:
                if groups.get("steps") is not None:
                    self.steps = _number(groups["steps"])
                else:
                    self.sps = _number(groups.get("sps") or found.group(1))
            except ValueError:
                continue


def _number(text: bytes) -> float:
    """``1,234.5`` and ``1_234`` are numbers too. Raises ValueError on anything else."""
    return float(text.replace(b",", b"").replace(b"_", b""))


def _write_all(fd: int, data: bytes) -> bool:
    """False when the reader of ``fd`` is gone."""
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            # Whoever started us shares a descriptor that does not block.
            select.select([], [fd], [])
        except OSError:
            return False
    return True
