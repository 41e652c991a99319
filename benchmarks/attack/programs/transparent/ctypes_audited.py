"""Forbid ctypes by an audit hook, as sandboxes do; then block signals and trace."""

import signal
import sys


def refuse(event, _arguments):
    if event.startswith("ctypes."):
        raise RuntimeError(event)


sys.addaudithook(refuse)
print(signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]))
sys.settrace(lambda *_: None)
sys.settrace(None)
print("trained")
