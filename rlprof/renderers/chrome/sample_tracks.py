"""The samples of each thread as boxes over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rlprof.model.detail import Detail
from rlprof.model.recording import Node
from rlprof.names import printable, short_path
from rlprof.renderers.chrome.boxes import Box, boxes
from rlprof.renderers.chrome.clock import Clock
from rlprof.renderers.chrome.events import Event, Numbers, complete, thread_named
from rlprof.report.thread_stacks import ThreadStacks, frame_title


def sample_tracks(
    threads: Iterable[ThreadStacks],
    detail: Detail,
    cwd: str,
    clock: Clock,
    numbers: Numbers,
    *,
    thinnest: float,
) -> Iterator[Event]:
    for position, thread in enumerate(threads):
        pid, tid = thread.process.pid, numbers.another()
        yield from thread_named(pid, tid, f"{thread.name}: samples", 10 + position)
        drawn = boxes(thread, detail.nodes, detail.slices, clock, thinnest)
        # Callers before what they call: of two boxes of one length readers take the first for the outer.
        for box in sorted(drawn, key=lambda it: (it.start, -it.end, it.node)):
            yield _event(box, detail.nodes, cwd, pid, tid)


def _event(box: Box, nodes: Sequence[Node], cwd: str, pid: int, tid: int) -> Event:
    frame = nodes[box.node].frame
    args: dict[str, object] = {"wall_us": box.wall_us, "cpu_us": box.cpu_us}
    if box.idle_us:
        args["waiting_us"] = box.idle_us
    if frame.file:
        args["place"] = f"{printable(short_path(frame.file, cwd))}:{frame.line}"
    return complete(frame_title(frame, cwd), "samples", box.start, box.end, pid, tid, **args)
