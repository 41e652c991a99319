"""``rlprof check`` with a baseline file: saving one, and comparing with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlprof.cli.check_request import CheckRequest
from rlprof.cli.output import show_to_the_reader, write_output
from rlprof.gate.baseline import Baseline, baseline_as_json, read_baseline
from rlprof.gate.baseline_check import (
    check_against_baseline,
    check_machine,
    measure_baseline,
)
from rlprof.gate.check_progress import Tell
from rlprof.gate.check_settings import CheckSettings
from rlprof.gate.fingerprint import fingerprint_here
from rlprof.gate.interpreter import interpreter_of
from rlprof.model.finding import Range
from rlprof.recording.host import git_state
from rlprof.report import wording

if TYPE_CHECKING:
    from rlprof.gate.outcome import Outcome
    from rlprof.gate.program import Program
    from rlprof.gate.running.runner import Runner


def compare_with_baseline(
    request: CheckRequest,
    path: Path,
    head: Program,
    runner: Runner,
    settings: CheckSettings,
    tell: Tell,
) -> Outcome:
    """Raises ``UsageError`` and ``MeasureError`` for a file that is none, or of another machine."""
    baseline = read_baseline(path)
    notes = check_machine(baseline, path, _machine_of(head), is_relaxed=request.relax_machine)
    outcome = check_against_baseline(baseline, str(path), head, runner, settings, tell)
    return replace(outcome, notes=(*notes, *outcome.notes))


def save_baseline(
    request: CheckRequest,
    path: Path,
    head: Program,
    runner: Runner,
    settings: CheckSettings,
    tell: Tell,
) -> None:
    """Raises ``MeasureError`` when a run fails, ``OutputError`` when the file cannot be written."""
    # Both series of a check rest on these: with few rates it stays inconclusive for ever.
    usual = settings.first_pairs if settings.counters_only else settings.decision.max_pairs
    baseline = measure_baseline(
        head,
        runner,
        runs=usual if request.pairs is None else request.pairs,
        machine=_machine_of(head),
        commit=git_state(head.folder) or "",
        tell=tell,
        counters_only=request.counters_only,
    )
    write_output(path, baseline_as_json(baseline), force=request.force)
    show_to_the_reader(f"wrote {path}: {len(baseline.steps)} runs{_spread(baseline)}\n")


def _machine_of(head: Program) -> dict[str, str]:
    return fingerprint_here(interpreter_of(head.command, head.environment), head.environment)


def _spread(baseline: Baseline) -> str:
    """``, 2 590 to 5 860 sps``: what varies so much finds little; empty without rates."""
    if not baseline.sps:
        return ""
    low, high = min(baseline.sps), max(baseline.sps)
    return f", {wording.unglued(wording.between(Range(low, high), wording.rate_unit(baseline)))}"
