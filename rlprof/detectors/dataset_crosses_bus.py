"""Much data copied to the device at each step, while the device waits for it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.line_time import lines_time
from rlprof.device.intervals import CoveredTime, union
from rlprof.device.places import per_step
from rlprof.device.timeline import without_by_device
from rlprof.device.transfers import find_transfers
from rlprof.device.transfers import uploads as uploads_in
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import TO_THE_GPU, SyncSite
from rlprof.model.trace import Row
from rlprof.source.lines import UserLines
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import SourceModule, called_name, variables_assigned
from rlprof.syntax.nodes import assigned, names_in
from rlprof.units import count, duration, percent, size

FEWEST_COPIES: Final = 20
"""Copies by one line from which on it is one of the loop's."""

LEAST_BYTES: Final = 64 << 10
"""Mean size of its copies: less is launches and waits, not data."""

MOST_STEPS_BACK: Final = 3
"""Assignments to variables that are followed from the copy to where its data comes from."""

_MOVES: Final = frozenset({"to", "cuda"})
_BYTES: Final = frozenset({"u1", "i1", "b1", "torch.uint8", "torch.int8", "torch.bool"})
"""Types of one byte an item: images, masks, actions."""
_FLOATS: Final = ("float16", "float32", "float64", "float", "double")
_FLOATING: Final = frozenset({"float", "double", "half", "FloatTensor"})


class HostWork(Enum):
    """Work on a batch before it is copied."""

    MADE_FLOATS = "made floats of single bytes"
    PICKED = "picked out of a larger array"


@dataclass(frozen=True, slots=True)
class Upload:
    """A line that copies, with the lines of its function that make what it copies."""

    site: SyncSite
    lines: frozenset[int]
    work: HostWork
    source: str
    """The array that the batch is made of, in words."""
    source_bytes: int


def uploads_of_worked_on(profile: Profile, lines: UserLines) -> Iterator[Upload]:
    """Yield the lines that copy to a GPU what was made from single bytes, or picked out of something larger, on the host."""
    values = Values(profile.values)
    for site in profile.sync_sites:
        if TO_THE_GPU not in site.method or site.calls < FEWEST_COPIES:
            continue
        module = lines.module(site.file) if site.bytes >= LEAST_BYTES * site.calls else None
        if module is not None and (found := _upload(site, module, values)) is not None:
            yield found


def _upload(site: SyncSite, module: SourceModule, values: Values) -> Upload | None:
    for made in _made_of(site.line, module):
        known = values.between(site.file, made.at)
        found = (
            (HostWork.MADE_FLOATS, _bytes_made_floats(made.expression, known)),
            (HostWork.PICKED, _larger_source(made, known, module)),
        )
        for work, source in found:
            if source:
                text = f"{source}: {known[source].in_words()}"
                return Upload(site, made.lines, work, text, _size(known[source]))
    return None


class _Made(NamedTuple):
    """An expression that a batch is made by."""

    expression: ast.expr
    at: range
    """Its lines."""
    lines: frozenset[int]
    """Those and all from there to the copy."""


def _made_of(line: int, module: SourceModule) -> Iterator[_Made]:
    """Yield what a line copies, and what variables in that were given before it in the function."""
    function = module.function_at(line)
    inside = module.of_function(function)
    pending = [
        (_Made(moved, statement.lines, frozenset(statement.lines)), MOST_STEPS_BACK)
        for statement in module.statements_at(line)
        for call in statement.calls()
        if (moved := _moved(call)) is not None
    ]
    while pending:
        made, steps = pending.pop(0)
        yield made
        names = names_in(made.expression)
        before = [other for other in inside if other.last_line < made.at.start]
        for statement in reversed(before) if steps else ():
            for one in assigned(statement.node):
                if isinstance(one.target, ast.Name) and one.target.id in names:
                    names.discard(one.target.id)
                    lines = made.lines.union(statement.lines)
                    pending.append((_Made(one.value, statement.lines, lines), steps - 1))


def _moved(call: ast.Call) -> ast.expr | None:
    """Return what a call moves to the GPU; None where it does not, or what it moves is there already."""
    if not _is_move(call) or not isinstance(call.func, ast.Attribute):
        return None
    before = call.func.value
    return None if any(map(_is_move, ast.walk(before))) else before


def _is_move(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _MOVES
    )


