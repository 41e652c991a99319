from __future__ import annotations

import os
import resource
import select
from pathlib import Path

import pytest

from rlprof.recording.end_watch import EndWatch, _most_handles, _status
from tests.live_processes import DEADLINE_S


@pytest.fixture
def child():
    """A process that waits until it is killed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    yield pid
    os.close(writing)


def wait_for_an_end(watch: EndWatch) -> None:
    assert select.select([watch], [], [], DEADLINE_S)[0]
    watch.hear()


def remembers_ends() -> bool:
    """Tell whether this kernel tells how a process ended whose parent has waited for it."""
    pid = os.fork()
    if not pid:
        os._exit(3)
    handle = os.pidfd_open(pid)
    os.waitpid(pid, 0)
    status = _status(handle)
    os.close(handle)
    return status is not None


def test_an_end_is_heard_of_once_and_its_cause_known_after_the_parents_wait(child):
    heard: list[int] = []
    watch = EndWatch(heard.append)
    watch.watch(child)
    watch.watch(child)

    os.kill(child, 9)
    wait_for_an_end(watch)
    assert heard == [child]
    assert not select.select([watch], [], [], 0)[0]
    os.waitpid(child, 0)

    assert watch.take_leave(child) == (-9 if remembers_ends() else None)
    assert watch.take_leave(child) is None


def test_nothing_is_known_of_who_lives(child):
    watch = EndWatch(lambda _: None)
    watch.watch(child)

    assert watch.take_leave(child) is None
    os.kill(child, 9)
    assert not select.select([watch], [], [], 0.2)[0]
    os.waitpid(child, 0)


def test_no_descriptor_is_left_open(child):
    before = set(Path("/proc/self/fd").iterdir())
    watch = EndWatch(lambda _: None)
    watch.watch(child)
    watch.watch(400_000_000)  # There is no such process.

    watch.close()

    # Fewer there may be: a collection closes those of objects that other tests have left.
    assert set(Path("/proc/self/fd").iterdir()) <= before
    os.kill(child, 9)
    os.waitpid(child, 0)


def test_where_few_files_may_be_open_samplers_and_mailboxes_come_first(child, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    watch = EndWatch(lambda _: None)

    before = set(Path("/proc/self/fd").iterdir())
    watch.watch(child)

    # Fewer there may be: a collection closes those of objects that other tests have left.
    assert set(Path("/proc/self/fd").iterdir()) <= before
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    assert _most_handles() == 352
    os.kill(child, 9)
    os.waitpid(child, 0)
