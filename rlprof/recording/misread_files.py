"""Mend files of frames that the sampler has misread.

austin reads the texts of a process once and keeps them by their address. One that it read in the wrong moment, as a program
starts, stays wrong for as long as it samples: ``<module>`` in place of the script's path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from rlprof.model.recording import Frame

_IN_NO_FILE: Final = frozenset(
    {"<module>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
)
"""Names of functions, which are no files."""

_AGAIN: Final = 1.2
"""Times as many frames as at the last search, from which on they are searched again."""


class MisreadFiles:
    """Files of one process by what was read in their place."""

    def __init__(self, known: Collection[Frame]) -> None:
        """``known`` are the frames of the run, as it grows."""
        self._known = known
        self._searched = 0
        self._files: Mapping[tuple[str, int], str] = {}
        self._meant: dict[str, str] = {}

    def mended(self, frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
        """The same frames (outermost first), with the right file where another line that was read with the same text tells which
        it is. Only stacks whose outermost file is wrong are looked at: that of the script is what is misread.
        """
        if not frames or not _is_misread(frames[0].file):
            return frames
        misread = [frame for frame in frames if _is_misread(frame.file)]
        if any(frame.file not in self._meant for frame in misread):
            self._search(misread)
        return tuple(
            frame._replace(file=self._meant.get(frame.file, frame.file)) for frame in frames
        )

    def _search(self, misread: Iterable[Frame]) -> None:
        if len(self._known) >= _AGAIN * self._searched:
            self._searched = len(self._known)
            self._files = _files_of_lines(self._known)
        for frame in misread:
            if meant := self._files.get((frame.function, frame.line)):
                self._meant.setdefault(frame.file, meant)


def _files_of_lines(frames: Iterable[Frame]) -> dict[tuple[str, int], str]:
    """Files by function and line, where only one has such a line."""
    found: dict[tuple[str, int], str] = {}
    for frame in frames:
        if frame.function in _IN_NO_FILE or not frame.file or _is_misread(frame.file):
            continue
        known = found.setdefault((frame.function, frame.line), frame.file)
        if known != frame.file:
            found[frame.function, frame.line] = ""
    return found


def _is_misread(file: str) -> bool:
    """Tell whether no file has such a name: neither a path nor what Python calls code without one."""
    if file in _IN_NO_FILE:
        return True
    return bool(file) and not ("/" in file or "." in file or file[0] in "<:")
