"""Which nodes of the call tree wait, and for what kind of thing.

The nearest line that says so decides: a loop of the user's that polls speaks for all it calls;
else the standard library's outermost function of a chain (``Queue.get``, not the pipe below it);
else the names on the user's own line, for what waits in C (``lock.acquire()``, ``time.sleep``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from rlprof.model.activity import WaitKind
from rlprof.model.recording import NO_PARENT, Frame, Node
from rlprof.source.origin import Origin, origin_of_file
from rlprof.source.waiting import waiting_lines

_ANY: Final = "*"

_STDLIB: Final[tuple[tuple[re.Pattern[str], Mapping[str, WaitKind]], ...]] = tuple(
    (re.compile(pattern), kinds)
    for pattern, kinds in (
        (r"/multiprocessing/queues\.py$", {_ANY: WaitKind.QUEUE}),
        (r"/multiprocessing/connection\.py$", {_ANY: WaitKind.PIPE}),
        (r"/multiprocessing/managers\.py$", {"_callmethod": WaitKind.PIPE, "serve_client": WaitKind.PIPE}),
        (
            r"/multiprocessing/synchronize\.py$",
            {
                "wait": WaitKind.EVENT,
                "wait_for": WaitKind.EVENT,
                "acquire": WaitKind.LOCK,
                "__enter__": WaitKind.LOCK,
                "__exit__": WaitKind.LOCK,
            },
        ),
        (
            r"/multiprocessing/pool\.py$",
            {"wait": WaitKind.FUTURE, "get": WaitKind.FUTURE, "next": WaitKind.FUTURE},
        ),
        (r"/multiprocessing/(popen_\w+|process)\.py$", {"wait": WaitKind.JOIN, "join": WaitKind.JOIN, "poll": WaitKind.JOIN}),
        (
            r"/concurrent/futures/(_base|process|thread)\.py$",
            {
                "result": WaitKind.FUTURE,
                "as_completed": WaitKind.FUTURE,
                "wait": WaitKind.FUTURE,
                "result_iterator": WaitKind.FUTURE,
                "_result_or_cancel": WaitKind.FUTURE,
                "shutdown": WaitKind.JOIN,
                "_worker": WaitKind.QUEUE,
                "wait_result_broken_or_wakeup": WaitKind.FUTURE,
            },
        ),
        (r"/queue\.py$", {_ANY: WaitKind.QUEUE}),
        (r"/asyncio/", {_ANY: WaitKind.EVENT_LOOP}),
        (r"/selectors\.py$", {_ANY: WaitKind.SOCKET}),
        (r"/(socket|socketserver|ssl)\.py$", {_ANY: WaitKind.SOCKET}),
        (r"/subprocess\.py$", {_ANY: WaitKind.JOIN}),
        (
            r"/threading\.py$",
            {
                "wait": WaitKind.EVENT,
                "wait_for": WaitKind.EVENT,
                "acquire": WaitKind.LOCK,
                "__enter__": WaitKind.LOCK,
                "join": WaitKind.JOIN,
                "_wait_for_tstate_lock": WaitKind.JOIN,
                "_shutdown": WaitKind.JOIN,
            },
        ),
    )
)  # fmt: skip


_LIBRARY_POLLS: Final = re.compile(r"/torchrl/envs/batched_envs\.py$")
_POLLING_FUNCTIONS: Final = frozenset({"_wait_for_workers"})
"""Spins on flags in shared memory (torchrl 0.14); a library's source is not read."""


def classify_waits(nodes: Sequence[Node], sources: Mapping[str, str]) -> dict[int, WaitKind]:
    """The kind of wait of every node that may wait. Idle time there is a wait; of ``POLL`` all is."""
    kinds: dict[int, WaitKind] = {}
    in_chain: dict[int, WaitKind] = {}
    for number, parent, frame in nodes:
        above = kinds.get(parent) if parent != NO_PARENT else None
        if above is WaitKind.POLL and origin_of_file(frame.file) is not Origin.YOURS:
            kinds[number] = WaitKind.POLL
            continue
        chained = in_chain.get(parent)
        own = chained or _standard_wait(frame)
        if own is not None and origin_of_file(frame.file) is Origin.STDLIB:
            kinds[number] = in_chain[number] = own
        elif (said := _said_by_source(frame, sources)) is not None:
            kinds[number] = said
        elif _polls_in_library(frame):
            kinds[number] = WaitKind.POLL
    return kinds


@lru_cache(maxsize=65536)
def _standard_wait(frame: Frame) -> WaitKind | None:
    if origin_of_file(frame.file) is not Origin.STDLIB:
        return None
    function = frame.function.rpartition(".")[2]
    for pattern, kinds in _STDLIB:
        if pattern.search(frame.file):
            return kinds.get(function) or kinds.get(_ANY)
    return None


@lru_cache(maxsize=65536)
def _polls_in_library(frame: Frame) -> bool:
    function = frame.function.rpartition(".")[2]
    path = frame.file.replace("\\", "/")
    return function in _POLLING_FUNCTIONS and bool(_LIBRARY_POLLS.search(path))


def _said_by_source(frame: Frame, sources: Mapping[str, str]) -> WaitKind | None:
    if origin_of_file(frame.file) is not Origin.YOURS:
        return None
    text = sources.get(frame.file)
    return waiting_lines(text).get(frame.line) if text else None
