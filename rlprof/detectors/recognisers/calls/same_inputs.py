"""Pure work whose inputs were the same at each look, or come again, or searches of one map from many places."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line
from rlprof.source.value import Value
from rlprof.syntax.changed import changed_in_place
from rlprof.syntax.module import SourceModule, variables_assigned, variables_read
from rlprof.syntax.nodes import assigned, defaults_of, mentions, nodes_in
from rlprof.syntax.origin import installed_package
from rlprof.syntax.pure import Pure, only_computes_at, pure_at
from rlprof.syntax.searches import search_begins_with

LOOKS: Final = 3
"""Comparisons of each input."""

LOOKS_AT_NUMBERS: Final = 5
"""The same of a variable that is a number, a truth value or a text: one of few values is the same now and then by chance. Not of a
parameter with a default."""

ENTERED: Final = 3
"""Windows of the recording in which one process entered or left it: one long call has two."""

CALLS: Final = 8
"""Looks at a function's inputs, from which on those that came again are counted."""

LEAST_AGAIN: Final = 0.3
"""Part of the calls with inputs that were given before, from which on results are worth keeping."""

MOST_IN_A_KEY: Final = 1_000
"""Numbers of an input, from which on to look its result up may take longer than to compute it: ``tobytes`` of 10 000 takes 20 µs, their mean 8."""

PAIRS: Final = 4
"""Pairs of calls soon after each other, from which on it counts what stays the same from one to the other."""

LEAST_KEPT: Final = 0.2
"""Part of the pairs in which a map is the same, from which on it may be worth searching whole."""

LEAST_MOVED: Final = 0.5
"""Part of the pairs in which a place is another one: the second look of some is at the same call."""

NUMBERS_OF_A_PLACE: Final = 3

LARGER: Final = 20
"""Numbers that the part which is the same works on, for each of the others on its line."""

_INTERFACE: Final = frozenset({"reset", "step"})
"""Methods of an environment."""

_COMPUTING: Final = frozenset(("", "numpy", "scipy", "torch", "rlprof"))
"""Packages whose functions pure work may pass through, besides those of Python: ours is the probe."""


@dataclass(frozen=True, slots=True)
class PureWork:
    """A pure function, statement or part of a line, with inputs that stay as they are."""

    pure: Pure
    inputs: Mapping[str, Value]
    """By how they are written."""
    enclosing: str
    """The function that it is in."""
    windows: int
    """Those of the recording in which one process entered or left it."""
    again: tuple[int, int] | None = None
    """Calls that had inputs of another one, and calls that were looked at; None where the inputs are the same each time."""
    searched: tuple[int, int] | None = None
    """Of a search, pairs of calls with the same map and another place to begin at, and all pairs; None of other work."""


@dataclass
class RepeatedWork:
    """One function that is pure, or the pure work on lines of one that is not."""

    work: PureWork
    inputs: dict[str, Value] = field(default_factory=dict)
    nodes: set[int] = field(default_factory=set)


