"""Models and buffers saved to disk so often that saving holds up the training."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rlprof.analysis.origin import Origin, origin
from rlprof.analysis.source.lines import Line, UserLines, last_name, short_place
from rlprof.analysis.source.module import called_name
from rlprof.detectors.base import Detector, Need
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.units import percent

MIN_SHARE: Final = 0.01
"""Of the critical time: a checkpoint now and then is what everybody needs."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes when a tenth as many are saved (90 %), or hardly any."""

SHOWN_LINES: Final = 4

_SAVING: Final = re.compile(
    r"[/\\](torch[/\\]serialization|stable_baselines3[/\\]common[/\\]save_util|joblib[/\\]numpy_pickle"
    r"|numpy[/\\]lib[/\\](npyio|_npyio_impl|format|_format_impl)|orbax[/\\].*|safetensors[/\\]\w+"
    r"|flax[/\\]training[/\\]checkpoints|cloudpickle[/\\].*|shutil|zipfile)\.py$"
)
"""Library code that writes models, arrays and archives."""

_SAVERS: Final = frozenset(
    {"save", "savez", "savez_compressed", "dump", "save_file", "save_to_zip_file"}
)
"""Functions of such code that write; those that read have other names."""

_SAVES: Final = frozenset(
    {"save", "savez", "savez_compressed", "dump", "save_file", "save_checkpoint", "save_pretrained",
     "save_weights", "save_replay_buffer", "write_checkpoint", "checkpoint"}
)  # fmt: skip
"""Calls on the user's line that save something; ``json.dump`` of a log is too small to be seen."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    nodes: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    asleep = 0.0
    for entry in _entries(tree, lines):
        owner = lines.owner(entry)
        cost = tree.total_cost(entry)
        if owner == NO_PARENT or not cost.wall_us:
            continue
        nodes.update(tree.subtree(entry))
        weights[lines.line(owner)] += cost.wall_us
        asleep += cost.idle_us
    total = sum(weights.values())
    if not whole or total / whole < MIN_SHARE:
        return
    heaviest = max(weights, key=lambda line: (weights[line], line))
    yield Finding(
        detector=DETECTOR.id,
        title=f"saving at {short_place(heaviest)} holds up the training",
        phase=PhaseKind.STEADY,
        savings=(Saving(frozenset(nodes), REMOVABLE),),
        locations=lines.locations(weights, whole)[:SHOWN_LINES],
        evidence=tuple(_evidence(profile, lines, heaviest, total, asleep)),
        fix="Save a tenth as often, or by time (every ten minutes). Leave out what can be made again, "
        "such as a replay buffer; or copy the state and write it in a thread beside the training.",
        confidence=Confidence.MEASURED if lines.text(heaviest) else Confidence.BOUNDED,
    )


def _entries(tree: CallTree, lines: UserLines) -> Iterable[int]:
    """Yield the topmost nodes that save: a library's function, or the user's line that calls it in C."""
    inside: set[int] = set()
    for node in tree.hot_nodes():
        if tree.nodes[node].parent in inside:
            inside.add(node)
        elif _saves(tree.frame(node), lines):
            inside.add(node)
            yield node


def _saves(frame: Frame, lines: UserLines) -> bool:
    if origin(frame) is not Origin.YOURS:
        return last_name(frame.function) in _SAVERS and bool(_SAVING.search(frame.file))
    statement = lines.statement(frame)
    return statement is not None and any(
        isinstance(node, ast.Call) and called_name(node) in _SAVES for node in statement.walk()
    )


def _evidence(
    profile: Profile, lines: UserLines, heaviest: Line, total: float, asleep: float
) -> Iterable[str]:
    yield (
        f"{percent(total / profile.critical.wall_us)} of the steady time is spent in saving, "
        f"{percent(asleep / total)} of it asleep for the disk"
    )
    statement = lines.statement(Frame(heaviest.file, heaviest.function, heaviest.line))
    if statement is not None:
        conditions = [ast.unparse(test) for test in statement.conditions]
        yield (
            f"it saves when {' and '.join(conditions)}"
            if conditions
            else "nothing on the way there keeps it from saving each time"
        )


DETECTOR: Final = Detector(
    id="checkpoint-heavy",
    name="checkpoints that hold up the training",
    needs=frozenset({Need.SAMPLES}),
    detect=detect,
)
