"""Import from the worktree of a base what is installed editable from the working tree of head."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_INSTALLED = ("site-packages", "dist-packages")

_OF_FINDERS = ("_redirections", "known_source_files", "submodule_search_locations")
"""Tables of ``editables``, and of scikit-build-core."""

_INJECT = os.path.realpath(os.path.dirname(os.path.dirname(__file__)))
"""Where the agent lies, and must be found: of a project that is rlprof itself, in the other tree too."""


def install(head: str, side: str) -> None:
    """``side`` stands for ``head``, both roots of working trees; they are the same when head itself runs.

    To be called when ``site`` has read the ``.pth`` files, and before anything is imported from there:
    each path is replaced where it stands, so that nothing is found earlier than it would be in head.
    """
    head, side = os.path.realpath(head), os.path.realpath(side)
    if head == side:
        return
    sys.path[:] = [_moved(path, head, side) for path in sys.path]
    for places in redirections():
        for name, place in list(places.items()):
            if isinstance(place, (list, set, tuple)):
                places[name] = type(place)(_moved(path, head, side) for path in place)
            else:
                places[name] = _moved(place, head, side)


def redirections() -> list[dict[str, Any]]:
    """Places by module, of the finders by which build backends redirect imports."""
    owners = [
        module for name, module in list(sys.modules.items()) if name.startswith("__editable__")
    ]
    tables = [_table(owner, name) for owner in owners for name in ("MAPPING", "NAMESPACES")]
    tables += [_table(finder, name) for finder in sys.meta_path for name in _OF_FINDERS]
    return [table for table in tables if isinstance(table, dict)]


def _table(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:
        return None  # Programs may put anything among their finders.


def _moved(path: Any, head: str, side: str) -> Any:
    """As it is where it leads elsewhere, or where the other side has nothing."""
    if not isinstance(path, str) or not os.path.isabs(path):
        return path
    real = os.path.realpath(path)
    if real == _INJECT or not _is_below(real, head) or _is_below(real, side):
        return path
    place = real[len(head) :].lstrip(os.sep)
    if any(part in _INSTALLED for part in place.split(os.sep)):
        return path
    there = os.path.join(side, place).rstrip(os.sep)
    # Modules of a single file stand without their ending.
    return there if os.path.exists(there) or os.path.exists(there + ".py") else path


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
