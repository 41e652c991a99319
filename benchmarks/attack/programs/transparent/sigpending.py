"""Look at which signals are pending while all are blocked."""

import os
import signal

from busy import work

signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
for _ in range(10):
    work(0.05)
    print(sorted(signal.sigpending()))
os.kill(os.getpid(), signal.SIGUSR1)
print(sorted(number.name for number in signal.sigpending()))
