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
)
from rlprof.names import printable
from rlprof.report import wording
from rlprof.verification import words
from rlprof.verification.verified import Standing, VerifiedFix, VerifiedSide

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
    yield _sides(fix)
    yield Paragraph([f"Command: {printable(wording.typed(fix.command))}"])
    yield Paragraph(words.next_steps(fix))
    yield _runs(fix)
    yield Remarks("What to know", fix.notes)


def _shares(fix: VerifiedFix) -> Table:
    promise = fix.promise
    rows = [
        ("promised", words.promised_share(promise.share), words.promised_times(promise.share)),
    ]
    if promise.tried is not None:
        rows.append(("tried", words.tried_share(promise), words.measured_times(promise.tried)))
    rows.append(("measured", words.measured_share(fix.got), words.measured_times(fix.got)))
    columns = [Column(wraps=False), Column(name="saves"), Column(name="rate")]
    return Table(columns, rows)


def _sides(fix: VerifiedFix) -> Table:
    columns = [
        Column(wraps=False),
        Column(name="rate"),
        Column(name="what", under="rate", lead="  ", style=""),
    ]
    rows = [
        (name, _rate(side, fix), printable(side.name))
        for name, side in (("base", fix.base), ("head", fix.head))
    ]
    return Table(columns, rows, is_headed=False)


def _rate(side: VerifiedSide, fix: VerifiedFix) -> str:
    """``657 sps (640 to 670, 5 runs)``: the lowest and the highest of them."""
    runs = wording.counted(len(fix.pairs), "run", "runs")
    told = f"{wording.rate_range(side.sps)}, {runs}"
    return wording.unglued(f"{wording.rate(side.sps.median)} {wording.rate_unit(fix)} ({told})")


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
