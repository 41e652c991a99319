"""``rlprof.phase``: whose time is whose."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

import rlprof


class Clock:
    """Wall and CPU time that stand still but for :meth:`passes`."""

    def __init__(self) -> None:
        self.wall_ns = self.cpu_ns = 0

    def passes(self, wall_ns: int, cpu_ns: int = 0) -> None:
        self.wall_ns += wall_ns
        self.cpu_ns += cpu_ns


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rlprof, "_wall_clock", lambda: clock.wall_ns)
    monkeypatch.setattr(rlprof, "_cpu_clock", lambda: clock.cpu_ns)
    monkeypatch.setattr(rlprof, "_phases", {})
    return clock


def spent(name: str) -> tuple[int, int, int]:
    """Wall ns, CPU ns, times entered."""
    phase = rlprof.phase(name)
    return phase._wall_ns[0], phase._cpu_ns[0], phase._entered[0]


def test_time_in_a_block_is_the_phase_s(clock):
    with rlprof.phase("rollout"):
        clock.passes(70, cpu_ns=20)
    clock.passes(1000)
    with rlprof.phase("rollout"):
        clock.passes(30, cpu_ns=5)

    assert spent("rollout") == (100, 25, 2)


def test_time_of_an_inner_phase_is_not_the_outer_one_s(clock):
    with rlprof.phase("learn"):
        clock.passes(10)
        with rlprof.phase("log"):
            clock.passes(3)
        clock.passes(10)

    assert spent("learn") == (20, 0, 1)
    assert spent("log") == (3, 0, 1)


def test_a_phase_within_itself_counts_its_time_once(clock):
    def descend(depth):
        with rlprof.phase("search"):
            clock.passes(1)
            if depth:
                descend(depth - 1)

    descend(9)

    assert spent("search") == (10, 0, 10)


def test_an_exception_passes_and_ends_the_phase(clock):
    @rlprof.phase("learn")
    def learn():
        clock.passes(5)
        raise KeyError("x")

    with pytest.raises(KeyError):
        learn()
    clock.passes(100)

    assert spent("learn") == (5, 0, 1)


def test_a_decorated_function_is_in_the_phase_and_stays_itself(clock):
    @rlprof.phase("act")
    def act(observation, *, greedy=False):
        """Choose."""
        clock.passes(4)
        return observation, greedy

    assert act(1, greedy=True) == (1, True)
    assert spent("act") == (4, 0, 1)
    assert (act.__name__, act.__doc__) == ("act", "Choose.")
    assert str(inspect.signature(act)) == "(observation, *, greedy=False)"


def test_a_decorated_coroutine_function_is_awaited_in_the_phase(clock):
    @rlprof.phase("fetch")
    async def fetch():
        clock.passes(4)
        return 7

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch()) == 7
    assert spent("fetch") == (4, 0, 1)


def test_threads_are_in_phases_of_their_own(clock):
    entered, leave = threading.Event(), threading.Event()

    def wait():
        with rlprof.phase("wait"):
            entered.set()
            assert leave.wait(10)

    thread = threading.Thread(target=wait)
    thread.start()
    assert entered.wait(10)
    with rlprof.phase("work"):
        clock.passes(8)
    leave.set()
    thread.join()

    assert spent("work") == (8, 0, 1)
    assert spent("wait") == (8, 0, 1)


def test_generators_may_leave_in_another_order(clock):
    def in_phase(name):
        with rlprof.phase(name):
            yield

    first, second = in_phase("first"), in_phase("second")
    next(first)
    clock.passes(1)
    next(second)
    clock.passes(2)
    first.close()
    clock.passes(4)
    second.close()
    clock.passes(8)

    assert spent("first") == (1, 0, 1)
    assert spent("second") == (6, 0, 1)


def test_a_phase_that_another_thread_ends_raises_nothing(clock):
    def in_phase():
        with rlprof.phase("handed on"):
            yield

    generator = in_phase()
    next(generator)
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join()

    with rlprof.phase("next"):
        clock.passes(1)
    assert spent("next") == (1, 0, 1)
    rlprof._of_thread.times.entered.clear()


def test_a_long_name_is_cut_at_a_character():
    name = rlprof.phase("é" * 40).name

    assert name == "é" * 17
    assert len(f"phase:{name}:entered".encode()) == 48


def test_what_a_forked_child_inherits_is_the_parent_s(clock):
    with rlprof.phase("rollout"):
        clock.passes(50)
        before = rlprof.phase("rollout")._wall_ns
        rlprof._renew_cells()
        clock.passes(3)

    assert spent("rollout")[0] == 3
    assert before[0] == 0
