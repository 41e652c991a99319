"""Where a program tells how it is doing, or keeps what it does: log records, prints, metrics, progress bars, rows, files.

Library code by its file and function, records of ``logging`` only where one was emitted, and the
user's own lines for what is written in C (``print``, ``writerow``, ``flush``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.saving import saving_calls
from rlprof.libraries.base import Sink
from rlprof.libraries.known import files_of
from rlprof.libraries.questions import is_of_log_records
from rlprof.model.calltree import CallTree
from rlprof.model.recording import GC_FUNCTION, NO_PARENT, Frame
from rlprof.source.callees import callee
from rlprof.source.library_kinds import kind_of
from rlprof.source.lines import UserLines, begins_process, last_name
from rlprof.source.outputs import output
from rlprof.source.values import Values
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.origin import Origin, origin, origin_of_file

_STDLIB_LOGGING: Final = re.compile(r"[/\\]logging[/\\](__init__|handlers)\.py$")
_EMITTING_FUNCTIONS: Final = frozenset(
    {"_log", "handle", "callHandlers", "makeRecord", "findCaller", "emit", "format", "flush"}
)

_emits_in_library: Final = files_of(lambda library: library.emits)

_WRITERS: Final = {
    # No wider: mlflow's and wandb's drivers call the whole training.
    Sink.METRICS: r"^_?(add_\w+|log(_\w+)?|track|record(_\w+)?|dump|write\w*|append|flush)$",
    # ``__iter__`` is left out: the iterated data is made below it.
    Sink.PROGRESS: r"^(set_(postfix|description)(_str)?|refresh|display|update|advance|write)$",
    Sink.PRINT: r"^(print|log|echo)$",
    Sink.ROWS: r"^(writerows?|_dict_to_list)$",
    Sink.FILES: r"^(write\w*|save\w*|to_(csv|parquet|pickle|feather|hdf)|imwrite|imsave|__setitem__|flush)$",
}
"""Functions of libraries that write, by what takes the output."""

_written_by: Final = kind_of(_WRITERS, lambda library: library.sinks)

ON_FILES: Final = frozenset({Sink.SYNCS, Sink.OPENING, Sink.FILES})

_is_text_library: Final = files_of(lambda library: library.makes_text)
_TEXT_METHODS: Final = frozenset({"__str__", "__repr__", "__format__"})
_CHEAP: Final = frozenset(
    {"len", "int", "float", "bool", "abs", "round", "str", "repr", "format", "join", "fileno", "get", "time"}
    | {"perf_counter", "monotonic", "strftime", "now", "item", "strip", "ljust", "rjust", "title", "type"}
    | {"detach", "cpu", "dumps", "asdict", "tolist", "copy", "dict", "list", "tuple"}
)  # fmt: skip
"""Calls whose time beside that of writing is nothing, or is for its text."""


class Output(NamedTuple):
    """Nodes whose own time is output, in the user's lines and all below."""

    sinks: dict[int, Sink]
    shared: frozenset[int]
    """Those of lines that call something else in C, too: nobody knows which of them takes how much."""


class _OnLine(NamedTuple):
    sink: Sink
    is_alone: bool


class _OutputLines:
    """Output that the user's lines write, each looked at once."""

    def __init__(self, lines: UserLines, values: Values) -> None:
        self._lines = lines
        self._values = values
        self._known: dict[tuple[str, int], _OnLine | None] = {}

    def at(self, frame: Frame) -> _OnLine | None:
        key = (frame.file, frame.line)
        if key not in self._known:
            self._known[key] = self._read(frame)
        return self._known[key]

    def _read(self, frame: Frame) -> _OnLine | None:
        module = self._lines.module(frame.file)
        if module is None:
            return None
        found: list[Sink] = []
        is_alone = True
        for statement in module.statements_at(frame.line):
            sinks, others = self._calls(frame.file, statement, module)
            found += sinks
            is_alone = is_alone and not others
        return _OnLine(next(sink for sink in Sink if sink in found), is_alone) if found else None

    def _calls(
        self, file: str, statement: Statement, module: SourceModule
    ) -> tuple[Sequence[Sink], Sequence[ast.Call]]:
        """Return what the calls of a statement write, and those that write nothing and are in C."""
        calls = [node for node in statement.walk() if isinstance(node, ast.Call)]
        known = self._values.of(file, statement) if calls else {}
        sinks, others = [], []
        inside: set[int] = set()
        for call in calls:
            sink = output(call, known, module) if id(call) not in inside else None
            if sink is not None:
                inside.update(map(id, ast.walk(call)))
                sinks.append(sink)
            elif called_name(call) not in _CHEAP and not callee(call, known, module).is_python:
                others.append(call)
        return sinks, others


