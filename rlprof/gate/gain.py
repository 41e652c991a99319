"""The gain of a fix, from the pairs of a check that judged nothing; and the run that promised it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from math import exp, log
from pathlib import Path

from rlprof.errors import MeasureError, UsageError
from rlprof.gate.decision import Verdict
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Side
from rlprof.gate.statistics import paired_shift
from rlprof.gate.worktrees.git import git
from rlprof.gate.worktrees.worktree import Repository
from rlprof.model.experiment import MeasuredShare
from rlprof.model.recording import Note, RunInfo
from rlprof.names import printable
from rlprof.runfile.heads import RunHead, run_heads
from rlprof.verification.verified import (
    CONFIDENCE,
    Promise,
    VerifiedFix,
    VerifiedPair,
    VerifiedSide,
)

_CHANGED = "+changes"
"""Ending of the commit of a run whose tree differed from it."""


def verified_fix(
    outcome: Outcome,
    promise: Promise,
    *,
    script: str,
    in_turns: bool,
    notes: Sequence[Note] = (),
) -> VerifiedFix:
    """The gain that the pairs of ``outcome`` show, beside ``promise``; raises :class:`MeasureError` without any."""
    if outcome.verdict is Verdict.COULD_NOT_MEASURE:
        assert outcome.failure is not None, "what could not be measured says why"
        raise outcome.failure.error()
    pairs = [
        VerifiedPair(base, head)
        for _, base, head in outcome.pairs()
        if base is not None and head is not None
    ]
    return VerifiedFix(
        measured=datetime.now(timezone.utc).replace(microsecond=0),
        script=script,
        command=outcome.command,
        unit=outcome.unit,
        promise=promise,
        base=_side(outcome, Side.BASE, outcome.base),
        head=_side(outcome, Side.HEAD, outcome.head),
        pairs=tuple(pairs),
        got=measured_gain(pairs),
        in_turns=in_turns,
        notes=(*notes, *outcome.notes),
    )


def measured_gain(pairs: Sequence[VerifiedPair]) -> MeasuredShare:
    """Share of the time per step that head saves, with the interval of Wilcoxon's signed ranks; of five pairs or more."""
    shift = paired_shift([log(pair.head / pair.base) for pair in pairs], (1 - CONFIDENCE) / 2)
    return MeasuredShare(*(1 - exp(-ratio) for ratio in (shift.middle, shift.low, shift.high)))


def _side(outcome: Outcome, side: Side, name: str) -> VerifiedSide:
    sps = outcome.sps(side)
    if sps is None:
        raise MeasureError(
            f"no run of {side.value} has a rate",
            slug="no-steady-rate",
            hint="let it train for longer",
        )
    return VerifiedSide(name, sps)


# --- the run that promised it ---------------------------------------------------------------------


def promising_run(
    folder: Path, script: str, repository: Repository
) -> tuple[Path, tuple[Note, ...]]:
    """The run of ``script`` in ``folder`` that the fix goes back to, and what to know of it.

    It is the latest one of a clean tree at base, or at a commit before it; else the latest at such a commit, else the
    latest of all. Raises ``UsageError`` where there is none.
    """
    heads = [head for head in run_heads(folder) if head.script == script]
    if not heads:
        raise UsageError(
            f"no run of {script} is in {folder.absolute()}, so nothing was promised",
            slug="no-run",
            hint="name the run that led to the fix with --run; the next time record it first: `rlprof run`",
        )
    is_before: dict[str, bool] = {}
    for commit in dict.fromkeys(_commit(head) for head in heads):
        is_before[commit] = _leads_to_base(commit, repository)
    before = [head for head in heads if is_before[_commit(head)]]
    clean = [head for head in before if not head.git.endswith(_CHANGED)]
    for chosen in clean[:1] or before[:1]:
        return chosen.path, tuple(_notes_on_run(chosen, before))
    return heads[0].path, tuple(_notes_on_run(heads[0], []))


def notes_on_named_run(
    run: RunInfo, path: Path, script: str, repository: Repository
) -> tuple[Note, ...]:
    """Return what to know of a promise by a run that the user named."""
    if run.script != script:
        text = f"The run that promised it is one of {printable(run.script)}, and not of {printable(script)}."
        return (Note("warning", "promise-of-other-code", text),)
    head = RunHead(path, run.started_unix_s, run.label or "", run.script, run.git or "")
    candidates = [head] if _leads_to_base(_commit(head), repository) else []
    return tuple(_notes_on_run(head, candidates))


def _notes_on_run(chosen: RunHead, candidates: Sequence[RunHead]) -> list[Note]:
    """``candidates`` are the runs whose commits lead to base, the latest first."""
    if chosen not in candidates:
        of = f"of {chosen.git}" if chosen.git else "of no known commit"
        text = f"The run that promised it is {printable(of, 80)}, which does not lead to base: what it told may be of another program."
        return [Note("warning", "promise-of-other-code", text)]
    if chosen.git.endswith(_CHANGED):
        text = (
            f"The run that promised it was recorded with changes that were not committed ({printable(chosen.git, 80)}). If the fix was "
            "among them, name an earlier run with --run."
        )
        return [Note("warning", "promise-of-changed-code", text)]
    newer = candidates[0]
    if newer is not chosen:
        text = (
            f"A newer run, {printable(str(newer.path), 200)}, was passed over: it was recorded with changes that were not committed, as that of "
            "the fix may be. --run takes its promise."
        )
        return [Note("info", "newer-run-passed-over", text)]
    return []


def _commit(head: RunHead) -> str:
    return head.git.removesuffix(_CHANGED)


def _leads_to_base(commit: str, repository: Repository) -> bool:
    # It comes from a file: nothing of it may be read as an option.
    if not commit.isalnum():
        return False
    asked = git(repository.root, "merge-base", "--is-ancestor", commit, repository.base)
    return asked.is_good


def check_has_change(repository: Repository, base: str) -> None:
    """Raise ``UsageError`` where head is base."""
    if repository.head == repository.base and not repository.is_dirty:
        raise UsageError(
            f"the working tree is that of {base}: there is no fix to verify",
            slug="nothing-to-verify",
            hint="change the program first; of a fix that is committed already, name the commit before it: --base HEAD~1",
        )
