"""Fork, and start an interpreter, with little room for files and SIGXFSZ at its default."""

import os
import resource
import signal
import subprocess
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

for handler in (signal.SIG_DFL, lambda *_: print("told of too large a file", flush=True)):
    signal.signal(signal.SIGXFSZ, handler)
    child = os.fork()
    if not child:
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
code = "import sys; print('an interpreter of its own'); sys.exit(6)"
print(subprocess.run([sys.executable, "-c", code]).returncode)
