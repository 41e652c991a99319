"""The user's lines in a call tree: who called, from where, how often."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.libraries.known import files_of, packages_of
from rlprof.model.calltree import CallTree, handed_down, nearest
from rlprof.model.finding import Location
from rlprof.model.memory import GrownLine
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.syntax.module import Function, SourceModule, Statement, parse
from rlprof.syntax.origin import Origin, installed_package, is_import_machinery, origin

_is_launcher: Final = packages_of(lambda library: library.is_launcher)

_CONSOLE_SCRIPT: Final = re.compile(r"[/\\](bin[/\\][^/\\.]+|Scripts[/\\][^/\\]+)$")
_CONSOLE_SCRIPT_LINES: Final = 12
"""Lines, at most, of a script that starts an entry point: what pip and uv write has at most ten."""

_OF_A_PROJECT: Final = 0.01
"""Part of the time below a project's code from which on it began there: less is a torn stack."""

_INNER_SCOPE: Final = re.compile(r"(\.<locals>)?\.?<(listcomp|setcomp|dictcomp|genexpr|lambda)>$")

_SEPARATOR: Final = re.compile(r"[/\\]")

_RLPROF: Final = re.compile(r"[/\\]rlprof[/\\](agent[/\\].*|__init__)\.py$|[/\\]sitecustomize\.py$")
"""Files that rlprof brings along, also from a checkout: their time is that of the line that called them."""

MAX_TEXT: Final = 200
"""Characters kept of a source line: a page cannot show more, and a generated one may be 1 MB."""

_SHOWN: Final = 4

_is_driver: Final = files_of(lambda library: library.drives)
"""A test for code that calls its user's functions over and over. Other libraries between two frames of the
user's (hydra, click, decorators of torch) call once."""


class Line(NamedTuple):
    """A source line as findings name it."""

    file: str
    line: int
    function: str


class UserLines:
    """The user's lines in one call tree, with what their source says."""

    def __init__(self, tree: CallTree, sources: Mapping[str, str], package: str = "") -> None:
        """``package`` is installed, but the user's: ``Profile.started_package``."""
        self.tree = tree
        self._package = package
        self._sources = sources
        self._texts: dict[str, list[str]] = {}
        self._owner: dict[int, int] = {NO_PARENT: NO_PARENT}
        self._packaged: dict[int, int] = {NO_PARENT: NO_PARENT}
        self._nameless: dict[int, int] = {NO_PARENT: NO_PARENT}
        self._loops: dict[int, bool] = {NO_PARENT: False}
        self._driven: dict[int, bool] = {NO_PARENT: False}

    @classmethod
    def of(cls, profile: Profile, tree: CallTree | None = None) -> UserLines:
        """Those of a profile's ``tree``: of its steady phase, where none is given."""
        tree = profile.steady if tree is None else tree
        return cls(tree, profile.sources, profile.started_package)

    def module(self, file: str) -> SourceModule | None:
        """The parsed source of ``file``; ``None`` when it is not in the run file or unreadable."""
        text = self._sources.get(file)
        return parse(text) if text is not None else None

    def modules(self, files: Iterable[str]) -> dict[str, SourceModule]:
        """Return the parsed sources of those of ``files`` that can be read."""
        return {file: module for file in files if (module := self.module(file)) is not None}

    def statement(self, at: Frame | Line) -> Statement | None:
        """The statement on a line, or that a frame was in."""
        module = self.module(at.file)
        return module.statement_at(at.line) if module else None

    def statements(self, at: Frame | Line) -> Sequence[Statement]:
        """All statements there: ``a(); b()`` are two."""
        module = self.module(at.file)
        return module.statements_at(at.line) if module else ()

    def function(self, frame: Frame) -> Function | None:
        """The function that ``frame`` was in, as its source has it."""
        module = self.module(frame.file)
        return module.function_at(frame.line) if module else None

    def owner(self, node: int) -> int:
        """The nearest node in the user's code: ``node`` itself or a caller; else ``NO_PARENT``.

        Code of the package that the run started only where no other is; code without a file
        (``python -c``, what a dataclass generates) and console scripts only where neither is.
        """
        for test, known in (
            (_is_the_users, self._owner),
            (self._is_packaged, self._packaged),
            (_wraps_or_begins, self._nameless),
        ):
            found = nearest(self.tree.nodes, node, test, known)
            if found != NO_PARENT:
                # What spawns a worker is ``python -c``, too, and nobody's line.
                return NO_PARENT if begins_process(self.tree.frame(found)) else found
        return NO_PARENT

    def is_yours(self, frame: Frame) -> bool:
        """Tell whether the frame is of the user's code, be it a project's or the started package's."""
        return origin(frame) is Origin.YOURS or self._is_packaged(frame)

    def _is_packaged(self, frame: Frame) -> bool:
        return bool(self._package) and installed_package(frame.file) == self._package

    def is_in_loop(self, node: int) -> bool:
        """Tell whether a loop of the user's, around ``node`` or one of its callers, runs it."""
        return self._any_above(node, self._in_own_loop, self._loops)

    def is_repeated(self, node: int) -> bool:
        """Tell whether ``node`` runs again and again: by a loop, or by a framework that calls back."""
        return self.is_in_loop(node) or self._any_above(node, self._drives, self._driven)

    def _any_above(self, node: int, test: Callable[[Frame], bool], known: dict[int, bool]) -> bool:
        """Tell whether ``test`` holds for ``node`` or a caller; ``known`` keeps the answers.

        A forked worker's stack goes on into the parent's, whose loops do not run the worker's code.
        """

        def holds(frame: Frame, above: bool) -> bool:
            return (above and not begins_process(frame)) or test(frame)

        return handed_down(self.tree.nodes, node, holds, known)

    def _in_own_loop(self, frame: Frame) -> bool:
        return self.is_yours(frame) and self._in_loop(frame)

    def _drives(self, frame: Frame) -> bool:
        return _is_driver(frame.file) or self._in_loop(frame)

    def _in_loop(self, frame: Frame) -> bool:
        module = self.module(frame.file)
        return module.in_loop(frame.line) if module else False

    def has_source(self, node: int) -> bool:
        """Tell whether the source of ``node``'s file is there to read."""
        return self.module(self.tree.frame(node).file) is not None

    def line(self, node: int) -> Line:
        """Return where ``node`` is, by the function that a reader would name."""
        frame = self.tree.frame(node)
        return Line(frame.file, frame.line, self._function(frame))

    def _function(self, frame: Frame) -> str:
        outer = _INNER_SCOPE.sub("", frame.function)
        if outer:
            return outer
        # Before Python 3.11 a comprehension's frame does not say whose it is.
        function = self.function(frame)
        return function.qualname if function else "<module>"

    def times(self, times: Iterable[tuple[int, float]]) -> dict[Line, float]:
        """The ``times`` (µs) of nodes by the user's line that is there or calls it; without what has none."""
        found: dict[Line, float] = defaultdict(float)
        for node, us in times:
            owner = self.owner(node) if us else NO_PARENT
            if owner != NO_PARENT:
                found[self.line(owner)] += us
        return found

    def text(self, line: Line) -> str:
        """The text of a line, stripped and cut to ``MAX_TEXT``; empty when it is not known."""
        if line.file not in self._texts:
            self._texts[line.file] = self._sources.get(line.file, "").splitlines()
        lines = self._texts[line.file]
        if not 0 < line.line <= len(lines):
            return ""
        text = lines[line.line - 1].strip()
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"

    def locations(self, weights: Mapping[Line, float], whole_us: float) -> tuple[Location, ...]:
        """The lines as a finding lists them, the heaviest (µs) first, with their share of ``whole_us``."""
        heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            Location(line.file, line.line, line.function, min(1.0, us / whole_us), self.text(line))
            for line, us in heaviest
        )

    def shown_locations(
        self, weights: Mapping[Line, float], whole_us: float
    ) -> tuple[Location, ...]:
        """As many of them as most findings name."""
        return self.locations(weights, whole_us)[:_SHOWN]


