"""Calls that have a cheaper way, and searches of long lists, in the steady phase of a run."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from math import prod
from typing import Final

from rlprof.detectors.recognisers.calls.answered_calls import AnsweredCalls
from rlprof.detectors.recognisers.calls.slow_lines import SlowLines, SlowOnLine, is_meant
from rlprof.detectors.recognisers.calls.unseen_lists import searched_by_time
from rlprof.detectors.recognisers.line_time import LinesByPart, SteadySearch
from rlprof.detectors.recognisers.processes.transport import below
from rlprof.libraries.base import SlowCall
from rlprof.libraries.questions import slow_call_of
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.diagonals import takes_diagonals
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.values import value_of
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import given_by_name, given_to
from rlprof.syntax.origin import Origin, installed_package, origin

_MOSTLY: Final = 0.5

MANY_RESULTS: Final = 128
"""Draws from a thousand weights up to which most of the time goes into adding these up."""


class Spent(LinesByPart):
    """The time of one kind of call."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self.called: Counter[str] = Counter()
        """µs by what was called, as far as it is written in Python."""
        self.seen: dict[Line, str] = {}
        """Words for what a line works on."""


class SlowCalls(SteadySearch):
    """Finds them, and the time that they take."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._slow_lines = SlowLines(self.lines, self.values)
        self._diagonal: dict[str, bool] = {}
        """By class, as far as asked."""
        self.spent: dict[SlowCall, Spent] = defaultdict(partial(Spent, profile, self.lines))
        self._look_at_calls()
        self._look_at_lines()

    def nodes(self) -> frozenset[int]:
        """All nodes that their time is in."""
        return frozenset(
            node
            for spent in self.spent.values()
            for nodes in spent.by_part.values()
            for node in nodes
        )

    def _look_at_calls(self) -> None:
        """Take in the calls that are written in Python, which have frames of their own."""
        tree = self.tree
        asking: dict[SlowCall, dict[int, Line]] = defaultdict(dict)
        in_steps: dict[SlowCall, dict[int, Line]] = defaultdict(dict)
        others: dict[int, tuple[SlowCall, Line]] = {}
        for top in tree.topmost(_is_slow):
            call = slow_call_of(tree.frame(top))
            # Who answers is taken in with those who ask.
            if call is None or last_name(tree.frame(top).function) == call.answered_by:
                continue
            owner = self._caller(top, call.through)
            # A library that calls another one is not the user's to change.
            if (
                owner == NO_PARENT
                or not self.lines.is_yours(tree.frame(owner))
                or not self.lines.is_repeated(owner)
            ):
                continue
            if (
                not self._is_overhead(top, call)
                or not self._fits(owner, top, call)
                or self._is_something_else(owner, top, call)
                or (call.of_diagonals and not self._are_diagonal(call.of_diagonals))
                or (call.is_check and not self._only_checks(owner))
                or (call.takes_nothing and self._is_given(owner, top))
                or (call.for_items and not self._gives_items(owner, top))
                or (call.of_its_seed and self._is_of_a_seed(owner, top, call))
                or (call.few_by and not self._gives_few(owner, top, call))
            ):
                continue
            line = self.lines.line(self._named(owner))
            if call.answered_by:
                asking[call][top] = line
            elif not call.each_step_up_to_us:
                others[top] = call, line
            elif self._is_in_a_step(owner):
                in_steps[call][top] = line
        for call, tops in in_steps.items():
            self._look_at_steps(call, tops, others)
        for top, (call, line) in others.items():
            self._take_in(top, call, line)
        for call, tops in asking.items():
            self._look_at_answers(call, tops)

    def _take_in(self, top: int, call: SlowCall, line: Line) -> None:
        spent, goes = self.spent[call], self._own_work(top, call) - self._within(top, call.works)
        owner = self._caller(top, call.through)
        if call.only_with and self._is_given_anew(owner, top, call):
            goes = set(self.tree.subtree(owner)) - spent.by_part[call.removable]
        us = self.tree.cost_of(goes).wall_us
        spent.add_part(line, us, goes, call.removable)
        spent.called[last_name(self.tree.frame(top).function)] += us

    def _is_in_a_step(self, owner: int) -> bool:
        """Tell whether the nearest function above that begins an episode, or goes on with it, is the step of an environment, which comes here
        each time.
        """
        for node in (owner, *self.tree.ancestors(owner)):
            frame = self.tree.frame(node)
            conditions = (
                test for statement in self.lines.statements(frame) for test in statement.conditions
            )
            if not all(map(_mostly_holds, conditions)):
                return False
            name = last_name(frame.function)
            if name in ("step", "reset"):
                return name == "step" and self.profile.parts[node] == ENVIRONMENT
        return False

    def _look_at_steps(
        self, call: SlowCall, tops: Mapping[int, Line], others: dict[int, tuple[SlowCall, Line]]
    ) -> None:
        """Take in the calls of each line, one of which takes little in a step; with them go ``others`` of the same library in these functions."""
        by_line: dict[Line, list[int]] = defaultdict(list)
        functions: set[tuple[str, str, str]] = set()
        for top, line in tops.items():
            by_line[line].append(top)
        for line, calls in by_line.items():
            frame = self.tree.frame(self.tree.nodes[calls[0]].parent)
            nodes = [
                node for statement in self.lines.statements(frame) for node in statement.walk()
            ]
            asked = sum(isinstance(node, ast.Call | ast.BinOp | ast.Subscript) for node in nodes)
            us = sum(self.tree.cost_of(self._own_work(top, call)).wall_us for top in calls)
            most_us = call.each_step_up_to_us * max(1, asked) * self.profile.steady_steps
            for top in calls if us <= most_us else ():
                self._take_in(top, call, line)
                functions.add(self._asked_in(top))
        for top in [top for top in others if self._asked_in(top) in functions]:
            self._take_in(top, call, others.pop(top)[1])

    def _asked_in(self, top: int) -> tuple[str, str, str]:
        """The library that is called, and the function that calls it."""
        owner = self.tree.frame(self._caller(top))
        return installed_package(self.tree.frame(top).file), owner.file, owner.function

    def _own_work(self, top: int, call: SlowCall) -> set[int]:
        """The nodes of a call, without the program's own work that it asks for: ``statistics.mean(episode(s) for s in seeds)``."""
        if call.calls_yours:
            return set(self.tree.subtree(top))
        return set(self.tree.subtree(top, lambda node: self.lines.is_yours(self.tree.frame(node))))

    def _look_at_answers(self, call: SlowCall, asking: Mapping[int, Line]) -> None:
        """Take in calls that another process answers."""
        tree, spent = self.tree, self.spent[call]
        nodes = {node for top in asking for node in tree.subtree(top)}
        answered = AnsweredCalls(self.profile, call, nodes)
        spent.by_part[answered.removable].update(nodes)
        if answered.answering:
            spent.by_part[answered.removable_of_answers].update(answered.answering)
        for top, line in asking.items():
            us = tree.total_cost(top).busy_us * answered.part_of_work
            spent.weights[line] += us
            spent.called[self._entry_name(top)] += round(us)

    def _entry_name(self, top: int) -> str:
        """The function that the user's line calls: ``top``, or what a library has generated around it."""
        owner, entry = self._caller(top), top
        while self.tree.nodes[entry].parent != owner:
            entry = self.tree.nodes[entry].parent
        return last_name(self.tree.frame(entry).function)

    def _is_overhead(self, top: int, call: SlowCall) -> bool:
        """Tell whether most of a call is spent on what does not depend on how much it works on."""
        most_us = _MOSTLY * self.tree.total_cost(top).wall_us
        if call.checks and self.tree.cost_of(self._within(top, call.checks)).wall_us <= most_us:
            return False
        return not call.works or self.tree.cost_of(self._within(top, call.works)).wall_us < most_us

    def _within(self, top: int, files: str) -> set[int]:
        """Nodes of a call in ``files``, with what they call; none where no files are given."""
        if not files:
            return set()
        called = [self.tree.nodes[node] for node in sorted(self.tree.subtree(top))]
        return below(called, (node.id for node in called if re.search(files, node.frame.file)))

    def _fits(self, owner: int, top: int, call: SlowCall) -> bool:
        """Tell whether what it is called with was seen to be of a size for which there is a cheaper way."""
        if not call.from_numbers and not call.up_to_numbers:
            return True
        frame, name = self.tree.frame(owner), last_name(self.tree.frame(top).function)
        seen = [
            value
            for statement, called in self._calls_of(owner, name)
            for argument in _sized(called, call)
            for operand in _by_element(argument)
            if (value := value_of(operand, self.values.of(frame.file, statement))) is not None
        ]
        if call.from_numbers:
            sizes = [
                prod(value.shape[-2:]) if value.shape else value.numbers or value.length or 0
                for value in seen
            ]
            return any(size >= call.from_numbers for size in sizes)
        sizes = [value.numbers for value in seen if value.numbers is not None]
        return max(sizes) <= call.up_to_numbers if sizes else bool(call.works)

    def _only_checks(self, owner: int) -> bool:
        """Tell whether the answer decides about nothing but an error."""
        nodes = [each.node for each in self.lines.statements(self.tree.frame(owner))]
        return bool(nodes) and all(map(_is_check, nodes))

    def _is_given(self, owner: int, top: int) -> bool:
        """Tell whether a call has arguments."""
        calls = self._calls_of(owner, self._entry_name(top))
        return any(bool(call.args or call.keywords) for _, call in calls)

    def _gives_items(self, owner: int, top: int) -> bool:
        """Tell whether the user's line takes items of what it gives, and nothing else."""
        calls = [call for _, call in self._calls_of(owner, self._entry_name(top))]
        indexed = {
            id(part.value)
            for statement in self.lines.statements(self.tree.frame(owner))
            for part in statement.walk()
            if isinstance(part, ast.Subscript)
        }
        return bool(calls) and all(id(call) in indexed for call in calls)

    def _is_of_a_seed(self, owner: int, top: int, slow: SlowCall) -> bool:
        """Tell whether it is given a seed that the program has chosen."""
        return any(is_meant(call, slow) for _, call in self._calls_of(owner, self._entry_name(top)))

    def _gives_few(self, owner: int, top: int, slow: SlowCall) -> bool:
        """Tell whether each call gives a few results, as the program's text tells."""
        return all(
            (self.parameters.value(few) or MANY_RESULTS + 1) <= MANY_RESULTS
            for _, call in self._calls_of(owner, self._entry_name(top))
            for few in given_by_name(call, slow.few_by)
        )

    def _is_given_anew(self, owner: int, top: int, slow: SlowCall) -> bool:
        """Tell whether the line does nothing but call it with sizes that it makes for this call alone."""
        statements = self.lines.statements(self.tree.frame(owner))
        return len(statements) == 1 and any(
            getattr(statements[0].node, "value", None) is call
            and any(isinstance(each, ast.ListComp) for each in _sized(call, slow))
            for _, call in self._calls_of(owner, self._entry_name(top))
        )

    def _calls_of(self, owner: int, name: str) -> Iterator[tuple[Statement, ast.Call]]:
        """Yield the calls of that name on the user's line, with their statements."""
        for statement in self.lines.statements(self.tree.frame(owner)):
            for call in statement.calls():
                if called_name(call) == name:
                    yield statement, call

    def _are_diagonal(self, of_class: str) -> bool:
        """Tell whether all matrices that objects of a class are made of are diagonal, in each file of the user's that makes some."""
        if of_class not in self._diagonal:
            modules = self.lines.modules(self.profile.sources).values()
            told = [takes_diagonals(module, of_class) for module in modules]
            known = [answer for answer in told if answer is not None]
            self._diagonal[of_class] = bool(known) and all(known)
        return self._diagonal[of_class]

    def _is_something_else(self, owner: int, top: int, call: SlowCall) -> bool:
        """Tell whether it is one of the methods that ``call`` leaves out."""
        frame, name = self.tree.frame(owner), self._entry_name(top)
        types = {
            value.type
            for statement in self.lines.statements(frame)
            for called in statement.walk()
            if isinstance(called, ast.Attribute) and called.attr == name
            if (value := value_of(called.value, self.values.of(frame.file, statement)))
        }
        return bool(call.but_for) and any(
            re.search(call.but_for, f"{type_}.{name}") for type_ in types or {""}
        )

    def _caller(self, top: int, through: str = "") -> int:
        """Return who calls it, but for what a library has generated in between, and files of it that match ``through``."""
        owner = self.tree.nodes[top].parent
        while owner != NO_PARENT and _is_between(self.tree.frame(owner).file, through):
            owner = self.tree.nodes[owner].parent
        return owner

    def _named(self, owner: int) -> int:
        """The line that makes an object, of one that its ``__init__`` calls."""
        parent = self.tree.nodes[owner].parent
        while (
            last_name(self.tree.frame(owner).function) == "__init__"
            and parent != NO_PARENT
            and self.lines.is_yours(self.tree.frame(parent))
        ):
            owner, parent = parent, self.tree.nodes[parent].parent
        return owner

    def _look_at_lines(self) -> None:
        """Take in what is done in C, on lines whose values were seen."""
        tree = self.tree
        found: dict[tuple[str, int], SlowOnLine | None] = {}
        for node in tree.hot_nodes() if self.values else ():
            frame = tree.frame(node)
            if not self.lines.is_yours(frame) or not self.lines.is_repeated(node):
                continue
            place = (frame.file, frame.line)
            if place not in found:
                found[place] = next(self._slow_lines.at(frame), None) or searched_by_time(
                    tree, self.lines, self.values, frame
                )
            done = found[place]
            if done is None:
                continue
            spent, line = self.spent[done.call], self.lines.line(node)
            # What is written in C may call Python code of its library.
            inner = [
                child for child in tree.children(node) if not self.lines.is_yours(tree.frame(child))
            ]
            below = (
                [descendant for each in inner for descendant in tree.subtree(each)]
                if done.is_alone
                else []
            )
            there = (node, *below)
            spent.add_part(line, tree.cost_of(there).wall_us, there, done.part)
            spent.seen[line] = done.seen


