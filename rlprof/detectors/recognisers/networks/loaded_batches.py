"""Batches that a DataLoader without workers puts together in the process that trains, of datasets that only take items out."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import lru_cache
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.model.recording import GC_FUNCTION, NO_PARENT, Frame
from rlprof.source.lines import Line, last_name
from rlprof.syntax.module import PARSED_FILES, Function, called_name, parse
from rlprof.syntax.nodes import names_in, nodes_in
from rlprof.syntax.origin import Origin, installed_package, origin

GETITEM: Final = "__getitem__"

_CONVERTS: Final = (
    frozenset(
        (
            "tensor",
            "as_tensor",
            "Tensor",
            "FloatTensor",
            "LongTensor",
            "from_numpy",
            "asarray",
            "array",
        )
    )
    | frozenset(
        (
            "float",
            "int",
            "bool",
            "long",
            "float32",
            "int64",
            "astype",
            "to",
            "item",
            "clone",
            "copy",
        )
    )
    | frozenset(
        (
            "tuple",
            "list",
            "dict",
            "zip",
            "items",
            "values",
            "squeeze",
            "unsqueeze",
            "view",
            "reshape",
        )
    )
)
"""Calls that can be made of all rows at once, or once and for all."""

_DOES_MORE: Final = (
    *(ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try),
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.AugAssign, ast.Delete, ast.Lambda),
)

LOADED_SHORT: Final = calibrated(
    Range(0.65, 0.98),
    unit="part of the loader's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: batches of 32 to 256 with rows of 4 to 1 024 floats, 0.01 to 0.25 "
    "is left",
    date="2026-11-25",
)
"""Part that goes where all rows of a batch are indexed at once, of short rows."""

LOADED_LONG: Final = calibrated(
    Range(0.1, 0.85),
    unit="part of the loader's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: rows of 2 048 floats leave 0.22 to 0.41, of 4 096 0.4 to 0.7, of "
    "12 288 0.84 and more",
    date="2026-11-25",
)
"""The same of long ones, whose bytes are copied anyhow."""

STACKED_SHORT: Final = calibrated(
    0.25,
    unit="times the time beside stacking",
    source="by hand: stacking takes 0.06 to 0.32 times it for rows of up to 1 024 floats, 0.2 to 0.47 of 2 048, 0.3 to 0.7 of 4 096",
    date="2026-11-25",
)
"""Time in ``torch.stack`` over that of the loader's rest, up to which rows are short: to read one takes as long whatever is in it."""

STACKED_LONG: Final = calibrated(
    0.6,
    unit="times the time beside stacking",
    source="by hand: 0.52 to 1.2 for rows of 12 288 floats, of which indexing all at once saves nothing on one thread; 0.9 to 2 for four pictures "
    "of 84 x 84",
    date="2026-11-25",
)
"""The same from which on nothing can be promised."""

MOST_OTHER: Final = 0.05
"""Part of the loader's time in other work on single items (reading files, augmentation), up to which its items are just taken from
memory."""

_LOADER: Final = re.compile(r"[/\\]torch[/\\]utils[/\\]data[/\\]dataloader\.py$")
_FETCHER: Final = re.compile(r"[/\\]torch[/\\]utils[/\\]data[/\\]_utils[/\\]fetch\.py$")
_COLLATER: Final = re.compile(r"[/\\]torch[/\\]utils[/\\]data[/\\]_utils[/\\]collate\.py$")

_STAYS: Final = re.compile(
    r"[/\\]torch[/\\]utils[/\\]data[/\\](sampler|_utils[/\\]pin_memory)\.py$"
)
"""Which items a batch has is still drawn, and pinned memory still filled."""

_MAPPED: Final = re.compile(r"[/\\]numpy[/\\].*memmap\.py$")
"""What is read from a file."""


