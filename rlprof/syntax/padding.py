"""Sequences that a file fills up to one fixed length, whatever their own."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from rlprof.syntax.ancestors import parents
from rlprof.syntax.bound_inputs import arguments_given, only_value, values_assigned
from rlprof.syntax.changed import values_given
from rlprof.syntax.loop_elements import turns_at
from rlprof.syntax.module import PARSED_FILES, Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import arguments_of, assigned, defaults_of, items_of
from rlprof.syntax.operands import Operand, operand_of
from rlprof.syntax.written_rows import MAKES, sizes_made, written_rows

_PADS: Final = MAKES | {"pad", "constant_pad_nd"}
_CONVERTS: Final = frozenset(
    {"array", "asarray", "stack", "tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor"}
)
_COUNTS: Final = frozenset({"len", "size", "max", "min", "sum"})
"""Calls of which a number depends on what there is."""
_MOST_LEVELS: Final = 4
_MOST_CALLS: Final = 50
"""Calls of one name, and values of one attribute, that are read: generated files have thousands."""
_MOST_OF_A_FILE: Final = 20


class Padding(NamedTuple):
    """A statement that fills up one sequence after the other."""

    file: str
    function: Function
    line: int
    width: ast.expr
    """As written: ``self.cfg.time_limit``."""
    sequence: ast.expr
    """What is as long as one of them: ``episode.rows`` where that is written up to ``len(episode)``."""
    array: str = ""
    """The array that is written, if that is how it is filled up."""
    axis: int = 0
    """The axis of the array along which it is filled up."""
    is_longer_when_seen: bool = False
    """True if the sequence itself grows there, so that its length when it is looked at tells nothing."""
    is_count: bool = False
    """True if in place of the sequence there is the number of its steps, which is counted up."""
    is_window: bool = False
    """True if the sequence is cut from a longer one, to no more than the width."""


def paddings(modules: Mapping[str, SourceModule]) -> Iterator[Padding]:
    """Yield them in all files of a program: rows of an array of zeros that are written up to the length of a sequence, at their end or step by
    step, and what is added to a sequence for the rest. Those whose width is that of the longest of a batch are left out.
    """
    widths = _Widths(modules)
    for file, module in modules.items():
        for statement in module.statements:
            function = statement.function
            if function is None:
                continue
            for place in (*_filled(function, statement), *_added(module, statement)):
                sequence = _sequence(place.length, function) or _picked(place.length, statement)
                if sequence is not None and widths.is_fixed(place.width, module, function):
                    line, written = statement.first_line, _written(statement, sequence)
                    width = _in_full(place.width, module, function)
                    yield Padding(
                        file,
                        function,
                        line,
                        width,
                        written,
                        place.array,
                        place.axis,
                        is_window=_is_cut(sequence, place.width, function),
                    )
            for place in _grown(module, statement, function):
                if widths.is_fixed(place.width, module, function):
                    line, width = statement.first_line, _in_full(place.width, module, function)
                    sequence = place.length
                    yield Padding(file, function, line, width, sequence, is_longer_when_seen=True)
        for rows in written_rows(module):
            function = rows.taking.function
            if function is not None and widths.is_fixed(rows.width, module, rows.made_in):
                line = rows.taking.first_line
                yield Padding(
                    file, function, line, rows.width, rows.step, rows.array, 1, is_count=True
                )


@lru_cache(maxsize=1024)
def looked_at(module: SourceModule, first_line: int) -> Sequence[Operand]:
    """Return the first one of the sequences that the function which begins there fills up, or hands to one of its file that does: looks at it
    tell how long they are, though the lines that fill up take no time.
    """
    function = module.function_at(first_line)
    found: list[Operand | None] = []
    for padding in _of_file(module) if function is not None else ():
        root, *attributes = ast.unparse(padding.sequence).split(".")
        for turns in turns_at(module, padding.line):
            container = turns.elements.get(root)
            if container is None or function is None:
                continue
            for held in _handed(module, function, padding.function, container):
                first: ast.expr = ast.Subscript(held, ast.Constant(0), ast.Load())
                for name in attributes:
                    first = ast.Attribute(first, name, ast.Load())
                found.append(operand_of(first))
    return [fromkey for fromkey in dict.fromkeys(found) if fromkey is not None]


@lru_cache(maxsize=PARSED_FILES)
def _of_file(module: SourceModule) -> Sequence[Padding]:
    """The first of those that the file alone tells."""
    return [*islice(paddings({"": module}), _MOST_OF_A_FILE)]


def _handed(
    module: SourceModule, function: Function, fills: Function, container: ast.expr
) -> Iterator[ast.expr]:
    """Yield the container that ``fills`` goes through, as ``function`` calls it."""
    if function is fills:
        yield container
        return
    for call, caller in _calls(module).get(fills.node.name, ()):
        if caller is function:
            given = (arguments_given(module, call, fills) or {}).get(ast.unparse(container))
            if given is not None:
                yield given


def _in_full(width: ast.expr, module: SourceModule, function: Function) -> ast.expr:
    """Return what a variable stands for, where that is a setting: ``self.cfg.horizon`` says more than ``t``."""
    values = values_assigned(module, function, width.id) if isinstance(width, ast.Name) else []
    is_setting = len(values) == 1 and isinstance(values[0], ast.Attribute | ast.Constant)
    return values[0] if is_setting else width


def _is_cut(sequence: ast.expr, width: ast.expr, function: Function) -> bool:
    """Tell whether a sequence is a window of a longer one: ``rows[max(0, end - width) : end]``, ``rows[-width:]``."""
    made = only_value(function, sequence.id) if isinstance(sequence, ast.Name) else sequence
    if not isinstance(made, ast.Subscript):
        return False
    bounds = (part for part in ast.walk(made.slice) if isinstance(part, ast.Slice))
    return any(ast.dump(part) == ast.dump(width) for each in bounds for part in ast.walk(each))


def _written(statement: Statement, sequence: ast.expr) -> ast.expr:
    """Return what is written, where that is an attribute of the sequence or made an array of; else the sequence."""
    for each in assigned(statement.node):
        if isinstance(each.value, ast.Attribute) and ast.dump(each.value.value) == ast.dump(
            sequence
        ):
            return each.value
        is_a_row = isinstance(each.target, ast.Subscript) and _is_one_axis(each.target.slice)
        written = _converted(each.value)
        if is_a_row and written is not each.value and isinstance(written, ast.Name):
            return written
    return sequence


def _is_one_axis(index: ast.expr) -> bool:
    """Tell whether one axis alone is taken by a slice: then what is written is as long."""
    return sum(isinstance(axis, ast.Slice) for axis in items_of(index)) == 1


def _converted(value: ast.expr) -> ast.expr:
    """``seen`` of ``torch.from_numpy(np.stack(seen))``."""
    while isinstance(value, ast.Call) and called_name(value) in _CONVERTS and value.args:
        value = value.args[0]
    return value


class _Filled(NamedTuple):
    """A width, and how much of it a sequence takes."""

    width: ast.expr
    length: ast.expr
    array: str = ""
    axis: int = 0


def _filled(function: Function, statement: Statement) -> Iterator[_Filled]:
    """Yield what is written up to a length, or from the end on: ``rows[i, :len(episode)] = episode``."""
    for each in assigned(statement.node):
        match each.target:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if statement.in_loop:
                axes = items_of(index)
                for axis, taken in enumerate(axes):
                    sizes = sizes_made(only_value(function, name))
                    length = _length_written(taken, sizes[axis]) if axis < len(sizes) else None
                    if length is not None:
                        yield _Filled(sizes[axis], length, name, axis)


def _length_written(taken: ast.expr, width: ast.expr) -> ast.expr | None:
    """Return ``n`` of ``[:n]``, and of ``[-n:]`` and ``[width - n:]``, which are filled up on the left."""
    match taken:
        case ast.Slice(lower=None, upper=ast.expr() as length, step=None):
            return length
        case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=length), upper=None, step=None):
            return length
        case ast.Slice(
            lower=ast.BinOp(left=whole, op=ast.Sub(), right=length), upper=None, step=None
        ) if ast.dump(whole) == ast.dump(width):
            return length
    return None


def _grown(module: SourceModule, statement: Statement, function: Function) -> Iterator[_Filled]:
    """Yield a list that zeros are added to until it is long enough: ``while len(episode) < width: episode.append(zero)``."""
    match statement.node:
        case ast.While(
            test=ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[ast.Name() as of]),
                ops=[ast.Lt()],
                comparators=[width],
            ),
            body=body,
        ):
            pass
        case _:
            return
    for part in body:
        match part:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[added])):
                if not _is_nothing(added, module, function):
                    return
            case _:
                return
    yield _Filled(width, of)


def _is_nothing(added: ast.expr, module: SourceModule, function: Function) -> bool:
    """Tell whether it is zero, or an array or a tuple of such."""
    match added:
        case ast.Constant(value=value):
            return not value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_is_nothing(part, module, function) for part in parts)
        case ast.Call():
            return called_name(added).endswith(("zeros", "zeros_like"))
        case ast.Name(id=name):
            for at in (function, None):
                if values := values_assigned(module, at, name):
                    return all(
                        not isinstance(value, ast.Name) and _is_nothing(value, module, function)
                        for value in values
                    )
    return False


def _added(module: SourceModule, statement: Statement) -> Iterator[_Filled]:
    """Yield what is added to a sequence for the rest: ``[0] * (width - len(tokens))``."""
    for node in statement.walk():
        match node:
            case ast.BinOp(left=width, op=ast.Sub(), right=length) if _is_padded_by(module, node):
                yield _Filled(width, length)


def _is_padded_by(module: SourceModule, number: ast.expr) -> bool:
    """Tell whether ``number`` is how many elements are added: of a list, or in a call that pads."""
    above = parents(module)
    node = above.get(number)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    while isinstance(node, ast.Tuple | ast.List | ast.keyword):
        node = above.get(node)
    return isinstance(node, ast.Call) and called_name(node) in _PADS


def _sequence(length: ast.expr, function: Function, levels: int = 0) -> ast.expr | None:
    """Return what the length is of: ``episode`` of ``len(episode)``, of ``min(len(episode), most)`` and of ``k`` where that was assigned."""
    match length:
        case ast.Call(func=ast.Name(id="len"), args=[of]):
            return of
        # Another axis of it is none that a look tells the lengths of.
        case ast.Subscript(value=ast.Attribute(value=of, attr="shape"), slice=ast.Constant(0)):
            return of
        case ast.Call(func=ast.Attribute(value=of, attr="size"), args=[ast.Constant(0)]):
            return of
        case ast.Call(func=ast.Name(id="min"), args=parts):
            found = (_sequence(part, function, levels + 1) for part in parts)
            return next((size for size in found if size is not None), None)
        case ast.BinOp(left=left, right=ast.Constant()):
            return _sequence(left, function, levels + 1)
        case ast.Name(id=name) if levels < _MOST_LEVELS:
            made = only_value(function, name)
            return None if made is None else _sequence(made, function, levels + 1)
    return None


def _picked(length: ast.expr, statement: Statement) -> ast.expr | None:
    """Return what is written, where its length is kept apart and picked by the same index: ``self.obs[j]`` and ``size = self.sizes[j]``."""
    if isinstance(length, ast.Name) and statement.function is not None:
        length = only_value(statement.function, length.id) or length
    for each in assigned(statement.node):
        match each.value, length:
            case ast.Subscript(slice=of), ast.Subscript(slice=by) if ast.dump(of) == ast.dump(by):
                return each.value
    return None


class _Widths:
    """Numbers that arrays are made of, as far as a program's source shows them."""

    def __init__(self, modules: Mapping[str, SourceModule]) -> None:
        self._modules = modules

    def is_fixed(
        self, width: ast.expr, module: SourceModule, function: Function | None, levels: int = 0
    ) -> bool:
        """Tell whether one does not depend on the sequences."""
        if levels > _MOST_LEVELS:
            return False
        match width:
            case ast.Constant(value=int()):
                return True
            case ast.BinOp(left=left, right=right):
                return all(
                    self.is_fixed(side, module, function, levels + 1) for side in (left, right)
                )
            case ast.Attribute(attr=name):
                return not any(map(_counts, self._given_to_attributes(name)))
            case ast.Name(id=name):
                values = [*self._values(name, module, function)]
                return bool(values) and all(
                    self.is_fixed(value, of, at, levels + 1) for value, of, at in values
                )
        return False

    def _values(
        self, name: str, module: SourceModule, function: Function | None
    ) -> Iterator[tuple[ast.expr, SourceModule, Function | None]]:
        """Yield what a name may stand for: what it is assigned, what callers give for an argument, and its default."""
        if function is not None and name in arguments_of(function.node):
            yield from self._given(function, name)
            if (default := defaults_of(function.node.args).get(name)) is not None:
                yield default, module, None
            return
        for at in (function, None):
            if found := values_assigned(module, at, name):
                yield from ((value, module, at) for value in found)
                return

    def _given(
        self, function: Function, name: str
    ) -> Iterator[tuple[ast.expr, SourceModule, Function | None]]:
        """Yield what calls by the function's name hand over."""
        for module in self._modules.values():
            for call, caller in _calls(module).get(function.node.name, ())[:_MOST_CALLS]:
                given = (arguments_given(module, call, function) or {}).get(name)
                if given is not None:
                    yield given, module, caller

    def _given_to_attributes(self, name: str) -> Iterator[ast.expr]:
        for module in self._modules.values():
            yield from _attribute_values(module).get(name, ())[:_MOST_CALLS]


@lru_cache(maxsize=PARSED_FILES)
def _calls(module: SourceModule) -> Mapping[str, Sequence[tuple[ast.Call, Function | None]]]:
    """Return the calls of a file, with the functions that make them, by the name that is called."""
    found: dict[str, list[tuple[ast.Call, Function | None]]] = defaultdict(list)
    for statement in module.statements:
        for node in statement.calls():
            found[called_name(node)].append((node, statement.function))
    return found


@lru_cache(maxsize=PARSED_FILES)
def _attribute_values(module: SourceModule) -> Mapping[str, Sequence[ast.expr]]:
    """Return what attributes are assigned anywhere in a file, by their names."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for name, value in values_given(module):
        found[name].append(value)
    return found


def _counts(value: ast.expr) -> bool:
    """Tell whether a value may be the length of something, or the largest of several."""
    return any(
        (isinstance(node, ast.Call) and called_name(node) in _COUNTS)
        or (isinstance(node, ast.Attribute) and node.attr == "shape")
        for node in ast.walk(value)
    )
