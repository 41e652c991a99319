"""Fork from a thread, and lock around it."""

import os
import threading

from busy import work

lock = threading.Lock()


def fork():
    for number in range(5):
        with lock:
            pid = os.fork()
            if pid == 0:
                work(0.01)
                os._exit(number)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


thread = threading.Thread(target=fork)
thread.start()
work()
thread.join()
