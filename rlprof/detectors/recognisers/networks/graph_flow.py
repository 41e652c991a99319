"""Follow a graph by name through the statements of one function, as they run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rlprof.detectors.recognisers.networks.graph_asked import (
    CUTS,
    STORES,
    AskedAtLine,
    GraphUse,
    Scope,
    differentiates,
    gives_graph_back,
    is_index,
    is_of_a_known_module,
    last_name_of,
    owner,
    reads_all_names,
    reads_only,
)
from rlprof.syntax.module import called_name, variables_read
from rlprof.syntax.nodes import given_to, made_each_turn, parts_alike

_MOST_ROUNDS: Final = 8
"""Rounds of a loop that may each give the graph to one more name; where that is too few it is taken to be kept."""


OfCall = Callable[[ast.Call, bool, Sequence[ast.expr], bool], GraphUse | None]
"""Of a call, whether its object has a part of the graph, the arguments that do, and whether unknown functions keep it."""


class Flow:
    """The names of one function that hold parts of a graph, statement after statement."""

    def __init__(
        self, scope: Scope, asked: AskedAtLine, given: frozenset[str], of_call: OfCall
    ) -> None:
        """``given`` are the parameters that come with a part of it."""
        self.was_seen = False
        """True once something was called that gives the graph."""
        self._scope = scope
        self._asked = asked
        self._given = given
        self._of_call = of_call
        self._at_call = False
        self._uses = {GraphUse.DROPPED}
        self._held: set[str] = set()
        self._ever: set[str] = set()
        self._filled: set[str] = set()
        """Containers made here that are given a part of it, at some time."""
        self._later: set[str] = set()
        """Names that lambdas read, whenever they are called."""
        self._loops: list[set[str]] = []
        self._tries: list[set[str]] = []

    def follow(self, body: Sequence[ast.stmt]) -> GraphUse:
        filled = None
        # Again where a container was filled: it may have been handed on while it was empty.
        while filled != self._filled:
            filled = set(self._filled)
            self._held = set(self._given)
            self._ever |= self._given
            self._run(body)
        if self._ever & (self._scope.read_elsewhere | self._later):
            self._keep()
        for use in (GraphUse.KEPT, GraphUse.RETURNED):
            if use in self._uses:
                return use
        return GraphUse.DROPPED

    def _keep(self) -> None:
        self._uses.add(GraphUse.KEPT)

    # --- statements --------------------------------------------------------------------------

    def _run(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self._at_call = id(node) in self._asked.statements
            self._run_one(node)

    def _run_one(self, node: ast.stmt) -> None:
        match node:
            case ast.If():
                self._run_branches(node)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._run_loop(node)
            case ast.Try():
                self._run_try(node)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    has_it = self._holds(item.context_expr)
                    if item.optional_vars:
                        self._assign(item.optional_vars, has_it)
                self._run(node.body)
            case ast.Match():
                if self._holds(node.subject):
                    self._keep()
                self._join(case.body for case in node.cases)
            case ast.ClassDef():
                self._run(node.body)
            case ast.Return():
                if self._holds(node.value):
                    self._uses.add(GraphUse.RETURNED)
                self._held = set()
            case ast.Raise():
                if self._holds(node.exc):
                    self._keep()
                self._held = set()
            case ast.Break() | ast.Continue():
                if self._loops:
                    self._loops[-1] |= self._held
                self._held = set()
            case _ if hasattr(node, "handlers"):
                self._keep()  # An except* group: nothing is known of it.
            case _:
                self._run_simple(node)

    def _run_simple(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr():
                # A function whose result nobody takes is called for what it does with the graph.
                if self._holds(node.value):
                    self._keep()
            case ast.Assign():
                self._assign_all(node.targets, node.value)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign_all([node.target], node.value)
            case ast.AugAssign():
                if self._holds(node.value):
                    self._add_to(node.target)
            case ast.Assert():
                self._holds(node.test)

    def _add_to(self, target: ast.expr) -> None:
        """Follow ``target += value``, which may change a list or a tensor that others have, too."""
        if isinstance(target, ast.Name) and target.id in self._scope.fresh:
            self._filled.add(target.id)
        elif not isinstance(target, ast.Name) or target.id in self._scope.shared:
            self._keep()
        self._assign(target, True)

    def _run_branches(self, node: ast.If) -> None:
        after: set[str] = set()
        rest: list[ast.stmt] = [node]
        # One after the other: a chain of elif may be longer than Python can follow down.
        while len(rest) == 1 and isinstance(branch := rest[0], ast.If):
            self._at_call = id(branch) in self._asked.statements
            self._holds(branch.test)
            before = set(self._held)
            self._run(branch.body)
            after |= self._held
            self._held = before
            rest = branch.orelse
        self._run(rest)
        self._held |= after

    def _join(self, bodies: Iterable[Sequence[ast.stmt]]) -> None:
        """Run one of ``bodies``, or none of them."""
        before, after = set(self._held), set(self._held)
        for body in bodies:
            self._held = set(before)
            self._run(body)
            after |= self._held
        self._held = after

    def _run_loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        is_at_call = self._at_call
        self._loops.append(set())
        for _ in range(_MOST_ROUNDS):
            before = set(self._held)
            self._at_call = is_at_call
            if isinstance(node, ast.While):
                self._holds(node.test)
            else:
                self._assign(node.target, self._holds(node.iter))
            self._run(node.body)
            self._held |= before | self._loops[-1]
            if self._held == before:
                break
        else:
            self._keep()
        self._loops.pop()
        self._run(node.orelse)

    def _run_try(self, node: ast.Try) -> None:
        # An exception may come after any of the statements.
        self._tries.append(set(self._held))
        self._run(node.body)
        self._run(node.orelse)
        anywhere = self._tries.pop()
        after = set(self._held)
        for handler in node.handlers:
            self._held = set(anywhere)
            self._run(handler.body)
            after |= self._held
        self._held = after | (anywhere if node.finalbody else set())
        self._run(node.finalbody)

    # --- assignments -------------------------------------------------------------------------

    def _assign_all(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        pairs = [(target, parts_alike(target, value)) for target in targets]
        has_it = self._holds(value)
        # All is read before any of it is assigned: a, b = b, a.
        known = [
            (target, [self._holds(piece) for piece in parts] if parts else None)
            for target, parts in pairs
        ]
        for target, held in known:
            if held is not None and isinstance(target, ast.Tuple | ast.List):
                for part, part_has_it in zip(target.elts, held, strict=True):
                    self._assign(part, part_has_it)
            else:
                self._assign(target, has_it)

    def _assign(self, target: ast.expr, has_it: bool) -> None:
        """Follow an assignment; what goes into something that lasts is kept."""
        match target:
            case ast.Name(id=name):
                if has_it or name in self._filled:
                    self._hold(name)
                else:
                    self._held.discard(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._assign(part, has_it)
            case ast.Starred(value=value):
                self._assign(value, has_it)
            case ast.Subscript(value=ast.Name(id=name)) if name in self._scope.fresh:
                self._holds(target.slice)
                if has_it:
                    self._fill(name)
            case _:
                self._holds(target)
                if has_it:
                    self._keep()

    def _hold(self, name: str) -> None:
        self._held.add(name)
        self._ever.add(name)
        for anywhere in self._tries:
            anywhere.add(name)

    def _fill(self, name: str) -> None:
        self._filled.add(name)
        self._hold(name)

    # --- expressions -------------------------------------------------------------------------

    def _holds(self, expression: ast.expr | None) -> bool:
        """Tell whether the value of ``expression`` has a part of the graph; all of it is looked at."""
        match expression:
            case None | ast.Constant():
                return False
            case ast.Name():
                return self._is_asked(expression) or expression.id in self._held
            case ast.Attribute(attr=attribute, value=value):
                has_it = self._holds(value) and attribute not in self._scope.cuts
                return self._is_asked(expression) or has_it
            case ast.Subscript(value=value, slice=index):
                self._holds(index)
                has_it = self._holds(value)
                return has_it and not (is_index(expression) and self._is_plain(value))
            case ast.Call():
                return self._call_holds(expression)
            case ast.Compare() | ast.JoinedStr():
                self._any(_parts(expression))
                return False
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._holds(test)
                return self._any([body, orelse])
            case ast.Lambda(body=body):
                self._later |= variables_read(body) - self._held
                return self._holds(body)
            case ast.NamedExpr(target=target, value=value):
                has_it = self._holds(value)
                self._assign(target, has_it)
                return has_it
            case ast.Yield(value=value) | ast.YieldFrom(value=value):
                if self._holds(value):
                    self._keep()
                return False
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension_holds(expression)
        return self._any(_parts(expression))

    def _any(self, expressions: Iterable[ast.expr | None]) -> bool:
        held = [self._holds(expression) for expression in expressions]
        return any(held)

    def _comprehension_holds(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> bool:
        before = set(self._held)
        for part in node.generators:
            self._assign(part.target, self._holds(part.iter))
            self._any(part.ifs)
        given = made_each_turn(node)
        has_it = self._any(given)
        own = {
            name.id
            for part in node.generators
            for name in ast.walk(part.target)
            if isinstance(name, ast.Name)
        }
        self._held = (self._held - own) | (before & own)
        return has_it

    def _is_asked(self, function: ast.Name | ast.Attribute) -> bool:
        """Tell whether it is the function that gives the graph, or a property that does."""
        if not self._at_call or not self._asked.name or last_name_of(function) != self._asked.name:
            return False
        self.was_seen = True
        return True

    def _is_plain(self, call: ast.expr) -> bool:
        """Tell whether it is a method of a tensor's, not the function that gives the graph."""
        asked = self._asked.name if self._at_call else ""
        return isinstance(call, ast.Call) and called_name(call) != asked

    def _call_holds(self, call: ast.Call) -> bool:
        function, name = call.func, called_name(call)
        receiver = isinstance(function, ast.Attribute) and self._holds(function.value)
        is_asked = self._asks(call, receiver)
        given = given_to(call)
        held = [argument for argument in given if self._holds(argument)]
        function_holds = not isinstance(function, ast.Attribute) and self._holds(function)
        if (receiver or held) and differentiates(call):
            self._keep()
        # A program may have a function of its own that is called eval.
        if self._held and reads_all_names(call) and self._of_call(call, False, (), True) is None:
            self._keep()
        if held and name in STORES:
            return self._stores(function)
        if id(call) in self._asked.calls and is_asked:
            return True
        if (receiver or held) and not is_of_a_known_module(call):
            use = self._of_call(call, receiver, held, self._scope.strangers_keep)
            if use is GraphUse.KEPT:
                self._keep()
            if use is not None:
                return is_asked or use is not GraphUse.DROPPED
        if is_asked:
            return True
        if reads_only(call):
            return False
        if receiver or is_of_a_known_module(call):
            return name not in CUTS and (receiver or bool(held))
        if held and not function_holds and not self._keeps_nothing(call):
            self._keep()
        return function_holds or bool(held)

    def _asks(self, call: ast.Call, receiver: bool) -> bool:
        """Tell whether ``call`` gives the graph."""
        if isinstance(call.func, ast.Name | ast.Attribute) and self._is_asked(call.func):
            return True
        if receiver or id(call) not in self._asked.calls:
            return False
        self.was_seen = True
        return True

    def _stores(self, function: ast.expr) -> bool:
        """Follow a graph into a container; False, for what such a call gives is nothing of it."""
        if (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id in self._scope.fresh
        ):
            self._fill(function.value.id)
        elif not self._is_detached(function):
            self._keep()
        return False

    def _is_detached(self, stores: ast.expr) -> bool:
        match stores:
            case ast.Attribute(value=ast.Attribute(attr=name), attr="append"):
                return name in self._scope.detached
        return False

    def _keeps_nothing(self, call: ast.Call) -> bool:
        """Tell whether a function only gives back, in some form, what it is given."""
        if called_name(call).endswith("_"):
            return False  # torch's own way to tell what changes its object.
        return (
            not self._scope.strangers_keep
            or gives_graph_back(call)
            or owner(call.func) in self._asked.owners | {"self"}
            or ast.unparse(call.func) in self._scope.networks
        )


def _parts(expression: ast.expr) -> Iterable[ast.expr]:
    return (node for node in ast.iter_child_nodes(expression) if isinstance(node, ast.expr))