class SameInputs(SteadySearch):
    """Finds pure work whose inputs were the same at each look."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._known: dict[Frame, PureWork | None] = {}

    def found(self) -> Collection[RepeatedWork]:
        """Each with the nodes of its calls, none of them below another one's."""
        found: dict[tuple[str, str, bool], RepeatedWork] = {}
        inside: set[int] = set()
        refused: set[tuple[str, str, bool]] = set()
        for node in self.tree.hot_nodes() if self.values else ():
            if self.tree.nodes[node].parent in inside:
                inside.add(node)
                continue
            frame = self.tree.frame(node)
            work = self._work(frame) if self.lines.is_yours(frame) else None
            if work is None or not self.lines.is_repeated(node):
                continue
            key = (frame.file, work.pure.function or f"in {work.enclosing}", work.pure.is_part)
            if (
                self._does_more(node, work.pure)
                or self._is_same_by_luck(node, work)
                or self._makes_an_environment(node)
            ):
                refused.add(key)
                continue
            inside.add(node)
            group = found.setdefault(key, RepeatedWork(work))
            group.nodes.add(node)
            group.inputs |= work.inputs
        return [group for key, group in found.items() if key not in refused]

    def place(self, node: int, work: PureWork) -> Line:
        """Return where a function is called, if that is a line of the user's; else where the work is."""
        caller = self.lines.owner(self.tree.nodes[node].parent)
        return self.lines.line(caller if work.pure.function and caller != NO_PARENT else node)

    def is_as_read(self, node: int, pure: Pure) -> bool:
        """Tell whether what runs there is what the source says."""
        frame = self.tree.frame(node)
        return not self._is_overridden(frame, pure) and not self._does_more(node, pure)

    def _makes_an_environment(self, node: int) -> bool:
        """Tell whether it is a part of making an environment: that this is made anew is the cause."""
        for around in (node, *self.tree.ancestors(node)):
            frame = self.tree.frame(around)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            function = self.lines.function(frame) if module else None
            if module is not None and function is not None and function.node.name == "__init__":
                methods = {
                    other.node.name
                    for other in module.functions
                    if other.class_name == function.class_name
                }
                if methods >= _INTERFACE:
                    return True
        return False

    def _is_same_by_luck(self, node: int, work: PureWork) -> bool:
        """Tell whether it is given a number out of what a call of the same turn has returned, or a list of such, be it by an attribute: a step's
        reward is -1 each time until the goal, and a state without noise comes to rest.
        """
        numbers = {
            text for text, value in work.inputs.items() if value.is_plain or value.type == "list"
        }
        attributes = {text.rpartition(".")[2] for text in numbers if "." in text}
        is_call = bool(work.pure.function)
        caller = self.lines.owner(self.tree.nodes[node].parent) if is_call else node
        if work.again or work.searched or not numbers or caller == NO_PARENT:
            return False
        frame = self.tree.frame(caller)
        module = self.lines.module(frame.file)
        loop = module.innermost_loop(frame.line) if module else None
        if module is None or loop is None:
            return False
        given = [
            argument
            for statement in module.statements_at(frame.line)
            for call in statement.calls()
            for argument in call.args
            if any(text.isidentifier() for text in numbers)
        ]
        given += [
            each.value
            for part in ast.walk(loop)
            for each in assigned(part)
            if isinstance(each.target, ast.Attribute) and each.target.attr in attributes
        ]
        return bool(variables_read(*given) & _returned(loop))

    def _does_more(self, node: int, pure: Pure) -> bool:
        """Tell whether something was seen to be called that was not read: a method that a class of another file has in place of the one
        that was.
        """
        own = self.tree.frame(node)
        module = self.lines.module(own.file)
        for below in self.tree.subtree(node):
            frame = self.tree.frame(below)
            is_own = frame.file == own.file and (
                frame.line in pure.lines
                or (module is not None and only_computes_at(module, frame.line))
            )
            if self.lines.owner(below) == below and not is_own:
                return True
            if installed_package(frame.file) not in _COMPUTING:
                return True
        return False

    def _work(self, frame: Frame) -> PureWork | None:
        if frame not in self._known:
            module = self.lines.module(frame.file) if self.values.has(frame.file) else None
            around = [
                (pure, inputs)
                for pure in (pure_at(module, frame) if module else ())
                if (inputs := self._inputs(frame, pure)) is not None
            ]
            read = (self._read(frame, pure, inputs) for pure, inputs in around)
            called = (self._read_calls(frame, pure, inputs) for pure, inputs in around)
            searched = (self._read_search(frame, pure, inputs) for pure, inputs in around)
            works = (work for work in (*read, *called, *searched) if work is not None)
            self._known[frame] = next((work for work in works if work.windows >= ENTERED), None)
        return self._known[frame]

    def _inputs(self, frame: Frame, pure: Pure) -> Mapping[str, Value] | None:
        """Return what pure work was seen to depend on; None where one input was not, or a method may be another one than was read."""
        known = self.values.between(frame.file, pure.lines, frame.function)
        inputs = {
            operand.text: value for operand in pure.inputs if (value := known.get(operand.text))
        }
        is_known = len(inputs) == len(pure.inputs) and not self._is_overridden(frame, pure)
        return inputs if is_known else None

    def _is_overridden(self, frame: Frame, pure: Pure) -> bool:
        """Tell whether methods of its object are called, and that is of a class in another file which has methods of these names, too."""
        own = self.values.within(frame.file, frame.function).get("self")
        module = self.lines.module(frame.file)
        if own is None or module is None or own.file in ("", frame.file):
            return False
        derived = self.lines.module(own.file)
        called = {
            node.func.attr
            for statement in module.statements
            if statement.first_line in pure.lines
            for node in statement.calls()
            if isinstance(node.func, ast.Attribute)
        }
        methods = _methods(module)
        if methods.isdisjoint(called):
            return False
        # Any of them: one that is called may call further ones.
        return derived is None or not methods.isdisjoint(_methods(derived))

    def _windows(self, frame: Frame, pure: Pure) -> int:
        field = "entered" if pure.function else "reached"
        known = self.values.between(frame.file, pure.lines, frame.function)
        return max((value.windows(field) for value in known.values()), default=0)

    def _read(self, frame: Frame, pure: Pure, inputs: Mapping[str, Value]) -> PureWork | None:
        """The work, if its inputs were compared often enough and never changed."""
        function = self.lines.function(frame)
        defaults = defaults_of(function.node.args) if function else {}
        is_same = all(
            value.unchanged_looks >= _fewest_looks(text, value, defaults)
            and not self.values.changes(frame.file, frame.function, text)
            and not self._is_updated(frame, text)
            for text, value in inputs.items()
        )
        around = self.values.between(frame.file, pure.lines)
        if not is_same or (pure.is_part and not _is_most(inputs, around)):
            return None
        return PureWork(pure, inputs, frame.function, self._windows(frame, pure))

    def _is_updated(self, frame: Frame, text: str) -> bool:
        """Tell whether the function makes the next value of an input from the last one, as of a state: one that has become NaN stays the same;
        or whether the turn of a loop that this is in, or else the function, writes into it, as the latest reward: with the same number at times.
        """
        module = self.lines.module(frame.file)
        if module is None:
            return False
        function = module.function_at(frame.line)
        loop = module.innermost_loop(frame.line)
        turn = [loop] if loop else [each.node for each in module.of_function(function)]
        if any(ast.unparse(each) == text for each in changed_in_place(nodes_in(*turn))):
            return True
        for statement in module.of_function(function):
            node = statement.node
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == text:
                return True
            if any(
                ast.unparse(each.target) == text and mentions(each.value, text)
                for each in assigned(node)
            ):
                return True
        return False

    def _read_calls(self, frame: Frame, pure: Pure, inputs: Mapping[str, Value]) -> PureWork | None:
        """A function that was called with inputs that it had before, if they are short enough to look its result up by them."""
        again, calls = max((value.calls_again for value in inputs.values()), default=(0, 0))
        is_again = calls >= CALLS and again >= LEAST_AGAIN * calls
        if not pure.keeps_arguments or not is_again:
            return None
        if any(value.leaves > MOST_IN_A_KEY for value in filter(is_new_at_times, inputs.values())):
            return None
        return PureWork(pure, inputs, frame.function, self._windows(frame, pure), (again, calls))

    def _read_search(
        self, frame: Frame, pure: Pure, inputs: Mapping[str, Value]
    ) -> PureWork | None:
        """A search of a map that stays the same from call to call, from another place each time."""
        function = self.lines.function(frame) if pure.keeps_arguments else None
        if function is None or not isinstance(function.node, ast.FunctionDef):
            return None
        changing = {
            text: value
            for text, value in inputs.items()
            if value.changed and ("[" not in text or text.partition("[")[0] not in inputs)
        }
        places = {text for text, value in changing.items() if is_a_place(value)}
        kept = [value.pairs for text, value in changing.items() if text not in places]
        pairs = min((inputs[text].pairs for text in places), default=(0, 0))
        numbers = sum(inputs[text].leaves for text in places)
        if pairs[1] < PAIRS or numbers > NUMBERS_OF_A_PLACE:
            return None
        if not places <= search_begins_with(function.node):
            return None
        least = min(kept, key=lambda pair: pair[0] / max(1, pair[1]), default=(pairs[1], pairs[1]))
        if least[1] < PAIRS or least[0] < LEAST_KEPT * least[1]:
            return None
        windows = self._windows(frame, pure)
        return PureWork(pure, inputs, frame.function, windows, searched=least)


