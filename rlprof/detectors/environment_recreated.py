"""Environments that are made anew for each episode, where a reset would do."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LineTime, SteadySearch
from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, begins_process, last_name
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    assigned_variable,
    called_name,
    variables_assigned,
)
from rlprof.syntax.nodes import arguments_of, calls_in, names_in
from rlprof.syntax.origin import Origin, origin
from rlprof.syntax.pure_calls import is_built_in, only_computes

MIN_SHARE: Final = 0.02
"""Least share of the critical time. Environments of an evaluation now and then stay below it."""

REMOVABLE: Final = Range(0.6, 1.0)
"""Part of the making that goes: a reset stays, which is a part of it at most where the class resets itself when it is
made."""

OF_DIFFERENT: Final = Range(0.0, 1.0)
"""The same where each is given something else, by which its world may have to be laid out again. By reason."""

_AFTERWARDS: Final = frozenset({"seed", "options"})
"""Arguments of a maker that a reset takes as well."""
_MOST_LEVELS: Final = 4
"""Functions from the line that makes one up to the loop."""

_INTERFACE: Final = frozenset({"reset", "step"})
"""Methods that make a class an environment, whoever wrote it: Gym's interface since 2016."""


class _Search(SteadySearch):
    """Finds where environments are made in the steady phase, over and over."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._classes: dict[str, dict[str, frozenset[str]]] = {}
        self._stepped = frozenset(
            (value.file, last_name(value.type))
            for file in profile.sources
            for value in self._stepped_in(file)
        )
        """Classes, by file and name, whose objects were seen to be stepped like environments."""
        self.time = LineTime(profile, self.lines)
        self.differing: dict[Line, set[str]] = {}
        """What each one is given that differs from turn to turn, as written."""
        self.checking: set[int] = set()
        self.checking_us = 0

    def run(self) -> None:
        inside: set[int] = set()
        for node in self.tree.hot_nodes():
            parent = self.tree.nodes[node].parent
            if parent in inside and not begins_process(self.tree.frame(node)):
                inside.add(node)
            elif parent != NO_PARENT and self._makes(node):
                inside.add(node)
                owner = self.lines.owner(parent)
                if owner != NO_PARENT and self.lines.is_repeated(owner):
                    self._add(node, self.lines.line(owner))
                    differing = self.differing.setdefault(self.lines.line(owner), set())
                    differing.update(self._differing(owner))
        if self.time.weights:
            self._claim_checks()

    def _add(self, making: int, line: Line) -> None:
        """Add what making one takes, without the work of a process that is forked meanwhile to step it."""
        own = list(self.tree.subtree(making, lambda node: begins_process(self.tree.frame(node))))
        if us := self.tree.cost_of(own).wall_us:
            self.time.add(line, us, own)

    def _differing(self, node: int) -> Iterator[str]:
        """Yield what is given to a call on the line of ``node``, or to its function in a loop, and is made anew in the turns of that loop."""
        called = ""
        for _ in range(_MOST_LEVELS):
            frame = self.tree.frame(node)
            module, statement = self.lines.module(frame.file), self.lines.statement(frame)
            if module is None or statement is None:
                return
            given = [*_given(statement, called)]
            loop = module.innermost_loop(frame.line)
            if loop is not None:
                made = variables_assigned(loop) - variables_assigned(statement.node)
                yield from (ast.unparse(each) for each in given if _differs(each, made, module))
                return
            function = statement.function
            node = self.lines.owner(self.tree.nodes[node].parent)
            is_handed_on = function and names_in(*given) & {*arguments_of(function.node)}
            if node == NO_PARENT or function is None or not is_handed_on:
                return
            called = function.node.name

    def _claim_checks(self) -> None:
        """Claim what is done once for each new environment in its first steps, without these."""
        for node in self.tree.hot_nodes():
            frame = self.tree.frame(node)
            is_below = self.tree.nodes[node].parent in self.checking
            if duty_of(frame) is Duty.CHECKS_NEW_ENVIRONMENTS or (
                is_below and last_name(frame.function) not in _INTERFACE
            ):
                self.checking.add(node)
                self.checking_us += self.tree.self_cost(node).wall_us

    def _makes(self, node: int) -> bool:
        """Tell whether ``node`` is the first frame of an environment's making."""
        frame = self.tree.frame(node)
        if origin(frame) is Origin.LIBRARY:
            return duty_of(frame) is Duty.MAKES_ENVIRONMENTS
        return last_name(frame.function) == "__init__" and (
            self._is_environment(frame) or self._is_made_there(node)
        )

    def _is_environment(self, frame: Frame) -> bool:
        """Tell whether the class whose ``__init__`` it is has what makes an environment."""
        module = self.lines.module(frame.file)
        function = module.function_at(frame.line) if module else None
        if module is None or function is None or not function.class_name:
            return False
        if (frame.file, function.class_name) in self._stepped:
            return True
        if frame.file not in self._classes:
            self._classes[frame.file] = _methods(module)
        return self._classes[frame.file].get(function.class_name, frozenset()) >= _INTERFACE

    def _stepped_in(self, file: str) -> Iterator[Value]:
        module = self.lines.module(file) if self.values.has(file) else None
        for step in _steps(module) if module else ():
            stepped = value_of(step.owner, self.values.of(file, step.statement))
            if stepped is not None and module and _is_asked(step, module):
                yield stepped

    def _is_made_there(self, node: int) -> bool:
        """Tell whether the line that calls it makes an environment of a library's interface."""
        parent = self.tree.nodes[node].parent
        frame = self.tree.frame(parent)
        statement = self.lines.statement(frame) if self.lines.is_yours(frame) else None
        if statement is None:
            return False
        known: Mapping[str, Value] = self.values.of(frame.file, statement)
        for call in statement.walk():
            callee = value_of(call.func, known) if isinstance(call, ast.Call) else None
            if callee is not None and callee.made and callee.is_environment:
                return True
        return _is_stepped_below(statement, self.lines.module(frame.file))


