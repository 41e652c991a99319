"""A program's word on how it is doing, and what it keeps of that: log records, prints, metrics, progress bars, rows, files.

Library code by its file and function, records of ``logging`` only where one was emitted, and the
user's own lines for what is written in C (``print``, ``writerow``, ``flush``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.outputs.saving import saving_calls
from rlprof.libraries.base import Sink
from rlprof.libraries.known import files_of
from rlprof.libraries.questions import is_of_log_records, slow_call_of
from rlprof.model.activity import FOR_OTHERS, WaitKind
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.recording import GC_FUNCTION, NO_PARENT, Frame
from rlprof.source.lines import UserLines, begins_process, last_name
from rlprof.source.outputs import METHODS, kind_of, output
from rlprof.source.values import Values, callee
from rlprof.source.wait_kinds import wait_of
from rlprof.source.waiting_calls import may_wait
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.origin import Origin, origin, origin_of_file

_STDLIB_LOGGING: Final = re.compile(r"[/\\]logging[/\\](__init__|handlers)\.py$")
_EMITTING_FUNCTIONS: Final = frozenset(
    {"_log", "handle", "callHandlers", "makeRecord", "findCaller", "emit", "format", "flush"}
)

_emits_in_library: Final = files_of(lambda library: library.emits)

_WRITERS: Final = {
    Sink.REPLACING: r"^(replace|rename)$",
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

ON_FILES: Final = frozenset({Sink.SYNCS, Sink.REPLACING, Sink.OPENING, Sink.FILES})
_OPENED_AND_WRITTEN: Final = frozenset({Sink.OPENING, Sink.FILES})
"""On one line nobody knows which of them takes how much."""

_is_text_library: Final = files_of(lambda library: library.makes_text)
_TEXT_METHODS: Final = frozenset({"__str__", "__repr__", "__format__"})
_CHEAP: Final = frozenset(
    {"len", "int", "float", "bool", "abs", "round", "str", "repr", "format", "join", "fileno", "get", "time"}
    | {"perf_counter", "monotonic", "strftime", "now", "item", "strip", "ljust", "rjust", "title", "type"}
    | {"detach", "cpu", "dumps", "asdict", "tolist", "copy", "dict", "list", "tuple"}
)  # fmt: skip
"""Calls whose time beside that of writing is nothing, or is for its text."""

_WAITS: Final = FOR_OTHERS | {WaitKind.SLEEP}

_MOST_ASLEEP: Final = 0.05
"""Part of its time that a line may sleep on which another call may wait: what writes is not known to be it."""


class Output(NamedTuple):
    """Nodes whose own time is output, in the user's lines and all below."""

    sinks: dict[int, Sink]
    shared: frozenset[int]
    """Those of lines that call something else in C, too: nobody knows which of them takes how much."""


class _OnLine(NamedTuple):
    sink: Sink
    is_alone: bool
    waits: bool = False
    """True if another call of the line may wait for somebody."""
    beside: frozenset[str] = frozenset()
    """Functions that are called beside what writes, and not for its text."""


class _Calls(NamedTuple):
    sinks: list[Sink]
    """The things that the calls of a statement write."""
    others: list[ast.Call]
    """Those that write nothing and are in C."""
    beside: list[ast.Call]
    """Those that write nothing, and do not make what is written."""


_SCOPES: Final[Mapping[str, type[ast.AST]]] = {
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
    "<lambda>": ast.Lambda,
}
"""Functions without a name, which have frames of their own on the line that they are written on."""


