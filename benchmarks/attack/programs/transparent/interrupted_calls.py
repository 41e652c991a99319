"""Sleep, select and read without being woken early."""

import os
import select
import time

from busy import work

reading, writing = os.pipe()
for _ in range(4):
    work(0.06)
    begun = time.monotonic()
    time.sleep(0.05)
    print(time.monotonic() - begun >= 0.05)
    begun = time.monotonic()
    print(select.select([reading], [], [], 0.05), time.monotonic() - begun >= 0.05)
