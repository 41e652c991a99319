"""Read from a descriptor that its parent has opened for it."""

import os

from busy import work

work()
print(os.read(7, 100))
print(os.get_inheritable(7))
