"""The command ``rlprof``, also as ``python -m rlprof``: begins before anything is imported that a caller's PYTHONPATH may
hide.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; where its imports fail for the sake of PYTHONPATH, once more without it.

    Clusters and vendored folders put modules of other versions on it, which may do anything. The target gets it as it is.
    """
    try:
        _die_of_interrupts()
        from rlprof.cli import main as run
    except (Exception, SystemExit):
        if sys.flags.ignore_environment or "PYTHONPATH" not in os.environ:
            raise
        start = "from rlprof.__main__ import main; main()"
        safe_path = ["-P"] if sys.version_info >= (3, 11) else []
        os.execv(sys.executable, [sys.executable, "-E", *safe_path, "-c", start, *sys.argv[1:]])
    try:
        run()
    except SystemExit as end:
        if not sys.flags.inspect or not isinstance(end.code, int):
            raise
        # PYTHONINSPECT asks for a prompt after the program, which had it: none follows for rlprof.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(end.code)


def _die_of_interrupts() -> None:
    """Until the training runs, end by Ctrl-C as it would: no code tells a shell's loop to stop."""
    import signal

    if sys.argv[1:2] == ["run"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
