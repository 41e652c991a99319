"""Fail in functions that are counted: logging, pipes, starts of processes. Their errors name no file of rlprof's."""

import logging
import multiprocessing
import os
import subprocess
import sys
import threading
import traceback
import warnings

from busy import work


class Intercepting(logging.Handler):
    """Hands records on to another library: it looks for the caller as loguru's documentation has it."""

    def emit(self, record):
        frame, depth = sys._getframe(), 0
        while frame and (depth == 0 or frame.f_code.co_filename == logging.__file__):
            frame, depth = frame.f_back, depth + 1
        print(frame.f_code.co_name, frame.f_lineno, depth, record.getMessage())


def tell(call):
    try:
        call()
    except Exception:
        traceback.print_exc()


def update():
    logging.getLogger("intercepted").warning("step %d", 1)
    logging.warning("loss %d", "nan")


work()
logging.basicConfig(format="%(funcName)s %(lineno)d %(message)s")
logging.getLogger("intercepted").propagate = False
logging.getLogger("intercepted").addHandler(Intercepting())
update()

reader, writer = multiprocessing.Pipe()
reader.close()
tell(lambda: writer.send("into the void"))
tell(lambda: os.system("a\0b"))
tell(lambda: os.posix_spawn("./no-such-program", ["none"], {}))
tell(lambda: subprocess.run(["a\0b"]))
tell(lambda: subprocess.run(["./no-such-program"], preexec_fn=int))

warnings.simplefilter("always")
leave = threading.Event()
threading.Thread(target=leave.wait).start()
# Of a fork among threads Python warns from C code, in the name of the function that runs.
subprocess.run(["true"], preexec_fn=int)
leave.set()
