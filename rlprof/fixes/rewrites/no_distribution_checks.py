"""Switch off the checks of torch's distributions once, after the imports of the script."""

from __future__ import annotations

from typing import Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Rewriting
from rlprof.fixes.source_tree import SourceTree
from rlprof.source.caught_errors import why_checks_stay
from rlprof.syntax.module import parse

_SETTING: Final = "set_default_validate_args"


def _rewrite(case: Case) -> Rewriting:
    if any(_SETTING in text for text in case.texts.values()):
        raise CannotFixError(f"{_SETTING} is called in its files already")
    read = {file: module for file, text in case.texts.items() if (module := parse(text))}
    if why := why_checks_stay(read, [(place.file, place.line) for place in case.places]):
        raise CannotFixError(why)
    file = case.script or next((place.file for place in case.places), "")
    if file not in case.texts:
        raise CannotFixError("the script that the run started was not recorded")
    tree = SourceTree(case.texts[file])
    after = _last_import(tree)
    torch = tree.name_of("torch", "torch")
    line = f"{torch}.distributions.Distribution.{_SETTING}(False)"
    if after is None:
        raise CannotFixError(f"{file.rpartition('/')[2]} begins with no imports")
    tree.put_after_imports(after, line)
    return Rewriting({file: tree.changed})


def _last_import(tree: SourceTree) -> cst.SimpleStatementLine | None:
    """The last import of the file's own level before its first function, class or block."""
    found = None
    for statement in tree.module.body:
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        if any(isinstance(part, cst.Import | cst.ImportFrom) for part in statement.body):
            found = statement
    return found


FIX: Final = Fix(
    id="no-distribution-checks",
    does="switches off the argument checks of torch's distributions after the imports of the script",
    findings=frozenset({"distribution-validation"}),
    rewrite=_rewrite,
    remark="A NaN that these checks stop the training at would go on through it.",
)
