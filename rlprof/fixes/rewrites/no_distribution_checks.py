"""Switch off the checks of torch's distributions once, after the imports of the script."""

from __future__ import annotations

from typing import Any, Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Rewriting
from rlprof.fixes.source_tree import SourceTree

_SETTING: Final = "set_default_validate_args"


def _rewrite(case: Case) -> Rewriting:
    if any(_SETTING in text for text in case.texts.values()):
        raise CannotFixError(f"{_SETTING} is called in its files already")
    for place in case.places:
        if "validate_args" in case.texts[place.file].split("\n")[place.line - 1]:
            raise CannotFixError("validate_args is given on its line")
    file = case.script or next((place.file for place in case.places), "")
    if file not in case.texts:
        raise CannotFixError("the script that the run started was not recorded")
    tree = SourceTree(case.texts[file])
    after = _last_import(tree)
    torch = tree.name_of("torch", "torch")
    line = f"{torch}.distributions.Distribution.{_SETTING}(False)"
    if after is None:
        raise CannotFixError(f"{file.rpartition('/')[2]} begins with no imports")
    tree.put_after(after, line)
    return Rewriting({file: tree.changed})


def _last_import(tree: SourceTree) -> Any:
    """The last import of the file's own level before anything else than imports and plain assignments."""
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
