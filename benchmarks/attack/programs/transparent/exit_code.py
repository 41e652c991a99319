"""Exit with a code of its own."""

import sys

from busy import work

work()
sys.exit(7)
