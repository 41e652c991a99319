"""Look at its command line, its flags and its files."""

import sys

from busy import work

work(0.1)
print(sys.argv, sys.orig_argv[1:], sys.flags, sys.executable, __name__, __file__)
print(sys.warnoptions, sys._xoptions, sys.dont_write_bytecode, __spec__, __builtins__.__name__)
