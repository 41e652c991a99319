"""Count its threads, as Python and as the kernel see them."""

import os
import threading

from busy import work

work()
print(threading.active_count(), [thread.name for thread in threading.enumerate()])
print(len(os.listdir("/proc/self/task")))
done = threading.Barrier(4)
threads = [threading.Thread(target=lambda: (work(0.1), done.wait())) for _ in range(3)]
for thread in threads:
    thread.start()
done.wait()
for thread in threads:
    thread.join()
print([thread.name for thread in threads], threading.main_thread().ident == threading.get_ident())
