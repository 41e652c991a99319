"""The agent writes, the recorder reads, through the same memory; here both in one process."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.errors import RlprofError
from rlprof.model.recording import Frame
from rlprof.recording.mailboxes.mailbox import MailboxReader


class Agent:
    """Writes what a probe would."""

    def __init__(self) -> None:
        self.mailbox = Mailbox(10_000)

    def frame(self, number: int, file: bytes, function: bytes, line: int) -> bool:
        head = layout.FRAME.pack(layout.TAG_FRAME, number, line, len(file), len(function))
        return self.mailbox.write(head + file + function)

    def stack(self, number: int, *frames: int) -> bool:
        head = layout.STACK.pack(layout.TAG_STACK, number, len(frames))
        return self.mailbox.write(head + b"".join(f.to_bytes(4, "little") for f in frames))

    def sample(self, stack: int, cpu_ns: int) -> bool:
        return self.mailbox.write(layout.SAMPLE.pack(layout.TAG_SAMPLE, stack, cpu_ns))

    def counts(self, name: str, number: int) -> None:
        self.mailbox.cells[self.mailbox.counter(name)] += number

    def known_stack(self) -> None:
        self.frame(0, b"train.py", b"<module>", 9)
        self.frame(1, b"train.py", b"step", 3)
        self.stack(0, 0, 1)


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def reader(agent: Agent) -> MailboxReader:
    return MailboxReader(os.dup(agent.mailbox.fd))


STACK = (Frame("train.py", "<module>", 9), Frame("train.py", "step", 3))


def test_stacks_arrive_once_with_their_cpu_time(agent, reader):
    agent.known_stack()
    agent.sample(0, 10_000_000)
    agent.sample(0, 2_500)

    assert reader.take_stacks() == [(STACK, 10_000.0), (STACK, 2.5)]
    assert reader.take_stacks() == []

    agent.sample(0, 1_000)
    assert reader.take_stacks() == [(STACK, 1.0)]


def test_counters_tell_what_is_new_since_the_last_look(agent, reader):
    agent.counts("steps", 12)
    assert (reader.new_counts(), reader.new_counts()) == ({"steps": 12}, {})

    agent.counts("steps", 3)
    agent.counts("updates", 1)
    assert reader.new_counts() == {"steps": 3, "updates": 1}


def test_names_of_phases_are_told_without_secrets(agent, reader):
    agent.counts("phase:token=hunter2zz:wall_ns", 7)
    agent.counts("phase:rollout:wall_ns", 5)

    assert reader.new_counts() == {"phase:token=xxxxxxxxx:wall_ns": 7, "phase:rollout:wall_ns": 5}


def test_a_counter_has_one_cell_however_often_and_from_wherever_it_is_asked_for(agent, reader):
    with ThreadPoolExecutor(8) as pool:
        indexes = list(pool.map(agent.mailbox.counter, ["steps", "updates", "batches"] * 200))

    assert len(set(indexes)) == 3
    for index in set(indexes):
        agent.mailbox.cells[index] = 7
    assert reader.new_counts() == {"steps": 7, "updates": 7, "batches": 7}


def test_a_name_that_is_too_long_is_cut_at_a_character(agent, reader):
    agent.counts("x" * 47 + "é", 1)

    assert reader.new_counts() == {"x" * 47: 1}


def test_counters_past_the_table_share_a_cell_that_is_no_counter(agent, reader):
    for number in range(layout.MAX_COUNTERS):
        agent.counts(f"phase {number}", 1)
    assert not reader.lacks_counters

    agent.counts("one more", 5)

    assert len(reader.new_counts()) == layout.MAX_COUNTERS
    assert reader.lacks_counters


def test_the_ring_turns_round_many_times(agent, reader):
    agent.known_stack()
    reader.take_stacks()
    total = 0
    for _ in range(8):
        for _ in range(5_000):
            assert agent.sample(0, 1_000)
        total += len(reader.take_stacks())

    assert total == 40_000
    assert 40_000 * layout.SAMPLE.size > layout.RING_SIZE


def test_a_recorder_that_has_fallen_behind_loses_the_newest(agent, reader):
    agent.known_stack()
    written = 0
    while agent.sample(0, 1_000):
        written += 1

    assert len(reader.take_stacks()) == written
    assert agent.sample(0, 1_000)


def test_names_of_any_bytes(agent, reader):
    agent.frame(0, b"n\xffme\n;.py", b"\x00f", 1)
    agent.stack(0, 0)
    agent.sample(0, 1)

    ((frames, _),) = reader.take_stacks()
    assert frames == (Frame("n\\xffme\n;.py", "\x00f", 1),)


def test_ids_start_anew_after_a_reset(agent, reader):
    agent.known_stack()
    agent.mailbox.write(bytes([layout.TAG_RESET]))
    agent.frame(0, b"eval.py", b"run", 1)
    agent.stack(0, 0)
    agent.sample(0, 1_000)

    assert reader.take_stacks() == [((Frame("eval.py", "run", 1),), 1.0)]


def test_a_ring_that_the_program_has_scribbled_over_is_no_crash(agent, reader):
    agent.known_stack()
    agent.sample(0, 1_000)
    agent.mailbox.write(b"\xee" * 50)
    agent.sample(0, 1_000)
    assert len(reader.take_stacks()) == 1

    agent.mailbox.cells[layout.CELL_HEAD] = -(2**60)
    assert reader.take_stacks() == []


def test_a_request_for_another_interval_reaches_the_agent(agent, reader):
    reader.request_interval(2_000)

    assert agent.mailbox.cells[layout.CELL_INTERVAL_US] == 2_000


def test_no_descriptor_stays_open():
    before = set(Path("/proc/self/fd").iterdir())
    mailbox = Mailbox(10_000)
    mailbox.close_descriptor()

    assert set(Path("/proc/self/fd").iterdir()) == before
    mailbox.cells[layout.CELL_LOST] = 5  # The memory stays.


@pytest.mark.parametrize("size", [0, layout.SIZE])
def test_what_is_no_mailbox_is_refused_and_closed(size):
    fd = os.memfd_create("theirs")
    os.ftruncate(fd, size)

    with pytest.raises(RlprofError) as raised:
        MailboxReader(fd)

    assert raised.value.slug == "agent-protocol"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
