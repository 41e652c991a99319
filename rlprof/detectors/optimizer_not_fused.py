"""Optimizers that go through the parameters of a network one by one: on the CPU, or with kernels for each."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.recognisers.line_time import LineTime
from rlprof.device.steps import OptimizerKind
from rlprof.device.view import TraceView
from rlprof.libraries.questions import is_framework
from rlprof.model.activity import HostLoad
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.pace.load import wants_more_cores
from rlprof.source.lines import Line, UserLines, file_name, last_name, short_place
from rlprof.source.value import Value
from rlprof.source.values import Values
from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.syntax.nodes import calls_in, given_by_name, is_off
from rlprof.syntax.origin import installed_package
from rlprof.units import count, duration

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

ADAM_REMOVABLE: Final = calibrated(
    Range(0.65, 0.8),
    unit="part of a step",
    source="benchmarks/replacements.py, torch 2.13 on one thread: Adam over the 6 parameters of "
    "two layers of 64 163 µs and 48, of 256 241 and 83, over the 20 of nine layers 500 and "
    "110, over 2.5 million numbers 5 247 and 1 504; AdamW alike",
    date="2026-11-21",
)
"""Part of a step that ``fused=True`` saves."""

SGD_REMOVABLE: Final = calibrated(
    Range(0.32, 0.68),
    unit="part of a step",
    source="benchmarks/replacements.py, torch 2.13 on one thread: 0.32 to 0.68 is left",
    date="2026-11-21",
)
"""The same of SGD with momentum. Without momentum nothing is gained, but for many small parameters."""

ADAGRAD_REMOVABLE: Final = calibrated(
    Range(0.57, 0.7),
    unit="part of a step",
    source="benchmarks/replacements.py, torch 2.13 on one thread: 0.30 to 0.43 is left",
    date="2026-11-21",
)
"""The same of Adagrad."""

RMSPROP_REMOVABLE: Final = calibrated(
    Range(0.0, 0.43),
    unit="part of a step",
    source="benchmarks/replacements.py, torch 2.13 on one thread: 0.57 to 0.80 is left of two and of nine layers of 64, all of larger ones",
    date="2026-11-29",
)
"""Part that ``foreach=True`` saves of RMSprop, of which torch has no fused one."""

_STEP: Final = re.compile(r"[/\\]torch[/\\]optim[/\\](?P<kind>adam|adamw|sgd|adagrad|rmsprop)\.py$")
_ONE_BY_ONE: Final = "_single_tensor_"


class _Kind(NamedTuple):
    names: frozenset[str]
    """As its classes are called."""
    removable: Range
    option: str = "fused"
    """With it, it goes over all parameters at once."""


_KINDS: Final = {
    "adam": _Kind(frozenset({"Adam", "AdamW"}), ADAM_REMOVABLE),
    "adamw": _Kind(frozenset({"AdamW"}), ADAM_REMOVABLE),
    "sgd": _Kind(frozenset({"SGD"}), SGD_REMOVABLE),
    "adagrad": _Kind(frozenset({"Adagrad"}), ADAGRAD_REMOVABLE),
    "rmsprop": _Kind(frozenset({"RMSprop"}), RMSPROP_REMOVABLE, "foreach"),
}
"""By the file of torch that they are in."""
_NAMES: Final = frozenset[str]().union(*(kind.names for kind in _KINDS.values()))


_TAKES_SPARSE: Final = frozenset({"adagrad", "sgd"})
"""Those that take sparse gradients, of which no fused one does."""
_EMBEDDINGS: Final = frozenset({"Embedding", "EmbeddingBag"})

TORCH_THREADS: Final = 0.05
"""Part of the run's CPU time in threads that run no Python, from which on torch is taken to compute with several."""

MIN_LAUNCHES: Final = 100.0
"""Per step of the optimizer: small networks have few parameters however it is written."""

