"""Python's standard library."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, Access, Library, Sink, SlowCall, Transport
from rlprof.model.activity import WaitKind
from rlprof.model.finding import Range

_STATISTICS: Final = SlowCall(
    "statistics computes with fractions",
    "Keep a running sum, or take numpy's mean and std of an array; statistics.fmean is faster, too.",
    Range(0.7, 0.99),
)
_FRACTIONS: Final = SlowCall(
    "the training computes with fractions",
    "Compute with floats, unless the results have to be exact.",
    Range(0.8, 0.99),
)
_FIELDS: Final = SlowCall(
    "dataclasses are copied field by field",
    "Keep the object itself, or read the fields that are needed: asdict and astuple copy all that is in them, deeply, in Python.",
    Range(0.6, 1.0),
)
_STACK: Final = SlowCall(
    "the call stack is read in a loop",
    "Read it only where the result is used; sys._getframe(1).f_code.co_name gives the caller's name without reading sources.",
    Range(0.95, 1.0),
)
_JSON: Final = SlowCall(
    "JSON is written or read in a loop",
    "Arrays travel and rest as bytes (array.tobytes(), np.frombuffer), other data by pickle; what is a setting is read once. "
    "A list that grows is not written anew: append what is new to its file, a line each.",
    Range(0.5, 1.0),
)
_COMPRESSED: Final = SlowCall(
    "data are compressed while it trains",
    "Keep the bytes as they are: frames as uint8, and each frame once.",
    Range(0.6, 1.0),
)
_PROXY: Final = SlowCall(
    "a manager is asked for single values",
    "Each use of a manager's dictionary, list or value is a message to its process and an answer. Work on a copy of your own and exchange whole "
    "updates now and then (Queue, Pipe); keep arrays of numbers in shared memory (multiprocessing.shared_memory, torch's share_memory_).",
    Range(0.7, 1.0),
    answered_by="serve_client",
    but_for=r"Queue\]\.|\.(acquire|join|put|wait)$",
)
_WEIGHTED: Final = SlowCall(
    "each draw adds up all weights",
    "Keep their sums while they stay: cum_weights=list(accumulate(weights)). Where they change, keep priorities in a sum tree, in which a draw and a change "
    "take some steps however many there are; or draw from an array by np.searchsorted(np.cumsum(weights), rng.random(k) * weights.sum()).",
    # With their sums kept 0.05 is left of 1 draw by 1 000 weights, 0.48 of 64 and 0.66 of 128; by 20 000 0.00 to 0.10.
    Range(0.35, 0.99),
    from_numbers=1_000,
    only_with="weights",
    few_by="k",
)
_DATES: Final = SlowCall(
    "dates are parsed in a loop",
    "Parse them once, before the loop, and keep the numbers.",
    Range(0.9, 1.0),
)
_ALIKE: Final = SlowCall(
    "a text is compared with all that are known",
    "Look it up as it is first (known.get(text)), and search for one alike only where it is not there; keep what was found (functools.lru_cache).",
    # Texts that are new each time have to be compared.
    Range(0.3, 1.0),
)

_FILES: Final = r"pathlib(\.py$|/)|(gzip|bz2|lzma)\.py$"

LIBRARY: Final = Library(
    name="the standard library",
    samples=(
        "_strptime.py",
        "argparse.py",
        "asyncio/events.py",
        "concurrent/futures/process.py",
        "csv.py",
        "dataclasses.py",
        "difflib.py",
        "fractions.py",
        "gzip.py",
        "http/client.py",
        "inspect.py",
        "json/encoder.py",
        "logging/__init__.py",
        "multiprocessing/connection.py",
        "multiprocessing/managers.py",
        "multiprocessing/pool.py",
        "multiprocessing/process.py",
        "multiprocessing/queues.py",
        "multiprocessing/reduction.py",
        "multiprocessing/synchronize.py",
        "pathlib.py",
        "queue.py",
        "random.py",
        "selectors.py",
        "socket.py",
        "statistics.py",
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
    pools=r"concurrent/futures/\w+\.py$|multiprocessing/pool\.py$",
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
    slow_calls={
        r"python3\.\d+t?/statistics\.py$": dict.fromkeys(
            ("mean", "stdev", "pstdev", "variance", "pvariance"), _STATISTICS
        ),
        r"python3\.\d+t?/fractions\.py$": {ANY: _FRACTIONS},
        r"python3\.\d+t?/dataclasses\.py$": dict.fromkeys(("asdict", "astuple"), _FIELDS),
        r"python3\.\d+t?/inspect\.py$": dict.fromkeys(
            ("stack", "trace", "getouterframes", "getframeinfo"), _STACK
        ),
        r"python3\.\d+t?/random\.py$": {"choices": _WEIGHTED},
        r"python3\.\d+t?/json/\w+\.py$": {ANY: _JSON},
        r"python3\.\d+t?/(gzip|bz2|lzma)\.py$": {ANY: _COMPRESSED},
        r"multiprocessing/managers\.py$": dict.fromkeys(
            ("_callmethod", "serve_client", "get", "set", "__getattr__", "__setattr__"), _PROXY
        ),
        r"python3\.\d+t?/_strptime\.py$": {ANY: _DATES},
        r"python3\.\d+t?/difflib\.py$": {"get_close_matches": _ALIKE},
    },
    slow_in_c={
        "zlib.compress": _COMPRESSED,
        "zlib.decompress": _COMPRESSED,
    },
    sinks={Sink.REPLACING: r"pathlib(\.py$|/)", Sink.ROWS: r"csv\.py$", Sink.FILES: _FILES},
    accesses={
        Access.REMOTE: r"urllib/|http/client\.py$",
        Access.READ: rf"{_FILES}|glob\.py$|zipfile(\.py$|/)",
    },
    saving=r"(shutil|zipfile)\.py$",
    drives=r"(concurrent/futures|asyncio)/|multiprocessing/pool\.py$",
)