def _bytes_made_floats(expression: ast.expr, known: Mapping[str, Value]) -> str:
    """Return the largest array of single bytes in ``expression``, as written, where that makes floats; empty for none."""
    if not any(_makes_floats(node) for node in ast.walk(expression)):
        return ""
    found = [
        text
        for node in ast.walk(expression)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and (value := known.get(text := ast.unparse(node))) is not None
        and value.is_array
        and value.is_on_cpu
        and value.fields.get("dtype", "") in _BYTES
    ]
    return max(found, key=lambda name: _size(known[name]), default="")


def _makes_floats(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Div()):
            return True
        case ast.Call() if called_name(node) in _FLOATING:
            return True
        case ast.Call(args=args, keywords=keywords):
            given = [*args, *(keyword.value for keyword in keywords if keyword.arg == "dtype")]
            return any(ast.unparse(argument).strip("'\"").endswith(_FLOATS) for argument in given)
    return False


def _larger_source(made: _Made, known: Mapping[str, Value], module: SourceModule) -> str:
    """Return the array on the host that many rows are taken out of, again and again, by an array of their numbers; empty for none."""
    for node in ast.walk(made.expression):
        if not isinstance(node, ast.Subscript):
            continue
        index, source = value_of(node.slice, known), value_of(node.value, known)
        if index is None or source is None or not index.is_array or not source.is_array:
            continue
        rows = (source.shape or (0,))[0]
        is_picked = source.is_on_cpu and 1 < (index.numbers or 0) < rows
        if is_picked and _outlives_a_use(node.value, made.at.start, module):
            return ast.unparse(node.value)
    return ""


def _outlives_a_use(source: ast.expr, line: int, module: SourceModule) -> bool:
    """Tell whether an array is there for more than one use: an attribute, or a variable that was given before a loop around ``line``."""
    if not isinstance(source, ast.Name):
        return isinstance(source, ast.Attribute)
    names = _gone_through(source.id, line, module) or {source.id}
    function = module.function_at(line)
    inside = module.of_function(function)
    loops = [*module.loops_around(line)]
    if not loops:
        return False
    outermost = min(loop.lineno for loop in loops)
    given = {
        name: statement.first_line
        for statement in inside
        for name in variables_assigned(*statement.expressions()) & names
    }
    return given.keys() == names and all(at < outermost for at in given.values())


def _gone_through(name: str, line: int, module: SourceModule) -> set[str]:
    """Return the variables that a comprehension on ``line`` has ``name`` stand for in turn."""
    return {
        part.id
        for statement in module.statements_at(line)
        for node in statement.walk()
        if isinstance(node, ast.comprehension)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
        for part in ast.walk(node.iter)
        if isinstance(part, ast.Name)
    }


def _size(value: Value) -> int:
    """Bytes of an array: numpy's ``f4`` has 4 an item, torch's ``torch.float32`` as many."""
    dtype = value.fields.get("dtype", "")
    digits = int("".join(digit for digit in dtype if digit.isdigit()) or 8)
    each = digits // 8 if dtype.startswith("torch.") else min(digits, 16)
    return (value.numbers or 0) * max(1, each)


MIN_SHARE: Final = 0.05
"""Least share of the wall time, spent in copies to the device, by it or by the host."""

MIN_BYTES_PER_STEP: Final = 1 << 20
FEWEST_STEPS: Final = 2
"""A single step may be the one that brings what all others use."""

COPIES_LEFT: Final = calibrated(
    {HostWork.MADE_FLOATS: Range(0.25, 1.0), HostWork.PICKED: Range(0.0, 0.8)},
    unit="part of the time in copies",
    source="single bytes are a quarter of floats; what is picked goes up once, and not at each use: by reason. One program each on an H200: "
    "0.67 saved where 0.48 to 0.85 is told, 0.41 where 0.25 to 0.65 is",
    date="2026-11-26",
)
"""What is left of the copies themselves."""

WORK_LEFT: Final = Range(0.02, 0.12)
"""Part of a line's time that the same takes on the GPU, as launches."""

MOST_OF_MEMORY: Final = 0.5
"""Part of a GPU's memory that what is picked from may fill, to be kept there."""

