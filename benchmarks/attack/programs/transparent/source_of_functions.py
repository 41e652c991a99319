"""Ask for names and documentation of what it calls."""

import signal
import sys

from busy import work

work(0.1)
for function in (
    signal.signal,
    signal.sigwait,
    signal.pthread_sigmask,
    signal.getsignal,
    signal.set_wakeup_fd,
    sys.settrace,
    sys.setprofile,
):
    print(function.__module__, function.__name__, function.__doc__)
