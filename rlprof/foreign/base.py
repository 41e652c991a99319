"""The contract of a foreign format, and its files: opened, packed or not, and read in blocks of whole lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from rlprof.errors import RunFileError
from rlprof.inputs import open_input
from rlprof.model.recording import Note, Recording
from rlprof.runfile.opening import cannot_read
from rlprof.tracefile.packing import GZIP_MAGIC
from rlprof.units import count, size

HEAD_BYTES: Final = 1 << 16
"""Enough of a file to tell its format, unless its first stack is more than a thousand frames deep."""

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""Bytes that some editors and shells write before text in UTF-8."""

MOST_BYTES: Final = 2 << 30
"""Largest profile that is read, unpacked: a few MB of gzip can hold terabytes."""

_BLOCK_BYTES: Final = 1 << 20
_LONGEST_LINE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format of profiles, told by its content: names of files say nothing."""

    name: str
    """As documents call it: ``austin's text``."""
    recognises: Callable[[bytes], bool]
    """True if a file that begins with these bytes is in this format."""
    read: Callable[[BinaryIO, Path], Recording]
    """The whole file, from its first byte on. The path serves its name and its date alone.

    Raises :class:`RunFileError` when the file is damaged or holds nothing.
    """


def damaged(path: Path, what: str) -> RunFileError:
    return RunFileError(
        f"the profile {path} is damaged: {what}",
        slug="profile-damaged",
        hint="it may have been cut while it was written or copied; copy it again or record it anew",
    )


def without_time(path: Path, what: str) -> RunFileError:
    return RunFileError(
        f"the profile {path} holds no time: {what}",
        slug="profile-without-time",
        hint="rlprof reads profiles of time: record one with `austin -f`, `py-spy record -f raw` or "
        "`rlprof run`",
    )


# --- files ---------------------------------------------------------------------------------


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of ``path``, unpacked when it is gzipped.

    Raises :class:`RunFileError` when it cannot be read, or its packing is damaged.
    """
    try:
        with open_input(path) as file:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise damaged(path, f"its gzip packing cannot be read ({error})") from error
    except OSError as error:
        raise cannot_read(path, error) from error


def head_of(path: Path) -> bytes:
    """The first bytes of ``path``, unpacked; of a damaged packing, as many as there are."""
    with opened(path) as file:
        head = b""
        try:
            while len(head) < HEAD_BYTES and (more := file.read(HEAD_BYTES - len(head))):
                head += more
        except (EOFError, zlib.error):
            if not head:
                raise
        return head


def head_with_a_line(path: Path) -> bytes:
    """The same, to the end of the first line that is no remark, unless it is longer than lines are."""
    head = head_of(path)
    with opened(path) as file:
        wanted = HEAD_BYTES
        while len(head) >= wanted and not _has_a_line(head) and wanted < _LONGEST_LINE:
            wanted *= 4
            file.seek(0)
            head = file.read(wanted)
    return head


def _has_a_line(head: bytes) -> bool:
    *whole, _ = head.split(b"\n")
    return any(line.strip() and not line.startswith(b"#") for line in whole)


def blocks(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the rest of the file.

    Raises :class:`RunFileError` when that is more than ``MOST_BYTES``.
    """
    total = 0
    while block := file.read(_BLOCK_BYTES):
        total += len(block)
        if total > MOST_BYTES:
            raise RunFileError(
                f"the profile {path} is larger than {size(MOST_BYTES)}",
                slug="profile-too-large",
                hint="record a shorter stretch of the run, or at a lower rate",
            )
        yield block


def blocks_of_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the file in blocks that end with a line; the last line may lack its end.

    Raises :class:`RunFileError` at a line that no profile has.
    """
    rest = b""
    if file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
        file.seek(0)
    for block in blocks(file, path):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        if newline:
            yield whole + newline
        if len(rest) > _LONGEST_LINE:
            raise damaged(path, f"a line is longer than {_LONGEST_LINE >> 20} MiB")
    if rest:
        yield rest


# --- remarks on what a profile lacks, in words --------------------------------------------------


def lacks(by: str) -> Note:
    """Return what no profile of another program has."""
    return Note(
        "info",
        "foreign-profile",
        f"Read from a profile by {by}. It has no steps, so no steps per second and no price in them; no "
        "time axis, so start-up and training are told apart by their imports alone; and neither the "
        "machine's load nor how the processes ended. `rlprof run` records all that.",
    )


def waits_unknown(why: str) -> Note:
    return Note(
        "warning",
        "foreign-waits",
        f"{why}: what its stacks waited for counts as work.",
    )


def bad_lines(bad: int) -> Note:
    return Note(
        "warning",
        "foreign-lines",
        f"{count(bad)} {'line' if bad == 1 else 'lines'} of the profile could not be understood, and "
        f"{'is' if bad == 1 else 'are'} left out.",
    )
