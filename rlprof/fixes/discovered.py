"""All fixes, found by walking their package."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

from rlprof.errors import UsageError
from rlprof.fixes import rewrites as package
from rlprof.fixes.base import Fix


def fixes() -> tuple[Fix, ...]:
    """Return every fix there is, by id. Raises :class:`UsageError` where the package that they need is missing."""
    if find_spec("libcst") is None:
        raise UsageError(
            "rlprof fix needs the package libcst, which is not installed beside rlprof",
            slug="fix-needs-libcst",
            hint="pip install 'rlprof[fix]', or pip install libcst",
        )
    found = [
        import_module(f"{package.__name__}.{module.name}").FIX
        for module in pkgutil.iter_modules(package.__path__)
    ]
    return tuple(sorted(found, key=lambda fix: fix.id))
