"""The standard library: messages between processes, and log records."""

from __future__ import annotations

from ..counters import counter

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def count_messages(module: ModuleType) -> None:
    """Messages sent, and their bytes; each is received somewhere, so that end need not count."""
    from functools import wraps

    messages, sent = counter("ipc_messages"), counter("ipc_bytes")
    send_bytes = module.Connection._send_bytes

    @wraps(send_bytes)
    def _send_bytes(self: Any, buf: Any) -> Any:
        messages.cell[0] += 1
        sent.cell[0] += len(buf)
        return send_bytes(self, buf)

    module.Connection._send_bytes = _send_bytes


def count_log_records(module: ModuleType) -> None:
    from functools import wraps

    records = counter("log_records")
    handle_record = module.Logger.handle

    @wraps(handle_record)
    def handle(self: Any, record: Any) -> Any:
        records.cell[0] += 1
        return handle_record(self, record)

    module.Logger.handle = handle
