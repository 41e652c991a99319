"""Draws from sum trees: many for one batch, or each after what the one before has changed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from rlprof.detectors.recognisers.calls.sum_trees import TreeWalk
from rlprof.source.lines import UserLines
from rlprof.syntax.module import Comprehension, SourceModule, called_name
from rlprof.syntax.nodes import lines_of

_Trees = Mapping[str, Mapping[int, TreeWalk]]
"""The walks of each file, by line."""


def lone_draws(lines: UserLines, trees: _Trees) -> frozenset[tuple[str, str]]:
    """Return the trees, by file and container, from which hardly any batch was drawn: each draw goes by what the one before has changed."""
    # By their time: a stack may have the line that its function went on to.
    lone_us: dict[tuple[str, str], float] = defaultdict(float)
    for node, cost in lines.tree.self_costs() if any(trees.values()) else ():
        frame = lines.tree.frame(node)
        walk = trees.get(frame.file, {}).get(frame.line)
        if walk is not None and walk.goes_down:
            is_lone = not _is_of_batch(lines, trees, node)
            lone_us[frame.file, walk.container] += cost.wall_us if is_lone else -cost.wall_us
    return frozenset(tree for tree, us in lone_us.items() if us > 0)


def _is_of_batch(lines: UserLines, trees: _Trees, draw: int) -> bool:
    """Tell whether the loop around a draw changes no tree; True where a source is not known."""
    for node in lines.tree.ancestors(draw):
        frame = lines.tree.frame(node)
        if not lines.is_yours(frame) or frame.line in trees.get(frame.file, ()):
            continue
        module = lines.module(frame.file)
        if module is None:
            return True
        turns = _turns_at(module, frame.line)
        if turns:
            return not _changes_tree(lines, trees, node, turns)
    return False


def _turns_at(module: SourceModule, line: int) -> range:
    """The lines of the innermost loop around a line, or of a comprehension or a ``map`` on it; none where there is none."""
    for statement in module.statements_at(line):
        for node in statement.walk():
            is_map = isinstance(node, ast.Call) and called_name(node) == "map"
            if isinstance(node, Comprehension) or is_map:
                return range(statement.first_line, statement.last_line + 1)
    loop = module.innermost_loop(line)
    return range(0) if loop is None else lines_of(loop)


def _changes_tree(lines: UserLines, trees: _Trees, drawing: int, turns: range) -> bool:
    """Tell whether a turn of the loop, of whose lines ``drawing`` is one, mends sums of a tree."""
    tree = lines.tree
    own = tree.frame(drawing)
    for node in tree.children(tree.nodes[drawing].parent):
        frame = tree.frame(node)
        if (frame.file, frame.function) != (own.file, own.function) or frame.line not in turns:
            continue
        for called in map(tree.frame, tree.subtree(node)):
            walk = trees.get(called.file, {}).get(called.line)
            if walk is not None and not walk.goes_down:
                return True
    return False