class LoadedBatches(SteadySearch):
    """Their time in the steady phase."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.nodes: set[int] = set()
        self.other_nodes: set[int] = set()
        """Nodes of other work on single items."""
        self.weights: dict[Line, float] = defaultdict(float)
        self.items_us = 0.0
        """In the dataset's ``__getitem__``."""
        self.stacked_us = 0.0
        self._other: dict[Line, float] = defaultdict(float)
        for top in self.tree.topmost(_gives_batch):
            owner = self.lines.owner(top)
            if owner != NO_PARENT and self._fetches(top):
                self._claim(top, self.lines.line(owner))

    @property
    def total_us(self) -> float:
        return sum(self.weights.values())

    @property
    def whole(self) -> dict[Line, float]:
        """Time of all batches by the line that asks for them, with other work on their items."""
        return {
            line: self.weights.get(line, 0.0) + self._other.get(line, 0.0)
            for line in {**self.weights, **self._other}
        }

    @property
    def removable(self) -> Range | None:
        """Part of it that goes; None where something else may be what takes the time."""
        total = self.total_us
        other = sum(self._other.values())
        if not self.items_us or not self.stacked_us or other > MOST_OTHER * total:
            return None
        stacked = self.stacked_us / (total - self.stacked_us)
        if stacked > STACKED_LONG:
            return None
        return LOADED_SHORT if stacked <= STACKED_SHORT else LOADED_LONG

    def _fetches(self, top: int) -> bool:
        """Tell whether the batch is made in this process: with workers it is only waited for."""
        return any(_FETCHER.search(self.tree.frame(node).file) for node in self.tree.subtree(top))

    def _claim(self, top: int, line: Line) -> None:
        pending = [(top, False)]
        while pending:
            node, in_item = pending.pop()
            frame, us = self.tree.frame(node), self.tree.self_cost(node).wall_us
            if _STAYS.search(frame.file):
                continue
            if not self._is_part(frame):
                self._other[line] += self.tree.total_cost(node).wall_us
                self.other_nodes.update(self.tree.subtree(node))
                continue
            in_item = in_item or GETITEM in frame.function
            self.nodes.add(node)
            self.weights[line] += us
            self.items_us += us if in_item else 0.0
            self.stacked_us += us if _stacks(frame) else 0.0
            pending += [(child, in_item) for child in self.tree.children(node)]

    def _is_part(self, frame: Frame) -> bool:
        """Tell whether ``frame`` is of the loader, or takes an item out of memory."""
        if frame.function == GC_FUNCTION or frame.file.startswith("<"):
            return True
        if self.lines.is_yours(frame):
            return only_indexes(self.profile.sources.get(frame.file, ""), frame)
        package = installed_package(frame.file)
        if package == "numpy":
            return not _MAPPED.search(frame.file)
        # What the standard library does for an item is to read it.
        return package == "torch" or origin(frame) is Origin.RUNTIME


def _gives_batch(frame: Frame) -> bool:
    return last_name(frame.function) == "__next__" and bool(_LOADER.search(frame.file))


def _stacks(frame: Frame) -> bool:
    """Tell whether ``frame`` calls ``torch.stack``, which is written in C++."""
    return last_name(frame.function) == "collate_tensor_fn" and bool(_COLLATER.search(frame.file))


def only_indexes(text: str, frame: Frame) -> bool:
    """Tell whether ``frame`` is in a ``__getitem__`` that indexes, converts and reckons, and nothing else."""
    return frame.line in _indexing_lines(text)


@lru_cache(maxsize=PARSED_FILES)
def _indexing_lines(text: str) -> frozenset[int]:
    module = parse(text) if GETITEM in text else None
    return frozenset(
        line
        for function in (module.functions if module else ())
        if last_name(function.qualname) == GETITEM and _indexes(function)
        for line in function.lines
    )


def _indexes(function: Function) -> bool:
    given = [argument.arg for argument in function.node.args.args]
    inside = list(nodes_in(*function.node.body))
    if len(given) != 2 or any(isinstance(inner, _DOES_MORE) for inner in inside):
        return False
    calls = [inner for inner in inside if isinstance(inner, ast.Call)]
    return all(called_name(call) in _CONVERTS for call in calls) and any(
        isinstance(inner, ast.Subscript) and (given[1] in names_in(inner.slice)) for inner in inside
    )
