"""Objects copied deeply again and again: simulators in a search, states, configurations."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.calls.pickled_copies import PickledCopies, nodes_of_copy
from rlprof.detectors.recognisers.line_time import LineTime
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, file_name, last_name
from rlprof.source.values import Values, value_of
from rlprof.syntax.origin import Origin, origin

MIN_SHARE: Final = 0.03
"""Least share of the critical time: a configuration copied for each environment stays below it."""

REMOVABLE: Final = calibrated(
    Range(0.7, 0.99),
    unit="part of the copying's time",
    source="benchmarks/replacements.py: of games with 4, 12 and 40 rows 0.06, 0.02 and 0.003 are left by a copy of "
    "what changes; 0.26 in the pair deepcopy_in_loop",
    date="2026-11-23",
)
"""Part that goes where only what changes is copied."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    time = LineTime(profile, lines)
    for top in tree.topmost(_copies_deeply):
        owner = lines.owner(top)
        # A library that copies for itself is not the user's to change.
        if owner == NO_PARENT or tree.nodes[top].parent != owner or not lines.is_repeated(owner):
            continue
        time.add_calls(top, lines.line(owner))
    values = Values(profile.values)
    copies = PickledCopies(lines, values, profile.sources)
    for node in tree.hot_nodes() if copies.places else ():
        frame = tree.frame(node)
        is_repeated = lines.is_yours(frame) and lines.is_repeated(node)
        if is_repeated and (frame.file, frame.line) in copies.places:
            own = set(nodes_of_copy(lines, node)) - time.nodes
            time.add(lines.line(node), tree.cost_of(own).wall_us, own)
    if not time.is_worth(MIN_SHARE):
        return
    yield Finding(
        title=f"an object is copied deeply again and again ({time.place})",
        savings=(Saving(time.nodes, REMOVABLE),),
        locations=time.locations,
        evidence=(
            time.share_spent("on copying it"),
            *_copied(values, lines, time.heaviest),
        ),
        fix="Copy only what changes: give the class a method that makes a new object and copies its few arrays and "
        "numbers, or save these before and set them back after. What is never written needs no copy.",
        confidence=Confidence.MEASURED,
    )


def _copies_deeply(frame: Frame) -> bool:
    return (
        last_name(frame.function) == "deepcopy"
        and file_name(frame.file) == "copy.py"
        and origin(frame) is Origin.STDLIB
    )


def _copied(values: Values, lines: UserLines, line: Line) -> Iterator[str]:
    """Yield what is copied there, where a look has told."""
    for statement in lines.statements(line):
        known = values.of(line.file, statement)
        for call in statement.calls():
            if call.args:
                callee, copied = value_of(call.func, known), value_of(call.args[0], known)
                names = (callee.function if callee is not None else "").split(".")
                is_copied = names == ["copy", "deepcopy"] or names[-1] == "dumps"
                if copied is not None and is_copied:
                    what = ast.unparse(call.args[0])
                    yield f"what is copied: {what}, of type {copied.in_words()}"


DETECTOR: Final = Detector(
    id="deepcopy-in-loop",
    name="objects copied deeply again and again",
    in_samples=InSamples(detect),
)
