"""The server to which agents announce their processes: a socket, and the handshakes that wait on it."""

from __future__ import annotations

import array
import errno
import os
import secrets
import select
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rlprof.agent import INJECT_DIR
from rlprof.agent.inject.rlprof_agent.announce import GREETING, TRACE_GREETING
from rlprof.errors import RlprofError
from rlprof.model.calibration import calibrated
from rlprof.recording.machine import procfs
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.settings import DEFAULT_INTERVAL_US, RecordingSettings

RELEASE_AFTER_S = calibrated(
    0.1,
    unit="s",
    source="attaching takes about 5 ms",
    date="2026-11-21",
)
"""A process waits at most this long for its sampler."""

GREETING_TIMEOUT_S = 1.0
"""The agent sends everything at once, right after connecting, unless its process is stopped in between, or
gets no CPU. Who is silent for longer is no agent; nobody waits for it meanwhile."""

MOST_WAITING = 1024
"""Connections that the kernel keeps for :meth:`AgentServer.accept`."""

MAX_SILENT = 64
"""Connections that have not said anything yet; a further one takes the place of the oldest."""

_MAX_GREETING = 4096


@dataclass(frozen=True, slots=True)
class Announcement:
    """A process that carries an agent."""

    pid: int
    """As this process sees it, from the socket's peer credentials."""
    ppid: int
    start: str
    """``start``, ``spawn`` or ``fork``, as ``announce`` of the agent has it."""
    python: str
    mailbox: MailboxReader


@dataclass(frozen=True, slots=True)
class TraceArrival:
    """A trace of torch's profiler that an agent has written."""

    pid: int
    number: int
    """Number of the window, within its process."""
    descriptor: int
    """Descriptor of the trace; who takes the arrival closes it."""


