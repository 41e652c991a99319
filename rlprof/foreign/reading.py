"""Tell which format a file is in, by its content, and what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rlprof.errors import RunFileError
from rlprof.foreign import austin, collapsed
from rlprof.foreign.base import head_with_a_line, opened
from rlprof.model.recording import Recording

FORMATS: Final = (austin.MOJO, austin.TEXT, collapsed.FORMAT)
"""In this order: each line of austin's text is a collapsed stack too."""


def read_foreign(path: Path) -> Recording:
    """The profile in ``path``, of another program.

    Raises :class:`RunFileError` when it is missing, damaged, empty or in none of ``FORMATS``.
    """
    head = head_with_a_line(path)
    if not head.strip():
        raise RunFileError(
            f"{path} is empty",
            slug="not-a-profile",
            hint="the program that was to write it may have failed: look at what it printed",
        )
    for form in FORMATS:
        if form.recognises(head):
            with opened(path) as file:
                return form.read(file, path)
    known = ", ".join(form.name for form in FORMATS)
    raise RunFileError(
        f"{path} is neither a run file of rlprof nor a profile that it reads",
        slug="not-a-profile",
        hint=f"give a file that `rlprof run` wrote (*.rlprof), a torch.profiler trace, or one of: {known}",
    )


def is_json(head: bytes) -> bool:
    """Tell whether a file that begins so is JSON, as traces of torch.profiler are."""
    return head.lstrip()[:1] in (b"{", b"[")
