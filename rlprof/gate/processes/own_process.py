"""A process of rlprof's own that does one thing for its parent, and ends with it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

import rlprof
from rlprof.gate.processes.process_session import kill_until_gone
from rlprof.recording import procfs
from rlprof.recording.prctl import end_with_parent

_LOOK_S: Final = 0.5
"""Between two looks whether the parent is there: rare enough to take no time from what is measured."""

_BOOT: Final = """
import importlib, sys
root, module = sys.argv.pop(1), sys.argv.pop(1)
sys.path[:] = [path for path in sys.path if path]
if root not in sys.path:
    sys.path.insert(0, root)
importlib.import_module(module).main()
"""
"""``python -m`` would look for modules in the working directory first, where other people's code lies."""


def command_to_run(module: str, argument: Path) -> tuple[str, ...]:
    """What starts ``module.main()`` with ``argument`` and our pid as its arguments."""
    root = str(Path(rlprof.__file__).resolve().parent.parent)
    return (sys.executable, "-c", _BOOT, root, module, str(argument), str(os.getpid()))


_Message = TypeVar("_Message")


def write_message(file: Path, message: object) -> None:
    """Write a dataclass as JSON, for nobody else to read: it may hold an environment, and so secrets."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        # The library's own JSON has no place for names and values that are not UTF-8.
        json.dump(msgspec.to_builtins(message, enc_hook=os.fspath), stream)


def read_request(file: Path, kind: type[_Message]) -> _Message:
    """What :func:`write_message` wrote; raises ``OSError`` and ``ValueError`` for a file that is none of ``kind``."""
    # The only type in a message that the library does not know is a path.
    return msgspec.convert(
        json.loads(file.read_text(encoding="utf-8")), kind, dec_hook=lambda _type, text: Path(text)
    )


def read_answer(file: Path, kind: type[_Message]) -> _Message | None:
    """The same; None when the process ended before it could answer."""
    try:
        return read_request(file, kind)
    except (OSError, ValueError):
        return None


def end_with(parent: int) -> None:
    """When ``parent`` is killed, a training must not train on unseen."""
    end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)


@contextmanager
def ending_all_without(parent: int, grace_s: float) -> Iterator[None]:
    """Within: once ``parent`` is gone, what is below us has ``grace_s`` to end, and then is killed, and we end too.

    For what does not care for the SIGTERM that :func:`end_with` brings about.
    """
    threading.Thread(target=_watch, args=(parent, grace_s), daemon=True).start()
    try:
        yield
    finally:
        if os.getppid() != parent:
            # A program that ended in time may have left processes behind.
            _kill_all_below()


def _watch(parent: int, grace_s: float) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    time.sleep(grace_s)
    _kill_all_below()
    # Nobody waits for our answer, and whoever waits for the program in here may wait for ever.
    os._exit(128 + signal.SIGTERM)


def _kill_all_below() -> None:
    kill_until_gone(lambda: procfs.living(procfs.descendants(os.getpid())))
