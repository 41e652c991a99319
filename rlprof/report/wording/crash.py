"""The bad end of a run in words: the first line of its report."""

from __future__ import annotations

from collections.abc import Sequence

from rlprof.model.crash import Crash, DeadWorker, Hang, signal_of
from rlprof.model.report import Report
from rlprof.names import printable, short_line
from rlprof.report import wording


def bad_end(report: Report) -> str:
    """Return how the run ended badly, or hung; empty for one that did neither."""
    told = []
    if report.crash is not None:
        told.append(crash_line(report.crash, report.run.wall_us))
    if report.hang is not None:
        told.append(hang_line(report.hang, report.run.cwd, is_to_the_end=_lasts(report)))
    return " ".join(told)


def _lasts(report: Report) -> bool:
    """Tell whether the hang lasted as long as the recording."""
    assert report.hang is not None
    return not any(phase.start_us >= report.hang.end_us for phase in report.phases)


def hang_line(hang: Hang, cwd: str, *, is_to_the_end: bool) -> str:
    """``Hung after that: main 12 waited 39 s in a queue at train.py:24 in main, and nobody worked.``"""
    who = _name(hang.role, [hang.pid])
    at = ""
    if hang.file:
        at = f" at {short_line(hang.file, hang.line, cwd, 60)} in {printable(hang.function)}"
    when = f"from {wording.duration(hang.start_us)} on" if is_to_the_end else "for a while"
    length = wording.duration(hang.end_us - hang.start_us)
    how = {"poll": "asking again and again", "sleep": "asleep"}.get(
        hang.kind, f"in {_in(hang.kind)}"
    )
    why = "after that" if hang.for_the_dead else when
    return (
        f"Hung {why}: {who} waited {length} {how}{at}, while nobody worked. "
        "No rate and no price holds that time."
    )


def _in(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def crash_line(crash: Crash, wall_us: int) -> str:
    """``Crashed after 2.1 s: the program ended with exit code 1.``"""
    workers = crash.workers
    if crash.exit_code is not None:
        dead = f", and {_dead(workers)}" if workers else ""
        return f"Crashed after {wording.duration(wall_us)}: the program {ended(crash.exit_code)}{dead}."
    head = "A worker died" if len(workers) == 1 else f"{len(workers)} workers died"
    return f"{head}: {_dead(workers)} of {wording.duration(wall_us)}."


def crash_in_short(crash: Crash) -> str:
    """``crashed: exit code 1``; for a cell of a table."""
    if crash.exit_code is not None:
        return f"crashed: {_code(crash.exit_code)}"
    first, *more = crash.workers
    others = f" and {len(more)} more" if more else ""
    return f"{_name(first.role, [first.pid])}{others} died: {_code(first.exit_code)}"


def ended(exit_code: int) -> str:
    """``ended with exit code 1``, ``was killed by SIGSEGV``."""
    verb = "ended with" if signal_of(exit_code) is None else "was killed by"
    return f"{verb} {_code(exit_code)}"


def _code(exit_code: int) -> str:
    signal = signal_of(exit_code)
    return f"exit code {exit_code}" if signal is None else signal.name


def _dead(workers: Sequence[DeadWorker]) -> str:
    """Those that died alike together, and when the first did."""
    alike: dict[tuple[str, int], list[int]] = {}
    for worker in workers:
        alike.setdefault((worker.role, worker.exit_code), []).append(worker.pid)
    parts = []
    for (role, exit_code), pids in alike.items():
        how = ended(exit_code)
        how = how.replace("was", "were") if len(pids) > 1 else how
        parts.append(f"{_name(role, pids)} {how}")
    first = "the first " if len(workers) > 1 else ""
    return f"{', '.join(parts)}, {first}after {wording.duration(workers[0].ended_us)}"


def _name(role: str, pids: Sequence[int]) -> str:
    return printable(wording.named("process" if role in ("", "other") else role, pids))
