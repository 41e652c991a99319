"""Networks that work on sequences filled up to a fixed length, and so on numbers that nobody uses."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.networks.recorded_graphs import BackwardPass, asks_network
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.profile.components import LEARNING
from rlprof.source.lines import Line, UserLines
from rlprof.source.values import Values
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned, calls_in
from rlprof.syntax.origin import Origin, origin_of_file
from rlprof.syntax.padding import Padding, looked_at, paddings

FEWEST_SEEN: Final = 2
"""Lengths of sequences from which on they tell how much is filled up."""

MOST_CALLERS: Final = 3
"""Functions between the one that fills up and the update, at most."""

_OF_SEQUENCES: Final = re.compile(
    r"[/\\]torch[/\\]nn[/\\]modules[/\\](rnn|transformer)\.py$|[/\\]transformers[/\\]models[/\\]"
)
"""Networks that go through sequences."""

_ATTENTION: Final = ({"scaled_dot_product_attention"}, {"softmax", "masked_fill"})
"""Calls that attention is made of; each of these sets is enough."""

_PACKS: Final = frozenset({"pack_padded_sequence", "pack_sequence"})

_Function = tuple[str, str]
"""File and qualified name."""

MIN_SHARE: Final = 0.05
"""Least share of the critical time, in the forward passes of updates."""

UNKNOWN: Final = Range(0.0, 0.8)
"""Part of the networks' time that goes where nobody saw how long the sequences are."""

