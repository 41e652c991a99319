"""What a pair that was recorded in full tells of the causes, in words: the same in every format."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final, NamedTuple

from rlprof.comparison import words as comparison_words
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.grown import GrownFunction, grown_functions
from rlprof.gate.outcome import Outcome
from rlprof.gate.read_sites import MoreReads, more_reads
from rlprof.model.report import Report
from rlprof.names import printable, short_path
from rlprof.report import wording

MOST_FUNCTIONS: Final = 3
MOST_ALONE: Final = 5
"""Findings of head alone; they come by cost."""

WORSE: Final = (Fate.APPEARED, Fate.GREW)
_NAME_LIMIT: Final = 80

_TOLD_INSTEAD: Final = "no-common-rate"
"""Slug of the remark that ``_why_no_rate`` says."""
_ALL_ALIKE: Final = "all-alike"
"""Slug of the remark that keeps functions from being named, though it warns of nothing."""

_WHAT_TO_DO: Final = (
    "One pair shows only what is larger than its own noise: on a quieter machine, or with longer runs, that "
    "is more. Where its time went is on the page that --artifacts DIR writes."
)

_MUCH: Final = 0.5
"""Part of the largest growth of a function from which on findings explain it."""


class Told(NamedTuple):
    """A sentence, and what it begins."""

    heading: str
    lines: tuple[str, ...] = ()


def causes(outcome: Outcome) -> list[Told]:
    """What got worse, and what to know of the pair that shows it; empty where none was recorded."""
    found = outcome.comparison
    if found is None:
        return []
    worse = what_got_worse(outcome)
    told = _of_the_pair(outcome, found)
    return [*worse, Told("What to know of that pair:", told)] if told else worse


def what_got_worse(outcome: Outcome) -> list[Told]:
    """Without what to know of the pair, for a page that says it already."""
    found = outcome.comparison
    return [] if found is None else list(_what_got_worse(outcome, found))


def _what_got_worse(outcome: Outcome, found: Comparison) -> Iterator[Told]:
    reads = [read(it, found) for it in reads_of(outcome)]
    if reads:
        yield Told("Lines of head that read tensors more often per step:", tuple(reads))
    findings = tuple(finding(it, outcome) for it in worse_findings(outcome))
    functions = tuple(function(it, found) for it in slower_functions(outcome))
    alone = tuple(alone_in_words(it, found) for it in in_head_only(outcome))
    if found.rate is None:
        yield Told(f"{_why_no_rate(found)}:" if alone else f"{_why_no_rate(found)}.", alone)
    if findings:
        yield Told("What got worse, from one pair recorded in full:", findings)
    if functions:
        yield Told(_above_functions(found, has_findings=bool(findings)), functions)
    elif found.rate is not None and not findings:
        yield Told(_nothing(found))


def _above_functions(found: Comparison, *, has_findings: bool) -> str:
    if found.rate is None:
        return "What has clearly more of the time in that pair:"
    if has_findings:
        return "What clearly takes longer in the same pair:"
    return "No finding appeared or grew in the pair that was recorded in full, but this clearly takes longer:"


def _nothing(found: Comparison) -> str:
    more = "" if found.tree is None else ", and no function clearly takes longer"
    return f"No finding appeared or grew in the pair that was recorded in full{more}."


def _of_the_pair(outcome: Outcome, found: Comparison) -> tuple[str, ...]:
    """The gravest that it warns of; where it names no cause, what may be the reason."""
    is_named = any(it.lines for it in what_got_worse(outcome))
    remarks = [
        note.text
        for note in found.notes
        if (note.level != "info" and note.slug != _TOLD_INSTEAD)
        or (note.slug == _ALL_ALIKE and not is_named)
    ]
    is_silent = found.rate is not None and not is_named
    return (*remarks[:1], *([_WHAT_TO_DO] if is_silent else []))


def _why_no_rate(found: Comparison) -> str:
    """Why nothing is told per step, without the end of the sentence."""
    throughputs = found.base.throughput, found.new.throughput
    lacks = [
        f"{side}: {lack}"
        for side, lack in zip(("base", "head"), map(wording.lack_of_rate, throughputs), strict=True)
        if lack
    ]
    why = wording.unglued(f" ({'; '.join(lacks)})") if lacks else ""
    if any(it.steady_sps is None and it.unit != "none" for it in throughputs):
        return f"The pair that was recorded in full was too short to compare{why}"
    return f"The rates of the pair that was recorded in full cannot be compared{why}"


# --- findings ------------------------------------------------------------------------------


def worse_findings(outcome: Outcome) -> list[FindingChange]:
    """Findings that appeared in head, or grew."""
    if outcome.comparison is None:
        return []
    return [it for it in outcome.comparison.findings if it.fate in WORSE]


def in_head_only(outcome: Outcome) -> list[FindingChange]:
    """Those that base has nothing like, where the pair was too short to judge them."""
    found = outcome.comparison
    if found is None or found.rate is not None:
        return []
    alone = [it for it in found.findings if it.fate is Fate.UNCLEAR and it.base is None]
    return alone[:MOST_ALONE]


def finding(change: FindingChange, outcome: Outcome) -> str:
    """``appeared: eager-log-format, train.py:12 step``."""
    assert outcome.comparison is not None, "findings come from a comparison"
    cost = comparison_words.finding_cost(change, change.new_cost)
    unit = comparison_words.finding_unit(change)
    return wording.unglued(
        f"{comparison_words.FATES[change.fate]}: {_named(change, outcome.comparison)} (its fix saves {cost} {unit})"
    )


def alone_in_words(change: FindingChange, found: Comparison) -> str:
    """``in head only: eager-log-format, train.py:12 step``."""
    return wording.unglued(f"in head only: {_named(change, found)}")


def _named(change: FindingChange, found: Comparison) -> str:
    parts = comparison_words.finding_name(change), comparison_words.finding_place(change, found)
    return ", ".join(part for part in parts if part)


# --- functions -----------------------------------------------------------------------------


def slower_functions(outcome: Outcome) -> tuple[GrownFunction, ...]:
    """Those that clearly take longer, where findings explain little of it."""
    found = outcome.comparison
    if found is None:
        return ()
    grown = grown_functions(found.tree, MOST_FUNCTIONS)
    if grown and _explained_us(outcome) >= _MUCH * grown[0].change_us:
        return ()
    return grown


def _explained_us(outcome: Outcome) -> float:
    """By findings that got worse: per step, or per second of steady time as in the tree."""
    return sum(
        (_middle_us(it, is_new=True) - _middle_us(it, is_new=False))
        for it in worse_findings(outcome)
    )


def _middle_us(change: FindingChange, *, is_new: bool) -> float:
    cost = change.new_cost if is_new else change.base_cost
    if cost is None or change.unit == "run":
        return 0.0
    return sum(cost) / 2 * (1e6 if change.unit == "share" else 1.0)


def function(it: GrownFunction, found: Comparison) -> str:
    """``grew: Recorder._on_step, train.py:28, in deepcopy, +530 µs per step (not seen in base)``."""
    tree = found.tree
    assert tree is not None, "functions come from a tree"
    parts = [printable(it.label, _NAME_LIMIT)]
    if it.place:
        line = f":{it.line}" if it.line else ""
        parts.append(f"{comparison_words.place(it.place, 50)}{line}")
    if it.inside:
        parts.append(f"in {printable(it.inside, _NAME_LIMIT)}")
    waiting = ", mostly waiting" if it.waits else ""
    cost = comparison_words.cost(tree, it.change_us)
    parts.append(f"+{cost} {comparison_words.per(tree)}{waiting}")
    # Not "new": what is too brief is never sampled.
    was = comparison_words.cost(tree, it.base_us) if it.base_us else "not seen"
    return wording.unglued(f"grew: {', '.join(parts)} ({was} in base)")


def file_of(it: GrownFunction, report: Report) -> str:
    """Its path, where the file is the user's and below the folder of the run; else empty."""
    if it.kind != "yours" or not it.place or it.place.startswith(("…", "<")):
        return ""
    return posixpath.join(report.run.cwd, it.place)


# --- reads of tensors ----------------------------------------------------------------------


def reads_of(outcome: Outcome) -> list[MoreReads]:
    """The lines behind the counters that fail, as far as the recorded pair has them."""
    found = outcome.comparison
    if found is None:
        return []
    return [
        row for it in outcome.failing_counters for row in more_reads(it.name, found.base, found.new)
    ]


def read(it: MoreReads, found: Comparison) -> str:
    """``would_sync: train.py:26 item (2 per step, none in base)``."""
    path = comparison_words.place(short_path(it.file, found.new.run.cwd), 50)
    was = f"{_often(it.base)} in base" if it.base else "none in base"
    return wording.unglued(
        f"{it.counter}: {path}:{it.line} {printable(it.method, _NAME_LIMIT)} "
        f"({_often(it.head)} per step, {was})"
    )


def _often(per_step: float) -> str:
    return wording.count(float(f"{per_step:.2g}"))
