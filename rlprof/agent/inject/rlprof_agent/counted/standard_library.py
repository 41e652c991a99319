"""The standard library: messages between processes, and log records."""

from __future__ import annotations

from ..counters import counter
from . import call_marks
from .dressing import dressed
from .outermost import outermost_calls

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def count_messages(module: ModuleType) -> None:
    """Messages sent, and their bytes; each is received somewhere, so that end need not count."""
    messages, sent = counter("ipc_messages"), counter("ipc_bytes")
    original = module.Connection._send_bytes

    def counted(self: Any, buf: Any) -> Any:
        messages.cell[0] += 1
        size = len(buf)
        sent.cell[0] += size
        try:
            return original(self, buf)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    module.Connection._send_bytes = dressed(counted, original)


def count_log_records(module: ModuleType) -> None:
    """No frame around ``handle``: whoever looks for the caller of ``logging`` (its own errors, loguru) goes up to the first file that is not its."""
    records = counter("log_records")
    call_marks.count(module.Logger.handle, records, outermost_calls(records))