def find_output(lines: UserLines, values: Values) -> Output:
    tree = lines.tree
    emitting = emitting_nodes(tree)
    tops = {
        node: sink
        for node in tree.hot_nodes()
        if (sink := _library_sink(tree.frame(node), node in emitting)) is not None
    }
    callers = {
        tree.frame(parent): sink
        for top, sink in tops.items()
        if sink not in ON_FILES and (parent := tree.nodes[top].parent) != NO_PARENT
    }
    own = _OutputLines(lines, values)
    saving = set(saving_calls(lines, values))
    found: dict[int, Sink] = {}
    shared: set[int] = set()
    below: set[int] = set()
    for node in tree.hot_nodes():
        parent = tree.nodes[node].parent
        frame = tree.frame(node)
        is_saving = node in saving or parent in saving
        if is_saving:
            saving.add(node)
        if parent in below and not _is_other_work(lines, frame):
            found[node] = found[parent]
            below.add(node)
        elif node in tops and _may_be(lines, node, tops[node], is_saving):
            # The user's line may know more: a write for which the file is opened each time.
            found[node] = found.get(parent, tops[node]) if tops[node] in ON_FILES else tops[node]
            below.add(node)
        elif parent in found and _is_for_output(frame):
            found[node] = found[parent]
            below.add(node)
        elif lines.is_yours(frame):
            on_line = own.at(frame) or _calls_a_library(lines, frame, callers)
            if on_line is not None and _may_be(lines, node, on_line.sink, is_saving):
                found[node] = on_line.sink
                if not on_line.is_alone:
                    shared.add(node)
    return Output(found, frozenset(shared))


def _may_be(lines: UserLines, node: int, sink: Sink, is_saving: bool) -> bool:
    """Return what is written to files once, or to save a model, is no output of the steps."""
    return sink not in ON_FILES or (not is_saving and lines.is_repeated(node))


def _calls_a_library(lines: UserLines, frame: Frame, callers: dict[Frame, Sink]) -> _OnLine | None:
    """Return what the user's line has a library write, where that is all that it is for."""
    statement = lines.statement(frame)
    match statement.node if statement else None:
        case ast.Expr(ast.Call()):
            assert statement is not None
            for line in statement.lines:
                if (sink := callers.get(frame._replace(line=line))) is not None:
                    return _OnLine(sink, is_alone=True)
    return None


def _is_other_work(lines: UserLines, frame: Frame) -> bool:
    """Tell the program's own work, of which a library's function makes what is told (``statistics.mean(episode(s) for s in seeds)``,
    ``asyncio.run(main())``), and workers that were forked on such a line; not the texts of its objects.
    """
    is_text = last_name(frame.function) in _TEXT_METHODS
    return begins_process(frame) or (lines.is_yours(frame) and not is_text)


def _is_for_output(frame: Frame) -> bool:
    """Tell whether a call on an output line is there to make its text or bytes, and no work of its own."""
    if last_name(frame.function) in _TEXT_METHODS or frame.function == GC_FUNCTION:
        return True
    return origin(frame) is Origin.STDLIB or _is_text_library(frame.file)


def _library_sink(frame: Frame, emits_below: bool) -> Sink | None:
    if is_logging_file(frame.file):
        return Sink.RECORDS if emits_below else None
    return _written_by(frame)


def emitting_nodes(tree: CallTree) -> frozenset[int]:
    """The nodes with a log record being emitted in or below them."""
    found: set[int] = set()
    for node in tree.hot_nodes():
        if _emits(tree.frame(node)):
            found.add(node)
            for caller in tree.ancestors(node):
                if caller in found:
                    break
                found.add(caller)
    return frozenset(found)


@lru_cache(maxsize=4096)
def is_logging_file(file: str) -> bool:
    """Tell whether ``file`` is of a logging package: a project's own ``logging/`` is none."""
    match origin_of_file(file):
        case Origin.STDLIB:
            return bool(_STDLIB_LOGGING.search(file))
        case Origin.LIBRARY:
            return is_of_log_records(file)
        case _:
            return False


def _emits(frame: Frame) -> bool:
    """Tell whether the frame is only there for a record that is wanted."""
    if not is_logging_file(frame.file):
        return False
    if origin(frame) is Origin.LIBRARY:
        return _emits_in_library(frame.file)
    return last_name(frame.function) in _EMITTING_FUNCTIONS