def _sized(called: ast.Call, call: SlowCall) -> Iterator[ast.expr]:
    """Yield the arguments whose sizes tell whether there is a cheaper way."""
    if not call.only_with:
        yield from given_to(called)
        return
    yield from (*called.args[1:2], *given_by_name(called, call.only_with))


def _mostly_holds(test: ast.expr) -> bool:
    """Tell a comparison by size, ``if self.t >= self.window``, from what holds at the end of an episode or every so many steps."""
    if isinstance(test, ast.UnaryOp):
        return _mostly_holds(test.operand)
    return isinstance(test, ast.Compare) and all(
        isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.IsNot)
        for operator in test.ops
    )


def _is_check(node: ast.stmt) -> bool:
    raises = isinstance(node, ast.If) and all(isinstance(part, ast.Raise) for part in node.body)
    return raises or isinstance(node, ast.Assert)


def _by_element(argument: ast.expr) -> Iterator[ast.expr]:
    """Yield an argument, the parts of arithmetic that has the shape of its largest part, or what a list is made of, one by one."""
    if isinstance(argument, ast.ListComp) and len(argument.generators) == 1:
        yield argument.generators[0].iter
    elif isinstance(argument, ast.BinOp) and not isinstance(argument.op, ast.MatMult):
        yield from _by_element(argument.left)
        yield from _by_element(argument.right)
    else:
        yield argument


def _is_between(file: str, through: str) -> bool:
    return file.startswith("<") or bool(through and re.search(through, file))


def _is_slow(frame: Frame) -> bool:
    return origin(frame) is not Origin.YOURS and slow_call_of(frame) is not None
