"""Sleep in pause until the alarm."""

import signal

from busy import work

rung = []
signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
work()
signal.alarm(1)
signal.pause()
print(rung)
