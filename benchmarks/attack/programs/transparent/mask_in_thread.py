"""Block signals in the main thread; a thread waits for them."""

import os
import signal
import threading

from busy import work

got = []
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})


def wait():
    while True:
        number = signal.sigwait(set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
        got.append(number.name)
        if number == signal.SIGTERM:
            return


thread = threading.Thread(target=wait)
thread.start()
work()
os.kill(os.getpid(), signal.SIGTERM)
thread.join()
print(got)
