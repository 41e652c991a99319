"""Paths of the user's own files as their repository knows them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from rlprof.model.report import Report
from rlprof.syntax.origin import Origin, origin_of_file

ROOT_OPTION: Final = "folder that paths start from (default: the one the run was started in)"


def root_of(report: Report, options: Mapping[str, str]) -> str:
    """Return what paths start from: the option ``root``, else where the run was started."""
    return options.get("root") or report.run.cwd


def own_path(file: str, root: str) -> str | None:
    """``file`` from ``root`` on; None for what is not the user's, or lies elsewhere."""
    if origin_of_file(file) is not Origin.YOURS or file.startswith(("<", "…")):
        return None
    if not file.startswith("/"):
        path = posixpath.normpath(file)
    elif root and file.startswith(f"{posixpath.normpath(root)}/".replace("//", "/")):
        path = posixpath.relpath(file, root)
    else:
        return None
    return None if path.startswith("../") else path


def as_uri(path: str) -> str:
    """A path as a reference of URIs."""
    # A colon in the first part would make a scheme of it.
    return quote(path, safe="/", errors="backslashreplace")
