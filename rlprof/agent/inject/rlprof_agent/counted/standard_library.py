"""The standard library: messages between processes, and log records."""

from __future__ import annotations

from .. import aside, stand_ins
from ..counters import counter
from .dressing import dressed

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
    """A record counts when ``handle`` is looked up of a logger. A frame around it would be shown: whoever
    looks for the caller of ``logging`` (its own errors, loguru) goes up to the first file that is not its.
    """
    records = counter("log_records")

    def count(_logger: Any) -> None:
        records.cell[0] += 1

    logger = module.Logger
    aside.Replaced(logger, "handle", stand_ins.MethodStandIn(logger.handle, count))
