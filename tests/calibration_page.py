"""The numbers of rlprof that were measured, gathered from its code, and the page that lists them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from rlprof.model.finding import Range

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "calibration.md"
AGENT = ROOT / "rlprof" / "agent"
"""It imports nothing but the standard library, and what it costs is in docs/overhead.md."""

SUBJECTS = {
    "pricing": "Pricing",
    "detectors": "Detectors",
    "pace": "Pace",
    "device": "Traces of GPUs",
    "scaling": "Ladders",
    "report": "Reports",
    "experiments": "Experiments",
    "recording": "Recording",
}
"""The title of each package that has such numbers, in the order of the page."""

INTRODUCTION = """# Calibration

Numbers that were fitted to what was measured on some machine, and so might be others on yours: what an operation costs, how far an
instrument is off, which part of its time a fix removes. Each stands in the code beside what uses it, with its unit, its source
and the day from which it has this value (`calibrated`, in `rlprof/model/calibration.py`). This page is made from there:

    RLPROF_ACCEPT_GOLDEN=1 python -m pytest tests/contract/test_calibration.py

Nearly all are of virtual machines with two cores. Limits of what is shown, definitions, and thresholds that were chosen and not
measured are not among them, and the numbers of a check's statistics come from simulations ([check-figures.md](check-figures.md)).
"""


class Constant(NamedTuple):
    """A module's own name, with what is assigned to it and said below it."""

    file: Path
    name: str
    assigned: ast.expr
    says: str

    @property
    def place(self) -> str:
        return f"{self.file.relative_to(ROOT)}: {self.name}"

    @property
    def call(self) -> ast.Call | None:
        """That of ``calibrated``."""
        return self.assigned if is_calibrated(self.assigned) else None  # type: ignore[return-value]

    def told(self, keyword: str) -> str:
        """What the call says in ``keyword``."""
        assert self.call is not None
        return next(
            ast.literal_eval(word.value) for word in self.call.keywords if word.arg == keyword
        )

    def value(self) -> object:
        module = ".".join(self.file.relative_to(ROOT).with_suffix("").parts)
        return getattr(import_module(module.removesuffix(".__init__")), self.name)


def is_calibrated(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "calibrated"
    )


def sources() -> Iterator[Path]:
    """All of rlprof but its agent."""
    return (file for file in sorted((ROOT / "rlprof").rglob("*.py")) if AGENT not in file.parents)


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


def constants() -> Iterator[Constant]:
    for file in sources():
        body = tree(file).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                yield Constant(file, ast.unparse(target), node.value, _docstring(after))


def _docstring(node: ast.stmt | None) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return " ".join(str(node.value.value).split()) if is_text else ""  # type: ignore[union-attr]


def page() -> str:
    found = [constant for constant in constants() if constant.call is not None]
    parts = [INTRODUCTION]
    for package, title in SUBJECTS.items():
        rows = [
            constant for constant in found if constant.file.relative_to(ROOT).parts[1] == package
        ]
        parts.append(f"## {title}\n\n{_table(rows)}")
    return "\n".join(parts)


def _table(rows: list[Constant]) -> str:
    lines = [
        "| number | value | unit | what it says | source | date |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        path = row.file.relative_to(ROOT)
        module = "/".join(path.with_suffix("").parts[2:])
        cells = (
            f"[{module}](../{path}) `{row.name}`",
            in_words(row.value()),
            row.told("unit"),
            row.says.replace("``", "`"),
            row.told("source"),
            row.told("date"),
        )
        lines.append("| " + " | ".join(_escaped(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def in_words(value: object) -> str:
    if isinstance(value, Range):
        return f"{in_words(value.low)} to {in_words(value.high)}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key.name.lower()} {in_words(entry)}" for key, entry in value.items())
    if isinstance(value, float) and value < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}".replace(",", " ")