class _OutputLines:
    """Output that the user's lines write, each looked at once."""

    def __init__(self, lines: UserLines, values: Values) -> None:
        self._lines = lines
        self._values = values
        self._known: dict[tuple[str, int, str], _OnLine | None] = {}

    def at(self, frame: Frame) -> _OnLine | None:
        key = (
            frame.file,
            frame.line,
            frame.function if last_name(frame.function) in _SCOPES else "",
        )
        if key not in self._known:
            self._known[key] = self._read(frame)
        return self._known[key]

    def is_beside(self, frame: Frame, caller: Frame) -> bool:
        """Tell whether a call from a line that writes is none for its text: it waits for somebody, or is called beside what writes."""
        if wait_of(frame) in _WAITS:
            return True
        on_line = self.at(caller) if self._lines.is_yours(caller) else None
        return on_line is not None and last_name(frame.function) in on_line.beside

    def _read(self, frame: Frame) -> _OnLine | None:
        module = self._lines.module(frame.file)
        if module is None:
            return None
        scope = _SCOPES.get(last_name(frame.function))
        statements = module.statements_at(frame.line)
        calls = [self._calls(frame.file, each, module, scope) for each in statements]
        sinks = {sink for each in calls for sink in each.sinks}
        if not sinks:
            return self._made_text(frame, statements, module, scope) if scope else None
        others = [call for each in calls for call in each.others]
        beside = [call for each in calls for call in each.beside]
        return _OnLine(
            next(sink for sink in Sink if sink in sinks),
            is_alone=not others and not sinks.issuperset(_OPENED_AND_WRITTEN),
            waits=any(map(may_wait, others + beside)),
            beside=frozenset(map(called_name, beside)) - _CHEAP,
        )

    def _made_text(
        self,
        frame: Frame,
        statements: Sequence[Statement],
        module: SourceModule,
        scope: type[ast.AST],
    ) -> _OnLine | None:
        """Return what takes what a comprehension or a lambda without output of its own makes: its time may be that of the text."""
        for statement in statements:
            known = self._values.of(frame.file, statement)
            for call in statement.walk():
                sink = output(call, known, module) if isinstance(call, ast.Call) else None
                if sink is not None and any(isinstance(part, scope) for part in ast.walk(call)):
                    return _OnLine(sink, is_alone=False)
        return None

    def _calls(
        self, file: str, statement: Statement, module: SourceModule, scope: type[ast.AST] | None
    ) -> _Calls:
        """Sort the calls of a statement; of those in its comprehensions and lambdas where they have a frame of their own, ``scope``."""
        calls = [
            node
            for part in (statement.walk() if scope is None else _inside(statement, scope))
            if isinstance(node := part, ast.Call)
        ]
        known = self._values.of(file, statement) if calls else {}
        found = _Calls([], [], [])
        inside: set[int] = set()
        for call in calls:
            sink = output(call, known, module) if id(call) not in inside else None
            if sink is not None:
                inside.update(map(id, ast.walk(call)))
                found.sinks.append(sink)
                continue
            if id(call) not in inside:
                found.beside.append(call)
            if called_name(call) not in _CHEAP and not callee(call, known, module).is_python:
                found.others.append(call)
        return found


def _inside(statement: Statement, scope: type[ast.AST]) -> Iterator[ast.AST]:
    for part in statement.walk():
        if isinstance(part, scope):
            yield from ast.walk(part)


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
        elif (
            parent in found
            and _is_for_output(frame)
            and not (found[parent] in ON_FILES and _is_a_slow_call(frame))
            and not own.is_beside(frame, tree.frame(parent))
        ):
            found[node] = found[parent]
            below.add(node)
        elif lines.is_yours(frame):
            on_line = own.at(frame) or _calls_a_library(lines, frame, callers)
            if on_line is None or (on_line.waits and _sleeps(tree.self_cost(node))):
                continue
            if _may_be(lines, node, on_line.sink, is_saving):
                found[node] = on_line.sink
                if not on_line.is_alone:
                    shared.add(node)
    return Output(found, frozenset(shared))


def _sleeps(cost: Cost) -> bool:
    return cost.idle_us > _MOST_ASLEEP * cost.wall_us


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


def _is_a_slow_call(frame: Frame) -> bool:
    """Tell whether it makes what is written in a way that is a finding of its own (``file.write(json.dumps(history))``)."""
    return slow_call_of(frame) is not None and last_name(frame.function) not in METHODS


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
