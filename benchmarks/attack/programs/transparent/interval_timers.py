"""Count the ticks of all three interval timers."""

import signal

from busy import work

ticks = {signal.SIGALRM: 0, signal.SIGVTALRM: 0, signal.SIGPROF: 0}


def tick(number, frame):
    ticks[number] += 1


for number in ticks:
    signal.signal(number, tick)
for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    print(signal.getitimer(which), signal.setitimer(which, 0.05, 0.05))
while min(ticks.values()) < 5:
    work(0.05)
for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    print(signal.setitimer(which, 0)[1])
print("all three tick")
