"""Verified fixes that read like their story: ``a_verified_fix(saves=(0.40, 0.38, 0.45), promised=(0.04, 0.19))``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from rlprof.model.experiment import MeasuredShare, TreatmentKind
from rlprof.model.finding import Range
from rlprof.model.profile import Interval
from rlprof.verification.verified import Promise, VerifiedFix, VerifiedPair, VerifiedSide


def a_promise(
    finding: str = "omegaconf-in-loop",
    *,
    promised: tuple[float, float] = (0.68, 0.87),
    tried: tuple[float, float, float] | None = None,
    **changes: Any,
) -> Promise:
    promise = Promise(
        finding=finding,
        title="OmegaConf nodes are read in the hot loop",
        rank=1,
        file="bandit/env.py",
        line=42,
        function="step",
        share=Range(*promised),
        tried=None if tried is None else MeasuredShare(*tried),
        tried_kind=None if tried is None else TreatmentKind.GAIN,
        run_file=".rlprof/20261127T100000-train.rlprof",
        run_id="0123456789abcdef",
        run_git="abc1234",
        run_label="stage-1",
    )
    return replace(promise, **changes)


def a_verified_fix(
    finding: str = "omegaconf-in-loop",
    *,
    promised: tuple[float, float] = (0.68, 0.87),
    saves: tuple[float, float, float] = (0.80, 0.78, 0.82),
    tried: tuple[float, float, float] | None = None,
    at: float = 0.0,
    promise: Promise | None = None,
    **changes: Any,
) -> VerifiedFix:
    """Five pairs of runs, of 1000 steps per second without the fix; ``at`` is in hours."""
    head = 1000 / (1 - saves[0])
    fix = VerifiedFix(
        measured=datetime.fromtimestamp(1_700_000_000 + 3600 * at, tz=timezone.utc),
        script="train.py",
        command=("/venv/bin/python", "train.py", "--seed", "1"),
        unit="steps",
        promise=promise or a_promise(finding, promised=promised, tried=tried),
        base=VerifiedSide("HEAD (abc1234567)", Interval(1000.0, 990.0, 1010.0)),
        head=VerifiedSide("project (abc1234567+changes)", Interval(head, 0.99 * head, 1.01 * head)),
        pairs=tuple(VerifiedPair(1000.0, head) for _ in range(5)),
        got=MeasuredShare(*saves),
    )
    return replace(fix, **changes)