FUSED_LAUNCHES: Final = calibrated(
    10.0,
    unit="launches per step",
    source="traces: 1 to 19",
    date="2026-11-21",
)
"""Per step of a foreach or fused one, at most."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    values = Values(profile.values)
    made = {
        (file, call.line): call
        for file, text in profile.sources.items()
        for call in optimizer_calls(text)
    }
    has_sparse = any(map(makes_sparse_gradients, profile.sources.values()))
    makers: set[str] = set()
    claimed: dict[str, set[int]] = defaultdict(set)
    time = LineTime(profile, lines)
    for step in tree.topmost(_is_step):
        kind = _kind(tree.frame(step))
        owner = lines.owner(step)
        stepped = _seen_at(lines, values, owner, kind) or made.values()
        if not _goes_one_by_one(tree, step) or not _can_be_fused(kind, stepped):
            continue
        if has_sparse and kind in _TAKES_SPARSE:
            continue
        makers.add(_library_around(tree, step, lines))
        # What a closure does is the user's.
        nodes = {node for node in tree.subtree(step) if lines.owner(node) == owner}
        claimed[kind] |= nodes
        line = lines.line(step if owner == NO_PARENT else owner)
        time.add(line, tree.cost_of(nodes).wall_us, nodes)
    if not time.is_worth(MIN_SHARE):
        return
    options = {name: _KINDS[kind].option for kind in claimed for name in _KINDS[kind].names}
    places = [
        Line(file, line, "")
        for (file, line), call in sorted(made.items())
        if call.name in options and not call.says(options[call.name])
    ]
    has_no_core = _waits_for_its_threads(profile.load)
    yield Finding(
        title=f"the optimizer goes through the parameters one by one ({time.place})",
        savings=tuple(
            Saving(
                frozenset(nodes),
                Range(0.0, _KINDS[kind].removable.high) if has_no_core else _KINDS[kind].removable,
            )
            for kind, nodes in sorted(claimed.items())
        ),
        locations=time.locations,
        evidence=(
            time.share_spent("in its steps"),
            f"time was seen in {_ONE_BY_ONE}{min(claimed)}, torch's loop over the parameters",
            *(
                f"it is made without {options[made[place.file, place.line].name]}=True ({short_place(place)})"
                for place in places[:1]
            ),
            *(
                [
                    "the cores are full: a fused step is shared by torch's threads, which wait for each other there"
                ]
                * has_no_core
            ),
        ),
        fix=_fix("" if places else max(makers), frozenset(options.values())),
        confidence=Confidence.MEASURED if places and not has_no_core else Confidence.BOUNDED,
    )


def _waits_for_its_threads(load: HostLoad) -> bool:
    """Tell whether torch computes with several threads where there is no core for each.

    By hand, SB3's PPO on two cores that were crowded: 160 steps of Adam took 1.4 s one by one and 2.5 s fused, on free cores a third.
    """
    is_full = load.saturated or wants_more_cores(load)
    return is_full and load.native_us > TORCH_THREADS * load.got_us


def _library_around(tree: CallTree, step: int, lines: UserLines) -> str:
    """The package that takes the optimizer's step, if it is none of the user's."""
    current = tree.nodes[step].parent
    while current != NO_PARENT and is_framework(installed_package(tree.frame(current).file)):
        current = tree.nodes[current].parent
    if current == NO_PARENT or lines.is_yours(tree.frame(current)):
        return ""
    return installed_package(tree.frame(current).file)


def _fix(library: str, options: frozenset[str]) -> str:
    """In a library that makes the optimizer there is no call to add an option to."""
    option = max(options)
    since = (
        "on the CPU since torch 2.4"
        if option == "fused"
        else "on the CPU only where it is asked for"
    )
    rest = " RMSprop has no fused one: foreach=True." * (len(options) > 1)
    if not library:
        return (
            f"Make it with {option}=True ({since}): one call for all parameters. The numbers are "
            f"the same but for rounding.{rest}"
        )
    return (
        f"{library} makes it. Before the training, switch it ({since}): for group in "
        f'optimizer.param_groups: group["{option}"] = True. That is one call for all parameters, and the same numbers '
        f"but for rounding.{rest}"
    )


def _is_step(frame: Frame) -> bool:
    return bool(_STEP.search(frame.file)) and last_name(frame.function) == "step"


def _kind(frame: Frame) -> str:
    return file_name(frame.file).removesuffix(".py")


def _goes_one_by_one(tree: CallTree, step: int) -> bool:
    return any(tree.frame(node).function.startswith(_ONE_BY_ONE) for node in tree.subtree(step))


def _can_be_fused(kind: str, made: Iterable[HasSettings]) -> bool:
    """Tell whether a fused one would do the same, and save time: torch has none that is differentiable."""
    ours = [each for each in made if each.name in _KINDS[kind].names]
    if any(each.says("differentiable") for each in ours):
        return False
    return kind != "sgd" or any(each.says("momentum") for each in ours)


def _seen_at(lines: UserLines, values: Values, owner: int, kind: str) -> list[SeenOptimizer]:
    """Return the optimizers of a kind that the line which steps one was seen to have, however they were made."""
    frame = lines.tree.frame(owner) if owner != NO_PARENT else None
    statement = lines.statement(frame) if frame else None
    known = values.of(frame.file, statement).values() if frame and statement else ()
    return [
        SeenOptimizer(name, value)
        for value in known
        if (name := _class_in_torch(value)) in _KINDS[kind].names
    ]


def _class_in_torch(value: Value) -> str:
    """The class of torch's that an optimizer is of, or is derived from; empty for what is none, or was not looked into."""
    is_one = any(setting in value.fields for setting in ("momentum", "differentiable"))
    return next(
        (last for name in value.bases if is_one and (last := name.rpartition(".")[2]) in _NAMES), ""
    )


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    optimizer = view.optimizer
    if optimizer is None or optimizer.kind is not OptimizerKind.FOR_LOOP:
        return
    each = optimizer.launches_per_step
    if each < MIN_LAUNCHES:
        return
    freed = optimizer.host_us * (1 - FUSED_LAUNCHES / each)
    yield DeviceFinding(
        title=f"{optimizer.name} launches {count(round(each))} kernels per step, for each parameter anew",
        saved_us=Range(0.0, min(freed, view.idle_us(IdleCause.LAUNCH_BOUND))),
        evidence=(
            f"{count(optimizer.steps)} steps hold the host for {duration(optimizer.host_us)}; over all "
            f"parameters at once it takes some {count(FUSED_LAUNCHES)} launches",
        ),
        fix=f"{optimizer.name}(..., fused=True), or foreach=True where there is no fused kernel.",
        causes=(IdleCause.LAUNCH_BOUND,),
    )


