"""What austin writes in its binary format, MOJO."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import BinaryIO, Final

from rlprof.errors import RlprofError, RunFileError
from rlprof.foreign.austin import AustinStacks
from rlprof.foreign.base import ForeignFormat, damaged
from rlprof.foreign.opening import blocks
from rlprof.model.recording import Recording
from rlprof.recording.samplers.mojo import MAGIC, VERSION, MojoReader

_HEADER_BYTES: Final = 4096
_FACT: Final = re.compile(rb"\x01(austin|interval|mode)\x00([^\x00]{1,40})\x00")


def _recognises(head: bytes) -> bool:
    return head.startswith(MAGIC)


def _read(file: BinaryIO, path: Path) -> Recording:
    reader = MojoReader()
    stacks = AustinStacks(reader, _pid)
    _check_version(file, path)
    try:
        for number, block in enumerate(blocks(file, path)):
            if number == 0:
                _read_header(block, stacks)
            reader.feed(block)
            stacks.fold()
        reader.finish()
        stacks.fold()
    except RunFileError:
        raise
    except RlprofError as error:
        raise damaged(path, error.message) from error
    # A stack of frames that were never described, or an id that is no number.
    except (KeyError, ValueError) as error:
        raise damaged(path, f"its records do not fit together ({error!r})") from error
    return stacks.recording(path, "as MOJO")


def _check_version(file: BinaryIO, path: Path) -> None:
    version = file.read(len(MAGIC) + 1)[len(MAGIC) :]
    file.seek(0)
    if version and version[0] != VERSION:
        raise damaged(path, f"it is MOJO of version {version[0]}, and only {VERSION} is read")


def _read_header(block: bytes, stacks: AustinStacks) -> None:
    # The reader skips remarks; those that matter here stand first.
    for key, value in _FACT.findall(block[:_HEADER_BYTES]):
        stacks.header.facts.setdefault(key.decode(), value.decode("utf-8", "replace"))


def _pid(key: Hashable) -> int:
    assert isinstance(key, tuple)
    return int(key[0])


FORMAT: Final = ForeignFormat("austin's MOJO", _recognises, _read)
