"""The contract of a treatment: a change of the running program that stands for a fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rlprof.model.experiment import TreatmentKind
from rlprof.model.finding import Finding
from rlprof.recording.treatment_desk import TreatmentPart
from rlprof.source.value import Value
from rlprof.source.values import Values
from rlprof.syntax.module import Function, SourceModule, Statement, parse


class CannotTreatError(Exception):
    """The treatment does not fit this finding; the message says why, as the second half of a sentence."""


@dataclass(frozen=True, slots=True)
class SeenCallee:
    """A function of Python's that a line was seen to call."""

    operand: str
    """As the line has it: ``agent.act``."""
    file: str
    line: int
    """First line of its code."""
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

    def callees(self, file: str, line: int) -> Sequence[SeenCallee]:
        """Return the functions of Python's that the statement at a line was seen to call."""
        found = []
        for operand, value in self.known(file, line).items():
            fields = value.fields
            if "function" in fields and "file" in fields and fields.get("line", "").isdigit():
                name = fields["function"].rpartition(".")[2]
                found.append(SeenCallee(operand, fields["file"], int(fields["line"]), name))
        return found

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


def call(what: str, file: str, line: int, name: str, **more: str | int) -> TreatmentPart:
    """A part of a treatment that changes what becomes of calls of a function, by the first line of its code."""
    return {"way": "call", "what": what, "file": file, "line": line, "name": name, **more}


def setting(what: str, **more: str | int) -> TreatmentPart:
    return {"way": "setting", "what": what, **more}


@dataclass(frozen=True, slots=True)
class Treatment:
    """One way to try the fix of some findings."""

    id: str
    """Lower-case words joined by hyphens; ``docs/treatments/<id>.md`` is its page."""
    does: str
    """What it does to the program, for lists: a verb in the third person and its object."""
    kind: TreatmentKind
    findings: frozenset[str]
    """The ids of the detectors whose findings it tries."""
    parts: Callable[[Patient], Sequence[TreatmentPart]]
    """Changes to ask the agents for. Raises :class:`CannotTreatError` where it does not fit."""
    changes_load: bool = False
    """True if it changes how many threads or processes want a core: then their waits for one are a part of what it saves."""
    restart: str = ""
    """Name by which the agent knows it where it cannot be switched: it is applied when a run starts, and two runs take turns.
    ``parts`` then only tells whether it fits, and gives none."""
    order: int = 0
    """Among those of one finding: the lowest is tried first."""
