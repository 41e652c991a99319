"""Read along with the target's output, for ``--sps-pattern``; every byte is passed on unchanged."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import select
import signal
import stat
import termios
import tty
from collections.abc import Collection

from rlprof.recording.machine.descriptors import close_all_but
from rlprof.recording.machine.room import PIECE, takes_more
from rlprof.recording.program.printed_numbers import number
from rlprof.recording.program.target import FORWARDED
from rlprof.recording.program.terminals import unstopped

MAX_LINE = 1 << 16
"""Output without a line end is matched in pieces of this size."""

_GONE = (errno.EPIPE, errno.ECONNRESET)
"""Errors of writing where nobody reads any more."""


_SHOWN = 40
"""Bytes of a text that is no number, in a remark."""


class OutputTap:
    """Stands between one stream of the target and ours: a terminal for a terminal, else a pipe."""

    def __init__(self, ours: int, pattern: re.Pattern[str], ignored: Collection[int] = ()) -> None:
        """``ignored`` are signals that we handle and were given as ignored."""
        self.ours = ours
        self._ignored = ignored
        self._never_blocks = stat.S_ISREG(os.fstat(ours).st_mode)
        self._unwritten = b""
        self.lost_bytes = 0
        """Bytes that the target wrote and ours did not take, on a full disk for example."""
        self.lost_because = ""
        self._pattern: re.Pattern[str] | None = pattern
        self._line = b""
        self.steps: float | None = None
        """The latest cumulative step count, from a group named ``steps``."""
        self.sps: float | None = None
        """The latest rate that the program printed and nobody took, from a group named ``sps`` or the
        first that took part."""
        self.has_told = False
        """True once the pattern has found a number."""
        self.unread = b""
        """The first text that the pattern found, and that is no number that counts."""
        self.is_open = True
        self._is_terminal = os.isatty(ours)
        self._size = b""
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

    @property
    def is_window(self) -> bool:
        """Tell whether there is a size to copy."""
        return self._is_terminal and self.is_open

    def copy_window_size(self) -> bool:
        """Give the target's terminal the size of ours; whether that changed it."""
        if not self.is_window:
            return False
        try:
            size = fcntl.ioctl(self.ours, termios.TIOCGWINSZ, b"\0" * 8)
            if size == self._size:
                return False
            fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)
        except OSError:
            return False  # A terminal without a size has none to copy.
        self._size = size
        return True

    def pump(self) -> None:
        """Pass on what has arrived, and look for the pattern in it."""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            data = b""  # EIO: a pseudo-terminal's way to say end of file.
        if not data:
            self.close()
            self._match(self._line)
            return
        self._unwritten += data
        self.flush()
        self._look_for_numbers(data)

    @property
    def is_behind(self) -> bool:
        """Tell whether our reader has yet to take what has been read: the target waits meanwhile, as it would
        without us.
        """
        return bool(self._unwritten)

    def flush(self) -> None:
        """Pass on what can be without waiting."""
        while self._unwritten and (self._never_blocks or takes_more(self.ours)):
            piece = self._unwritten if self._never_blocks else self._unwritten[:PIECE]
            try:
                self._unwritten = self._unwritten[self._write(piece) :]
            except BlockingIOError:
                return  # Whoever started us shares a descriptor that does not block.
            except OSError as error:
                self._lose(error)
                return

    def _write(self, piece: bytes) -> int:
        if not self._is_terminal:
            return os.write(self.ours, piece)
        # The target may have the terminal, and not we.
        with unstopped():
            return os.write(self.ours, piece)

    def _lose(self, error: OSError) -> None:
        """Drop what cannot be written. What comes later is tried again: a full disk may have room by then."""
        if error.errno in _GONE or self._is_terminal:
            # Nobody reads our output any more: the target must see that as without us.
            if self.is_open:
                self.close()
        else:
            self.lost_bytes += len(self._unwritten)
            self.lost_because = error.strerror or str(error)
        self._unwritten = b""

    def close(self) -> None:
        """Read no more."""
        self.is_open = False
        os.close(self.fd)

    def take_sps(self) -> float | None:
        """The latest rate that was printed since the last call."""
        sps, self.sps = self.sps, None
        return sps

    def leave_behind(self) -> None:
        """Pass on in a process of its own what processes that outlive the target still write."""
        if os.fork() != 0:
            return
        try:
            os.setpgid(0, 0)  # Out of reach of the terminal's Ctrl-C, as its writers are.
            _obey_signals(self._ignored)
            close_all_but(self.fd, self.ours)
            self.stop_matching()
            while self.is_open or self.is_behind:
                if self.is_behind:
                    select.select([], [self.ours], [])
                    self.flush()
                else:
                    self.pump()
        finally:
            os._exit(0)

    def stop_matching(self) -> None:
        """Only pass bytes on from now on."""
        self._pattern = None

    def _look_for_numbers(self, data: bytes) -> None:
        if self._pattern is None:
            return
        *lines, self._line = re.split(rb"[\r\n]", self._line + data)
        if len(self._line) > MAX_LINE:
            lines.append(self._line)
            self._line = b""
        for line in lines:
            self._match(line)

    def _match(self, line: bytes) -> None:
        if self._pattern is None:
            return
        try:
            # As the pattern itself was read from the command line, or it could not have letters beyond ASCII.
            for found in self._pattern.finditer(os.fsdecode(line)):
                self._take(found)
        except Exception:
            # The user's pattern may do what no test foresaw; the output matters more than its numbers.
            self.stop_matching()

    def _take(self, found: re.Match[str]) -> None:
        named = found.groupdict()
        steps = named.get("steps")
        if steps is not None:
            self.steps = self._number(steps, self.steps)
            return
        took_part = [text for text in (named.get("sps"), *found.groups()) if text is not None]
        self.sps = self._number(took_part[0], self.sps) if took_part else self.sps

    def _number(self, found: str, so_far: float | None) -> float | None:
        text = os.fsencode(found)
        value = number(text)
        if value is None:
            self.unread = self.unread or text[:_SHOWN]
            return so_far
        self.has_told = True
        return value


def _obey_signals(ignored: Collection[int]) -> None:
    """End on a signal that is not ``ignored``, as any other process would; the recorder passed them on to the target."""
    signal.set_wakeup_fd(-1)
    for signum in FORWARDED:
        signal.signal(signum, signal.SIG_IGN if signum in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
