"""Checks of ``torch.distributions`` at every step: time in stacks, and waits for the GPU in a trace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.gpu_sync import waits_for_others
from rlprof.detectors.recognisers.line_time import LineTime, calls_time
from rlprof.device.host import DISTRIBUTIONS
from rlprof.device.places import per_step, places_of
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.units import count, duration, of_each_step, percent, rough_count

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.85, 1.0),
    unit="part of the time of the checks",
    source="benchmarks/replacements.py, torch 2.13, a batch of 16, with and without: "
    "Categorical(logits=...) 25 and 12 µs, its log_prob 25 and 9; Normal 14 and 4, its "
    "log_prob 22 and 16",
    date="2026-11-21",
)
"""Part that goes with ``validate_args=False``: the checks are skipped, the calls around them stay."""

_CONSTRAINTS: Final = re.compile(r"[/\\]torch[/\\]distributions[/\\]constraints\.py$")
_DISTRIBUTION: Final = re.compile(r"[/\\]torch[/\\]distributions[/\\]distribution\.py$")
_CHECKING: Final = frozenset({"__init__", "_validate_sample"})
"""Methods of ``Distribution`` that do little else."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    checks = tree.topmost(_is_check)
    owners = ((entry, lines.owner(entry)) for entry in checks)
    time = calls_time(
        profile,
        lines,
        ((entry, lines.line(entry if by == NO_PARENT else by)) for entry, by in owners),
    )
    if not time.is_worth(MIN_SHARE):
        return
    yield Finding(
        title=f"distributions check their arguments at every step ({time.place})",
        savings=(Saving(time.nodes, REMOVABLE),),
        locations=time.locations,
        evidence=tuple(_evidence(time)),
        fix="torch.distributions.Distribution.set_default_validate_args(False) once at the start, or "
        "validate_args=False for each. On a GPU each check is a wait for it, too. Leave it on while you look "
        "for NaNs.",
        confidence=Confidence.MEASURED,
    )


def _is_check(frame: Frame) -> bool:
    if _CONSTRAINTS.search(frame.file):
        return True
    return bool(_DISTRIBUTION.search(frame.file)) and last_name(frame.function) in _CHECKING


def _evidence(time: LineTime) -> Iterable[str]:
    heaviest, lines = time.heaviest, time.lines
    each = of_each_step(time.total_us, time.profile.steady_steps)
    share = percent(time.total_us / time.profile.critical.wall_us)
    yield f"{share} of the steady time goes into checking{each}"
    statement = lines.statement(heaviest)
    if statement is not None:
        told = any(
            isinstance(node, ast.keyword) and node.arg == "validate_args"
            for node in statement.walk()
        )
        yield (
            "validate_args is given on that line"
            if told
            else "nothing on that line switches it off, and it is on by default"
        )


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    waits = [
        wait
        for wait in view.waits
        if wait.site.asked_by == DISTRIBUTIONS and not waits_for_others(wait)
    ]
    if not waits:
        return
    calls = sum(len(wait.calls) for wait in waits)
    bound = sum(wait.recoverable_us for wait in waits)
    evidence = [
        f"{count(calls)} checks wait {duration(sum(wait.wait_us for wait in waits))}; the GPU is idle after them for "
        f"{duration(bound)} at most: only that can be gained"
    ]
    if view.step_count:
        evidence.append(f"{rough_count(per_step(calls, view))} checks per step")
    yield DeviceFinding(
        title="torch.distributions checks its values and waits for the GPU",
        saved_us=Range(0.0, bound),
        evidence=tuple(evidence),
        fix="torch.distributions.Distribution.set_default_validate_args(False), or validate_args=False; leave "
        "the checks on while you look for the source of NaNs.",
        causes=(IdleCause.SYNC, IdleCause.BLOCKING_COPY),
        places=places_of(waits),
    )


DETECTOR: Final = Detector(
    id="distribution-validation",
    name="torch.distributions that check their arguments at every step",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect_in_trace),
)
