"""Start the rlprof agent, then run the ``sitecustomize`` that would have run without it."""

# Nothing from __future__, which is a module like others: some programs show each that is imported.
import os
import sys


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


def _run_hidden_sitecustomize() -> None:
    """Load the next ``sitecustomize`` on the path under its usual name, as if ours were not there."""
    # The frozen modules behind importlib, whose own front door takes milliseconds to import.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start_agent()
_run_hidden_sitecustomize()
