"""Calls that save a model, a buffer or a state to disk: a library's functions, or the user's lines that call them in C."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Final

from rlprof.libraries.known import files_of
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.source.outputs import is_record, output
from rlprof.source.value import Value
from rlprof.source.values import Values, callee
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    Statement,
    called_name,
)
from rlprof.syntax.nodes import calls_in, given_to, reads_of
from rlprof.syntax.origin import Origin, origin

_writes: Final = files_of(lambda library: library.saving)

_SAVERS: Final = frozenset(
    {"save", "savez", "savez_compressed", "dump", "save_file", "save_to_zip_file"}
)
"""Functions of such code that write; those that read have other names."""

_SAVES: Final = frozenset(
    {"save", "savez", "savez_compressed", "dump", "save_file", "save_checkpoint", "save_pretrained",
     "save_weights", "save_replay_buffer", "write_checkpoint"}
)  # fmt: skip
"""Calls on the user's line that save something."""

_PICKLES: Final = frozenset({"pickle.dumps", "cloudpickle.dumps", "dill.dumps"})
"""Functions that make the bytes of what is saved, where the program writes them itself. Texts of JSON are records of what happened."""
_PLACES: Final = frozenset({"os.replace", "os.rename"})
"""Functions that put what was saved in the place of the last one."""
_WHOLE: Final = re.compile(r"[wx]b?\+?")
"""Modes that write a file anew: to be added to, it takes what happened."""
_OPENS: Final = re.compile(r"open|File", re.IGNORECASE)
"""Names of functions that open a file."""
_ROWS: Final = "json.dump"
"""Saves no model: what is written with it again and again are records of what happened."""


def saving_calls(lines: UserLines, values: Values) -> Iterator[int]:
    """The topmost nodes that save: a library's function, or the user's line that calls it in C."""
    for node in lines.tree.topmost(partial(_saves, lines, values)):
        if not _makes_bytes(lines, values, node):
            yield node


def _makes_bytes(lines: UserLines, values: Values, node: int) -> bool:
    """Tell whether what a library writes is the bytes that its ``dumps`` gives back, on a line that writes nothing: ``cloudpickle.dumps(env)``."""
    tree = lines.tree
    above = tree.nodes[node].parent
    if above == NO_PARENT or last_name(tree.frame(above).function) != "dumps":
        return False
    owner = lines.owner(above)
    frame = tree.frame(owner) if owner != NO_PARENT else None
    module = lines.module(frame.file) if frame is not None else None
    return (
        frame is None
        or module is None
        or not any(
            output(call, values.of(frame.file, statement), module)
            for statement in module.statements_at(frame.line)
            for call in statement.calls()
        )
    )


def _saves(lines: UserLines, values: Values, frame: Frame) -> bool:
    if origin(frame) is not Origin.YOURS:
        return last_name(frame.function) in _SAVERS and _writes(frame.file)
    module, statement = lines.module(frame.file), lines.statement(frame)
    if module is None or statement is None:
        return False
    if _is_save(statement, module, values.of(frame.file, statement)):
        return True
    if not any(full_name(call.func, module.imports) in _PLACES for call in statement.calls()):
        return False
    others = module.of_function(statement.function) if statement.function else ()
    return any(_is_save(each, module, values.of(frame.file, each)) for each in others)


def _is_save(statement: Statement, module: SourceModule, known: Mapping[str, Value]) -> bool:
    parts = statement.walk()
    if isinstance(statement.node, ast.With) and _opens(statement.node):
        # The file is opened to save something to it.
        parts = chain(parts, ast.walk(ast.Module(statement.node.body, [])))
    calls = [part for part in parts if isinstance(part, ast.Call)]
    callees = (
        callee(call, known, module)
        for call in calls
        if called_name(call) in _SAVES and not is_record(call, known, module)
    )
    if any(not called.is_yours and called.name != _ROWS for called in callees):
        return True
    function = statement.function
    return function is not None and not _saved_bytes(module, function).isdisjoint(map(id, calls))


@lru_cache(maxsize=PARSED_FILES)
def _saved_bytes(module: SourceModule, function: Function) -> frozenset[int]:
    """Return the calls of a function that make the bytes of objects, and those that write them to a file as all that it holds:
    ``blob = pickle.dumps(state)``, ``with open(path, "wb") as file: file.write(blob)``.
    """
    found: set[int] = set()
    for write, given in _whole_writes(function):
        made = only_value(function, given.id) if isinstance(given, ast.Name) else given
        if not isinstance(made, ast.Call) or full_name(made.func, module.imports) not in _PICKLES:
            continue
        if isinstance(given, ast.Name) and len(reads_of(given.id, ast.walk(function.node))) > 1:
            continue  # Somebody else gets them, too.
        found |= {id(write), id(made)}
    return frozenset(found)


def _whole_writes(function: Function) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield the calls that write a file anew, and what they are given."""
    for node in ast.walk(function.node):
        match node:
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as opened)], body=body) if (
                _OPENS.search(called_name(opened)) and _is_whole(opened)
            ):
                for call in calls_in(*body):
                    if called_name(call) == "write" and len(call.args) == 1:
                        yield call, call.args[0]
            case ast.Call(func=ast.Attribute(attr="write_bytes"), args=[given]):
                yield node, given


def _is_whole(opened: ast.Call) -> bool:
    return any(
        isinstance(each, ast.Constant)
        and isinstance(each.value, str)
        and _WHOLE.fullmatch(each.value)
        for each in given_to(opened)
    )


def _opens(node: ast.With) -> bool:
    """Tell ``with open(path) as file`` from a pool, a lock or a range of a profiler, in whose body something is saved as well."""
    calls = (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call))
    return any(_OPENS.search(called_name(call)) for call in calls)
