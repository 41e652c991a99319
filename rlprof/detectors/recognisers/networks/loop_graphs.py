"""Loops that have to stay torch's: a network is asked in them, or a gradient goes through them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.networks.graph_asked import CUTS, GraphUse
from rlprof.detectors.recognisers.networks.graph_use import GraphUses
from rlprof.detectors.recognisers.networks.recorded_graphs import asks_network
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import last_name
from rlprof.syntax.module import Loop, called_name
from rlprof.syntax.nodes import calls_in, lines_of, names_in


class LoopGraphs(SteadySearch):
    """The loops of a program, by what is asked and recorded in them."""

    def asks_network(self, file: str, line: int) -> bool:
        return (file, line) in self._asking

    def passes_gradient(self, file: str, line: int) -> bool:
        """Tell whether tensors of the loop at ``line`` were seen to record gradients, and its function gives its result to one that keeps them."""
        module = self.lines.module(file)
        statement = module.statement_at(line) if module is not None else None
        if statement is None or not isinstance(statement.node, Loop):
            return False
        lines = lines_of(statement.node)
        known = self.values.between(file, lines).values()
        if not any(
            "1" in (seen.fields.get("grad"), seen.fields.get("first.grad")) for seen in known
        ):
            return False
        function = statement.function
        if function is None:
            return True
        made = set(_made(statement.node))
        is_cut = any(
            call.lineno >= lines.stop and called_name(call) in CUTS and made & names_in(call)
            for call in calls_in(*function.node.body)
        )
        return not is_cut and not self._is_dropped(file, lines)

    @cached_property
    def _asking(self) -> frozenset[tuple[str, int]]:
        """Lines of the user's by which networks are asked, each with its file."""
        asked = (node for node in self.tree.hot_nodes() if asks_network(self.tree.frame(node)))
        frames = map(self.tree.frame, {*map(self.lines.owner, asked)} - {NO_PARENT})
        return frozenset((frame.file, frame.line) for frame in frames)

    @cached_property
    def _uses(self) -> GraphUses:
        return GraphUses(self.profile.sources)

    def _is_dropped(self, file: str, lines: range) -> bool:
        """Tell whether each caller of the loop's function drops the graph of what it returns."""
        nodes = [
            node
            for node in self.tree.hot_nodes()
            if (frame := self.tree.frame(node)).file == file and frame.line in lines
        ]
        return bool(nodes) and all(map(self._drops, nodes))

    def _drops(self, loop: int) -> bool:
        callee = last_name(self.tree.frame(loop).function)
        for node in self.tree.ancestors(loop):
            frame = self.tree.frame(node)
            use = self._uses.at(frame.file, frame.line, callee)
            if use is not GraphUse.RETURNED:
                return use is GraphUse.DROPPED
            callee = last_name(frame.function)
        return False


def _made(loop: ast.AST) -> Iterator[str]:
    """Yield what a loop gives a value, or puts something into."""
    for node in ast.walk(loop):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "insert")):
                yield name
