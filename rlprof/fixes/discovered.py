"""All fixes, found by walking their package."""

from __future__ import annotations

from importlib.util import find_spec

from rlprof.discovery import built_in
from rlprof.errors import UsageError
from rlprof.fixes.base import Fix


def fixes() -> tuple[Fix, ...]:
    """Return every fix there is, by id. Raises :class:`UsageError` where the package that they need is missing."""
    if find_spec("libcst") is None:
        raise UsageError(
            "rlprof fix needs the package libcst, which is not installed beside rlprof",
            slug="fix-needs-libcst",
            hint="pip install 'rlprof[fix]', or pip install libcst",
        )
    return tuple(sorted(built_in("rlprof.fixes.rewrites", "FIX"), key=lambda fix: fix.id))
