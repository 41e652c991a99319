"""What ``import rlprof`` offers to a training script."""

from __future__ import annotations

import rlprof


def test_exported_names_are_sorted_and_exist():
    assert rlprof.__all__ == sorted(rlprof.__all__)
    assert all(hasattr(rlprof, name) for name in rlprof.__all__)


def test_everything_public_is_exported():
    submodules = {name for name in vars(rlprof) if getattr(vars(rlprof)[name], "__file__", None)}
    imported = {"annotations", "array", "sys", "TYPE_CHECKING"}
    # What begins with "@" is of pytest, which rewrites the assertions of packages that have a plugin.
    own = {name for name in vars(rlprof) if not name.startswith(("_", "@"))}
    public = own - submodules - imported

    assert public == {name for name in rlprof.__all__ if not name.startswith("_")}
