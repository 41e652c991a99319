"""A comparison as one HTML file, from ``diff.html.jinja``: it opens anywhere, with the network off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

import rlprof
from rlprof.comparison import words
from rlprof.comparison.calltree import ChangeTree, CostPerStep, FunctionChange
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.outline import Drawn, OutlineRow, drawn, outline
from rlprof.documents.json import Json, number
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.browser_scripts import TextTable, bundle
from rlprof.renderers.html.document import View, carried, environment
from rlprof.renderers.html.drawings import BarPart, bar
from rlprof.renderers.svg.shapes import KINDS
from rlprof.report import wording
from rlprof.resources import asset
from rlprof.units import LEAST_PERCENT

STYLES: Final = ("page.css", "flamegraph.css", "interactive.css", "diff.css")

MOST_ROWS: Final = 40
MOST_FUNCTIONS: Final = 30
MOST_WAITS: Final = 10
_DEEPEST: Final = 6
"""Steps of indentation that the page's styles know."""
_MIDDLE: Final = 0.006
"""Width of the line in the middle of a bar, as a part of it."""

_LOOKS: Final = {
    Fate.APPEARED: "more-word",
    Fate.GREW: "more-word",
    Fate.SHRANK: "less-word",
    Fate.VANISHED: "less-word",
}


@dataclass(frozen=True, slots=True)
class Occasion:
    """Occasion that a comparison was made for, where that has judged the runs already."""

    kind: str
    """Name of what is compared: ``One pair, recorded to look for causes``."""
    verdict: str
    """The headline, instead of what one run a side can say of the rate."""
    causes: tuple[str, ...] = ()
    """Results that it came to, a line each."""


def comparison_as_html(found: Comparison, occasion: Occasion | None = None) -> str:
    tree = found.tree
    shown = drawn(tree) if tree is not None else None
    scripts = [asset("theme.js"), *([bundle("diff.js")] if tree is not None else [])]
    rate = found.rate
    claimed = [finding for finding in found.findings if finding.fate in words.CLAIMED]
    return str(
        environment()
        .get_template("diff.html.jinja")
        .render(
            **carried(STYLES, scripts),
            data_type="application/json",
            data="" if tree is None or shown is None else _data(tree, shown),
            version=rlprof.__version__,
            title=_title(found),
            occasion=occasion,
            sides=found.sides,
            times=words.times(rate) if rate is not None else "",
            times_range=words.times_range(rate) if rate is not None else "",
            is_clear=rate is not None and rate.is_clear,
            verdict=words.verdict(found),
            findings_verdict=words.findings_verdict(found),
            runs=[
                _run(name, report)
                for name, report in zip(found.sides, (found.base, found.new), strict=True)
            ],
            warnings=[note for note in found.notes if note.level != "info"],
            findings=[_finding(change, found) for change in claimed],
            unchanged=words.finding_names(found, Fate.UNCHANGED),
            unclear=words.finding_names(found, Fate.UNCLEAR),
            tree=None if tree is None or shown is None else _tree(tree, shown),
            figures=words.figures(found),
            notes=found.notes,
        )
    )


def _title(found: Comparison) -> str:
    names = [
        report.run.label or words.command_of(report) or "a run"
        for report in (found.base, found.new)
    ]
    return " → ".join(printable(name, 80) for name in names)


def _run(name: str, report: Report) -> View:
    return {
        "name": name,
        "rate": words.rate_of(report),
        "command": words.command_of(report),
        "told": words.run_of(report),
    }


def _finding(change: FindingChange, found: Comparison) -> View:
    is_news = change.fate in (Fate.APPEARED, Fate.GREW)
    return {
        "fate": words.FATES[change.fate],
        "look": _LOOKS[change.fate],
        "id": words.finding_name(change),
        "title": change.shown.finding.title,
        "place": words.finding_place(change, found),
        "fix": change.shown.finding.fix if is_news else "",
        "base": words.finding_cost(change, change.base_cost),
        "new": words.finding_cost(change, change.new_cost),
        "unit": words.finding_unit(change),
    }


# --- the tree ------------------------------------------------------------------------------


