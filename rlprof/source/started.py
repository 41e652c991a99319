"""The installed package that a run started: whose code is the user's where none lies in a project."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from rlprof.libraries.known import packages_of
from rlprof.model.calltree import CallTree
from rlprof.model.recording import Frame
from rlprof.syntax.origin import Origin, installed_package, is_import_machinery, origin

_is_launcher: Final = packages_of(lambda library: library.is_launcher)

_CONSOLE_SCRIPT: Final = re.compile(r"[/\\](bin[/\\][^/\\.]+|Scripts[/\\][^/\\]+)$")
_CONSOLE_SCRIPT_LINES: Final = 12
"""Lines, at most, of a script that starts an entry point: what pip and uv write has at most ten."""

_OF_A_PROJECT: Final = 0.01
"""Part of the time below a project's code from which on it began there: less is a torn stack."""


def is_console_script(frame: Frame) -> bool:
    """Tell whether the frame is of ``bin/train`` as an installer writes it, to call an entry point."""
    return (
        frame.function == "<module>"
        and frame.line <= _CONSOLE_SCRIPT_LINES
        and bool(_CONSOLE_SCRIPT.search(frame.file))
    )


def started_package(tree: CallTree) -> str:
    """The top-level package in which the main threads begin; empty where they begin in a project.

    ``python -m my_package.train`` with ``my_package`` in site-packages gives ``my_package``. The
    time below the outermost frame that neither the standard library nor a launcher owns decides. Workers that a library
    spawns begin in that library, but its user is whoever has a project's code at the beginning of another process.
    """
    votes: dict[str, int] = defaultdict(int)
    pending = [root for root in tree.roots() if not _starts_a_thread(tree.frame(root))]
    while pending:
        node = pending.pop()
        frame = tree.frame(node)
        if is_import_machinery(frame):
            continue
        package = installed_package(frame.file)
        if _only_passes_on(frame, package):
            pending += tree.children(node)
        else:
            votes[package] += tree.total_cost(node).wall_us
    if votes.get("", 0) >= _OF_A_PROJECT * sum(votes.values()):
        return ""
    return max(votes, key=lambda package: (votes[package], package))


def _only_passes_on(frame: Frame, package: str) -> bool:
    if origin(frame) is Origin.YOURS:
        return frame.file.startswith("<") or is_console_script(frame)
    return not package or _is_launcher(package)


def _starts_a_thread(frame: Frame) -> bool:
    return frame.file.endswith(("/threading.py", "\\threading.py"))
