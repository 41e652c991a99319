"""The outcomes as the table of docs/reliability.md."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.attack.row import Fate, Outcome

BEGIN, END = "<!-- attack: begin -->", "<!-- attack: end -->"


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """A line per group: tried, passed, not tried."""
    lines = ["| group | rows | tried | passed | failed | not tried |", "|---|---|---|---|---|---|"]
    for name, group in _grouped(outcomes):
        fates = [outcome.fate for outcome in group]
        rows = len({outcome.row.name for outcome in group})
        lines.append(
            f"| {name} | {rows} | {len(fates) - fates.count(Fate.NOT_TRIED)} | "
            f"{fates.count(Fate.PASSED)} | {fates.count(Fate.FAILED)} | {fates.count(Fate.NOT_TRIED)} |"
        )
    return lines


def markdown(outcomes: Sequence[Outcome], heading: str) -> str:
    """The text between the markers."""
    seeds = sorted({outcome.seed for outcome in outcomes})
    lines = [BEGIN, "", heading, "", *summary(outcomes)]
    for name, group in _grouped(outcomes):
        columns = " | ".join(f"seed {seed}" for seed in seeds)
        lines += ["", f"### {name}", "", f"| row | what is done | {columns} |"]
        lines.append("|---|---|" + "---|" * len(seeds))
        for row in dict.fromkeys(outcome.row for outcome in group):
            of_row = {outcome.seed: outcome for outcome in group if outcome.row is row}
            cells = " | ".join(_cell(of_row.get(seed)) for seed in seeds)
            fast = "" if row.is_fast else " (slow)"
            lines.append(f"| {row.name}{fast} | {_escaped(row.told)} | {cells} |")
    return "\n".join([*lines, "", END])


def put_into(page: Path, text: str) -> None:
    """Replace what stands between the markers of ``page``; a page without them gets both at its end."""
    old = page.read_text() if page.exists() else ""
    before, found, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{text}{after}" if found else f"{old}\n{text}\n")


def _grouped(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    by_group = sorted(outcomes, key=lambda outcome: outcome.row.group)
    return [
        (name, list(group)) for name, group in groupby(by_group, lambda outcome: outcome.row.group)
    ]


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    if outcome.fate is Fate.PASSED:
        return "passed"
    return f"{outcome.fate.value}: {_escaped(outcome.why[:160])}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
