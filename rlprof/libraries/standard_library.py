"""Python's standard library."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, Library, Sink, Transport
from rlprof.model.activity import WaitKind

LIBRARY: Final = Library(
    name="the standard library",
    samples=(
        "argparse.py",
        "asyncio/events.py",
        "concurrent/futures/process.py",
        "csv.py",
        "logging/__init__.py",
        "multiprocessing/connection.py",
        "multiprocessing/managers.py",
        "multiprocessing/pool.py",
        "multiprocessing/process.py",
        "multiprocessing/queues.py",
        "multiprocessing/reduction.py",
        "multiprocessing/synchronize.py",
        "queue.py",
        "selectors.py",
        "socket.py",
        "subprocess.py",
        "threading.py",
        "zipfile.py",
    ),
    transfer=r"multiprocessing/(reduction|connection|queues|shared_memory|heap|managers)\.py$"
    r"|pickle\.py$|copyreg\.py$",
    logging="logging/",
    configuration=r"argparse\.py$",
    transport={
        r"multiprocessing/(reduction|resource_sharer)\.py$|pickle\.py$|copyreg\.py$": {
            ANY: Transport.PICKLING
        },
        r"multiprocessing/connection\.py$": {
            "recv": Transport.PICKLING,
            "_poll": Transport.PLUMBING,
            "poll": Transport.PLUMBING,
            "wait": Transport.PLUMBING,
            ANY: Transport.BYTES,
        },
        r"multiprocessing/queues\.py$": {"get": Transport.PICKLING, ANY: Transport.PLUMBING},
        r"multiprocessing/(synchronize|sharedctypes|heap|shared_memory)\.py$": {
            ANY: Transport.PLUMBING
        },
    },
    passes_on=r"multiprocessing/(pool|managers)\.py$|concurrent/futures/process\.py$",
    waits={
        r"multiprocessing/queues\.py$": {ANY: WaitKind.QUEUE},
        r"multiprocessing/connection\.py$": {ANY: WaitKind.PIPE},
        r"multiprocessing/managers\.py$": {
            "_callmethod": WaitKind.PIPE,
            "serve_client": WaitKind.PIPE,
        },
        r"multiprocessing/synchronize\.py$": {
            "wait": WaitKind.EVENT,
            "wait_for": WaitKind.EVENT,
            "acquire": WaitKind.LOCK,
            "__enter__": WaitKind.LOCK,
            "__exit__": WaitKind.LOCK,
        },
        r"multiprocessing/pool\.py$": {
            "wait": WaitKind.FUTURE,
            "get": WaitKind.FUTURE,
            "next": WaitKind.FUTURE,
        },
        r"multiprocessing/(popen_\w+|process)\.py$": {
            "wait": WaitKind.JOIN,
            "join": WaitKind.JOIN,
            "poll": WaitKind.JOIN,
        },
        r"concurrent/futures/(_base|process|thread)\.py$": {
            "result": WaitKind.FUTURE,
            "as_completed": WaitKind.FUTURE,
            "wait": WaitKind.FUTURE,
            "result_iterator": WaitKind.FUTURE,
            "_result_or_cancel": WaitKind.FUTURE,
            "shutdown": WaitKind.JOIN,
            "_worker": WaitKind.QUEUE,
            "wait_result_broken_or_wakeup": WaitKind.FUTURE,
        },
        r"queue\.py$": {ANY: WaitKind.QUEUE},
        "asyncio/": {ANY: WaitKind.EVENT_LOOP},
        r"selectors\.py$": {ANY: WaitKind.SOCKET},
        r"(socket|socketserver|ssl)\.py$": {ANY: WaitKind.SOCKET},
        r"subprocess\.py$": {ANY: WaitKind.JOIN},
        r"threading\.py$": {
            "wait": WaitKind.EVENT,
            "wait_for": WaitKind.EVENT,
            "acquire": WaitKind.LOCK,
            "__enter__": WaitKind.LOCK,
            "join": WaitKind.JOIN,
            "_wait_for_tstate_lock": WaitKind.JOIN,
            "_shutdown": WaitKind.JOIN,
        },
    },
    sinks={Sink.ROWS: r"csv\.py$"},
    saving=r"(shutil|zipfile)\.py$",
    drives=r"(concurrent/futures|asyncio)/|multiprocessing/pool\.py$",
)
