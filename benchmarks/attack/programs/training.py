"""A training with one result, however long it takes: ``training.py STEPS WORKERS [HOW]``.

HOW is ``stubborn`` (SIGTERM is ignored), ``tidy`` (SIGTERM is answered by saving and exit code 5) or plain.
"""

import hashlib
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

HASHES_PER_STEP = 200


def rollout(seed, steps):
    digest = hashlib.sha256(str(seed).encode()).digest()
    for _ in range(steps):
        for _ in range(HASHES_PER_STEP):
            digest = hashlib.sha256(digest).digest()
    return digest.hex()


def train(steps, workers):
    if workers == 0:
        return rollout(0, steps)
    with ProcessPoolExecutor(workers) as pool:
        parts = [pool.submit(rollout, seed, steps // workers // 2) for seed in range(2 * workers)]
        return " ".join(part.result() for part in parts)


def save(name, text):
    with open(f"{name}.part", "w") as file:
        file.write(text)
    os.rename(f"{name}.part", name)


def be_tidy(number, frame):
    save("saved", "in time")
    sys.exit(5)


def main(steps, workers, how="plain"):
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif how == "tidy":
        signal.signal(signal.SIGTERM, be_tidy)
    save("started", str(os.getpid()))
    try:
        save("result", train(int(steps), int(workers)))
    except BrokenProcessPool:
        sys.exit("a worker died")
    print("trained")


if __name__ == "__main__":
    main(*sys.argv[1:])