def _tree(tree: ChangeTree, shown: Drawn) -> View:
    working, waiting = words.clear_functions(tree, MOST_FUNCTIONS, MOST_WAITS)
    what = f"{words.metric(tree)} {words.per(tree)}"
    return {
        "what": f"{what[0].upper()}{what[1:]}",
        "pruned": _pruned(shown.pruned_share),
        "outline": _outline(tree, shown, outline(tree, MOST_ROWS)),
        "functions": _functions(tree, working),
        "waits": _functions(tree, waiting),
    }


def _pruned(share: float) -> str:
    if share < LEAST_PERCENT:
        return ""
    return (
        f"Boxes too thin to see are left out ({wording.percent(share)} in all); their time stays with "
        "their callers."
    )


def _outline(tree: ChangeTree, shown: Drawn, rows: Sequence[OutlineRow]) -> list[View]:
    return [
        {
            **_costs(
                tree,
                row.box.base,
                row.box.new,
                _largest((row.box.base, row.box.new) for row in rows),
            ),
            "depth": min(row.depth, _DEEPEST),
            "callers": words.callers(row),
            "label": row.box.label,
            "place": ", ".join(
                line
                for line in (_place(row.box.place, row.box.line), words.called_from(row))
                if line
            ),
            "box": shown.places.get(row.at),
        }
        for row in rows
    ]


def _functions(tree: ChangeTree, functions: Sequence[FunctionChange]) -> list[View]:
    largest = _largest((function.base, function.new) for function in functions)
    return [
        {
            **_costs(tree, function.base, function.new, largest),
            "depth": 0,
            "callers": "",
            "label": function.label,
            "place": words.place(function.place, 80),
            "box": None,
        }
        for function in functions
    ]


def _place(file: str, line: int) -> str:
    text = words.place(file, 80)
    return f"{text}:{line}" if text and line else text


def _largest(pairs: Iterable[tuple[CostPerStep, CostPerStep]]) -> float:
    return max((abs(new.us - base.us) for base, new in pairs), default=0.0)


def _costs(tree: ChangeTree, base: CostPerStep, new: CostPerStep, largest: float) -> View:
    return {
        "base": words.cost(tree, base.us),
        "new": words.cost(tree, new.us),
        "change": words.change(base.us, new.us),
        "bar": change_bar(new.us - base.us, largest),
    }


def change_bar(change: float, largest: float) -> Markup:
    """To the left of the middle for less, to the right for more."""
    part = abs(change) / largest / 2 if largest else 0.0
    middle = BarPart(0.5 - _MIDDLE / 2, 0.5 + _MIDDLE / 2, "middle")
    if change < 0:
        return bar((BarPart(0.5 - part, 0.5, "less"), middle), "change")
    return bar((BarPart(0.5, 0.5 + part, "more"), middle), "change")


# --- data -----------------------------------------------------------------------------------


def _data(tree: ChangeTree, shown: Drawn) -> Markup:
    """JSON that cannot end its element: no ``<`` in it."""
    text = json.dumps(_columns(tree, shown), separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


# --- the flamegraph of both runs as columns of numbers --------------------------------------


def _columns(tree: ChangeTree, shown: Drawn) -> dict[str, Json]:
    """The ``data`` of ``difftrees.js``."""
    strings = TextTable()
    boxes = shown.boxes
    columns: dict[str, Json] = {
        "parent": [box.parent for box in boxes],
        "label": [strings.number(box.label) for box in boxes],
        "file": [strings.number(box.place) for box in boxes],
        "line": [box.line for box in boxes],
        "kind": [KINDS.index(box.kind) if box.kind in KINDS else len(KINDS) - 1 for box in boxes],
        "base": [number(box.base.us) for box in boxes],
        "new": [number(box.new.us) for box in boxes],
        "baseIdle": [number(box.base.idle_us) for box in boxes],
        "newIdle": [number(box.new.idle_us) for box in boxes],
        "noise": [number(box.noise_us) for box in boxes],
        "clear": [int(box.is_clear) for box in boxes],
    }
    return {
        "per": tree.per,
        "metric": tree.metric,
        "kinds": list(KINDS),
        "strings": [*strings],
        "columns": columns,
    }
