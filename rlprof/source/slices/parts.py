"""Tell what the value of an expression may be a part of: to change it in place changes that, too."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rlprof.source.slices.model import DataPlace, Doing, Judge
from rlprof.source.slices.names import NameScope, ProgramNames
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import called_name, receiver
from rlprof.syntax.nodes import given_to
from rlprof.syntax.pure_calls import makes


class Parts(NamedTuple):
    """The places whose object it may be, or be a part of."""

    places: frozenset[DataPlace]
    are_all: bool
    """False if it may be a part of something that no place shows."""


_NOTHING = Parts(frozenset(), True)
_UNKNOWN = Parts(frozenset(), False)


def parts_of(
    value: ast.expr, scope: NameScope, names: ProgramNames, imports: Mapping[str, str], judge: Judge
) -> Parts:
    """Return what ``value`` may be a part of, as seen in ``scope``."""
    return _Search(names, imports, judge).of(value, scope)


class _Search:
    def __init__(self, names: ProgramNames, imports: Mapping[str, str], judge: Judge) -> None:
        self._names = names
        self._imports = imports
        self._judge = judge
        self._seen: set[DataPlace | str] = set()
        """Variables and functions that were looked at, which may come back to themselves."""

    def of(self, value: ast.expr | None, scope: NameScope) -> Parts:
        match value:
            case ast.Name(id=name):
                return self._of_name(name, scope)
            case ast.Attribute(attr=name) if name in self._names.attributes:
                return self._of_attribute(name)
            case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner):
                return self.of(inner, scope)
            case ast.IfExp(body=one, orelse=other):
                return self._of_any([one, other], scope)
            case (
                ast.BoolOp(values=several)
                | ast.Tuple(elts=several)
                | ast.List(elts=several)
                | ast.Set(elts=several)
                | ast.Dict(values=several)
            ):
                return self._of_any(several, scope)
            case ast.ListComp(elt=each) | ast.SetComp(elt=each) | ast.GeneratorExp(elt=each):
                return self.of(each, scope)
            case ast.Call():
                return self._of_call(value, scope)
        return _NOTHING if value is not None and makes(value, ()) else _UNKNOWN

    def _of_name(self, name: str, scope: NameScope) -> Parts:
        holder = scope.holder(name)
        place = DataPlace(holder.key, name)
        if place in self._seen:
            return _NOTHING
        self._seen.add(place)
        if name in self._imports:
            return Parts(frozenset({place}), False)
        inner = self._of_any(holder.values.get(name, ()), holder)
        return Parts(inner.places | {place}, inner.are_all)

    def _of_attribute(self, name: str) -> Parts:
        place = DataPlace("", f".{name}")
        if place in self._seen:
            return _NOTHING
        self._seen.add(place)
        inner = _joined(self.of(value, scope) for value, scope in self._names.given[name])
        return Parts(inner.places | {place}, inner.are_all)

    def _of_call(self, call: ast.Call, scope: NameScope) -> Parts:
        if makes(call, ()) or called_name(call) in self._names.classes:
            return _NOTHING
        if functions := self._names.called(call, self._imports):
            new = [each for each in functions if each.scope.key not in self._seen]
            self._seen.update(each.scope.key for each in new)
            told = [self._of_any(each.scope.returned, each.scope) for each in new]
            return _joined(told)
        if self._judge(scope.file, call) is Doing.ACTS:
            return _UNKNOWN
        owner = receiver(call)
        owners = [owner] if owner is not None and not full_name(call.func, self._imports) else []
        return self._of_any([*owners, *given_to(call)], scope)

    def _of_any(self, values: Iterable[ast.expr | None], scope: NameScope) -> Parts:
        return _joined(self.of(value, scope) for value in values)


def _joined(several: Iterable[Parts]) -> Parts:
    told = [*several]
    return Parts(
        frozenset().union(*(each.places for each in told)), all(each.are_all for each in told)
    )
