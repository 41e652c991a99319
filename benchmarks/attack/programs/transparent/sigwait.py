"""Block every signal and wait for one that a thread's timer sends."""

import os
import signal
import threading

from busy import work

signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
work()
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR2)).start()
work(0.1)
print(signal.sigwait(set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}).name)
