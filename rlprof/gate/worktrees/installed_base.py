"""A base that was installed where head is installed: it would run in head's place, and later nothing would."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from rlprof.errors import MeasureError
from rlprof.gate.interpreter import ask, interpreter_of
from rlprof.gate.program import Program

_ASK: Final = """
import importlib.metadata, json
found = {}
for it in importlib.metadata.distributions():
    told = json.loads(it.read_text("direct_url.json") or "{}")
    if told.get("dir_info", {}).get("editable"):
        found[it.metadata["Name"]] = told["url"]
print(json.dumps(found))
"""
"""What is installed editable, and from where: https://packaging.python.org/en/latest/specifications/direct-url/"""


def refuse_installed_base(head: Program, worktree: Path) -> None:
    """Raise :class:`MeasureError` if the environment that ``head`` uses now leads to ``worktree``."""
    python = interpreter_of(head.command, head.environment)
    there = _installed_from(worktree, ask(python, _ASK, head.environment))
    if there:
        raise MeasureError(
            f"--prepare has installed {', '.join(there)} of base into the environment that head uses ({python})",
            slug="head-imports-base",
            hint="that now leads to the worktree, which is gone when the check ends: install head there again, and have "
            "--prepare make an environment of its own in the worktree",
        )


def _installed_from(folder: Path, urls: Mapping[str, str]) -> list[str]:
    """Names of packages."""
    root = folder.resolve()
    return sorted(
        name
        for name, url in urls.items()
        if Path(unquote(urlsplit(url).path)).resolve().is_relative_to(root)
    )
