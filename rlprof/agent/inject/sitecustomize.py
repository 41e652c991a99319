"""Start the rlprof agent, then run the ``sitecustomize`` that would have run without it."""

# Nothing from __future__, which is a module like others: some programs show each that is imported.
import os
import sys

_LOADED = "_rlprof_sitecustomize"
"""Attribute of ``sys``, while they run: where those are from that were loaded."""


def _shows_every_import() -> bool:
    """Look whether Python was started to tell what is imported or who takes memory, the agent included."""
    return bool(
        sys.flags.verbose
        or not {"importtime", "tracemalloc"}.isdisjoint(sys._xoptions)
        or os.environ.get("PYTHONPROFILEIMPORTTIME")
        or os.environ.get("PYTHONTRACEMALLOC", "0") != "0"
    )


def _is_on_path(*places: str) -> bool:
    # Not by the import system, which keeps what it has looked up.
    return any(os.path.exists(os.path.join(path, place)) for path in sys.path for place in places)


def _complete_path() -> None:
    """Give the program the working directory where it has put together ``PYTHONPATH`` with nothing, and not known that we are there.

    Agent or not, and before anything is looked for: ``sitecustomize`` may lie there, too.
    """
    # As the recorder has written it where nothing was given. It is told by the value itself, which goes on to
    # programs that are given no other variable.
    mark = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if mark in entries and any(os.path.join(entry, "") != mark for entry in entries):
        try:
            __import__("rlprof_agent.empty_entry").empty_entry.stand_in()
        except Exception:
            pass  # Of a folder that is gone nothing would be found.


def _start_agent() -> None:
    if "RLPROF_SOCKET" not in os.environ:
        return
    if _shows_every_import():
        # The program may depend on it.
        if not _is_on_path("rlprof/__init__.py"):
            __import__("rlprof_agent.import_rlprof").import_rlprof.install()
        sys.path.remove(os.path.dirname(__file__))
        if not _is_on_path("sitecustomize.py", "sitecustomize"):
            # Python takes this for there being none, and forgets us.
            raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
        return
    try:
        __import__("rlprof_agent").start()
    except Exception:
        # The target runs on without an agent; the recorder finds the process by its scan.
        pass


# A string, since Python 3.8 and older, which run without an agent, come this far, too.
def _absolute_path() -> "list[str]":
    path = []
    for entry in sys.path:
        try:
            path.append(os.path.abspath(entry or os.curdir))
        except OSError:
            pass  # Of a working directory that is gone nothing would be found.
    return path


def _run_hidden_sitecustomize() -> None:
    """Load the next ``sitecustomize`` on the path under its usual name, as if ours were not there.

    It may do the same, and find ours again: then the one after it is loaded, and none twice.
    """
    # The frozen modules behind importlib, whose own front door takes milliseconds to import.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    is_first = not hasattr(sys, _LOADED)
    loaded = sys.__dict__.setdefault(_LOADED, set())
    try:
        path = _absolute_path()
        # Whoever stands before us has run already, and has found us.
        for entry in path[path.index(here) + 1 if here in path else 0 :]:
            spec = PathFinder.find_spec("sitecustomize", [entry])
            if spec is None or spec.loader is None or spec.origin in loaded:
                continue
            loaded.add(spec.origin)
            module = module_from_spec(spec)
            if is_first:
                sys.modules["sitecustomize"] = module
            spec.loader.exec_module(module)
            return
    finally:
        if is_first:
            delattr(sys, _LOADED)


_complete_path()
_start_agent()
_run_hidden_sitecustomize()
