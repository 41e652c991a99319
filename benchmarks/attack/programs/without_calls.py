"""Run a command to which the kernel refuses calls, as a container may: ``without_calls.py CALLS COMMAND...``."""

import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {
        "ptrace": 101,
        "process_vm_readv": 310,
        "memfd_create": 319,
        "timer_create": 222,
        "listen": 50,
        "pidfd_open": 434,
        "prctl": 157,
    },
    "aarch64": {
        "ptrace": 117,
        "process_vm_readv": 270,
        "memfd_create": 279,
        "timer_create": 107,
        "listen": 201,
        "pidfd_open": 434,
        "prctl": 167,
    },
}
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x00050000 | errno.EPERM, 0x7FFF0000


def instruction(code, if_true, if_false, value):
    return struct.pack("=HBBI", code, if_true, if_false, value)


refused = [NUMBERS[platform.machine()][name] for name in sys.argv[1].split(",")]
steps = [instruction(LOAD, 0, 0, 0)]
for position, number in enumerate(refused):
    steps.append(instruction(IF_EQUAL, len(refused) - position, 0, number))
steps += [instruction(RETURN, 0, 0, ALLOW), instruction(RETURN, 0, 0, REFUSE)]
code = ctypes.create_string_buffer(b"".join(steps))
program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, program, 0, 0):
    sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[2], sys.argv[2:])
