"""Check that functions of the standard library are the standard library's own."""

import os
import signal
import subprocess
import sys
import threading
import time

from busy import work

work()
for function in (
    os.fork,
    os.kill,
    os._exit,
    os.waitpid,
    time.sleep,
    threading.Thread.start,
    subprocess.Popen.__init__,
    signal.pthread_sigmask,
    signal.sigwait,
    sys.settrace,
    sys.setprofile,
    os.setsid,
    builtins_import := __import__,
):
    print(function.__module__, function.__qualname__)
print(sys.getswitchinterval(), sys.getprofile(), sys.gettrace())
