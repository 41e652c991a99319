"""Tell the recorder that this process lives, and wait a moment until it is being sampled."""

from __future__ import annotations

# The C module: ``socket`` would pull in selectors and enum, most of our import budget.
import _socket
import os
import struct

GREETING = b"rlprof-agent-1"

HANDSHAKE_TIMEOUT_S = 0.2
"""Longest wait for the sampler. A sampler attaches in about 5 ms on an idle machine; a busy
recorder answers at once without one. Past this the program runs on, sampled or not."""


def announce(address: str, token: str, start: str, mailbox_fd: int) -> bool:
    """Hand over who we are and our mailbox. False when the recorder is gone.

    ``start`` is ``start`` for a fresh interpreter and ``fork`` for a forked child.
    """
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        connection.settimeout(HANDSHAKE_TIMEOUT_S)
        connection.connect("\0" + address)
        fields = (
            GREETING,
            token.encode(),
            start.encode(),
            _python_version(),
            str(os.getppid()).encode(),
        )
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", mailbox_fd))
        connection.sendmsg([b"\0".join(fields) + b"\n"], [rights])
        try:
            connection.recv(1)
        except OSError:
            pass  # Not sampled in time: the program waits no longer.
        return True
    except OSError:
        return False
    finally:
        connection.close()


def _python_version() -> bytes:
    import sys

    return ".".join(str(part) for part in sys.version_info[:3]).encode()