# --- the optimizers that a source file makes ------------------------------------------------


@dataclass(frozen=True, slots=True)
class OptimizerCall:
    """``torch.optim.Adam(policy.parameters(), lr=3e-4)``."""

    name: str
    line: int
    options: Mapping[str, ast.expr]
    """Options given by keyword."""

    def says(self, option: str) -> bool:
        """Tell whether an option is given, and not as nothing, zero or False."""
        value = self.options.get(option)
        return value is not None and not is_off(value)


class HasSettings(Protocol):
    """An optimizer: as it is made in a file, or as it was seen."""

    @property
    def name(self) -> str: ...
    def says(self, option: str) -> bool: ...


class SeenOptimizer(NamedTuple):
    name: str
    """That of its class in torch."""
    value: Value

    def says(self, option: str) -> bool:
        """Tell whether it was seen to have an option on."""
        return self.value.fields.get(option) == "1"


@lru_cache(maxsize=PARSED_FILES)
def optimizer_calls(text: str) -> tuple[OptimizerCall, ...]:
    """The optimizers that ``text`` makes, by line; none when it cannot be read."""
    module = parse(text) if "torch" in text else None
    if module is None:
        return ()
    calls = [call for call in calls_in(module.tree) if called_name(call) in _NAMES]
    return tuple(
        OptimizerCall(
            called_name(optimizer),
            optimizer.lineno,
            {word.arg: word.value for word in optimizer.keywords if word.arg},
        )
        for optimizer in sorted(calls, key=lambda call: call.lineno)
    )


@lru_cache(maxsize=PARSED_FILES)
def makes_sparse_gradients(text: str) -> bool:
    """Tell whether ``text`` makes a table whose gradients hold the rows alone that were read: ``nn.Embedding(..., sparse=True)``."""
    module = parse(text) if "sparse" in text else None
    return module is not None and any(
        called_name(call) in _EMBEDDINGS and not is_off(sparse)
        for call in calls_in(module.tree)
        for sparse in given_by_name(call, "sparse")
    )


DETECTOR: Final = Detector(
    id="optimizer-not-fused",
    name="optimizers that go through the parameters one by one",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect_in_trace),
)
