"""Call on the sockets of a recording: ``knocking.py FOLDER UID HOW``, as that user where UID is not 0.

HOW is ``silent`` (connect, and wait), ``slow`` (a byte now and then) or ``noisy`` (bytes without sense).
"""

import os
import socket
import sys
import time

folder, uid, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if uid:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)

MOST_AT_ONCE = 200
GREETING = b"rlprof-agent-1\0"


def addresses():
    """Those that ``/proc/net/unix`` shows to everybody."""
    with open("/proc/net/unix") as table:
        for line in table:
            name = line.rstrip().rpartition(" ")[2]
            if name.startswith("@") and "rlprof" in name:
                yield "\0" + name[1:]
            elif name.startswith(folder):
                yield name


calls = []
print("ready", flush=True)
while True:
    for address in set(addresses()):
        if len(calls) < MOST_AT_ONCE:
            call = socket.socket(socket.AF_UNIX)
            call.setblocking(False)
            try:
                call.connect(address)
            except OSError:
                call.close()  # Closed to us, or full.
            else:
                calls.append(call)
    for call in list(calls):
        try:
            if how == "noisy":
                call.send(os.urandom(5000))
            elif how == "slow":
                call.send(GREETING[:1])
        except BlockingIOError:
            pass
        except OSError:
            calls.remove(call)
            call.close()
    time.sleep(0.02)
