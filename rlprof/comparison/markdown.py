"""A comparison as Markdown, for a pull request or a job's summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.comparison import words
from rlprof.comparison.calltree import ChangeTree
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import Fate
from rlprof.comparison.outline import outline
from rlprof.documents.markdown import prose, table
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.report import wording

MOST_ROWS: Final = 14
_LIMIT: Final = 1000
"""Characters of a name or a remark."""


def comparison_as_markdown(found: Comparison) -> str:
    return wording.unglued("\n".join(_lines(found))) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    yield f"**{words.verdict(found)}** {words.findings_verdict(found)}"
    yield ""
    yield table(
        ("", "rate", "command", "run"),
        [_run("BASE", found.base), _run("NEW", found.new)],
    )
    yield from _findings(found)
    if found.tree is not None:
        yield from _where(found.tree)
    yield from _figures(found)
    yield from ("", "What to know:", "")
    yield from (f"- {note.level}: {_escaped(note.text)}" for note in found.notes)


def _run(name: str, report: Report) -> tuple[str, ...]:
    return (
        f"**{name}**",
        words.rate_of(report),
        _escaped(words.command_of(report)),
        _escaped(words.run_of(report)),
    )


def _findings(found: Comparison) -> Iterator[str]:
    claimed = [it for it in found.findings if it.fate in words.CLAIMED]
    if claimed:
        yield from ("", "### Findings", "")
        yield table(
            ("", "finding", "where", "its fix saves in BASE", "in NEW", ""),
            [
                (
                    words.FATES[it.fate],
                    _escaped(words.finding_name(it)),
                    _escaped(words.finding_place(it, found)),
                    words.finding_cost(it, it.base_cost),
                    words.finding_cost(it, it.new_cost),
                    words.finding_unit(it),
                )
                for it in claimed
            ],
            right=(3, 4),
        )
    same = words.finding_names(found, Fate.UNCHANGED)
    if same:
        yield from ("", f"Unchanged: {', '.join(map(_escaped, same))}.")


def _where(tree: ChangeTree) -> Iterator[str]:
    what = f"{words.metric(tree)} {words.per(tree)}"
    rows = outline(tree, MOST_ROWS)
    if not rows:
        yield from ("", f"No function's {what} changed by more than noise.")
        return
    yield from ("", f"### Where {what} changed by more than noise", "")
    yield table(
        ("BASE", "NEW", "change", "function, with what it calls"),
        [
            (
                words.cost(tree, row.box.base.us),
                words.cost(tree, row.box.new.us),
                words.change(row.box.base.us, row.box.new.us),
                "&nbsp;&nbsp;" * min(row.depth, 12)
                + _escaped(f"{words.callers(row)}{printable(row.box.label, 60)}")
                + f" {_escaped(words.place(row.box.place))}"
                + (f", {_escaped(words.called_from(row))}" if row.own_caller else ""),
            )
            for row in rows
        ],
        right=(0, 1, 2),
    )


def _figures(found: Comparison) -> Iterator[str]:
    rows = [
        (
            it.name,
            words.quantity(it, it.base),
            words.quantity(it, it.new),
            "" if it.base is None or it.new is None else words.change(it.base, it.new),
        )
        for it in found.quantities
    ]
    for it in found.counters:
        change = words.change(it.base or 0.0, it.new or 0.0)
        rows.append(
            (
                _escaped(words.counter_name(it)),
                words.counter(it, it.base),
                words.counter(it, it.new),
                f"**{change}**" if it.is_clear else change,
            )
        )
    if rows:
        yield from ("", "### Figures of both runs", "")
        yield table(("", "BASE", "NEW", "change"), rows, right=(1, 2, 3))


def _escaped(text: str) -> str:
    return prose(text, _LIMIT)
