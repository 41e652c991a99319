"""Handle signals in asyncio's loop, with subprocesses beside."""

import asyncio
import os
import signal
import sys

from busy import work


async def main():
    caught = []
    loop = asyncio.get_running_loop()
    heard = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, lambda: (caught.append("usr1"), heard.set()))
    for _ in range(10):
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(heard.wait(), 30)
        heard.clear()
        work(0.02)
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('child')", stdout=-1)
    print((await child.communicate())[0], child.returncode, len(caught))


asyncio.run(main())
