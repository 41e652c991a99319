"""Tell what each node of a call tree waits for, by its function, its library, or its line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rlprof.libraries.known import functions_of
from rlprof.model.activity import WaitKind
from rlprof.model.recording import NO_PARENT, Frame, Node, Recording
from rlprof.source.lines import last_name
from rlprof.source.waiting import asking_lines, waiting_lines
from rlprof.syntax.origin import Origin, origin_of_file

wait_of: Final = functions_of(lambda library: library.waits)
"""The kind of wait that a library's frame is in; None for one that does not wait."""


_LOOKS: Final = re.compile(r"[/\\]multiprocessing[/\\]connection\.py$")
_LOOKING: Final = frozenset({"poll", "_poll"})
"""Its functions that tell whether there is a message, without taking it."""


def classify_waits(nodes: Sequence[Node], sources: Mapping[str, str]) -> dict[int, WaitKind]:
    """The kind of wait of every node that may wait. Idle time there is a wait; of ``POLL`` all is."""
    kinds: dict[int, WaitKind] = {}
    in_chain: dict[int, WaitKind] = {}
    asking: set[int] = set()
    for number, parent, frame in nodes:
        above = kinds.get(parent) if parent != NO_PARENT else None
        if above is WaitKind.POLL and origin_of_file(frame.file) is not Origin.YOURS:
            kinds[number] = WaitKind.POLL
            continue
        own = wait_of(frame)
        whose = origin_of_file(frame.file)
        if (whose is Origin.YOURS and _asks_again(frame, sources)) or (
            parent in asking and whose is not Origin.YOURS
        ):
            asking.add(number)
            if _LOOKS.search(frame.file) and last_name(frame.function) in _LOOKING:
                kinds[number] = WaitKind.POLL
                continue
        chained = in_chain.get(parent) or own
        if chained is not None and whose is Origin.STDLIB:
            kinds[number] = in_chain[number] = chained
        elif (said := _said_by_source(frame, sources)) is not None:
            kinds[number] = said
        elif own is not None and whose is Origin.LIBRARY:
            kinds[number] = own
    return kinds


def kinds_of_waits(recording: Recording) -> dict[int, WaitKind]:
    """The same of a recording, whose threads and processes tell whether an event loop can wait for another of them."""
    kinds = classify_waits(recording.nodes, recording.sources)
    if len(recording.processes) > 1 or len(recording.threads) > 1:
        return kinds
    return {
        node: WaitKind.OWN_EVENTS if kind is WaitKind.EVENT_LOOP else kind
        for node, kind in kinds.items()
    }


def _asks_again(frame: Frame, sources: Mapping[str, str]) -> bool:
    text = sources.get(frame.file)
    return bool(text) and frame.line in asking_lines(text)


def _said_by_source(frame: Frame, sources: Mapping[str, str]) -> WaitKind | None:
    if origin_of_file(frame.file) is not Origin.YOURS:
        return None
    text = sources.get(frame.file)
    return waiting_lines(text).get(frame.line) if text else None