_TITLES: Final = {
    HostWork.MADE_FLOATS: "single bytes are made floats on the host before they are copied to the GPU",
    HostWork.PICKED: "batches are picked out on the host and copied to the GPU",
}
_FIXES: Final = {
    HostWork.MADE_FLOATS: "Copy them as they are, a quarter of the bytes or less, and make them floats there: torch.from_numpy(frames).to(device).float().",
    HostWork.PICKED: "Copy the whole to the GPU once, when it is new, and pick the rows there, with indices drawn on the GPU: "
    "rollout = rollout.to(device); batch = rollout[torch.randperm(n, device=device)[:m]].",
}


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found: dict[HostWork, list[Upload]] = defaultdict(list)
    for upload in uploads_of_worked_on(profile, lines):
        if upload.work is HostWork.MADE_FLOATS or _fits(upload, profile):
            found[upload.work].append(upload)
    for work, uploads in found.items():
        yield from _of_lines(work, uploads, profile, lines)


def _fits(upload: Upload, profile: Profile) -> bool:
    sizes = [gpu.memory_total_bytes for gpu in profile.gpus if gpu.memory_total_bytes]
    return bool(sizes) and upload.source_bytes <= MOST_OF_MEMORY * min(sizes)


def _of_lines(
    work: HostWork, uploads: Sequence[Upload], profile: Profile, lines: UserLines
) -> Iterable[Finding]:
    places: dict[str, set[int]] = defaultdict(set)
    for upload in uploads:
        places[upload.site.file] |= upload.lines
    time = lines_time(profile, lines, places)
    if not time.is_worth(MIN_SHARE):
        return
    of_run = UserLines.of(profile, profile.whole)
    in_run = lines_time(profile, of_run, places)
    waiting = min(1.0, sum(upload.site.wait_us for upload in uploads) / max(1.0, in_run.total_us))
    copies = COPIES_LEFT[work]
    heaviest = max(uploads, key=lambda candidate: candidate.site.bytes)
    calls, moved = (
        sum(upload.site.calls for upload in uploads),
        sum(upload.site.bytes for upload in uploads),
    )
    yield Finding(
        title=f"{_TITLES[work]} ({time.place})",
        savings=(
            Saving(
                time.nodes,
                Range(
                    max(0.0, 1 - copies.high * waiting - WORK_LEFT.high),
                    1 - copies.low * waiting - WORK_LEFT.low,
                ),
            ),
        ),
        locations=time.locations,
        evidence=(
            time.share_spent("there"),
            f"{count(calls)} copies, {size(moved)} in the run: they are {percent(waiting)} of that time, and the rest is work on the host",
            heaviest.source,
        ),
        fix=_FIXES[work],
        confidence=Confidence.BOUNDED,
    )


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    rows = _beside_rollouts(view)
    copies = find_transfers(replace(view.trace, copies=rows))
    moved = sum(copy.bytes for copy in copies)
    on_host = sum(copy.host_us for copy in copies)
    on_device = sum(copy.device_us for copy in copies)
    if (
        max(on_host, on_device) < MIN_SHARE * view.wall.length
        or view.step_count < FEWEST_STEPS
        or per_step(moved, view) < MIN_BYTES_PER_STEP
    ):
        return
    alone = without_by_device(rows, view.trace.kernels)
    number = sum(copy.count for copy in copies)
    aside = ", observations left out" if view.round_trips else ""
    yield DeviceFinding(
        title=f"{size(per_step(moved, view))} are copied to the GPU at each step",
        saved_us=Range(0.0, alone),
        evidence=(
            f"{count(number)} copies, {size(moved)}{aside}: {duration(on_device)} on the GPU, "
            f"{duration(on_host)} on the host",
            f"for {duration(alone)} of it, {percent(alone / on_device if on_device else 0.0)}, no kernel runs: "
            + ("copies and kernels never overlap" if alone > 0.9 * on_device else "they overlap"),
            "whether the same data comes again the trace does not show",
        ),
        fix="If it does (a data set, replay, rollouts of several epochs), keep it on the GPU, where it takes "
        "less than half of the memory. Data that is new at each step: images as uint8, converted there; the "
        "next batch copied on a stream of its own, from pinned memory, while this one is learned from.",
        causes=(),
    )


def _beside_rollouts(view: TraceView) -> Sequence[Row]:
    """The copies to the device, without those of observations, which are new each time."""
    asking = CoveredTime(union(trip.asking for trip in view.round_trips))
    observed = {
        call.args.correlation
        for call in view.trace.calls
        if call.args.correlation and asking.inside(call.ts, call.end)
    }
    return [upload for upload in uploads_in(view.trace) if upload.args.correlation not in observed]


DETECTOR: Final = Detector(
    id="dataset-crosses-bus",
    name="data copied to the GPU at every step",
    in_samples=InSamples(
        detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})
    ),
    in_trace=InTrace(detect),
)
