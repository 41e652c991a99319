"""Print the mask and the handlers that it finds, before and after some work."""

import signal

from busy import work

for _ in range(2):
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    for number in sorted(signal.valid_signals()):
        handler = signal.getsignal(number)
        if handler not in (signal.SIG_DFL,):
            print(number, getattr(handler, "__name__", handler))
    work()