class AgentServer:
    """Listens on an abstract unix socket: nothing is left behind, whatever becomes of us.

    Its descriptor is readable when there is something to :meth:`accept`. No peer is waited for, and
    nothing is read from another user's.
    """

    def __init__(self, on_trace: Callable[[TraceArrival], None] | None = None) -> None:
        # Of one length, whatever our number is: the target has it in its environment, and so in the
        # layout of its memory, which changes how fast it is.
        self.address = f"rlprof-{os.getpid():07d}-{secrets.token_hex(8)}"
        self.token = secrets.token_hex(16)
        self._on_trace = on_trace
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("\0" + self.address)
        self._listener.listen(MOST_WAITING)
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._silent: dict[socket.socket, float] = {}
        """Connections that have yet to say who they are, oldest first, and until when they may."""
        self._announced: deque[Announcement] = deque()
        self._waiting: dict[int, tuple[socket.socket, float]] = {}
        self._spare = os.open(os.devnull, os.O_RDONLY)
        self._is_closed = False

    def fileno(self) -> int:
        return self._selector.fileno()

    def environment(self, settings: RecordingSettings, given: Mapping[str, str]) -> dict[str, str]:
        """Return what agents read, less what is for torch; their folder comes before what is ``given`` as ``PYTHONPATH``.

        Where nothing is given it ends in a slash: by that ``sitecustomize`` knows what a program has added to nothing.
        """
        interval = settings.interval_us or DEFAULT_INTERVAL_US
        theirs = given.get("PYTHONPATH")
        variables = {
            "RLPROF_SOCKET": self.address,
            "RLPROF_TOKEN": self.token,
            "RLPROF_PROBE_US": str(interval if settings.probe else 0),
            "PYTHONPATH": f"{INJECT_DIR}{os.pathsep}{theirs}" if theirs else f"{INJECT_DIR}/",
        }
        if procfs.yama_restricts():
            variables["RLPROF_TRACER_PID"] = str(os.getpid())
        if settings.steps_from is not None:
            variables["RLPROF_STEPS_FROM"] = settings.steps_from
        if settings.is_try:
            variables["RLPROF_TREATED"] = "1"
        elif not settings.counts_all:
            variables["RLPROF_ESTIMATE_READS"] = "1"
        return variables

    def has_callers(self) -> bool:
        """Tell whether there is something to accept."""
        if self._announced:
            return True
        return not self._is_closed and bool(select.select([self._selector], [], [], 0.0)[0])

    def accept(self) -> Announcement | None:
        """The next announcement; None when there is none, or none that was true.

        Its process waits until :meth:`release`.
        """
        if not self._announced and not self._is_closed:
            for key, _ in self._selector.select(0):
                if key.fileobj is self._listener:
                    self._meet()
                elif key.fileobj in self._silent:
                    assert isinstance(key.fileobj, socket.socket)
                    self._hear(key.fileobj)
        return self._announced.popleft() if self._announced else None

    def release(self, pid: int) -> None:
        """Let the process go on."""
        waiting = self._waiting.pop(pid, None)
        if waiting is None:
            return
        connection, _ = waiting
        with suppress(OSError):  # It waits no longer, or lives no longer.
            connection.send(b"g")
        connection.close()

    def release_overdue(self) -> float | None:
        """Release who has waited long enough; seconds until the next is due, None with none waiting."""
        now = time.monotonic()
        for pid, (_, due) in list(self._waiting.items()):
            if due <= now:
                self.release(pid)
        for connection, due in list(self._silent.items()):
            if due <= now:
                self._hang_up(connection)
        dues = [due for _, due in self._waiting.values()]
        dues += self._silent.values()
        return min(dues) - now if dues else None

    def close(self) -> None:
        """Let everybody go on; who calls from now on is told at once that nobody answers."""
        if self._is_closed:
            return
        self._is_closed = True
        for pid in list(self._waiting):
            self.release(pid)
        for connection in list(self._silent):
            self._hang_up(connection)
        self._listener.close()
        self._selector.close()
        if self._spare >= 0:
            os.close(self._spare)

    def _meet(self) -> None:
        """Take a connection of our own user's; all others end here, unheard."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._turn_away()
            return
        connection.setblocking(False)
        if _peer(connection).uid not in (os.getuid(), 0):
            connection.close()
            return
        if len(self._silent) >= MAX_SILENT:
            self._hang_up(next(iter(self._silent)))
        self._silent[connection] = time.monotonic() + GREETING_TIMEOUT_S
        self._selector.register(connection, selectors.EVENT_READ)
        # An agent sends right after connecting: most have spoken by now.
        self._hear(connection)

    def _turn_away(self) -> None:
        """No descriptor is left: end the connection with the spare one, or its process would wait."""
        if self._spare >= 0:
            os.close(self._spare)
        with suppress(OSError):
            self._listener.accept()[0].close()
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            self._spare = -1

    def _hear(self, connection: socket.socket) -> None:
        try:
            data, descriptors = _receive(connection)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        self._selector.unregister(connection)
        del self._silent[connection]
        if not self._understand(connection, data, descriptors):
            for descriptor in descriptors:
                os.close(descriptor)
            connection.close()

    def _understand(self, connection: socket.socket, data: bytes, descriptors: list[int]) -> bool:
        """Act on what was said; False when nothing came of it, and descriptor and connection are the caller's."""
        greeting, _, rest = data.rstrip(b"\n").partition(b"\0")
        token, *fields = rest.split(b"\0")
        if not secrets.compare_digest(token, self.token.encode()) or len(descriptors) != 1:
            return False
        pid = _peer(connection).pid
        try:
            if greeting == GREETING:
                start, python, ppid = fields
                mailbox = MailboxReader(os.dup(descriptors[0]))
                self._announced.append(
                    Announcement(pid, int(ppid), start.decode(), python.decode(), mailbox)
                )
            elif greeting == TRACE_GREETING and self._on_trace is not None:
                _, number = fields
                self._on_trace(TraceArrival(pid, int(number), os.dup(descriptors[0])))
            else:
                return False
        except (ValueError, OSError, RlprofError):
            return False
        os.close(descriptors[0])
        if greeting == GREETING:
            self._waiting[pid] = (connection, time.monotonic() + RELEASE_AFTER_S)
        else:
            connection.close()
        return True

    def _hang_up(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._silent[connection]
        connection.close()


@dataclass(frozen=True, slots=True)
class _Peer:
    pid: int
    uid: int


def _peer(connection: socket.socket) -> _Peer:
    """Ask the kernel who connected."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, _ = struct.unpack("3i", credentials)
    return _Peer(pid, uid)


def _receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """A greeting and the descriptors that came with it, which close on exec. Raises OSError."""
    size = array.array("i").itemsize
    data, ancillary, _, _ = connection.recvmsg(
        _MAX_GREETING, socket.CMSG_SPACE(size), socket.MSG_CMSG_CLOEXEC
    )
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(payload[: len(payload) - len(payload) % size])
    return data, list(descriptors)
