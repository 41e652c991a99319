from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import layout, turns
from rlprof.agent.inject.rlprof_agent.counted import read_turns
from rlprof.agent.inject.rlprof_agent.counted.read_turns import MOST_COST, READ_NS, ReadTurns
from rlprof.agent.inject.rlprof_agent.sync_sites import SyncSites
from rlprof.agent.inject.rlprof_agent.turns import FIRST_THREAD

TURN_NS = 10_000_000


class Program:
    """Reads tensors at two places, as counted methods would tell of them."""

    def __init__(self) -> None:
        self.are_counted, self.are_copies_counted = True, True
        self.changes = 0
        self.sites = SyncSites("item", "cpu")
        self.sites.slots.update({(1, 2): 0, (3, 4): layout.CELLS_PER_SITE})
        self.turns = ReadTurns(self.put, [self.sites])
        self.made = [0, 0]
        self.seen = 0

    def put(self, reads: bool, copies: bool) -> None:
        self.are_counted, self.are_copies_counted = reads, copies
        self.changes += 1

    def turn(self, *reads: int) -> None:
        for place, number in enumerate(reads):
            self.made[place] += number
            if self.are_counted:
                self.seen += number
                self.sites.cells[layout.CELLS_PER_SITE * place] += number
        self.turns.turn(TURN_NS)

    @property
    def told(self) -> list[int]:
        return [self.sites.cells[layout.CELLS_PER_SITE * place] for place in (0, 1)]


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    monkeypatch.setattr(read_turns, "_OFTEN", 1 << 62)
    monkeypatch.setitem(sys.modules, "torch.cuda", SimpleNamespace(_initialized=False))


def test_few_reads_are_all_counted():
    program = Program()
    few = int(MOST_COST * TURN_NS / READ_NS) - 1
    for _ in range(300):
        program.turn(few, 0)

    assert program.told == program.made
    assert program.seen == sum(program.made)


def test_the_first_are_all_counted_whatever_they_cost():
    program = Program()
    for _ in range(10):
        program.turn(60, 30)

    assert program.told == program.made


def test_many_are_estimated_place_by_place():
    program = Program()
    for number in range(6000):
        # Rollouts, and updates that read elsewhere, take turns.
        program.turn(*((400, 10) if number // 30 % 3 else (0, 120)))

    assert program.seen < 0.1 * sum(program.made)
    for told, made in zip(program.told, program.made, strict=True):
        assert told == pytest.approx(made, rel=0.2)


def test_on_a_gpu_each_read_is_counted(monkeypatch):
    program = Program()
    for _ in range(100):
        program.turn(400, 10)
    assert not program.are_counted

    monkeypatch.setitem(sys.modules, "torch.cuda", SimpleNamespace(_initialized=True))
    program.turn(0, 0)
    for _ in range(100):
        program.turn(400, 10)

        assert program.are_counted
        assert program.are_copies_counted


def test_a_forked_child_begins_anew():
    program = Program()
    for _ in range(100):
        program.turn(400, 10)
    program.turns.stop()

    program.turns.forget()
    before = program.told
    program.turns.turn(TURN_NS)

    assert program.are_counted
    assert program.told == before


def test_copies_count_once_the_program_uses_a_gpu(monkeypatch):
    program = Program()
    assert program.are_copies_counted, "before anybody has told of turns"

    for _ in range(20):
        program.turn(0, 0)
    assert not program.are_copies_counted

    monkeypatch.setitem(sys.modules, "torch.cuda", SimpleNamespace(_initialized=True))
    program.turn(0, 0)
    assert program.are_copies_counted


def test_methods_change_places_seldom(monkeypatch):
    program = Program()
    for _ in range(1000):
        program.turn(400, 10)
    assert program.changes < 2 * 1000 / 15

    monkeypatch.setattr(read_turns, "_OFTEN", 150)  # As from Python 3.13 on.
    for _ in range(1_000_000):
        program.turn(400, 10)
    assert program.changes < 900


def test_what_other_threads_read_ends_the_counting_until_the_main_thread_goes_on(monkeypatch):
    program = Program()
    monkeypatch.setattr(turns, "_all", [program.turns])
    few = int(MOST_COST * TURN_NS / READ_NS) - 1
    program.turn(few, 0)

    program.turns.read_in(FIRST_THREAD)
    assert program.are_counted
    program.turns.read_in(FIRST_THREAD + 1)
    assert not program.are_counted

    for _ in range(2):
        program.turn(0, 0)
    assert program.are_counted
    before = program.told
    for _ in range(100):
        program.turn(0, 0)
    assert program.told == before, "none of theirs are told for what the main thread does"


def test_without_stacks_many_reads_of_the_main_thread_end_the_counting(monkeypatch):
    program = Program()
    monkeypatch.setattr(turns, "_all", [program.turns])
    program.turn(1, 0)

    turns.end()
    program.turns.read_in(FIRST_THREAD)
    assert not program.are_counted

    turns.begin()
    assert program.are_counted
