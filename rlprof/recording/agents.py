"""Where agents announce their processes: a socket, and the handshakes that wait on it."""

from __future__ import annotations

import os
import secrets
import select
import socket
import struct
import time
from dataclasses import dataclass

from rlprof.agent.inject.rlprof_agent.announce import GREETING
from rlprof.errors import RlprofError
from rlprof.recording.mailbox import MailboxReader

RELEASE_AFTER_S = 0.1
"""A process waits at most this long for its sampler; attaching takes about 5 ms."""

GREETING_TIMEOUT_S = 1.0
"""The agent sends everything at once, right after connecting, unless its process is stopped in between, or gets no
CPU; a peer that sends nothing is not our agent and may not hold up the recording for longer."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """A process that carries an agent."""

    pid: int
    """As this process sees it, from the socket's peer credentials."""
    ppid: int
    start: str
    """``start`` or ``fork``."""
    python: str
    mailbox: MailboxReader


class AgentServer:
    """Listens on an abstract unix socket: nothing is left behind, whatever becomes of us."""

    def __init__(self) -> None:
        # Of one length, whatever our number is: the target has it in its environment, and so in the
        # layout of its memory, which changes how fast it is.
        self.address = f"rlprof-{os.getpid():07d}-{secrets.token_hex(8)}"
        self.token = secrets.token_hex(16)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("\0" + self.address)
        self._listener.listen(1024)
        self._listener.setblocking(False)
        self._waiting: dict[int, tuple[socket.socket, float]] = {}

    def fileno(self) -> int:
        return self._listener.fileno()

    def environment(
        self,
        *,
        probe_interval_us: int,
        tracer_pid: int | None,
        steps_from: str | None = None,
    ) -> dict[str, str]:
        """What the agent reads, less ``PYTHONPATH`` and what is for torch."""
        variables = {
            "RLPROF_SOCKET": self.address,
            "RLPROF_TOKEN": self.token,
            "RLPROF_PROBE_US": str(probe_interval_us),
        }
        if tracer_pid is not None:
            variables["RLPROF_TRACER_PID"] = str(tracer_pid)
        if steps_from is not None:
            variables["RLPROF_STEPS_FROM"] = steps_from
        return variables

    def has_callers(self) -> bool:
        """Whether there is something to accept."""
        return bool(select.select([self._listener], [], [], 0.0)[0])

    def accept(self) -> Announcement | None:
        """The next announcement; None when there is none, or when it was not a true one.

        Its process waits until :meth:`release`.
        """
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return None
        announcement = self._read(connection)
        if announcement is None:
            connection.close()
        else:
            self._waiting[announcement.pid] = (connection, time.monotonic() + RELEASE_AFTER_S)
        return announcement

    def release(self, pid: int) -> None:
        """Let the process go on."""
        waiting = self._waiting.pop(pid, None)
        if waiting is None:
            return
        connection, _ = waiting
        try:
            connection.send(b"g")
        except OSError:
            pass  # It waits no longer, or lives no longer.
        connection.close()

    def release_overdue(self) -> float | None:
        """Release who has waited long enough; seconds until the next is due, None with none waiting."""
        now = time.monotonic()
        for pid, (_, due) in list(self._waiting.items()):
            if due <= now:
                self.release(pid)
        dues = [due for _, due in self._waiting.values()]
        return min(dues) - now if dues else None

    def close(self) -> None:
        for pid in list(self._waiting):
            self.release(pid)
        self._listener.close()

    def _read(self, connection: socket.socket) -> Announcement | None:
        connection.settimeout(GREETING_TIMEOUT_S)
        try:
            data, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return None
        pid, uid, _ = struct.unpack("3i", credentials)
        fields = data.rstrip(b"\n").split(b"\0")
        is_ours = (
            len(fields) == 5
            and fields[0] == GREETING
            and secrets.compare_digest(fields[1], self.token.encode())
            and len(descriptors) == 1
        )
        if not is_ours or uid not in (os.getuid(), 0):
            for descriptor in descriptors:
                os.close(descriptor)
            return None
        try:
            mailbox = MailboxReader(descriptors[0])
        except RlprofError:
            return None
        return Announcement(pid, int(fields[4]), fields[2].decode(), fields[3].decode(), mailbox)
