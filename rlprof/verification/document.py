"""A verified fix in blocks: the verdict, promised beside measured, both sides, what to do next, runs, what to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.documents.blocks import (
    Block,
    Column,
    Paragraph,
    Remarks,
    Section,
    StyledText,
    Table,
    figures,
    sides_table,
)
from rlprof.names import printable
from rlprof.report import wording
from rlprof.verification import words
from rlprof.verification.verified import Standing, VerifiedFix

_LOOKS: Final = {
    Standing.HELD: "bold green",
    Standing.ABOVE: "bold green",
    Standing.BELOW: "bold yellow",
}


def verified_document(fix: VerifiedFix) -> Iterator[Block]:
    yield Paragraph([StyledText(words.verdict(fix), _LOOKS[fix.standing])])
    yield Paragraph(
        [
            f"Finding: {words.finding(fix.promise)}",
            f"Promised by: {words.run_of(fix.promise)}",
        ]
    )
    yield _shares(fix)
    yield sides_table(
        [
            (name, wording.rate_of_runs(side.sps, len(fix.pairs), fix), printable(side.name))
            for name, side in (("base", fix.base), ("head", fix.head))
        ]
    )
    yield Paragraph([f"Command: {printable(wording.typed(fix.command))}"])
    yield Paragraph(list(words.next_steps(fix)))
    yield _runs(fix)
    yield Remarks("What to know", fix.notes)


def _shares(fix: VerifiedFix) -> Table:
    promise = fix.promise
    rows = [
        ("promised", wording.share_range(promise.share), words.promised_times(promise.share)),
    ]
    if promise.tried is not None:
        rows.append(("tried", words.tried_share(promise), words.measured_times(promise.tried)))
    rows.append(("measured", words.measured_share(fix.got), words.measured_times(fix.got)))
    columns = [Column(wraps=False), Column(name="saves"), Column(name="rate")]
    return Table(columns, rows)


def _runs(fix: VerifiedFix) -> Section:
    columns = [Column(name="pair"), *figures("base", "head", "rate")]
    rows = [
        (
            str(number),
            wording.rate(pair.base),
            wording.rate(pair.head),
            f"{pair.head / pair.base:.3g}×",
        )
        for number, pair in enumerate(fix.pairs, start=1)
    ]
    return Section("Runs", [Table(columns, rows)], is_folded=True)
