"""Where a program tells how it is doing: log records, prints, metrics, progress bars, rows of a CSV.

Library code by its file and function, records of ``logging`` only where one was emitted, and the
user's own lines for what is written in C (``print``, ``writerow``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rlprof.libraries.base import Sink
from rlprof.libraries.known import files_of
from rlprof.model.calltree import CallTree
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.origin import Origin, origin, origin_of_file

_STDLIB_LOGGING: Final = re.compile(r"[/\\]logging[/\\](__init__|handlers)\.py$")
_EMITTING_FUNCTIONS: Final = frozenset(
    {"_log", "handle", "callHandlers", "makeRecord", "findCaller", "emit", "format", "flush"}
)


def _files_of(sink: Sink) -> Callable[[str], bool]:
    return files_of(lambda library: library.sinks.get(sink))


_is_logging_library: Final = _files_of(Sink.RECORDS)
_emits_in_library: Final = files_of(lambda library: library.emits)

_WRITERS: Final = {
    # No wider: mlflow's and wandb's drivers call the whole training.
    Sink.METRICS: r"^_?(add_\w+|log(_\w+)?|track|record(_\w+)?|dump|write\w*|append|flush)$",
    # ``__iter__`` is left out: the iterated data is made below it.
    Sink.PROGRESS: r"^(set_(postfix|description)(_str)?|refresh|display|update|advance|write)$",
    Sink.PRINT: r"^(print|log|echo)$",
    Sink.ROWS: r"^(writerows?|_dict_to_list)$",
}
"""Functions of libraries that write, by what takes the output."""

_LIBRARIES: Final = tuple(
    (sink, _files_of(sink), re.compile(functions)) for sink, functions in _WRITERS.items()
)

_PRINTS: Final = frozenset({"print", "pprint", "pp"})
_ROW_WRITERS: Final = frozenset({"writerow", "writerows"})
_WRITES: Final = frozenset({"write", "writelines", "flush"})
_TEXT_OUTPUT: Final = re.compile(r"^std(out|err)$|(^|_)log(s|ger|file|_file)?$", re.IGNORECASE)

_is_text_library: Final = files_of(lambda library: library.makes_text)
_TEXT_METHODS: Final = frozenset({"__str__", "__repr__", "__format__"})


def find_output(lines: UserLines) -> dict[int, Sink]:
    """Nodes whose own time is output, in the user's lines that do nothing else and all below."""
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
        if (parent := tree.nodes[top].parent) != NO_PARENT
    }
    found: dict[int, Sink] = {}
    in_text: set[int] = set()
    for node in tree.hot_nodes():
        parent = tree.nodes[node].parent
        frame = tree.frame(node)
        if parent in in_text:
            found[node] = found[parent]
            in_text.add(node)
        elif node in tops:
            found[node] = tops[node]
            in_text.add(node)
        elif parent in found and _makes_text(frame):
            found[node] = found[parent]
            in_text.add(node)
        elif lines.is_yours(frame) and (sink := _line_sink(lines, frame, callers)) is not None:
            found[node] = sink
    return found


def _line_sink(lines: UserLines, frame: Frame, callers: dict[Frame, Sink]) -> Sink | None:
    """What the user's line writes to, where writing is all that it is for."""
    statement = lines.statement(frame)
    if statement is None or not isinstance(statement.node, ast.Expr):
        return None
    call = statement.node.value
    if not isinstance(call, ast.Call):
        return None
    return _sink_in_c(call) or _sink_of_lines(frame, statement, callers)


def _sink_in_c(call: ast.Call) -> Sink | None:
    name = called_name(call)
    if name in _PRINTS:
        return Sink.PRINT
    if name in _ROW_WRITERS:
        return Sink.ROWS
    if name in _WRITES and isinstance(call.func, ast.Attribute):
        on = call.func.value
        receiver = on.attr if isinstance(on, ast.Attribute) else getattr(on, "id", "")
        return Sink.PRINT if _TEXT_OUTPUT.search(receiver) else None
    return None


def _sink_of_lines(frame: Frame, statement: Statement, callers: dict[Frame, Sink]) -> Sink | None:
    for line in range(statement.first_line, statement.last_line + 1):
        if (sink := callers.get(frame._replace(line=line))) is not None:
            return sink
    return None


def _makes_text(frame: Frame) -> bool:
    """Whether a call on an output line is there to make its text, and no work of its own."""
    if last_name(frame.function) in _TEXT_METHODS:
        return True
    return origin(frame) is Origin.STDLIB or _is_text_library(frame.file)


@lru_cache(maxsize=65536)
def _library_sink(frame: Frame, emits_below: bool) -> Sink | None:
    if is_logging_file(frame.file):
        return Sink.RECORDS if emits_below else None
    for sink, functions in _sinks_in(frame.file):
        if functions.search(last_name(frame.function)):
            return sink
    return None


@lru_cache(maxsize=4096)
def _sinks_in(file: str) -> tuple[tuple[Sink, re.Pattern[str]], ...]:
    if origin_of_file(file) not in (Origin.LIBRARY, Origin.STDLIB):
        return ()
    return tuple((sink, functions) for sink, writes, functions in _LIBRARIES if writes(file))


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
    """Whether ``file`` is of a logging package: a project's own ``logging/`` is none."""
    match origin_of_file(file):
        case Origin.STDLIB:
            return bool(_STDLIB_LOGGING.search(file))
        case Origin.LIBRARY:
            return _is_logging_library(file)
        case _:
            return False


def _emits(frame: Frame) -> bool:
    """Whether the frame is only there for a record that is wanted."""
    if not is_logging_file(frame.file):
        return False
    if origin(frame) is Origin.LIBRARY:
        return _emits_in_library(frame.file)
    return last_name(frame.function) in _EMITTING_FUNCTIONS