def detect(profile: Profile) -> Iterable[Finding]:
    search = _Search(profile)
    search.run()
    time = search.time
    if not time.is_worth(MIN_SHARE):
        return
    differing = sorted(search.differing.get(time.heaviest, ()))
    too = ", and in checking their first steps" if search.checking_us else ""
    yield Finding(
        title=f"environments are made anew again and again ({time.place})",
        savings=(Saving(time.nodes | search.checking, OF_DIFFERENT if differing else REMOVABLE),),
        locations=time.locations,
        evidence=(time.share_spent(f"in making them{too}", search.checking_us),),
        fix=_fix(differing),
        confidence=Confidence.BOUNDED if differing else Confidence.MEASURED,
    )


def _fix(differing: list[str]) -> str:
    if not differing:
        return (
            "Make the environment once, before the loop, and call its reset() for each episode; keep one for evaluation "
            "beside it. What differs from episode to episode goes through reset(seed=..., options=...)."
        )
    return (
        f"Each is given something of its own ({', '.join(differing)}). Where these are few, make an environment for each once, before the loop, and "
        "keep it. Else make one whose reset(options=...) takes it and lays out its world by it: a class of your own, where the "
        "library's takes it only as it is made."
    )


def _given(statement: Statement, called: str) -> Iterator[ast.expr]:
    """Yield what the calls of a statement are given, or those of ``called`` alone, but for environments that others are made around."""
    for call in statement.calls():
        if called and called_name(call) != called:
            continue
        yield from (each for each in call.args[:1] if not isinstance(each, ast.Call))
        yield from call.args[1:]
        yield from (given.value for given in call.keywords if given.arg not in _AFTERWARDS)


def _differs(given: ast.expr, made: set[str], module: SourceModule) -> bool:
    """Tell whether it is made of what each turn makes, or by a call that may give another thing each time."""
    if not names_in(given).isdisjoint(made):
        return True
    return any(
        not is_built_in(name) and not only_computes(name)
        for call in calls_in(given)
        if (name := full_name(call.func, module.imports) or ast.unparse(call.func))
    )


class _Step(NamedTuple):
    """A statement of a loop that may step an environment: a method is given one thing, and what it gives back is taken apart."""

    statement: Statement
    owner: ast.expr
    """Whose method it is."""
    results: list[ast.expr]


def _steps(module: SourceModule) -> Iterator[_Step]:
    for statement in module.statements:
        match statement.node:
            case ast.Assign(
                [ast.Tuple([_, _, *_] as results)], ast.Call(ast.Attribute(owner), [_])
            ):
                if statement.in_loop:
                    yield _Step(statement, owner, results)


def _is_stepped_below(made: Statement, module: SourceModule | None) -> bool:
    """Tell whether what a statement makes is stepped like an environment in the same function."""
    name, _ = assigned_variable(made.node)
    if not name or made.function is None or module is None:
        return False
    return any(
        isinstance(step.owner, ast.Name)
        and step.owner.id == name
        and step.statement.function is made.function
        for step in _steps(module)
    )


def _is_asked(step: _Step, module: SourceModule) -> bool:
    """Tell whether a condition of the same function asks for a result as it is, from the third on, as it does for the end of an episode:
    ``if over``, ``while not over``, but not ``if loss > 3``.
    """
    names = {result.id for result in step.results[2:] if isinstance(result, ast.Name)}
    tests: list[ast.expr] = []
    for statement in module.of_function(step.statement.function):
        tests += statement.conditions
        tests += [statement.node.test] if isinstance(statement.node, ast.If | ast.While) else []
    parts = [part for test in tests for part in _operands(test)]
    return any(isinstance(part, ast.Name) and part.id in names for part in parts)


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _operands(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _operands(operand)
        case _:
            yield test


def _methods(module: SourceModule) -> dict[str, frozenset[str]]:
    """The methods of each class of a file, those of its bases in the same file included; a ``step`` that is given no action is none."""
    classes = {node.name: node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    own = {
        name: {
            method.name
            for method in node.body
            if isinstance(method, ast.FunctionDef)
            and (method.name != "step" or len(method.args.args) > 1 or method.args.vararg)
        }
        for name, node in classes.items()
    }
    for name, node in classes.items():
        for base in node.bases:
            own[name] |= own.get(getattr(base, "id", ""), set())
    return {name: frozenset(methods) for name, methods in own.items()}


DETECTOR: Final = Detector(
    id="environment-recreated",
    name="environments made anew for each episode",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