def added_up(several: Iterable[Mapping[Line, float]]) -> dict[Line, float]:
    """Return the times (µs) of the lines of ``several``, all together."""
    found: dict[Line, float] = defaultdict(float)
    for times in several:
        for line, us in times.items():
            found[line] += us
    return found


def heaviest_line(weights: Mapping[Line, float]) -> Line:
    return max(weights, key=lambda line: (weights[line], line))


def _is_the_users(frame: Frame) -> bool:
    return (
        origin(frame) is Origin.YOURS
        and not frame.file.startswith("<")
        and not _RLPROF.search(frame.file)
        and not is_console_script(frame)
    )


def begins_process(frame: Frame) -> bool:
    """Tell whether what is below runs in a worker: the stacks of forked ones go on from that of who forked them."""
    return last_name(frame.function) == "_bootstrap" and file_name(frame.file) == "process.py"


def _wraps_or_begins(frame: Frame) -> bool:
    return _is_wrapping(frame) or begins_process(frame)


def _is_wrapping(frame: Frame) -> bool:
    return origin(frame) is Origin.YOURS and (
        frame.file.startswith("<") or is_console_script(frame)
    )


def last_name(function: str) -> str:
    """The function's own name, without class and scope: ``DictConfig.get`` -> ``get``."""
    return function.rpartition(".")[2]


def file_name(file: str) -> str:
    return _SEPARATOR.split(file)[-1]


def short_place(line: Line | Location | GrownLine) -> str:
    """``train.py:12``: enough for a title."""
    return f"{file_name(line.file)}:{line.line}"


def is_console_script(frame: Frame) -> bool:
    """Tell whether the frame is of ``bin/train`` as an installer writes it, to call an entry point."""
    return (
        frame.function == "<module>"
        and frame.line <= _CONSOLE_SCRIPT_LINES
        and bool(_CONSOLE_SCRIPT.search(frame.file))
    )


def started_package(tree: CallTree) -> str:
    """The top-level package in which the main threads begin; empty where they begin in a project.

    ``python -m my_package.train`` with ``my_package`` in site-packages gives ``my_package``. The
    time below the outermost frame that neither the standard library nor a launcher owns decides. Workers that a library
    spawns begin in that library, but its user is whoever has a project's code at the beginning of another process.
    """
    votes: dict[str, int] = defaultdict(int)
    pending = [root for root in tree.roots() if not _starts_a_thread(tree.frame(root))]
    while pending:
        node = pending.pop()
        frame = tree.frame(node)
        if is_import_machinery(frame):
            continue
        package = installed_package(frame.file)
        if _only_passes_on(frame, package):
            pending += tree.children(node)
        else:
            votes[package] += tree.total_cost(node).wall_us
    if votes.get("", 0) >= _OF_A_PROJECT * sum(votes.values()):
        return ""
    return max(votes, key=lambda package: (votes[package], package))


def _only_passes_on(frame: Frame, package: str) -> bool:
    if origin(frame) is Origin.YOURS:
        return _is_wrapping(frame)
    return not package or _is_launcher(package)


def _starts_a_thread(frame: Frame) -> bool:
    return frame.file.endswith(("/threading.py", "\\threading.py"))
