"""Exit with a text, which goes to stderr."""

import sys

from busy import work

work()
sys.exit("gone wrong: ünïcode")
