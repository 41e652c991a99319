"""Read signals from a signalfd."""

import ctypes
import os
import select
import signal
import struct

from busy import work

everything = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
mask = 0
for number in everything:
    mask |= 1 << (number - 1)
raw = struct.pack("=Q", mask) + bytes(120)
libc = ctypes.CDLL(None, use_errno=True)
descriptor = libc.signalfd(-1, raw, os.O_NONBLOCK)
for _ in range(6):
    work(0.05)
    print(select.select([descriptor], [], [], 0)[0] != [])
os.kill(os.getpid(), signal.SIGUSR1)
print(struct.unpack_from("=I", os.read(descriptor, 128))[0] == signal.SIGUSR1)
