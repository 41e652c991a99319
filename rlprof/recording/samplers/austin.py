"""Find austin, and run one per process, attached."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tty
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rlprof.errors import LaunchError, RlprofError
from rlprof.recording.machine.prctl import end_with_parent
from rlprof.recording.samplers.base import StackReader
from rlprof.recording.samplers.mojo import MojoReader
from rlprof.recording.samplers.text import TextReader

START_TIMEOUT = "1s"
"""How long austin may look for the interpreter in its target; its own 100 ms is short on a busy host."""

GRACE_S = 0.1
"""For austin to end by itself. Where its process ends while it still looks for the interpreter it goes on
looking, and the recorder waits with it: half a second was counted as the life of a short program. Lines
are with us as soon as they are written."""

END_S = 1.0
"""For the kernel to end a killed austin, and for one that has closed its output to end. A process in the middle
of a failing disk or network file system cannot be ended sooner; it is left then."""

EXIT_MEANINGS = {
    32: "austin does not see a Python interpreter in it",
    33: "it ended before austin could attach",
    37: "no permission to read its memory",
    64: "austin refused its options",
}
"""Exit codes of austin 3.7, as the second half of a sentence."""


@dataclass(frozen=True, slots=True)
class Austin:
    """An austin program."""

    path: Path
    version: str

    @property
    def writes_text(self) -> bool:
        """Version 3 writes text; version 4 knows only MOJO."""
        return int(self.version.split(".")[0]) < 4

    def new_reader(self) -> StackReader:
        return TextReader() if self.writes_text else MojoReader()

    def command(self, pid: int, interval_us: int) -> list[str]:
        """The command that attaches to ``pid``: all metrics, collector frames, no banner."""
        options = ["-P", "-f", "-g", "-i", f"{interval_us}us", "-t", START_TIMEOUT]
        return [str(self.path), *options, "-p", str(pid)]


def find_austin(explicit: str | None = None) -> Austin:
    """The austin named ``explicit``, else the one installed with rlprof, else the one on PATH.

    Raises :class:`LaunchError` when there is none or it does not run here.
    """
    beside = Path(sys.executable).with_name("austin")
    if explicit is not None:
        found = shutil.which(explicit)
    elif beside.exists():
        found = str(beside)
    else:
        found = shutil.which("austin")
    if found is None:
        raise LaunchError(
            f"the sampler austin was not found{f' at {explicit}' if explicit else ''}",
            slug="austin-missing",
            hint="install it with `pip install austin-dist`, or name one with --austin PATH",
        )
    try:
        answer = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=5, check=False
        )
        text = answer.stdout + answer.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        text = str(error)
    version = re.search(r"austin (\d+\.\d+\S*)", text)
    if version is None:
        raise LaunchError(
            f"the sampler {found} does not run here: {text.strip()[:200]}",
            slug="austin-does-not-run",
            hint="austin 4.0 needs glibc 2.38; austin 3.7 runs on older systems: "
            "pip install 'austin-dist<4'",
        )
    return Austin(Path(found), version.group(1))


class AustinProcess:
    """One austin attached to one process. It cannot harm its target: it only reads memory."""

    def __init__(self, austin: Austin, pid: int, interval_us: int) -> None:
        self.interval_us = interval_us
        self.reader = austin.new_reader()
        self.has_samples = False
        self.is_over = False
        """True if its output has ended; the reader may still hold some of it."""
        self.is_resting = False
        """True if it is stopped between two looks."""
        self._failure: str | None = None
        """Why its output could not be read."""
        # On a terminal austin flushes each line at once; into a pipe it would hold 4 KiB back,
        # up to a second of samples. Raw, so that no byte is translated.
        self.fd, child_end = _open_channel()
        try:
            self.process = subprocess.Popen(
                austin.command(pid, interval_us),
                stdin=subprocess.DEVNULL,
                stdout=child_end,
                stderr=subprocess.DEVNULL,
                # Without this austin logs each torn stack through syslog, 1 to 2 ms a sample
                # where no daemon listens.
                env={**os.environ, "AUSTIN_NO_LOGGING": "1"},
                # Out of reach of the terminal's Ctrl-C.
                start_new_session=True,
                preexec_fn=_live_as_long_as_we,  # safe: the recorder has one thread
            )
        except OSError:
            os.close(self.fd)
            raise
        finally:
            os.close(child_end)

    def read(self) -> bool:
        """Take all that has arrived. False when austin has ended."""
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return True
            except OSError:
                return False  # EIO: the other end of the terminal is closed.
            if not data:
                return False
            try:
                self.reader.feed(data)
            except RlprofError as error:
                self._failure = error.message
                self.process.kill()
                return False
            self.has_samples = self.has_samples or self.reader.has_times()

    def rest(self) -> None:
        """Look no more until :meth:`wake`; the next look then counts for all the time between."""
        self.process.send_signal(signal.SIGSTOP)
        self.is_resting = True

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.is_resting = False

    def stop(self) -> None:
        """End austin and take what is left of its output. The target notices nothing."""
        if self.process.poll() is None:
            self.wake()
            self.process.terminate()
            try:
                self.process.wait(timeout=GRACE_S)
            except subprocess.TimeoutExpired:
                self._kill()
        self.read()
        self.close()

    def kill(self) -> None:
        """End austin, whatever it still had to say."""
        if not self.is_over:
            self.is_over = True
            self._kill()
            os.close(self.fd)

    def _kill(self) -> None:
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=END_S)

    def close(self) -> None:
        if not self.is_over:
            # First, for the number may be another's after that.
            self.is_over = True
            os.close(self.fd)
            self.reader.finish()

    def exit_meaning(self) -> str:
        """Return why austin ended, as the second half of a sentence."""
        try:
            code = self.process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._kill()
            return "austin closed its output and did not end"
        if self._failure is not None:
            return self._failure
        if code < 0:
            return f"austin was ended by {signal.Signals(-code).name}"
        return EXIT_MEANINGS.get(code, f"austin ended with code {code}")


def _open_channel() -> tuple[int, int]:
    """(our end, austin's end), ours not blocking; a pipe where there are no pseudo-terminals."""
    try:
        ours, theirs = os.openpty()
        tty.setraw(theirs)
    except OSError:
        ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    return ours, theirs


def _live_as_long_as_we() -> None:
    """In the child: a killed rlprof must not leave samplers behind, and what nohup and shells keep from a job must not end
    them before it.
    """
    end_with_parent(signal.SIGKILL)
    for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(signum, signal.SIG_IGN)
