"""Look at what a line works on from the line that called its function, where the function has returned before anybody can look."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from rlprof.model.recording import Frame
from rlprof.recording.looks.hot_lines import HotLines
from rlprof.syntax.bound_inputs import bound_inputs
from rlprof.syntax.module import Function
from rlprof.syntax.nodes import single_targets
from rlprof.syntax.operands import Operand, operand_of, operands


class LooksFromCallers:
    """Lines that no look has met, and their operands in the words of who calls them: ``agent.traces`` for ``self.traces``."""

    def __init__(self, lines: HotLines) -> None:
        self._lines = lines
        self._translated: dict[Frame, dict[Frame, Mapping[str, Operand]]] = {}
        """Operands of the caller's, by the caller's line, the line, and the text there."""

    def note(
        self,
        ways: Iterable[Sequence[Frame]],
        missed: Collection[Frame],
        met: Collection[Frame] = (),
    ) -> Iterator[Frame]:
        """Take in where the process was (the user's frames, innermost first); yield lines of callers that are to be looked at for others.

        ``missed`` are lines that agents were asked for, and that no look has met; ``met`` are those that one has. Where the caller's line is missed,
        too, another one of its function where the process was takes its place: Python may get to a look at the end of a turn alone.
        """
        ways = [tuple(way) for way in ways]
        for line, caller in {way[:2] for way in ways if len(way) > 1}:
            if line not in missed:
                continue
            still = (frame for way in ways for frame in way if frame in met)
            place = self._met_beside(caller, still) if caller in missed else caller
            if place is None or line in self._translated.get(place, {}):
                continue
            translated = self._translate(line, caller)
            if translated is not None:
                self._translated.setdefault(place, {})[line] = translated
                if translated:
                    yield place

    def _met_beside(self, line: Frame, met: Iterable[Frame]) -> Frame | None:
        """Return the hottest of the lines of the same function that a look has met."""
        beside = [each for each in met if each[:2] == line[:2]]
        return max(beside, key=lambda each: (self._lines.spent_us(each), each), default=None)

    def operands(self, caller: Frame) -> Iterator[Operand]:
        """Yield what to look at at the line of a caller."""
        for translated in self._translated.get(caller, {}).values():
            yield from translated.values()

    def told(
        self, caller: Frame, values: Mapping[str, Mapping[str, str]]
    ) -> Iterator[tuple[Frame, str, Mapping[str, str]]]:
        """Yield lines, operands there as written, and descriptions, of what a look at a caller's line has told."""
        for line, translated in self._translated.get(caller, {}).items():
            for text, operand in translated.items():
                if described := values.get(operand.text):
                    yield line, text, described

    def _translate(self, line: Frame, caller: Frame) -> Mapping[str, Operand] | None:
        """None where a source is not read yet."""
        module, calling = self._lines.module(line), self._lines.module(caller)
        if module is None or calling is None:
            return None
        function = module.function_at(line.line)
        if function is None:
            return {}
        arguments = {argument.arg for argument in function.node.args.args}
        others = _bound(function)
        translated: dict[str, Operand] = {}
        for operand in operands(module, line.line):
            meant = _meant(function, operand) if operand.steps[0] in others else operand
            root = meant.steps[0]
            if root in others or (line.file != caller.file and root not in arguments):
                continue
            call = bound_inputs(calling, caller.line, function, [meant])
            if call is not None and len(call.inputs) == 1:
                [given] = call.inputs
                if given.steps[-1:] == meant.steps[-1:] or len(operand.steps) == 1:
                    translated[operand.text] = given
        return translated


def _meant(function: Function, operand: Operand) -> Operand:
    """Return what a variable is another name of, ``self.traces`` for ``z`` where ``z = self.traces`` is all that it is assigned; else the operand."""
    root, *rest = operand.steps
    values = [
        node.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        for target in single_targets(*node.targets)
        if isinstance(target, ast.Name) and target.id == root
    ]
    whole = operand_of(values[0]) if len(values) == 1 else None
    return operand if whole is None else Operand(operand.text, (*whole.steps, *rest))


def _bound(function: Function) -> set[str]:
    """Names that the function gives a value of its own; what is changed in place (``table += 1``) is still the caller's."""
    return {
        name.id
        for node in ast.walk(function.node)
        if not isinstance(node, ast.AugAssign)
        for name in ast.iter_child_nodes(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
