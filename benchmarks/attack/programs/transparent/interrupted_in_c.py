"""Sleep in C, where a signal would be seen as EINTR."""

import ctypes
import threading

from busy import work

libc = ctypes.CDLL(None, use_errno=True)
# In another thread work goes on, as in a learner beside a thread that waits for a device.
thread = threading.Thread(target=work, args=(0.6,))
thread.start()
for _ in range(10):
    print(libc.usleep(30_000), ctypes.get_errno())
thread.join()
