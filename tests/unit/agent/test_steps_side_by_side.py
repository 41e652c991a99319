"""Steps of several threads at once, and of single environments beside vector environments: each counts, and once."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import counters
from rlprof.agent.inject.rlprof_agent.counted import (
    custom,
    evaluations,
    gymnasium_envs,
    stable_baselines3_envs,
)

THREADS, STEPS = 4, 20_000

needs_atomic_adds = pytest.mark.skipif(
    sys.version_info < (3, 10), reason="Python 3.9 changes threads between any two instructions"
)


@pytest.fixture(autouse=True)
def _counting_begins_anew(monkeypatch):
    monkeypatch.setattr(counters, "_counters", {})
    monkeypatch.setattr(gymnasium_envs, "_env_methods", [])


@pytest.fixture
def _turns_are_told(monkeypatch):
    """As where the probe takes stacks of the process."""
    monkeypatch.setenv("RLPROF_PART_TIME", "1")
    monkeypatch.setenv("RLPROF_PROBE_US", "10000")


@pytest.fixture
def _threads_change_often():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


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
    return {name: counters.counted(name) for name in counters._counters if counters.counted(name)}


def in_threads(work) -> None:
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Threads


@needs_atomic_adds
@pytest.mark.usefixtures("_threads_change_often")
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


@needs_atomic_adds
@pytest.mark.usefixtures("_threads_change_often")
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

    assert counts() == {"steps:gymnasium.env": THREADS * STEPS}


@needs_atomic_adds
@pytest.mark.usefixtures("_threads_change_often")
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


@needs_atomic_adds
@pytest.mark.usefixtures("_threads_change_often")
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
        evaluate_policy(library.Env())

    trainers = [threading.Thread(target=train) for _ in range(THREADS)]
    for each in trainers:
        each.start()
    in_threads(evaluate)
    for each in trainers:
        each.join()

    steps = THREADS * STEPS
    assert counts() == {"steps:gymnasium.env": steps, "evaluation_steps": steps}


# Vector environments beside single ones


@pytest.mark.usefixtures("_turns_are_told")
@pytest.mark.parametrize("way", ["step", "step_wait"])
def test_what_a_vector_environment_steps_counts_there_alone(library, way):
    envs = library.VectorEnv(library.Env(), library.Env())

    for _ in range(5):
        getattr(envs, way)(0)

    assert counts() == {"steps:gymnasium.vector": 10}


@pytest.mark.usefixtures("_turns_are_told")
def test_a_single_environment_counts_before_and_after_a_vector_environment(library):
    env = library.Env()
    evaluated = library.VectorEnv(library.Env(), library.Env())

    for _ in range(3):
        env.step(0)
        evaluated.step(0)
        env.step(0)

    assert counts() == {"steps:gymnasium.env": 6, "steps:gymnasium.vector": 6}


@pytest.mark.usefixtures("_turns_are_told")
def test_what_another_thread_steps_meanwhile_is_counted(library):
    class Waits(library.Env):
        def step(self, action):
            thread = threading.Thread(target=library.Env().step, args=(0,))
            thread.start()
            thread.join()
            return super().step(action)

    library.VectorEnv(Waits()).step(0)

    assert counts() == {"steps:gymnasium.env": 1, "steps:gymnasium.vector": 1}


@pytest.mark.usefixtures("_turns_are_told")
def test_an_error_in_a_vector_environment_ends_what_it_holds(library):
    class Fails(library.Env):
        def step(self, action):
            raise LookupError(action)

    with pytest.raises(LookupError):
        library.VectorEnv(Fails()).step(0)
    library.Env().step(0)

    assert counts() == {"steps:gymnasium.env": 1}


@pytest.mark.usefixtures("_turns_are_told")
def test_vector_environments_of_one_library_within_those_of_another(library):
    class VecEnv(library.VectorEnv):
        pass

    stable_baselines3_envs.count_vec_envs(SimpleNamespace(VecEnv=VecEnv))

    VecEnv(library.Env(), library.Env()).step(0)
    library.Env().step(0)

    assert counts()["steps:gymnasium.env"] == 1


def test_where_no_turns_are_told_training_in_vector_environments_costs_nothing_within(library):
    step = library.Env.step
    envs = library.VectorEnv(library.Env())

    envs.step(0)

    assert library.Env.step is step.__wrapped__


def test_where_no_turns_are_told_training_in_single_ones_goes_on_counting(library):
    env = library.Env()
    for _ in range(200):
        env.step(0)

    library.VectorEnv(library.Env()).step(0)
    env.step(0)

    assert counts() == {"steps:gymnasium.env": 201, "steps:gymnasium.vector": 1}
