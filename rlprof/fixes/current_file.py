"""A source file as it is on disk now, held against what was recorded of it."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from io import BytesIO
from pathlib import Path

from rlprof.inputs import read_input
from rlprof.recording.redaction.literals import hide_literals
from rlprof.recording.sources import MAX_FILE_BYTES, read_source


@dataclass
class CurrentFile:
    """Text of one file, and where its recorded lines are now."""

    path: Path
    recorded: str
    """With secrets hidden, as run files have it."""
    text: str
    """As it is on disk, line ends included, without a byte order mark."""
    encoding: str

    @classmethod
    def read(cls, path: Path, recorded: str) -> CurrentFile | None:
        """Return None where it cannot be read as Python does."""
        try:
            content = read_input(path, MAX_FILE_BYTES)
            encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
            text = content.decode(encoding)
        except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
            return None
        made = cls(path, recorded, text, encoding)
        return made if made.encoded(text) == content else None

    def encoded(self, text: str) -> bytes:
        """Raise ``UnicodeEncodeError`` for letters that the file's encoding lacks."""
        return text.encode(self.encoding)

    @cached_property
    def _hidden(self) -> str:
        return hide_literals(read_source(str(self.path)) or "")

    @property
    def is_as_recorded(self) -> bool:
        return self._hidden == self.recorded

    def now(self, lines: range) -> range | None:
        """Return where the recorded ``lines`` are now; None where they are not there as they were."""
        if self.is_as_recorded:
            return lines
        for block in self._same:
            if block.a < lines.start and lines.stop - 1 <= block.a + block.size:
                moved = block.b - block.a
                return range(lines.start + moved, lines.stop + moved)
        return None

    @cached_property
    def _same(self) -> list[_Block]:
        before, after = self.recorded.split("\n"), self._hidden.split("\n")
        found = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        return [_Block(block.a, block.b, block.size) for block in found]


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines, counted from 0, that are the same before (from ``a`` on) and now (from ``b`` on)."""

    a: int
    b: int
    size: int
