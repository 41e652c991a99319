"""Ask who has sent the signal that it waited for."""

import os
import signal

from busy import work

everything = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
work()
os.kill(os.getpid(), signal.SIGUSR1)
got = signal.sigwaitinfo(everything)
print(got.si_signo, got.si_code, got.si_pid == os.getpid())
