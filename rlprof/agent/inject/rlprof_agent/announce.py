"""Tell the recorder that this process lives, and wait a moment until it is being sampled."""

from __future__ import annotations

# The C module: ``socket`` would pull in selectors and enum, most of our import budget.
import _socket
import struct
import sys

from .real import os, time

SPIN = 2_000
"""Turns of an empty loop between two looks for the answer: about 50 µs."""

NAP_S = 0.001
"""Nap between two looks where nobody else could run meanwhile."""

GREETING = b"rlprof-agent-1"
TRACE_GREETING = b"rlprof-trace-1"
"""Before a trace of torch's profiler: token, pid and number of its window follow."""

HANDSHAKE_TIMEOUT_S = 0.2
"""Longest wait for the sampler. A sampler attaches in about 5 ms on an idle machine; a busy
recorder answers at once without one. Past this the program runs on, sampled or not."""


def announce(address: str, token: str, start: str, mailbox_fd: int, *, waits: bool) -> bool:
    """Hand over who we are and our mailbox. False when the recorder is gone.

    ``start`` is ``start`` for a fresh interpreter, ``spawn`` for one that multiprocessing started and
    ``fork`` for a forked child. Without ``waits`` it does not look for the answer.
    """
    fields = (start.encode(), _python_version(), str(os.getppid()).encode())
    try:
        connection = _connect_and_send(address, (GREETING, token.encode(), *fields), mailbox_fd)
    except OSError:
        return False
    try:
        if waits:
            _await_sampler(connection)
        return True
    except OSError:
        return False
    finally:
        connection.close()


def send_trace(address: str, token: str, number: int, descriptor: int) -> None:
    """Hand over the trace of window ``number``. Raises OSError when the recorder is gone."""
    fields = (TRACE_GREETING, token.encode(), b"%d" % os.getpid(), b"%d" % number)
    _connect_and_send(address, fields, descriptor).close()


def _connect_and_send(address: str, fields: tuple[bytes, ...], descriptor: int) -> _socket.socket:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        connection.settimeout(HANDSHAKE_TIMEOUT_S)
        connection.connect("\0" + address)
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", descriptor))
        connection.sendmsg([b"\0".join(fields) + b"\n"], [rights])
    except BaseException:
        connection.close()
        raise
    return connection


def _await_sampler(connection: _socket.socket) -> None:
    """Keep the interpreter running until the recorder answers, hangs up or time is over.

    Not a sleep: before Python 3.13 austin finds its way into an interpreter only while some
    thread of it runs, and says nothing about a process that sleeps from the start. But of a real-time
    policy nobody else has this core while it runs, the recorder above all.
    """
    gives_way = _is_real_time()
    deadline = time.monotonic() + HANDSHAKE_TIMEOUT_S
    connection.setblocking(False)
    while time.monotonic() < deadline:
        try:
            connection.recv(1)
        except BlockingIOError:
            if gives_way:
                time.sleep(NAP_S)
            for _ in range(SPIN):
                pass
        else:
            return


def _is_real_time() -> bool:
    try:
        return os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    except (OSError, AttributeError):
        return False  # The C library, musl's for one, does not tell.


def _python_version() -> bytes:
    return ".".join(str(part) for part in sys.version_info[:3]).encode()
