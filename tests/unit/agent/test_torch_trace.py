"""A trace on its way through memory, from an exporter that behaves as torch's does."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent import torch_trace

TRACE = b'{"traceEvents": [], "traceName": "trace" }'


class Exporter:
    """Writes as torch does: to PATH.tmp, which it renames; older ones to PATH itself."""

    def __init__(self, text: bytes = TRACE, *, renames: bool = True) -> None:
        self._text = text
        self._renames = renames
        self.path = Path()

    def export_chrome_trace(self, path: str) -> None:
        self.path = Path(path)
        written = Path(path + ".tmp") if self._renames else self.path
        written.write_bytes(self._text)
        if self._renames:
            written.rename(path)


def open_descriptors() -> list[str]:
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("renames", [True, False])
def test_the_trace_lies_in_memory_and_no_name_is_left(temporary, renames):
    descriptor = torch_trace.export(Exporter(renames=renames))

    assert os.pread(descriptor, 1000, 0) == TRACE
    assert str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("/memfd:")
    assert list(temporary.iterdir()) == []
    os.close(descriptor)


@pytest.mark.parametrize("text", [b"", TRACE[:-3]])
def test_a_trace_that_was_cut_off_is_none(temporary, text):
    before = open_descriptors()
    with pytest.raises(OSError, match="not written"):
        torch_trace.export(Exporter(text))

    assert open_descriptors() == before
    assert list(temporary.iterdir()) == []


def test_another_folder_serves_where_there_is_no_room(temporary, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(temporary / "missing"))
    exporter = Exporter()
    os.close(torch_trace.export(exporter))

    assert exporter.path.parent in (Path("/tmp"), Path("/dev/shm"))
    assert not exporter.path.is_symlink()


def test_without_room_anywhere_nothing_is_left(monkeypatch):
    def full(_source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", target)

    monkeypatch.setattr(torch_trace.os, "symlink", full)
    before = open_descriptors()
    with pytest.raises(torch_trace.NoRoomError):
        torch_trace.export(Exporter())

    assert open_descriptors() == before
