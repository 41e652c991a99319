from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.recording.agents import Announcement
from rlprof.recording.census import Census
from rlprof.recording.machine import procfs
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.stacks import StackTable

PID = 400_000_000
"""Above the kernel's largest: no process of the machine is meant."""


@pytest.mark.parametrize(
    ("lives_s", "expected"),
    [
        pytest.param([0.1] * 7, False, id="too few to tell"),
        pytest.param([0.1] * 8, True, id="a pool made anew"),
        pytest.param([60.0] * 40, False, id="workers that stay"),
        pytest.param([0.1] * 40 + [60.0] * 16, False, id="short ones long ago"),
    ],
)
def test_short_lives_are_expected_after_short_lives(lives_s, expected):
    now_us = 0
    census = Census(StackTable(), lambda: now_us, expects_agents=True)
    for number, life_s in enumerate(lives_s):
        census.announced(Announcement(400_000_000 + number, 1, "fork", "3.11.7", a_mailbox()))
        now_us += round(life_s * 1e6)
        census.ended(400_000_000 + number, exit_code=0)

    assert census.expects_short_life() is expected


@pytest.mark.parametrize(
    ("seen", "told", "kept"),
    [
        pytest.param(3, None, 3, id="its parent's wait"),
        pytest.param(-9, None, 137, id="a signal"),
        pytest.param(None, 1, 1, id="its agent"),
        pytest.param(None, 0, 0, id="its agent, of a good end"),
        pytest.param(0, 1, 0, id="the kernel before the agent"),
        pytest.param(None, None, None, id="nobody"),
    ],
)
def test_the_exit_code_is_what_the_kernel_or_else_the_agent_says(seen, told, kept):
    census = Census(StackTable(), lambda: 0, expects_agents=True)
    mailbox = Mailbox(10_000)
    if told is not None:
        mailbox.cells[layout.CELL_EXIT] = 1 + told
    census.announced(Announcement(PID, 1, "fork", "3.11.7", MailboxReader(mailbox.fd)))

    ended = census.ended(PID, exit_code=seen)

    assert ended is not None
    assert ended.process.exit_code == kept


def test_who_has_ended_before_it_is_met_is_known_as_a_worker():
    census = Census(StackTable(), lambda: 0, expects_agents=True)

    tracked = census.announced(Announcement(PID, 1, "spawn", "3.11.7", a_mailbox()))

    assert tracked.process.start_method == "spawn"


@pytest.mark.parametrize(
    ("command", "method"),
    [
        ("python -m joblib.externals.loky.backend.popen_loky_posix --process-name LokyProcess-1", "spawn"),
        ("python -m loky.backend.popen_loky_posix --process-name LokyProcess-1", "spawn"),
        ("python evaluate.py --backend loky.backend.popen_loky_posix", "subprocess"),
    ],
)  # fmt: skip
def test_workers_of_joblib_are_as_spawned_ones(command, method, monkeypatch):
    monkeypatch.setattr(procfs, "read_arguments", lambda _pid: arguments(command))
    census = Census(StackTable(), lambda: 0, expects_agents=True)

    tracked = census.announced(Announcement(PID, 1, "start", "3.11.7", a_mailbox()))

    assert tracked.process.start_method == method


def test_a_zombie_tells_how_it_ended_before_its_parent_asks():
    pid = os.fork()
    if not pid:
        os._exit(3)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    stat = procfs.read_stat(pid)
    os.waitpid(pid, 0)

    assert stat is not None
    assert stat.wait_status is not None
    assert os.waitstatus_to_exitcode(stat.wait_status) == 3


def test_nothing_is_kept_of_a_process_whose_last_words_are_written():
    census = Census(StackTable(), lambda: 0, expects_agents=True)
    before = set(Path("/proc/self/fd").iterdir())
    for number in range(20):
        mailbox = Mailbox(10_000)
        mailbox.cells[layout.CELL_PROBE_COST_NS] = 1000
        mailbox.cells[layout.CELL_CUSTOM_STATE] = layout.CUSTOM_MISSING
        census.announced(Announcement(PID + number, 1, "fork", "3.11.7", MailboxReader(mailbox.fd)))
        tracked = census.ended(PID + number, exit_code=0)
        assert tracked is not None
        census.leave(tracked)

    assert census.present == []
    assert set(Path("/proc/self/fd").iterdir()) <= before
    told = census.agent_totals()
    assert told.probe_cost_us == 20
    assert told.custom_states == {layout.CUSTOM_MISSING}


def a_mailbox() -> MailboxReader:
    mailbox = Mailbox(10_000)
    return MailboxReader(mailbox.fd)


def arguments(command: str) -> tuple[str, ...]:

    return tuple(shlex.split(command))