LONGEST: Final = 1.5
"""Times the middle length that the longest of a batch may have, to which it is still filled up."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found = padded_batches(profile, lines)
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(frozenset(batches.nodes), _removable(batches)) for batches in found]
    yield Finding(
        title=f"sequences are filled up to a fixed length ({time.place})",
        savings=BackwardPass(profile, lines).with_forward(savings),
        locations=time.locations,
        evidence=(
            time.share_spent("in networks that are updated on them"),
            _lengths_in_words(time.most),
        ),
        fix="Fill up to the longest sequence of the batch, and put sequences of like length into one batch: "
        "torch.nn.utils.rnn.pad_sequence(sequences), or rows[:, : max(map(len, sequences))]; rows[:, -longest:] of what is filled up on the left.",
        confidence=Confidence.BOUNDED,
    )


def _removable(batches: PaddedBatches) -> Range:
    middle, width = batches.middle, batches.width
    if middle is None or not width:
        return UNKNOWN
    left = min(1.0, middle / width)
    return Range(max(0.0, 1 - LONGEST * left), 1 - left)


def _lengths_in_words(batches: PaddedBatches) -> str:
    width = ast.unparse(batches.padding.width)
    sequence = ast.unparse(batches.padding.sequence)
    told = f"to {width}, whatever the length of {sequence}"
    if batches.padding.is_count:
        told = f"to {width}, whatever {sequence} has come to where an episode ends"
    if not batches.lengths:
        return f"{told}; how long they are was not seen"
    lengths = f"{min(batches.lengths)} to {max(batches.lengths)}"
    of = f" of {batches.width}" if batches.width else ""
    return f"{told}; {lengths}{of} were seen"


@dataclass(slots=True)
class PaddedBatches:
    """Batches that one function fills up."""

    padding: Padding
    place: Line
    lengths: Counter[int]
    """Those of sequences that were seen, with how often; none where nobody looked."""
    width: int | None
    """To which they are filled up, if that was seen."""
    nodes: set[int] = field(default_factory=set)
    """Forward passes of networks in updates on them."""

    @property
    def middle(self) -> float | None:
        """The middle one of the lengths; None where too few were seen."""
        are_enough = len(self.lengths) >= FEWEST_SEEN or [*self.lengths] == [self.width]
        return median(self.lengths.elements()) if are_enough else None

    @property
    def have_full_ones(self) -> bool:
        """True if they are windows of a fixed length that was not seen to be longer than all of them: the longest of a batch is full then."""
        if not self.padding.is_window:
            return False
        return not self.lengths or self.width is None or max(self.lengths) >= self.width


def padded_batches(profile: Profile, lines: UserLines) -> list[PaddedBatches]:
    """Look for them in the steady phase; of several statements of one function the first."""
    modules = lines.modules(
        file for file in profile.sources if origin_of_file(file) is Origin.YOURS
    )
    if any(map(_takes_care, modules.values())):
        return []
    values = Values(profile.values)
    found: dict[_Function, PaddedBatches] = {}
    for padding in paddings(modules):
        place = Line(padding.file, padding.line, padding.function.qualname)
        width = _width(padding, values)
        key = (padding.file, padding.function.qualname)
        found.setdefault(key, PaddedBatches(padding, place, Counter(), width))
    for batches in found.values():
        around = _around(batches.padding, modules)
        batches.lengths += _lengths(batches.padding, around, modules, values)
        batches.nodes.update(_updates(profile, lines, around))
    return [each for each in found.values() if each.nodes and not each.have_full_ones]


def _width(padding: Padding, values: Values) -> int | None:
    """Return the width that sequences are filled up to, as far as the source or a look at the array tells."""
    if isinstance(padding.width, ast.Constant) and isinstance(padding.width.value, int):
        return padding.width.value
    array = values.within(padding.file, padding.function.qualname).get(padding.array)
    shape = array.shape if array is not None else None
    return shape[padding.axis] if shape and len(shape) > padding.axis else None


def _lengths(
    padding: Padding,
    around: set[_Function],
    modules: Mapping[str, SourceModule],
    values: Values,
) -> Counter[int]:
    """Return the lengths of sequences that were seen, with how often, where they are filled up and where they are handed over for that."""
    own = (padding.file, padding.function.qualname, ast.unparse(padding.sequence))
    texts = set() if padding.is_longer_when_seen else {own}
    texts |= {
        (file, function.qualname, operand.text)
        for file, module in modules.items()
        for function in module.functions
        if (file, function.qualname) in around
        for operand in looked_at(module, function.first_line)
    }
    seen = (values.within(file, name).get(text) for file, name, text in texts)
    return sum((value.looks_by_length for value in seen if value is not None), Counter())


def _around(padding: Padding, modules: Mapping[str, SourceModule]) -> set[_Function]:
    """Return the function that fills up, those that call it, by its name, and of those that hand on what it gives their callers."""
    around = {(padding.file, padding.function.qualname)}
    names = {padding.function.node.name}
    for _ in range(MOST_CALLERS):
        callers = [
            (file, statement, statement.function)
            for file, module in modules.items()
            for statement in module.statements
            if statement.function is not None and not names.isdisjoint(_mentioned(statement))
        ]
        around |= {(file, function.qualname) for file, _, function in callers}
        names = {
            function.node.name
            for file, statement, function in callers
            if _hands_on(modules[file], statement)
        }
    return around


def _hands_on(module: SourceModule, statement: Statement) -> bool:
    """Tell whether the function returns, or yields, what ``statement`` computes, or what is made of that."""
    variables: set[str] = set()
    for other in module.of_function(statement.function):
        if other is statement or not variables.isdisjoint(_mentioned(other)):
            if _gives(other):
                return True
            variables |= {
                each.target.id for each in assigned(other.node) if isinstance(each.target, ast.Name)
            }
    return False


def _gives(statement: Statement) -> bool:
    return isinstance(statement.node, ast.Return) or any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in statement.walk()
    )


def _mentioned(statement: Statement) -> Iterator[str]:
    for node in statement.walk():
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def _updates(profile: Profile, lines: UserLines, functions: set[_Function]) -> Iterator[int]:
    """Yield the forward passes below these functions that are part of an update."""
    tree = profile.steady
    for top in tree.topmost(asks_network):
        frames = map(tree.frame, tree.ancestors(top))
        is_update = bool(profile.parts) and profile.parts[top] == LEARNING
        if not is_update or not any((frame.file, frame.function) in functions for frame in frames):
            continue
        nodes = [*tree.subtree(top)]
        # Others take entities, actions or stacked frames that are filled up: their width is that of a layer.
        if any(_is_of_sequences(tree.frame(node), lines) for node in nodes):
            yield from nodes


def _is_of_sequences(frame: Frame, lines: UserLines) -> bool:
    """Tell whether ``frame`` goes through sequences: a network of torch's, or attention that the program has written itself."""
    if _OF_SEQUENCES.search(frame.file):
        return True
    module = lines.module(frame.file) if lines.is_yours(frame) else None
    calls = {
        called_name(node)
        for statement in (module.statements if module else ())
        if statement.function is not None and statement.function.qualname == frame.function
        for node in statement.calls()
    }
    return any(calls >= attention for attention in _ATTENTION)


def _takes_care(module: SourceModule) -> bool:
    """Tell whether sequences are packed somewhere, or networks compiled, which wants one width."""
    return any(
        (called_name(node) in _PACKS or ast.unparse(node.func) == "torch.compile")
        for node in calls_in(module.tree)
    )


DETECTOR: Final = Detector(
    id="padded-sequences",
    name="networks that work on sequences filled up to a fixed length",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
