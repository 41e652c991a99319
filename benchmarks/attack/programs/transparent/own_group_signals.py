"""Handle all that could end it of what it sends to its group."""

import os
import signal

from busy import work

caught = []
harmless = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
stopping = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
for number in sorted(signal.valid_signals() - harmless - stopping):
    signal.signal(number, lambda number, frame: caught.append(number))
    os.killpg(0, number)
work(0.1)
print(*caught)
