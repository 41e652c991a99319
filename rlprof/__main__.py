"""The command ``rlprof``, also as ``python -m rlprof``: begins before anything is imported that a caller's PYTHONPATH may
hide.
"""

from __future__ import annotations

# The built-in one, without stubs: a ``signal.py`` of the caller's may stand before Python's.
import _signal  # type: ignore[import-not-found]
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False  # ``typing`` is one of the modules that may be hidden.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

_OF_THE_START = ("__main__", "rlprof", "sitecustomize", "usercustomize")


def main() -> None:
    """Run the command line."""
    by_default = _die_of_interrupts()
    _leave_tracing_to_the_target()
    _drop_own_locale()
    with suppress(OSError):  # The working directory is gone.
        _stay_clear_of_others()
    try:
        from rlprof.cli.commands import main as run
    except Exception as error:
        from rlprof.cli.last_resort import end_without_library, is_needed, train_as_typed

        if is_needed():
            train_as_typed(error)
        end_without_library(error)
        raise

    _heed_interrupts(by_default)
    try:
        run()
    except KeyboardInterrupt:
        # It came while the command line was being read: what a command does itself has its own end.
        _die_of_interrupts()
        os.kill(os.getpid(), _signal.SIGINT)
    except SystemExit as end:
        if not sys.flags.inspect or not isinstance(end.code, int):
            raise
        # PYTHONINSPECT asks for a prompt after the program, which had it: none follows for rlprof.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(end.code)


def _leave_tracing_to_the_target() -> None:
    """PYTHONTRACEMALLOC is for its allocations: with ours traced, too, it would wait for seconds to begin."""
    import _tracemalloc  # Built in, so that nothing hides it.

    _tracemalloc.stop()


def _drop_own_locale() -> None:
    """Take out the LC_CTYPE that our own Python has set where the locale was C (PEP 538): the target's children would obey it."""
    with suppress(OSError):
        with open("/proc/self/environ", "rb") as file:
            given = file.read().split(b"\0")
        if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
            os.environ.pop("LC_CTYPE", None)


def _stay_clear_of_others() -> None:
    """Look for modules in PYTHONPATH, and in the working directory of ``python -m``, after our own environment.

    Clusters and vendored folders put modules of other versions there, which may do anything. The target gets PYTHONPATH
    as it is.
    """
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    theirs = {os.path.abspath(path) for path in given}
    if not sys.flags.ignore_environment and any(_brought_from(theirs)):
        _start_again()
    last = {*theirs, os.path.abspath(sys.path[0])}
    ours = [path for path in sys.path if os.path.abspath(path) not in last]
    sys.path[:] = [*ours, *sys.path[:1], *given]


def _brought_from(folders: set[str]) -> Iterator[str]:
    """Yield the modules there that a ``sitecustomize`` has imported already."""
    for name, module in list(sys.modules.items()):
        where = os.path.dirname(getattr(module, "__file__", None) or "")
        if hasattr(module, "__path__"):
            where = os.path.dirname(where)
        if where in folders and "." not in name and name not in _OF_THE_START:
            yield name


def _start_again() -> NoReturn:
    """With none of their modules."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    start = f"import sys; sys.path[0] = {root!r}; from rlprof.__main__ import main; main()"
    os.execv(sys.executable, [sys.executable, "-E", "-c", start, *sys.argv[1:]])


def _die_of_interrupts() -> bool:
    """Until the command runs, or its training, end by Ctrl-C as that would: no code tells a shell's loop to stop.

    Tells whether Python's own handler was there, and not one that ignores it.
    """
    by_default = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if by_default:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    return by_default


def _heed_interrupts(by_default: bool) -> None:
    """Let a command other than ``run`` clean up after itself when Ctrl-C comes."""
    if by_default and sys.argv[1:2] != ["run"]:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


if __name__ == "__main__":
    main()
