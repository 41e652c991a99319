"""Wait for signals with a time limit, and get none."""

import signal

from busy import work

everything = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
for _ in range(5):
    work(0.1)
    print(signal.sigtimedwait(everything, 0.05))
