"""Checks without processes: ``checked(rates(1000, 800))``, with a runner that reads off a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rlprof.documents.terminal import as_text
from rlprof.errors import MeasureError
from rlprof.gate.baseline import Baseline
from rlprof.gate.bases import CheckSettings, PairedBase, SavedBase
from rlprof.gate.counters import CounterTolerance, RunCounters
from rlprof.gate.decision import DecisionSettings, Verdict
from rlprof.gate.document import check_document
from rlprof.gate.judge import judge
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Program, Side
from rlprof.gate.runner import Runner
from rlprof.model.profile import Interval

MACHINE = {
    "architecture": "x86_64",
    "cores": "8",
    "cpu_model": "Example 5000",
    "gpu_driver": "none",
    "gpus": "none",
    "python": "3.11.7",
    "torch": "2.4.0",
    "usable_cores": "8",
}


def a_program(
    side: Side, *, name: str = "", command: Sequence[str] = ("python", "train.py")
) -> Program:
    return Program(
        side=side,
        command=tuple(command),
        script="train.py",
        folder=Path("/home/researcher/project"),
        environment={},
        name=name or {Side.BASE: "main (abc1234567)", Side.HEAD: "project (def1234567)"}[side],
    )


def a_measured_run(
    side: Side,
    pair: int = 1,
    sps: float | None = 1000.0,
    *,
    steps: float = 20_000,
    counters: Mapping[str, float] | None = None,
    source: str = "rlprof.step",
    unit: str = "steps",
    left_behind: int = 0,
    waiting: float = 0.0,
) -> MeasuredRun:
    return MeasuredRun(
        side=side,
        pair=pair,
        sps=None if sps is None else Interval(sps, sps * 0.99, sps * 1.01),
        unit=unit,
        source=source,
        counters=RunCounters({} if counters is None else counters, steps),
        wall_s=12.5,
        run_file=Path("run.rlprof"),
        left_behind=left_behind,
        waiting=waiting,
    )


def unsteady(side: Side, pair: int) -> MeasuredRun:
    """A head that is half as fast again in one pair, and slower by as much in the next."""
    factor = 1.5 if pair % 2 else 1 / 1.5
    return a_measured_run(side, pair, 1000 * (factor if side is Side.HEAD else 1))


Runs = Callable[[Side, int], MeasuredRun]
"""What a run of a side in a pair comes to; it may raise."""


class ListedRuns(Runner):
    """A runner that starts nothing."""

    def __init__(self, runs: Runs) -> None:
        self.order: list[tuple[int, str]] = []
        self._runs = runs

    def measure(self, program: Program, pair: int, *, is_full: bool = False) -> MeasuredRun:
        assert not is_full
        self.order.append((pair, program.side.value))
        return self._runs(program.side, pair)

    def measure_in_turns(
        self, first: Program, second: Program, pair: int
    ) -> tuple[MeasuredRun, MeasuredRun]:
        self.order.append((pair, f"{first.side.value} and {second.side.value}"))
        return self._runs(first.side, pair), self._runs(second.side, pair)


def rates(base: float, head: float, *, wobble: float = 0.002) -> Runs:
    """Runs that vary by ``wobble`` in a fixed pattern."""

    def run(side: Side, pair: int) -> MeasuredRun:
        rate = base if side is Side.BASE else head
        return a_measured_run(
            side, pair, rate * (1 + wobble * ((pair * 7 + 3 * (side is Side.HEAD)) % 5 - 2))
        )

    return run


def failing_in(pair: int, runs: Runs) -> Runs:
    def run(side: Side, number: int) -> MeasuredRun:
        if number == pair and side is Side.HEAD:
            raise MeasureError(
                f"head (project), in pair {pair}, failed with exit code 1\n  | OSError: no space",
                slug="program-failed",
                hint="run it by itself to see why",
            )
        return runs(side, number)

    return run


def checked(
    runs: Runs | Runner,
    *,
    counters_only: bool = False,
    in_turns: bool = False,
    base: Program | None = None,
    head: Program | None = None,
    decision: DecisionSettings | None = None,
) -> Outcome:
    runner = runs if isinstance(runs, Runner) else ListedRuns(runs)
    head = head or a_program(Side.HEAD)
    return judge(
        PairedBase(base or a_program(Side.BASE), head, runner, in_turns),
        CheckSettings(
            decision or DecisionSettings(), counters_only=counters_only, in_turns=in_turns
        ),
        lambda _line: None,
    )


def a_baseline(sps: Sequence[float] = (1000, 1004, 998, 1001, 999), **changes: object) -> Baseline:
    fields: dict[str, object] = {
        "command": ("python", "train.py"),
        "commit": "abc1234",
        "saved": "2026-11-21T12:00:00+00:00",
        "machine": MACHINE,
        "unit": "steps",
        "source": "rlprof.step",
        "sps": tuple(float(rate) for rate in sps),
        "steps": (20_000.0,) * len(sps),
        "counters_per_step": {"log_records": (0.25,) * len(sps)},
        **changes,
    }
    return Baseline(**fields)  # type: ignore[arg-type]  # the fields of a story, by name


def checked_against(
    baseline: Baseline,
    runs: Runs,
    tolerances: tuple[CounterTolerance, ...] = (),
    *,
    counters_only: bool = False,
) -> Outcome:
    """Head alone, with a baseline that was saved."""
    head = a_program(Side.HEAD)
    saved = SavedBase(baseline, "perf.json", head, ListedRuns(runs))
    settings = CheckSettings(DecisionSettings(), tolerances, counters_only)
    return saved.with_saved_figures(judge(saved, settings, lambda _line: None))


def text_of(outcome: Outcome, *, width: int | None = None, colored: bool = False) -> str:
    return as_text(check_document(outcome), width=width, colored=colored)


def slug_of(outcome: Outcome) -> str:
    assert outcome.verdict is Verdict.COULD_NOT_MEASURE
    assert outcome.failure is not None
    return outcome.failure.slug
