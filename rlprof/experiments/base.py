"""The contract of a treatment: a change of the running program that stands for a fix."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from rlprof.model.experiment import TreatmentKind
from rlprof.model.finding import Finding
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Function, SourceModule, Statement, parse
from rlprof.syntax.origin import Origin, origin_of_file

_RECEIVES: Final = frozenset(
    {"get", "get_nowait", "recv", "recv_bytes", "recv_bytes_into", "poll", "wait", "join", "result"}
    | {"acquire", "wait_for", "select", "next", "__next__"}
)

"""Functions of the standard library's that take messages."""

SENDS: Final = frozenset(
    {"put", "put_nowait", "send", "send_bytes", "sendall", "submit", "apply_async"}
)
"""Functions that send them: somebody may wait for each."""


class CannotTreatError(Exception):
    """The treatment does not fit this finding; the message says why, as the second half of a sentence."""


@dataclass(frozen=True, slots=True)
class PythonCallee:
    """A function of Python's that a line was seen to call, or that a part of training is entered by."""

    file: str
    line: int
    """First line of its code, or any."""
    name: str


@dataclass(frozen=True, slots=True)
class Patient:
    """A finding, with what the recording knows of the lines that it points at."""

    finding: Finding
    sources: Mapping[str, str]
    values: Values
    cwd: str

    @property
    def places(self) -> Sequence[tuple[str, int]]:
        """File and line of each location, the heaviest first. Raises :class:`CannotTreatError` where there is none."""
        if not self.finding.locations:
            raise CannotTreatError("it names no line")
        return [(place.file, place.line) for place in self.finding.locations]

    def module(self, file: str) -> SourceModule | None:
        text = self.sources.get(file)
        return None if text is None else parse(text)

    def statement(self, file: str, line: int) -> Statement | None:
        module = self.module(file)
        return None if module is None else module.statement_at(line)

    def function(self, file: str, line: int) -> Function:
        """The innermost function around a line. Raises :class:`CannotTreatError` at module level."""
        module = self.module(file)
        function = None if module is None else module.function_at(line)
        if function is None:
            raise CannotTreatError("its line is in no function")
        return function

    def known(self, file: str, line: int) -> Mapping[str, Value]:
        """Return what the operands of the statement at a line were seen to be, by their text."""
        statement = self.statement(file, line)
        return {} if statement is None else self.values.of(file, statement)

    def calls(self, file: str, line: int) -> Sequence[ast.Call]:
        """The calls on the statement at a line, the outer ones first."""
        statement = self.statement(file, line)
        return (
            [node for node in statement.walk() if isinstance(node, ast.Call)] if statement else []
        )

    def methods(self, file: str, line: int) -> set[str]:
        """Return the names behind a dot that the statement at a line calls: ``put`` of ``queue.put(item)``."""
        calls = self.calls(file, line)
        return {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}

    def callees(self, file: str, line: int) -> Sequence[PythonCallee]:
        """Return the functions of Python's that the statement at a line was seen to call, the outer ones first.

        None that waits for a message: without it, what it would have taken stays in its pipe or queue for ever.
        """
        known, found = self.known(file, line), []
        for node in self.calls(file, line):
            value = value_of(node.func, known)
            if value is not None and value.function and value.file and value.line:
                name = value.function.rpartition(".")[2]
                if origin_of_file(value.file) is not Origin.STDLIB or name not in _RECEIVES:
                    found.append(PythonCallee(value.file, value.line, name))
        return found

    def call_of(
        self, what: str, file: str, line: int, callee: PythonCallee, **more: str | int
    ) -> TreatmentPart:
        """A part that changes what becomes of the calls of ``callee`` by the statement at a line."""
        whose = call(what, callee.file, callee.line, callee.name, **more)
        return {**whose, **self._from_there(file, line)}

    def call_named(
        self, what: str, file: str, line: int, module: str, name: str, **more: str | int
    ) -> TreatmentPart:
        """The same of a function that is known by its qualified name in a module."""
        whose = {"way": "call", "what": what, "module": module, "qualname": name}
        return {**whose, **more, **self._from_there(file, line)}

    def call_in_c(
        self, what: str, file: str, line: int, module: str, name: str, **more: str | int
    ) -> TreatmentPart:
        """The same of a function in C that the statement takes from its module."""
        whose = {"way": "call", "what": what, "module": module, "attribute": name}
        return {**whose, **more, **self._from_there(file, line)}

    def _from_there(self, file: str, line: int) -> TreatmentPart:
        """Fields that keep a part to the calls that the statement at a line makes."""
        statement = self.statement(file, line)
        lines = range(line, line + 1) if statement is None else statement.lines
        return {"from_file": file, "from_line": lines[0], "to_line": lines[-1]}

    def call_of_function(self, what: str, file: str, line: int, **more: str | int) -> TreatmentPart:
        """A part that changes what becomes of all calls of the function around a line."""
        function = self.function(file, line)
        return call(what, file, function.code_line, function.node.name, **more)

    def edit(self, what: str, file: str, line: int, **more: str | int) -> TreatmentPart:
        """A part of a treatment that compiles the function around a line anew, with the statement there changed."""
        function = self.function(file, line)
        return {
            "way": "edit",
            "what": what,
            "file": file,
            "path": str(PurePath(self.cwd) / file),
            "line": function.code_line,
            "name": function.node.name,
            "at": line,
            **more,
        }

    def edits(
        self, what: str, places: Iterable[tuple[str, int]], **more: str | int
    ) -> list[TreatmentPart]:
        """The same of several lines, those of one function together: of two parts that compile it anew one alone would be on."""
        by_function: dict[tuple[str, int], dict[int, int]] = {}
        for file, line in places:
            module, statement = self.module(file), self.statement(file, line)
            function = None if module is None else module.function_at(line)
            if function is not None:
                first = line if statement is None else statement.first_line
                lines = by_function.setdefault((file, function.code_line), {})
                lines.setdefault(first, line)
        if not by_function:
            raise CannotTreatError("its line is in no function")
        return [
            self.edit(what, file, min(lines.values()), lines=_listed(lines.values()), **more)
            for (file, _), lines in by_function.items()
        ]


