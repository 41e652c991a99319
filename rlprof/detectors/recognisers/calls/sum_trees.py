"""Walks through a sum tree, node after node: a binary tree that lies in an array, each node of which holds the sum of the two below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.module import PARSED_FILES, Function, called_name, parse, variables_assigned
from rlprof.syntax.nodes import assigned, calls_in, given_to, lines_of, names_in, nodes_in

_STEPS: Final = {ast.Mult: 2, ast.LShift: 1, ast.FloorDiv: 2, ast.RShift: 1}
"""Operators, with their number, that lead from a node to one below it or to the one above."""


_OF_MANY: Final = frozenset({"any", "all", "max", "min"})
"""Calls on nodes, by which a loop goes on as long as any of many has not arrived."""


class TreeWalk(NamedTuple):
    """A walk of one item through a sum tree."""

    container: str
    """That of the tree, as written: ``self.tree``."""
    goes_down: bool
    """True if it draws an item, by sums; False if it changes one, and the sums above."""


@lru_cache(maxsize=PARSED_FILES)
def sum_tree_walks(text: str) -> Mapping[int, TreeWalk]:
    """Return the walk of each line of a file that is in one; empty where nothing goes down by sums.

    A heap is walked in the same way, but what is subtracted on the way down is the sum of a tree.
    """
    module = parse(text)
    walks = [
        (function, container)
        for function in (module.functions if module else ())
        if (container := _walked(function))
    ]
    down = {
        function.node: container for function, container in walks if _goes_down(function, container)
    }
    return {
        line: TreeWalk(container, function.node in down)
        for function, container in walks
        if container in down.values()
        for line in lines_of(function.node)
    }


def _walked(function: Function) -> str:
    """Return the container whose nodes the function goes through, in a loop or by calling itself; empty where there is none."""
    near = _names_of_nodes(function)
    if _are_many(function, near):
        return ""
    moves = (
        name
        for loop in nodes_in(*function.node.body)
        if isinstance(loop, ast.While)
        for name in variables_assigned(*loop.body) & near
    )
    calls_itself = any(
        called_name(call) == function.node.name
        and any(names_in(given) & near or _is_step(given) for given in given_to(call))
        for call in calls_in(*function.node.body)
    )
    if not calls_itself and not any(moves):
        return ""
    return next((ast.unparse(item.value) for item in _items(function, near)), "")


def _names_of_nodes(function: Function) -> set[str]:
    """Variables that hold a number of a node which was reckoned from another node's: ``left = 2 * node + 1``, ``right = left + 1``."""
    near: set[str] = set()
    for part in nodes_in(*function.node.body):
        match part:
            case ast.AugAssign(target=ast.Name(id=name), op=operator, value=ast.Constant(number)):
                if number == _STEPS.get(type(operator)):
                    near.add(name)
        for each in assigned(part):
            is_near = _is_step(each.value) or (
                isinstance(each.value, ast.Name | ast.BinOp) and names_in(each.value) & near
            )
            if is_near and isinstance(each.target, ast.Name):
                near.add(each.target.id)
    return near


def _are_many(function: Function, near: set[str]) -> bool:
    """Tell whether the nodes of many items go on together: ``while node[0] < size``."""
    for part in nodes_in(*function.node.body):
        match part:
            case ast.Subscript(value=ast.Name(id=name)) if name in near:
                return True
            case ast.While(test=test):
                for call in calls_in(test):
                    if called_name(call) in _OF_MANY and names_in(call) & near:
                        return True
    return False


def _is_step(value: ast.expr) -> bool:
    """Tell whether it is the number of a node beside one variable's: the middle of two, as in a search among sorted items, is none."""
    return len(names_in(value)) == 1 and any(map(_leads_on, nodes_in(value)))


def _leads_on(part: ast.AST) -> bool:
    match part:
        case ast.BinOp(left=ast.Constant(number), op=ast.Mult()):
            return number == _STEPS[ast.Mult]
        case ast.BinOp(op=operator, right=ast.Constant(number)):
            return number == _STEPS.get(type(operator))
    return False


def _items(function: Function, near: set[str]) -> Iterator[ast.Subscript]:
    for part in nodes_in(*function.node.body):
        if isinstance(part, ast.Subscript) and (
            names_in(part.slice) & near or _is_step(part.slice)
        ):
            yield part


def _goes_down(function: Function, container: str) -> bool:
    """Tell whether the sum of a node is taken from what is searched: ``mark -= tree[left]``, ``search(right, mark - tree[left])``."""
    return any(ast.unparse(taken) == container for taken in _taken_away(function))


def _taken_away(function: Function) -> Iterator[ast.expr]:
    """Yield the containers whose items are taken from a variable that is searched on with."""
    for part in nodes_in(*function.node.body):
        match part:
            case ast.AugAssign(ast.Name(), ast.Sub(), ast.Subscript(value=taken)):
                yield taken
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(ast.Name(id=left), ast.Sub(), ast.Subscript(value=taken)),
            ) if name == left:
                yield taken
            case ast.Call() if called_name(part) == function.node.name:
                for given in given_to(part):
                    match given:
                        case ast.BinOp(op=ast.Sub(), right=ast.Subscript(value=taken)):
                            yield taken
