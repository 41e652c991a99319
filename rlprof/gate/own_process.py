"""A process of rlprof's own that does one thing for its parent, and ends with it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import rlprof

_PR_SET_PDEATHSIG: Final = 1

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


def write_request(file: Path, request: Mapping[str, Any]) -> None:
    """For nobody else to read: it holds an environment, and so secrets."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        json.dump(request, stream)


def end_with(parent: int) -> None:
    """When ``parent`` is killed, a training must not train on unseen."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)