def _listed(lines: Iterable[int]) -> str:
    return " ".join(map(str, sorted(lines)))


def call(what: str, file: str, line: int, name: str, **more: str | int) -> TreatmentPart:
    """A part of a treatment that changes what becomes of calls of a function, by the first line of its code."""
    return {"way": "call", "what": what, "file": file, "line": line, "name": name, **more}


def setting(what: str, **more: str | int) -> TreatmentPart:
    return {"way": "setting", "what": what, **more}


def always(*parts: TreatmentPart) -> Callable[[Patient], Sequence[TreatmentPart]]:
    """The ``parts`` of a treatment that has the same ones for every finding."""
    return lambda _: [*parts]


_NONE: Final = always()


@dataclass(frozen=True, slots=True)
class Treatment:
    """One way to try the fix of some findings."""

    id: str
    """Lower-case words joined by hyphens; ``docs/treatments/<id>.md`` is its page."""
    does: str
    """Its effect on the program, for lists: a verb in the third person and its object."""
    kind: TreatmentKind
    findings: frozenset[str]
    """The ids of the detectors whose findings it tries."""
    parts: Callable[[Patient], Sequence[TreatmentPart]] = _NONE
    """Changes to ask the agents for. Raises :class:`CannotTreatError` where it does not fit."""
    changes_load: bool = False
    """True if it changes how many threads or processes want a core: then their waits for one are a part of what it saves."""
    leaves: float = 0.0
    """Part of the treated calls that are made all the same: a ceiling is that of none."""
    restart: str = ""
    """Name by which the agent knows it where it cannot be switched: it is applied when a run starts, and two runs take turns.
    ``parts`` then only tells whether it fits, and gives none."""
    on_gpus: bool = False
    """True if it is tried of every program that uses a GPU: its findings need traces, and a try takes none."""
    order: int = 0
    """Among those of one finding: the lowest is tried first."""
