"""Steps of several threads at once, and of single environments beside vector environments: each counts, and once."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import counters, turns
from rlprof.agent.inject.rlprof_agent.counted import (
    call_marks,
    custom,
    evaluations,
    gymnasium_envs,
    stable_baselines3_envs,
)
from rlprof.agent.inject.rlprof_agent.counted.call_kinds import NOT_AT_ALL, is_unclear, shares_of

THREADS, STEPS = 4, 50_000


@pytest.fixture(autouse=True)
def _counting_begins_anew(monkeypatch):
    monkeypatch.setattr(counters, "_counters", {})
    monkeypatch.setattr(call_marks, "_called", [])


@pytest.fixture
def library():
    class Env:
        def step(self, action):
            return action

    class VectorEnv:
        def __init__(self, *envs):
            self.envs = envs
            self.num_envs = len(envs)

        def step(self, actions):
            return [env.step(actions) for env in self.envs]

        def step_wait(self, *_anything):
            return [env.step(0) for env in self.envs]

    library = SimpleNamespace(Env=Env, VectorEnv=VectorEnv)
    gymnasium_envs.count_envs(library)
    gymnasium_envs.count_vector_envs(library)
    return library


def counts() -> dict[str, int]:
    call_marks.add_what_is_left()
    return {name: counters.counted(name) for name in counters._counters if counters.counted(name)}


def in_threads(work) -> None:
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Threads


def test_no_step_of_threads_is_lost(library):
    class Repeated(library.Env):
        def step(self, action, times=1):
            return super().step(action * times)

    def work():
        env = Repeated()
        for _ in range(STEPS):
            env.step(0)

    in_threads(work)

    assert counts() == {"steps:gymnasium.env": THREADS * STEPS}


def test_no_step_within_wrappers_counts_twice_in_threads(library):
    class Wrapper(library.Env):
        def __init__(self, env):
            self.env = env

        def step(self, action):
            return self.env.step(action)

    def work():
        env = Wrapper(Wrapper(library.Env()))
        for _ in range(STEPS):
            env.step(0)

    in_threads(work)

    # One call of two is a step, and a row of calls that are looked at may be of two threads.
    assert counts() == pytest.approx({"steps:gymnasium.env": THREADS * STEPS}, rel=0.2)


def wrappers(library, times: int) -> tuple[type, type]:
    """A class of wrappers, and one that makes ``times`` steps at once."""

    class Wrapper(library.Env):
        def __init__(self, env):
            self.env = env

        def step(self, action):
            return self.env.step(action)

    class Repeats(Wrapper):
        def step(self, action):
            return [self.env.step(action) for _ in range(times)]

    return Wrapper, Repeats


def test_of_wrappers_of_one_class_within_each_other_the_outermost_counts(library):
    wrapper, repeats = wrappers(library, times=3)
    env = wrapper(repeats(wrapper(wrapper(library.Env()))))
    for _ in range(STEPS):
        env.step(0)

    assert counts()["steps:gymnasium.env"] == pytest.approx(STEPS, abs=1)


def test_one_call_of_many_is_a_step(library, monkeypatch):
    """A short row of calls has one or two that count."""
    monkeypatch.setattr(call_marks, "_NEXT_ROW_NS", 0)
    wrapper, repeats = wrappers(library, times=4)
    env = wrapper(repeats(wrapper(wrapper(repeats(wrapper(library.Env()))))))
    for _ in range(STEPS // 5):
        env.step(0)

    assert counts() == pytest.approx({"steps:gymnasium.env": STEPS // 5}, rel=0.02)


COUNTED = ("steps", 1)


def of_period(period: int, calls: int, first: int = 0) -> list[bool]:
    return [(call - first) % period == 0 for call in range(calls)]


@pytest.mark.parametrize(
    ("row", "share", "is_clear"),
    [
        ([True] * 32, 1.0, True),
        ([False] * 32, 0.0, True),
        (of_period(3, 32, 2), 1 / 3, True),
        (of_period(25, 64, 7), 1 / 25, True),
        (of_period(25, 32, 3), 1 / 25, False),
        (of_period(100, 64, 3), 1 / 64, False),
        ([False] * 20 + [True] * 12, 1.0, True),
        ([True] * 20 + [False] * 12, 0.0, True),
        ([False, True], 1.0, True),
        ([True] * 10 + [False] * 10 + [True] * 12, 1.0, True),
    ],
)
def test_what_a_row_of_calls_tells(row, share, is_clear):
    kinds = [COUNTED if counts else NOT_AT_ALL for counts in row]

    assert dict(shares_of(kinds)).get(COUNTED, 0.0) == pytest.approx(share)
    assert is_unclear(kinds) is not is_clear


@pytest.mark.parametrize(
    ("row", "shares"),
    [
        ("ab" * 16, {"a": 1 / 2, "b": 1 / 2}),
        ("aab" * 11, {"a": 2 / 3, "b": 1 / 3}),
        ("a" * 20 + "b" * 12, {"b": 1.0}),
        ("ab" + "a" * 14 + "b" + "a" * 15, {"a": 30 / 32, "b": 2 / 32}),
        # Two wrappers of one class around each: one call of two counts.
        ("a-b-" * 8, {"a": 1 / 4, "b": 1 / 4}),
        ("a" * 20 + "-" * 12, {}),
    ],
)
def test_what_a_row_of_several_kinds_tells(row, shares):
    kinds = [NOT_AT_ALL if name == "-" else (name, 1) for name in row]

    assert {name: share for (name, _), share in shares_of(kinds)} == pytest.approx(shares)


def test_new_functions_count_though_many_others_live(library, monkeypatch):
    # Not those of other tests, whose marks would have no room beside these.
    for name in ("_marks", "_of_codes", "_of_objects"):
        monkeypatch.setattr(call_marks, name, {})
    kept = [type(f"Kept{n}", (library.Env,), {"step": a_step(n)}) for n in range(400)]
    before = counts().get("steps:gymnasium.env", 0)

    for number in range(200):
        type("New", (library.Env,), {"step": a_step(1_000 + number)})().step(0)
        gc.collect(0)

    assert counts()["steps:gymnasium.env"] - before > 180
    assert len(kept) == 400


def a_step(number: int):
    names: dict[str, Callable[..., object]] = {}
    exec(f"def step(self, action):\n    return {number}", names)
    return names["step"]


def test_no_step_of_a_named_method_is_lost_in_threads():
    class Simulator:
        num_envs = 8

        @staticmethod
        def advance(*_anything):
            return None

    module = SimpleNamespace(Simulator=Simulator)
    custom.count_target(module, "Simulator.advance")

    in_threads(lambda: [Simulator.advance(each) for each in range(STEPS)])

    assert counts() == {"steps:custom": THREADS * STEPS}


def test_no_step_is_lost_while_other_threads_evaluate(library):
    def evaluate_policy(env):
        for _ in range(STEPS):
            env.step(0)

    module = SimpleNamespace(evaluate_policy=evaluate_policy)
    evaluations.count_apart(module)
    begun = threading.Barrier(2 * THREADS)

    def evaluate():
        begun.wait()
        module.evaluate_policy(library.Env())

    def train():
        begun.wait()
        env = library.Env()
        for _ in range(STEPS):
            env.step(0)

    trainers = [threading.Thread(target=train) for _ in range(THREADS)]
    for each in trainers:
        each.start()
    in_threads(evaluate)
    for each in trainers:
        each.join()

    # Which of two threads made a call that nobody has looked at is not known.
    assert sum(counts().values()) == 2 * THREADS * STEPS
    assert counts().keys() == {"steps:gymnasium.env", "evaluation_steps"}


def test_a_turn_in_the_midst_of_a_look_counts_no_call_twice(library, monkeypatch):
    """Handlers of signals run where a call ends: also within a look, which has not counted its own call yet."""

    def frame_after_a_turn(depth):
        turns.turn(0)
        return sys._getframe(depth + 1)

    monkeypatch.setattr(call_marks, "_getframe", frame_after_a_turn)
    env = library.Env()
    for _ in range(300):
        env.step(0)

    assert counts() == {"steps:gymnasium.env": 300}


def test_an_error_of_a_handler_in_the_midst_of_a_look_is_the_programs(library, monkeypatch):
    """Also one that a look itself meets where the stack has no room."""

    def frame_after_a_signal(depth):
        signal.raise_signal(signal.SIGUSR1)
        return sys._getframe(depth + 1)

    def refuse(signum, frame):
        raise RecursionError("budget")

    monkeypatch.setattr(call_marks, "_getframe", frame_after_a_signal)
    before = signal.signal(signal.SIGUSR1, refuse)
    try:
        with pytest.raises(RecursionError, match="budget"):
            library.Env().step(0)
    finally:
        signal.signal(signal.SIGUSR1, before)


# Vector environments beside single ones


@pytest.mark.parametrize("way", ["step", "step_wait"])
def test_what_a_vector_environment_steps_counts_there_alone(library, way):
    envs = library.VectorEnv(library.Env(), library.Env())

    for _ in range(5):
        getattr(envs, way)(0)

    assert counts() == {"steps:gymnasium.vector": 10}


def test_a_single_environment_counts_before_and_after_a_vector_environment(library):
    env = library.Env()
    evaluated = library.VectorEnv(library.Env(), library.Env())

    for _ in range(3):
        env.step(0)
        evaluated.step(0)
        env.step(0)

    assert counts() == {"steps:gymnasium.env": 6, "steps:gymnasium.vector": 6}


def test_parts_of_a_program_that_step_in_other_ways_are_no_mixture(library):
    """A training of some thousand steps, an evaluation in a vector environment, and so on, each longer than a turn."""
    env, evaluated = library.Env(), library.VectorEnv(*[library.Env() for _ in range(4)])
    for _ in range(20):
        for step in range(STEPS // 10):
            if step % 700 == 400:
                turns.turn(0)
            env.step(0)
        for step in range(100):
            if step == 50:
                turns.turn(0)
            evaluated.step(0)

    assert counts() == pytest.approx(
        {"steps:gymnasium.env": 2 * STEPS, "steps:gymnasium.vector": 8_000}, rel=0.05
    )


@pytest.mark.parametrize("rounds", [1, 3])
def test_vector_environments_of_two_sizes_take_turns(library, rounds):
    """A light one beside a heavy one is what a turn always meets next."""
    heavy, light = (library.VectorEnv(*[library.Env() for _ in range(n)]) for n in (32, 2))
    for step in range(STEPS // 10):
        heavy.step(0)
        if step % 50 == 0:
            turns.turn(0)
        for _ in range(rounds):
            light.step(0)

    assert counts() == pytest.approx(
        {"steps:gymnasium.vector": STEPS // 10 * (32 + 2 * rounds)}, rel=0.02
    )


def test_what_another_thread_steps_meanwhile_is_counted(library):
    class Waits(library.Env):
        def step(self, action):
            thread = threading.Thread(target=library.Env().step, args=(0,))
            thread.start()
            thread.join()
            return super().step(action)

    library.VectorEnv(Waits()).step(0)

    assert counts() == {"steps:gymnasium.env": 1, "steps:gymnasium.vector": 1}


def test_an_error_in_a_vector_environment_ends_what_it_holds(library):
    class Fails(library.Env):
        def step(self, action):
            raise LookupError(action)

    with pytest.raises(LookupError):
        library.VectorEnv(Fails()).step(0)
    library.Env().step(0)

    assert counts()["steps:gymnasium.env"] == 1


def test_vector_environments_of_one_library_within_those_of_another(library):
    class VecEnv(library.VectorEnv):
        pass

    stable_baselines3_envs.count_vec_envs(SimpleNamespace(VecEnv=VecEnv))

    VecEnv(library.Env(), library.Env()).step(0)
    library.Env().step(0)

    assert counts()["steps:gymnasium.env"] == 1