def _returned(loop: ast.AST) -> set[str]:
    """Return the variables that a loop unpacks from calls, and the lists that it appends them to."""
    returned: set[str] = set()
    for part in ast.walk(loop):
        match part:
            case ast.Assign(targets=[ast.Tuple() as names], value=ast.Call()):
                returned |= variables_assigned(names)
    for part in ast.walk(loop):
        match part:
            case ast.Call(func=ast.Attribute(ast.Name(name), "append"), args=[item]):
                if variables_read(item) & returned:
                    returned.add(name)
    return returned


def is_a_place(value: Value) -> bool:
    """Tell whether it is a few numbers that are others from call to call."""
    same, pairs = value.pairs
    return value.leaves <= NUMBERS_OF_A_PLACE and pairs - same >= LEAST_MOVED * max(1, pairs)


def _methods(module: SourceModule) -> set[str]:
    return {
        function.node.name
        for function in module.functions
        if function.class_name and not function.node.name.startswith("__")
    }


def is_new_at_times(value: Value) -> bool:
    return not value.unchanged_looks


def _fewest_looks(text: str, value: Value, defaults: Collection[str]) -> int:
    is_variable = text.islower() and text.isidentifier() and text not in defaults
    return LOOKS_AT_NUMBERS if is_variable and value.is_plain else LOOKS


def _is_most(inputs: Mapping[str, Value], known: Mapping[str, Value]) -> bool:
    """Tell whether ``inputs`` have nearly all the numbers that a line works on, as far as looks tell."""
    own = other = 0
    for text, value in known.items():
        if (
            value.is_compiled
            or value.type == "module"
            or (value.function and installed_package(value.file))
        ):
            continue  # The calls on the line were read.
        size = value.numbers or value.length
        if size is None or value.holds_objects or not value.is_on_cpu:
            return False  # A network, a function of the user's, a wait for the GPU: anything may take its time there.
        own, other = (own + size, other) if text in inputs else (own, other + size)
    return own >= LARGER * other
