"""See to what the target needs of us, recording or not: its signals, its output, its end."""

from __future__ import annotations

import os
import re
import select
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType

from rlprof.model.crash import is_stopped_by
from rlprof.model.recording import Note
from rlprof.recording.machine.prctl import adopt_orphans
from rlprof.recording.program.dispositions import forget_faults, hold_back_faults
from rlprof.recording.program.output_tap import OutputTap
from rlprof.recording.program.target import FORWARDED, RunningTarget
from rlprof.recording.program.terminal_witness import TerminalWitness
from rlprof.units import size

MAX_LAST_READS = 32
"""Reads of a stream after the target's end; a pipe holds much less."""

LAST_READS_S = 0.5
"""For these reads. What our own reader has not taken by then goes on in a process of its own."""

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Signals that tell a program to end, whatever it does with them. Not SIGQUIT, by which many print their stacks and go on."""

_CHANGES = os.WNOHANG | os.WUNTRACED | os.WCONTINUED

LOOK_S = 1.0
"""After a bug the target's end is looked for this often, should even its announcement fail."""


class Escort:
    """Starts the target and stays with it; its events arrive through the caller's selector."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self.taps: list[OutputTap] = []
        self._selector = selector
        self._target: RunningTarget | None = None
        self._signals: list[tuple[int, float]] = []
        """Those that have come, each with its time (monotonic clock)."""
        self._ignored: frozenset[int] = frozenset()
        """Those that we were given as ignored, and so is the target: it may have a handler by the time one comes."""
        self.was_continued = False
        """True if SIGCONT has come: we were stopped, and may have been for long."""
        self.told_by: int | None = None
        """The last signal that ends a program which came for it, and was not ignored when we were started."""
        self._terminal: TerminalWitness | None = None
        self._restore: list[Callable[[], object]] = []
        self._wake_up, self._waking = self._listen_to_signals()
        self._adopt_orphans()
        self._blocked = hold_back_faults()
        self._restore.append(partial(forget_faults, self._blocked))

    @property
    def is_continued(self) -> bool:
        """Tell whether SIGCONT has come and was not handled yet."""
        return any(signum == signal.SIGCONT for signum, _ in self._signals)

    @property
    def follows_a_window(self) -> bool:
        """Tell whether :meth:`handle_signals` is to be called for the sake of a window's size."""
        return any(tap.is_window for tap in self.taps)

    @property
    def has_target(self) -> bool:
        return self._target is not None

    @property
    def target(self) -> RunningTarget:
        assert self._target is not None, "start() comes first"
        return self._target

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        pattern: re.Pattern[str] | None,
    ) -> RunningTarget:
        """Start the target, reading along with its output where there is a pattern to find.

        Raises :class:`LaunchError` when it cannot be started.
        """
        stdout = stderr = None
        if pattern is not None:
            self.taps = [OutputTap(stream, pattern, self._ignored) for stream in (1, 2)]
            stdout, stderr = (tap.target_end for tap in self.taps)
        try:
            self._target = RunningTarget(
                command,
                environment,
                stdout=stdout,
                stderr=stderr,
                read_by_us=self.taps,
                also_ignored=self._ignored,
                blocked=self._blocked,
            )
        finally:
            for tap in self.taps:
                tap.close_target_end()
        self._register_taps()
        if self._target.leads:
            with suppress(OSError):
                self._terminal = TerminalWitness(self._target.pid, ENDING - self._ignored)
                self._selector.register(self._terminal.fd, selectors.EVENT_READ, _do_nothing)
        return self._target

    @property
    def was_stopped(self) -> bool:
        """Tell whether the target was to end, for all that is known: a signal came for it, or has ended it."""
        return self.told_by is not None or is_stopped_by(self.target.exit_code)

    @property
    def own_pids(self) -> list[int]:
        """Processes of ours that stand beside the target."""
        pids = [self.target.witness_pid, None if self._terminal is None else self._terminal.pid]
        return [pid for pid in pids if pid is not None]

    def handle_signals(self) -> None:
        """Pass on what has been sent to us since the last call, and the size of a window."""
        self.hear_terminal()
        self._empty_wake_up()
        # No more: some are waited for, and the target's output is not to wait for a flood of them.
        for _ in range(len(self._signals)):
            signum, came_s = self._signals.pop(0)
            if signum in FORWARDED:
                if signum in ENDING - self._ignored:
                    self.told_by = signum
                self.target.forward(signum, came_s)
            elif signum == signal.SIGCONT:
                self.was_continued = True
                if not self.target.leads:
                    # Once it goes on it may end, and nobody tells any more that it was stopped.
                    self.follow_target()
                self.target.continued(came_s)
        if self._signals:
            with suppress(BlockingIOError):
                os.write(self._waking, b"\0")
        # SIGWINCH goes to the foreground alone, where the target may be without us.
        resized = [tap.copy_window_size() for tap in self.taps]
        if any(resized):
            self.target.resized()

    def hear_terminal(self) -> None:
        """Take in what was typed that ends a program."""
        if self._terminal is not None:
            self.told_by = self._terminal.told() or self.told_by

    def drain(self) -> None:
        """Take what the target wrote last, and no more: a child that lives on may write for ever."""
        until = time.monotonic() + LAST_READS_S
        for tap in self.taps:
            for _ in range(MAX_LAST_READS):
                if tap.is_open and time.monotonic() < until and _readable(tap.fd):
                    tap.pump()
            while tap.is_behind and time.monotonic() < until:
                select.select([], [tap.ours], [], 0.05)
                tap.flush()

    def notes(self) -> list[Note]:
        """Remarks on output that could not be passed on, and on a pattern that found no number in it."""
        return [*self._of_the_pattern(), *self._of_lost_output()]

    def _of_the_pattern(self) -> list[Note]:
        if not self.taps or any(tap.has_told for tap in self.taps):
            return []
        unread = next((tap.unread for tap in self.taps if tap.unread), b"")
        found = (
            f"found {unread.decode(errors='replace')!r}, which is no number that counts: write 1234.5 or 1,234.5"
            if unread
            else "found nothing in what the program printed"
        )
        return [Note("warning", "sps-pattern-found-nothing", f"--sps-pattern {found}.")]

    def _of_lost_output(self) -> list[Note]:
        return [
            Note(
                "warning",
                "output-not-written",
                f"{size(tap.lost_bytes)} of the program's output are missing: {stream} did not take them "
                f"({tap.lost_because}). With --sps-pattern the program is not told.",
            )
            for stream, tap in zip(("stdout", "stderr"), self.taps, strict=False)
            if tap.lost_bytes
        ]

    def see_to_the_end(self) -> int:
        """Stay with the target and do nothing else, after a bug in the recording; its exit code."""
        # What the recording registered may be what fails; and so may the user's pattern.
        self._selector = selectors.DefaultSelector()
        for tap in self.taps:
            tap.stop_matching()
        with self._selector:
            self._selector.register(self._wake_up, selectors.EVENT_READ, _do_nothing)
            self._register_taps()
            while True:
                self.handle_signals()
                self.follow_target()
                for _ in self.ended_children(lambda _: False):
                    pass  # All that they leave is their pids.
                if self.target.exit_code is not None:
                    with suppress(Exception):
                        self.drain()
                    return self.target.exit_code
                for key, _ in self._selector.select(LOOK_S):
                    self._call_if_it_works(key)

    def _call_if_it_works(self, key: selectors.SelectorKey) -> None:
        """Call back, but never again what has failed: it would fail for ever, and the target waits."""
        try:
            key.data()
        except Exception:
            with suppress(KeyError, ValueError):
                self._selector.unregister(key.fileobj)

    def close(self) -> None:
        """Leave signals and descriptors as they were found."""
        for tap in self.taps:
            if tap.is_open or tap.is_behind:
                tap.leave_behind()
        if self._terminal is not None:
            self._terminal.end()
        if self._target is not None:
            self._target.close()
        for restore in reversed(self._restore):
            restore()

    def _adopt_orphans(self) -> None:
        adopt_orphans(True)
        self._restore.append(lambda: adopt_orphans(False))

    def _listen_to_signals(self) -> tuple[int, int]:
        """The descriptor that becomes readable when one arrives, and that which makes it so."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        self._selector.register(reading, selectors.EVENT_READ, _do_nothing)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._restore += [
            lambda: os.close(reading),
            lambda: os.close(writing),
            lambda: signal.set_wakeup_fd(before),
        ]
        for signum in (*FORWARDED, signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH):
            old = signal.signal(signum, self._note)
            if old is signal.SIG_IGN:
                self._ignored |= {signum}
            # None is a handler in C, which Python cannot put back.
            self._restore.append(partial(signal.signal, signum, old or signal.SIG_DFL))
        return reading, writing

    def _note(self, signum: int, _frame: FrameType | None) -> None:
        self._signals.append((signum, time.monotonic()))

    def _empty_wake_up(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake_up, 4096)

    def _register_taps(self) -> None:
        for tap in self.taps:
            if tap.is_open:
                self._wait_for(tap)

    def _wait_for(self, tap: OutputTap) -> None:
        """Wait for more to read or, where our reader is slow, for the reader."""
        if tap.is_behind:
            self._selector.register(tap.ours, selectors.EVENT_WRITE, partial(self._flush, tap))
        elif tap.is_open:
            self._selector.register(tap.fd, selectors.EVENT_READ, partial(self._pump, tap))
        else:
            self.target.nobody_reads(tap)

    def _pump(self, tap: OutputTap) -> None:
        fd = tap.fd
        tap.pump()
        if tap.is_behind or not tap.is_open:
            self._selector.unregister(fd)
            self._wait_for(tap)

    def _flush(self, tap: OutputTap) -> None:
        tap.flush()
        if not tap.is_behind:
            self._selector.unregister(tap.ours)
            self._wait_for(tap)

    def follow_target(self) -> None:
        """Take in that the target was stopped, continued or, after a bug, has ended."""
        while self.target.exit_code is None:
            try:
                pid, status = os.waitpid(self.target.pid, _CHANGES)
            except ChildProcessError:
                self.target.lost()
                return
            if pid == 0:
                return
            self.target.changed(status)

    def ended_children(
        self, reaped_by_others: Callable[[int], bool]
    ) -> Iterator[tuple[int, int | None]]:
        """Take leave of every child that has ended, adopted ones included, and yield its pid and exit code.

        One that is ``reaped_by_others`` has none, and is to be reaped before the next is asked for.
        """
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            if reaped_by_others(found.si_pid):
                yield found.si_pid, None
                continue
            pid, status = os.waitpid(found.si_pid, os.WNOHANG)
            if pid == self.target.pid:
                self.target.changed(status)
            elif pid == self.target.witness_pid:
                self.target.witness_ended()
            elif self._terminal is not None and pid == self._terminal.pid:
                self._terminal_witness_ended(self._terminal)
            if pid:
                yield pid, os.waitstatus_to_exitcode(status)

    def _terminal_witness_ended(self, witness: TerminalWitness) -> None:
        """The program has ended its whole group, with ``os.killpg(0, SIGKILL)`` perhaps."""
        with suppress(KeyError):
            self._selector.unregister(witness.fd)
        witness.close()
        self._terminal = None


def _do_nothing() -> None:
    """The wake-up itself is what was waited for."""


def _readable(fd: int) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        return bool(selector.select(0.05))
