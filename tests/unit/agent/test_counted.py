"""Counting in libraries, on stand-ins of the same shape: who counts, for how many, and what stays."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import importlib
import inspect
import pickle
import subprocess
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from types import ModuleType, SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import counters, layout, turns
from rlprof.agent.inject.rlprof_agent.counted import (
    call_marks,
    custom,
    dm_envs,
    evaluations,
    gymnasium_envs,
    pettingzoo_envs,
    pickles,
    pufferlib_envs,
    stable_baselines3_envs,
    standard_library,
    torch_syncs,
    torch_training,
    torchrl_envs,
    tqdm_bars,
)
from rlprof.agent.inject.rlprof_agent.counted.class_methods import count_methods


@pytest.fixture(autouse=True)
def _collections_are_of_one_test():
    """There are millions of objects of others."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _counting_begins_anew(monkeypatch):
    monkeypatch.setattr(counters, "_counters", {})
    monkeypatch.setattr(call_marks, "_of_codes", {})
    monkeypatch.setattr(call_marks, "_of_objects", {})
    monkeypatch.setattr(custom, "_owners", {})
    yield
    for marks in call_marks._of_codes.values():
        for mark in marks:
            mark.take_all()


def counts() -> dict[str, int]:
    call_marks.add_what_is_left()
    return {name: each.cell[0] for name, each in counters._counters.items() if each.cell[0]}


class Batch(tuple):
    """``torch.Size``, as far as it goes here."""

    def numel(self) -> int:
        total = 1
        for length in self:
            total *= length
        return total


def gymnasium_like() -> SimpleNamespace:
    """gymnasium's classes: environments, wrappers, and vector environments that are no ``Env``."""

    class Env:
        @property
        def unwrapped(self):
            return self

        def step(self, action):
            raise NotImplementedError

    class Wrapper(Env):
        def __init__(self, env):
            self.env = env

        @property
        def unwrapped(self):
            return self.env.unwrapped

        def step(self, action):
            return self.env.step(action)

    class VectorEnv:
        num_envs: int

        def step(self, actions):
            raise NotImplementedError

    class SyncVectorEnv(VectorEnv):
        def __init__(self, *envs):
            self.envs = envs
            self.num_envs = len(envs)

        def step(self, actions):
            return [env.step(action) for env, action in zip(self.envs, actions, strict=True)]

    return SimpleNamespace(
        Env=Env, Wrapper=Wrapper, VectorEnv=VectorEnv, SyncVectorEnv=SyncVectorEnv
    )


def a_maze(library: SimpleNamespace) -> type:
    class Maze(library.Env):
        def step(self, action):
            """Walk one field."""
            if action is None:
                raise ValueError("walls everywhere")
            return action

    return Maze


# gymnasium


@pytest.fixture
def gymnasium():
    library = gymnasium_like()
    gymnasium_envs.count_envs(library)
    gymnasium_envs.count_vector_envs(library)
    return library


def test_the_outermost_of_wrapped_environments_counts(gymnasium):
    class FrameSkip(gymnasium.Wrapper):
        def step(self, action):
            for _ in range(4):
                result = super().step(action)
            return result

    env = FrameSkip(gymnasium.Wrapper(a_maze(gymnasium)()))

    for action in range(10):
        assert env.step(action) == action

    assert counts() == {"steps:gymnasium.env": 10}


def test_classes_defined_before_and_after_count_alike():
    library = gymnasium_like()
    before = a_maze(library)
    gymnasium_envs.count_envs(library)
    after = a_maze(library)

    before().step(1)
    after().step(1)

    assert counts() == {"steps:gymnasium.env": 2}


def test_a_subclass_with_arguments_and_a_hook_of_its_own_is_defined_as_ever():
    library = gymnasium_like()
    seen = []

    class Registered(library.Env):
        def __init_subclass__(cls, *, name, **keywords):
            super().__init_subclass__(**keywords)
            seen.append(name)

    gymnasium_envs.count_envs(library)

    class Maze(Registered, name="maze"):
        def step(self, action):
            return action

    Maze().step(1)
    assert seen == ["maze"]
    assert counts() == {"steps:gymnasium.env": 1}


def test_a_class_of_what_stands_in_another_is_inherited_from_as_ever():
    library = gymnasium_like()
    gymnasium_envs.count_envs(library)
    seen = []

    class Registers:
        def __init_subclass__(cls, **keywords):
            super().__init_subclass__(**keywords)
            seen.append(cls.__name__)

    names = {name: each for name, each in vars(library.Env).items() if name[:3] != "__w"}
    names.pop("__dict__", None)
    clone = type("Clone", (Registers,), names)
    twin = type("Twin", (clone,), names)

    class Maze(twin): ...

    class Both(library.Env, clone): ...

    assert seen == ["Clone", "Twin", "Maze", "Both"]
    with pytest.raises(TypeError, match="keyword"):
        type("Wrong", (Maze,), {}, wrong=True)


def test_an_environment_that_is_many_at_once_counts_for_all(gymnasium):
    class Simulator(gymnasium.Env):
        num_envs = 4096

        def step(self, action):
            return action

    gymnasium.Wrapper(Simulator()).step(0)

    assert counts() == {"steps:gymnasium.env": 4096}


def test_an_environment_that_says_it_is_more_than_there_can_be_is_one(gymnasium):
    class Simulator(gymnasium.Env):
        num_envs = 2**62

        def step(self, action):
            return action

    for _ in range(3):
        Simulator().step(0)

    assert counts() == {"steps:gymnasium.env": 3}


def test_a_class_that_cannot_be_hashed_is_not_asked_to_be(gymnasium):
    class Compared(type):
        __hash__ = None

        def __eq__(cls, other):
            raise AssertionError("nobody asks")

    class Slotted(gymnasium.Env, metaclass=Compared):
        __slots__ = ()

        def step(self, action):
            return action

    class Maze(gymnasium.Env, metaclass=Compared):
        def step(self, action):
            return action

    for env in (Slotted(), Maze()):
        assert [env.step(1), env.step(2)] == [1, 2]

    assert counts() == {"steps:gymnasium.env": 4}


def test_threads_count_apart(gymnasium):
    """While one thread is inside a step, that of another is an outermost one too."""
    inside, go_on = threading.Event(), threading.Event()

    class Slow(gymnasium.Env):
        def step(self, _action):
            inside.set()
            assert go_on.wait(10)

    thread = threading.Thread(target=Slow().step, args=(0,))
    thread.start()
    assert inside.wait(10)
    a_maze(gymnasium)().step(1)
    go_on.set()
    thread.join()

    assert counts() == {"steps:gymnasium.env": 2}


def test_a_vector_environment_counts_for_its_environments(gymnasium):
    maze = a_maze(gymnasium)
    envs = gymnasium.SyncVectorEnv(*(gymnasium.Wrapper(maze()) for _ in range(3)))

    for _ in range(5):
        envs.step([1, 2, 3])

    assert counts() == {"steps:gymnasium.vector": 15}
    maze().step(1)
    assert counts() == {"steps:gymnasium.vector": 15, "steps:gymnasium.env": 1}


def test_a_generator_is_left_a_generator(gymnasium):
    class Talks(gymnasium.Env):
        def step(self, action):
            yield action

    assert inspect.isgeneratorfunction(Talks.step)


def test_wrappers_of_vector_environments_count_once_and_custom_ones_too(gymnasium):
    class Normalized(gymnasium.VectorEnv):
        def __init__(self, env):
            self.env = env

        @property
        def num_envs(self):
            return self.env.num_envs

        def step(self, actions):
            return self.env.step(actions)

    class OnTheGpu(gymnasium.VectorEnv):
        num_envs = 1000

        def step(self, actions):
            return actions

    Normalized(OnTheGpu()).step(0)
    OnTheGpu().step(actions=0)

    assert counts() == {"steps:gymnasium.vector": 2000}


def test_in_old_gym_a_vector_environment_is_an_environment():
    library = gymnasium_like()
    gymnasium_envs.count_envs(library)

    class VectorEnv(library.Env):
        num_envs = 8

        def step(self, _actions):
            return self.step_wait()

        def step_wait(self):
            return 0

    library.VectorEnv = VectorEnv
    gymnasium_envs.count_vector_envs(library)

    class Remote(VectorEnv):
        def step(self, actions):
            return super().step(actions)

    VectorEnv().step(0)
    Remote().step(0)
    Remote().step_wait()

    assert counts() == {"steps:gymnasium.vector": 24}


def test_a_module_that_is_loaded_again_and_again_is_counted_and_not_held(gymnasium, monkeypatch):
    monkeypatch.setattr(call_marks, "_FEWEST_NEW", 10)
    source = "class Maze(Env):\n    def step(self, action):\n        return action\n"
    for number in range(40):
        world = ModuleType("world")
        world.Env = gymnasium.Env
        exec(compile(source, f"<{number}>", "exec"), vars(world))
        world.Maze().step(1)
        maze = weakref.ref(world.Maze)
        del world
        gc.collect()
        assert maze() is None

    assert counts() == {"steps:gymnasium.env": 40}


def test_a_class_that_is_made_anew_each_time_counts(gymnasium):
    for _ in range(100):
        maze = a_maze(gymnasium)()
        for action in range(3):
            maze.step(action)

    assert counts() == {"steps:gymnasium.env": 300}


def test_the_function_stays_the_object_that_it_was(gymnasium):
    kept = []

    def registered(function):
        kept.append(function)
        return function

    class Maze(gymnasium.Env):
        @registered
        def step(self, action, scale=2):
            return action * scale

    assert vars(Maze)["step"] is kept[0]
    assert kept[0].__defaults__ == (2,)
    kept[0].__defaults__ = (3,)
    assert Maze().step(1) == 3
    assert weakref.WeakMethod(env := Maze().step)() == env
    assert (
        inspect.getsource(Maze.step).splitlines()[1] == "        def step(self, action, scale=2):"
    )


@pytest.mark.parametrize("known", [0, 1_000])
def test_what_is_called_while_an_instrument_is_on_counts_with_few_looks(gymnasium, known):
    env = gymnasium.Wrapper(a_maze(gymnasium)())
    for _ in range(known):
        env.step(1)
    seen = []
    call_marks.step_aside()
    sys.setprofile(lambda frame, event, _: seen.append((event, frame.f_code.co_name)))
    try:
        for _ in range(20_000):
            env.step(1)
    finally:
        sys.setprofile(None)
        call_marks.step_back()
    env.step(1)

    assert counts() == {"steps:gymnasium.env": known + 20_001}
    # In each of the two functions, once in 16 384 calls.
    assert seen.count(("call", "__call__")) <= 2 * 2
    assert seen.count(("call", "step")) == 40_000


def test_an_instrument_whose_end_nobody_tells_is_seen_to_be_over(gymnasium):
    env = gymnasium.Wrapper(a_maze(gymnasium)())
    call_marks.step_aside()
    for _ in range(20_000):
        env.step(1)
    call_marks.step_back()

    assert counts() == {"steps:gymnasium.env": 20_000}


# What is awaited


def test_an_awaited_step_within_another_counts_once(gymnasium):
    class Remote(gymnasium.Env):
        async def step(self, action):
            await asyncio.sleep(0)
            return action

    class Shaped(Remote):
        async def step(self, action, gain=2):
            return gain * await super().step(action)

    class Skips(gymnasium.Env):
        async def step(self, action):
            return [await Shaped().step(action) for _ in range(4)]

    async def play():
        return await asyncio.gather(Skips().step(1), Shaped().step(2), Remote().step(3))

    assert asyncio.run(play()) == [[2] * 4, 4, 3]
    assert counts() == {"steps:gymnasium.env": 3}


def test_what_a_step_awaits_in_a_loop_of_its_own_counts_once(gymnasium):
    class Remote(gymnasium.Env):
        async def step(self, action):
            return action

    class Blocking(gymnasium.Env):
        def step(self, action):
            return asyncio.run(Remote().step(action))

    assert [Blocking().step(n) for n in range(5)] == list(range(5))
    assert counts() == {"steps:gymnasium.env": 5}


# What the program may notice


def test_name_documentation_and_signature_stay(gymnasium):
    step = a_maze(gymnasium).step

    assert (step.__name__, step.__doc__) == ("step", "Walk one field.")
    assert str(inspect.signature(step)) == "(self, action)"
    assert inspect.isfunction(step)
    assert step.__module__ == __name__


def test_arguments_may_be_given_by_name_or_left_out(gymnasium):
    class Maze(gymnasium.Env):
        def step(self, direction="north"):
            return direction

    assert Maze().step(direction="south") == "south"
    assert Maze().step() == "north"
    with pytest.raises(TypeError, match="unexpected keyword argument 'action'"):
        Maze().step(action=1)


def test_any_signature_is_passed_on(gymnasium):
    class Team(gymnasium.Env):
        def step(self, action, /, *others, repeat=1):
            return action, others, repeat

    told = inspect.getfullargspec(Team.step)
    assert (told.args, told.varargs, told.kwonlyargs) == (["self", "action"], "others", ["repeat"])
    assert Team().step(1, 2, 3, repeat=4) == (1, (2, 3), 4)
    assert counts() == {"steps:gymnasium.env": 1}


def test_what_a_decorator_takes_itself_is_told_beside_what_it_wraps(gymnasium):
    def logged(step):
        @functools.wraps(step)
        def logging(self, *given, **options):
            return step(self, *given, **options)

        return logging

    class Maze(gymnasium.Env):
        @logged
        def step(self, action):
            return action

    assert Maze().step(1) == 1
    assert counts() == {"steps:gymnasium.env": 1}
    told = inspect.getfullargspec(Maze().step)
    assert (told.varargs, told.varkw) == ("given", "options")
    assert list(inspect.signature(Maze().step).parameters) == ["action"]
    assert not hasattr(Maze.step, "__signature__")


def test_nothing_of_the_program_is_asked_how_many_it_is(gymnasium):
    asked = []

    class Proxy(gymnasium.Env):
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

        def step(self, action):
            return action

    Proxy().step(1)

    assert asked == []
    assert counts() == {"steps:gymnasium.env": 1}


def test_a_property_says_how_many_an_environment_is(gymnasium):
    class Simulator(gymnasium.Env):
        num_envs = property(lambda _: 64)

        def step(self, action):
            return action

    Simulator().step(1)

    assert counts() == {"steps:gymnasium.env": 64}


class Bound:
    """What a decorator may make of a step: bound in a way of its own, with attributes of its own."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __get__(self, env, owner=None):
        return self if env is None else lambda *args: self.call(env, *args)

    def call(self, env, *args):
        self.calls += 1
        return self.function(env, *args)

    def __call__(self, *_):
        raise AssertionError("called without an environment")


def test_a_decorated_step_stays_as_it_is(gymnasium):
    class Maze(gymnasium.Env):
        @Bound
        def step(self, action):
            return action

    assert Maze().step(1) == 1
    assert Maze.step.calls == 1


def test_a_decorated_target_of_steps_from_counts_as_it_is_looked_up():
    class Maze:
        @Bound
        def step(self, action):
            return action

    module = SimpleNamespace(Maze=Maze)
    custom.count_target(module, "Maze")

    assert module.Maze().step(1) == 1
    assert module.Maze.step.calls == 1
    assert counts() == {"steps:custom": 1}


@pytest.mark.parametrize("arguments", ["self, action", "*arguments"])
def test_a_decorators_function_finds_again_what_it_keeps_on_itself(gymnasium, arguments):
    namespace = {"Env": gymnasium.Env}
    exec(
        "def told(function):\n"
        f"    def wrapper({arguments}):\n"
        "        wrapper.calls = getattr(wrapper, 'calls', 0) + 1\n"
        f"        return function({arguments})\n"
        "    return wrapper\n"
        "class Maze(Env):\n"
        "    step = told(lambda self, action: action)\n",
        namespace,
    )
    maze = namespace["Maze"]

    assert [maze().step(4), maze().step(5)] == [4, 5]
    assert maze.step.calls == 2


@pytest.mark.parametrize("arguments", ["action", "action, *, repeat=1"])
def test_a_class_that_is_made_anew_finds_its_super(gymnasium, arguments):
    """As attrs and dataclasses with slots make it: they mend the cell of ``super()`` in what stands in the class."""
    namespace = {"Env": gymnasium.Env}
    exec(
        "class Maze(Env):\n"
        f"    def step(self, {arguments}):\n"
        "        return super().__repr__(), action\n",
        namespace,
    )
    old = namespace["Maze"]
    kept = {name: var for name, var in vars(old).items() if name not in ("__dict__", "__weakref__")}
    new = type(old)("Maze", old.__bases__, kept)
    for cell in new.step.__closure__:
        if cell.cell_contents is old:
            cell.cell_contents = new

    assert new().step(1)[1] == 1


def test_classes_are_not_kept_alive(gymnasium):
    def one():
        made = a_maze(gymnasium)
        made().step(1)
        return weakref.ref(made)

    made = one()
    gc.collect()

    assert made() is None


def test_an_exception_passes(gymnasium):
    env = a_maze(gymnasium)()

    with pytest.raises(ValueError, match="walls everywhere") as caught:
        env.step(None)

    assert [each.name for each in caught.traceback][1:] == ["step"]


def test_abstract_methods_stay_abstract():
    library = gymnasium_like()

    class Abstract(library.Env, ABC):
        @abstractmethod
        def step(self, action): ...

    gymnasium_envs.count_envs(library)

    with pytest.raises(TypeError, match="abstract"):
        Abstract()


def test_an_environment_can_be_copied_and_forgotten(gymnasium):
    steps = counters.counter("steps:gymnasium.env")
    env = copy.deepcopy(a_maze(gymnasium)())
    env.step(1)
    assert len(steps.sizes) == 1

    del env
    gc.collect()

    assert len(steps.sizes) == 0


def test_environments_that_are_gone_leave_nothing(gymnasium):
    steps, maze = counters.counter("steps:gymnasium.env"), a_maze(gymnasium)
    at_once = [maze() for _ in range(300)]
    for env in at_once:
        env.step(1)
    del env
    at_once.clear()
    gc.collect()
    last = maze()
    last.step(1)

    # Of so many alike the last is not even looked at.
    assert len(steps.sizes) == 0
    assert len(steps._kept) <= counters._MANY + 1


@pytest.mark.parametrize("slots", [{}, {"__slots__": ()}], ids=["many", "not watched"])
def test_a_class_that_no_object_is_asked_of_any_more_is_not_held(gymnasium, slots, monkeypatch):
    """A class has all names of its module: buffers of a script, files that nobody closed."""
    steps = counters.counter("steps:gymnasium.env")
    monkeypatch.setattr(call_marks, "_ROW", 2 * counters._MANY)
    maze = type("Maze", (gymnasium.Env,), {"step": lambda _self, action: action, **slots})
    for _ in range(2 * counters._MANY):
        maze().step(1)
    assert steps._of_classes

    maze = weakref.ref(maze)
    gc.collect()

    assert maze() is None
    assert not steps._of_classes


def test_a_method_of_any_kind_that_is_no_function_is_left_alone():
    library = gymnasium_like()

    class Odd(library.Env):
        @staticmethod
        def step(action):
            return action

    gymnasium_envs.count_envs(library)

    assert Odd().step(3) == 3
    assert counts() == {}


def test_a_size_that_cannot_be_told_is_one():
    library = gymnasium_like()
    gymnasium_envs.count_vector_envs(library)

    class Broken(library.VectorEnv):
        @property
        def num_envs(self):
            raise RuntimeError("not before reset")

        def step(self, actions):
            return actions

    assert Broken().step(5) == 5
    assert counts() == {"steps:gymnasium.vector": 1}


LOADS_ENVIRONMENT = """
import pickle, sys
sys.modules.update(rlprof=None, rlprof_agent=None)
Env, seen = pickle.load(sys.stdin.buffer)

class Maze(Env): ...

print(Maze.__mro__[1].__name__, seen)
"""


@pytest.mark.parametrize("registers", [False, True])
def test_a_pickled_by_value_library_of_environments_needs_no_rlprof(registers):
    """As after ``cloudpickle.register_pickle_by_value``: the hook that waits for new classes goes along."""
    cloudpickle = pytest.importorskip(
        "cloudpickle", reason="it is missing (pip install cloudpickle)"
    )
    library = gymnasium_like()
    seen: list[str] = []
    if registers:
        library.Env.__init_subclass__ = classmethod(lambda cls: seen.append(cls.__name__))
    gymnasium_envs.count_envs(library)

    saved = cloudpickle.dumps((library.Env, seen))

    command = [sys.executable, "-c", LOADS_ENVIRONMENT]
    loaded = subprocess.run(command, input=saved, capture_output=True, timeout=60, check=False)
    told = ["Maze"] if registers else []
    assert (loaded.stdout.decode(), loaded.stderr) == (f"Env {told}\n", b"")


LOADS_COUNTING = """
import pickle, sys
sys.modules.update(rlprof=None, rlprof_agent=None)
env = pickle.load(sys.stdin.buffer)
for action in range(10):
    env.step(action)
print(env.step.calls, type(env).step.calls, env.step.__name__, env.reset.told)
"""


@pytest.fixture
def cloudpickle(monkeypatch):
    """The module as it is under rlprof, for one test."""
    module = pytest.importorskip(
        "cloudpickle.cloudpickle", reason="it is missing (pip install cloudpickle)"
    )
    for owner, name in (
        (module.Pickler, "_dynamic_function_reduce"),
        (module, "_class_setstate"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    pickles.take_part(module)
    return module


def test_a_pickled_by_value_class_has_the_programs_own_functions(cloudpickle):
    """``step.calls`` stayed where it was in the copy, while the decorator went on to count in a function of its own."""

    def counting_its_calls(function):
        def step(self, action):
            step.calls += 1
            return function(self, action)

        step.calls = 0
        return step

    class Maze:
        @counting_its_calls
        def step(self, action):
            return action

        def reset(self, seed):
            return seed

    count_methods(Maze, ["step", "reset"], counters.counter("steps:gymnasium.env"))
    Maze.reset.told = 7
    env = Maze()
    for action in range(5):
        env.step(action)

    saved = cloudpickle.dumps(env)

    assert call_marks.mark_of(Maze.step)
    assert env.step.calls == 5
    assert b"rlprof" not in saved
    command = [sys.executable, "-c", LOADS_COUNTING]
    loaded = subprocess.run(command, input=saved, capture_output=True, timeout=60, check=False)
    assert (loaded.stdout, loaded.stderr) == (b"15 15 step 7\n", b"")


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_class_that_is_loaded_again_and_again_is_counted_each_time(
    gymnasium, cloudpickle, monkeypatch, is_wrapped
):
    """As a worker of joblib's gets the class of a script, by value, with each task: it is one class, with a new ``step`` each time."""
    monkeypatch.setattr(call_marks, "_FEWEST_NEW", 10)
    maze, marks = a_maze(gymnasium), len(call_marks._marks)
    saved = cloudpickle.dumps(maze)
    for _ in range(100):
        step = weakref.ref(maze.step)
        assert pickle.loads(saved) is maze
        assert step() is None
        (gymnasium.Wrapper(maze()) if is_wrapped else maze()).step(1)

    assert counts() == {"steps:gymnasium.env": 100}
    assert len(call_marks._marks) < marks + 30


def test_a_class_that_is_loaded_counts_as_its_nearest_base_does(gymnasium, cloudpickle):
    class Vectors:
        num_envs = 8

        def step(self, actions): ...

    gymnasium_envs.count_vector_envs(SimpleNamespace(VectorEnv=Vectors))

    class Both(Vectors, gymnasium.Env):
        def step(self, actions):
            return actions

    for _ in range(2):
        Both().step(1)
        pickle.loads(cloudpickle.dumps(Both))

    assert counts() == {"steps:gymnasium.vector": 16}


def test_cloudpickle_writes_what_it_writes_without_counting(gymnasium, cloudpickle):
    saved = cloudpickle.dumps(a_maze(gymnasium))
    given = cloudpickle._class_setstate

    assert pickle.loads(pickle.dumps(given)) is given
    assert b"_class_setstate" in saved
    assert b"rlprof" not in saved
    pickles.take_part(cloudpickle)
    assert cloudpickle._class_setstate is given


LOADS = """
import pickle, sys
sys.modules.update(rlprof=None, rlprof_agent=None)
made = pickle.load(sys.stdin.buffer)
import torch
parameter = torch.zeros(1, requires_grad=True)
parameter.grad = torch.ones(1)
made([parameter], lr=1.0).step()
print(parameter.item())
"""


def test_a_pickled_by_value_class_of_optimizers_needs_no_rlprof():
    """As Stable-Baselines3 saves a model with one of the program's own."""
    torch = pytest.importorskip("torch", reason="torch is missing (pip install torch)")
    cloudpickle = pytest.importorskip(
        "cloudpickle", reason="it is missing (pip install cloudpickle)"
    )
    module = importlib.import_module("torch.optim.optimizer")
    hooks = (module._global_optimizer_pre_hooks, module._global_optimizer_post_hooks)

    class Clipped(torch.optim.SGD):
        def step(self, _closure=None):
            # Not by SGD's own: where another test has made one, torch has hooked that as well.
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.data -= group["lr"] * parameter.grad.clamp(-1, 1)

    torch_training.count_updates(module)
    try:
        parameter = torch.zeros(1, requires_grad=True)
        parameter.grad = torch.ones(1)
        Clipped([parameter]).step()
        saved = cloudpickle.dumps(Clipped)
    finally:
        for each in hooks:
            each.clear()

    command = [sys.executable, "-c", LOADS]
    loaded = subprocess.run(command, input=saved, capture_output=True, timeout=60, check=False)
    assert (loaded.stdout, loaded.stderr) == (b"-1.0\n", b""), loaded.stderr.decode()
    assert counts() == {"updates": 1}


# The other libraries


def test_stable_baselines_vector_environments():
    class VecEnv(ABC):
        num_envs = 4

        def step(self, actions):
            self.step_async(actions)
            return self.step_wait()

        @abstractmethod
        def step_async(self, actions): ...

        @abstractmethod
        def step_wait(self): ...

    class DummyVecEnv(VecEnv):
        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            return self.actions

    class VecNormalize(VecEnv):
        def __init__(self, venv):
            self.venv = venv

        def step_async(self, actions):
            self.venv.step_async(actions)

        def step_wait(self):
            return self.venv.step_wait()

    stable_baselines3_envs.count_vec_envs(SimpleNamespace(VecEnv=VecEnv))

    assert VecNormalize(DummyVecEnv()).step([1]) == [1]
    assert counts() == {"steps:sb3.vec": 4}

    driven = VecNormalize(DummyVecEnv())
    driven.step_async([2])
    assert driven.step_wait() == [2]
    assert counts() == {"steps:sb3.vec": 8}


def evaluating(play) -> SimpleNamespace:
    """The module of ``evaluate_policy``, which calls ``play``."""

    def evaluate_policy(model, env, n_eval_episodes=10):
        for _ in range(n_eval_episodes):
            play(env)
        return "mean"

    module = SimpleNamespace(evaluate_policy=evaluate_policy)
    evaluations.count_apart(module)
    return module


@pytest.fixture
def pool():
    class VecEnv:
        """A vector environment of two, as Stable-Baselines3 has it."""

        num_envs = 2

        def step(self, actions):
            return actions

    stable_baselines3_envs.count_vec_envs(SimpleNamespace(VecEnv=VecEnv))
    return VecEnv()


def test_steps_of_evaluations_count_apart(pool):
    module = evaluating(lambda env: env.step([1, 2]))
    pool.step([1, 2])

    assert module.evaluate_policy(None, pool, n_eval_episodes=3) == "mean"
    assert counts() == {"steps:sb3.vec": 2, "evaluation_steps": 6}

    pool.step([1, 2])
    assert counts() == {"steps:sb3.vec": 4, "evaluation_steps": 6}


def test_an_evaluation_within_another_and_one_that_fails_end_as_one(pool):
    def play(env):
        env.step([1, 2])
        if env.step([1, 2]) and inner:
            inner.pop().evaluate_policy(None, env, n_eval_episodes=1)
        env.step([1, 2])
        raise ValueError("no such episode")

    inner = [evaluating(lambda env: env.step([1, 2]))]
    with pytest.raises(ValueError, match="no such episode"):
        evaluating(play).evaluate_policy(None, pool)

    pool.step([1, 2])
    assert counts() == {"steps:sb3.vec": 2, "evaluation_steps": 8}


def test_steps_of_another_thread_are_the_trainings_while_one_evaluates(pool):
    def play(env):
        env.step([1, 2])
        trainer = threading.Thread(target=pool.step, args=([1, 2],))
        trainer.start()
        trainer.join()

    evaluating(play).evaluate_policy(None, pool, n_eval_episodes=3)

    assert counts() == {"steps:sb3.vec": 6, "evaluation_steps": 6}


def test_what_the_program_names_counts_in_evaluations_too(pool):
    module = ModuleType("mine")
    module.advance = lambda: None
    custom.count_target(module, "advance")

    evaluating(lambda _: module.advance()).evaluate_policy(None, pool, n_eval_episodes=3)

    assert counts() == {"steps:custom": 3}


def test_a_child_forked_while_its_parent_evaluates_counts_for_itself(pool):
    def play(env):
        env.step([1, 2])
        counters.renew()

    evaluating(play).evaluate_policy(None, pool, n_eval_episodes=1)
    pool.step([1, 2])

    assert counts()["steps:sb3.vec"] == 2


def torchrl_like() -> SimpleNamespace:
    class EnvBase(ABC):
        batch_size = Batch()

        def step(self, data):
            return self._step(data)

        def step_and_maybe_reset(self, data):
            return self.step(data)

        @abstractmethod
        def _step(self, data): ...

    class BatchedEnvBase(EnvBase):
        pass

    class ParallelEnv(BatchedEnvBase):
        batch_size = Batch([3])

        def step_and_maybe_reset(self, data):
            return data

        def _step(self, data):
            return data

    return SimpleNamespace(EnvBase=EnvBase, BatchedEnvBase=BatchedEnvBase, ParallelEnv=ParallelEnv)


@pytest.mark.parametrize("call", ["step", "step_and_maybe_reset", "_step"])
def test_torchrl_environments_count_whichever_way_they_are_called(call):
    library = torchrl_like()
    torchrl_envs.count_envs(library)

    class Transformed(library.EnvBase):
        def __init__(self, base):
            self.base = base
            self.batch_size = base.batch_size

        def _step(self, data):
            return self.base._step(data)

    class Pendulum(library.EnvBase):
        batch_size = Batch([2, 5])

        def _step(self, data):
            return data

    assert getattr(Transformed(Pendulum()), call)(7) == 7
    assert counts() == {"steps:torchrl.env": 10}


@pytest.mark.parametrize("call", ["step", "step_and_maybe_reset"])
def test_torchrl_batches_count_apart_from_environments(call):
    library = torchrl_like()
    torchrl_envs.count_envs(library)
    torchrl_envs.count_batched_envs(library)

    getattr(library.ParallelEnv(), call)(0)

    assert counts() == {"steps:torchrl.batched": 3}


def test_dm_environments_count_once_in_their_wrappers():
    library = SimpleNamespace(Environment=a_base("step"))
    dm_envs.count_envs(library)

    class Walker(library.Environment):
        def step(self, action):
            return action

    class Repeats(library.Environment):
        def step(self, action):
            return [Walker().step(action) for _ in range(4)][-1]

    Repeats().step(1)

    assert counts() == {"steps:dm_env": 1}


def test_agents_that_act_together_step_once():
    """A parallel environment of PettingZoo's may be made of one in which agents take turns."""
    library = SimpleNamespace(ParallelEnv=a_base("step"), AECEnv=a_base("step"))
    pettingzoo_envs.count_envs(library)

    class Turns(library.AECEnv):
        def step(self, action):
            return action

    class Together(library.ParallelEnv):
        def step(self, actions):
            for action in actions:
                Turns().step(action)

    Together().step([1, 2, 3])

    assert counts() == {"steps:pettingzoo.parallel": 1, "steps:pettingzoo.aec": 3}


def a_base(method: str) -> type:
    """An abstract class of a library, whose own method steps nothing."""
    return type("Base", (), {method: abstractmethod(lambda *_: None)})


def pufferlib_like() -> SimpleNamespace:
    class Serial:
        agents_per_batch = 6

        def send(self, actions): ...

        def recv(self): ...

        def step(self, actions):
            self.send(actions)
            return self.recv()

    def _worker_process(env, steps):
        for _ in range(steps):
            env.step(0)

    library = SimpleNamespace(Serial=Serial, _worker_process=_worker_process, __name__=__name__)
    pufferlib_envs.count_vector_envs(library)
    return library


def test_pufferlib_counts_the_agents_that_actions_are_sent_to():
    env = pufferlib_like().Serial()

    env.recv()
    env.send(0)
    env.step(0)

    assert counts() == {"steps:pufferlib": 12}


def test_pufferlib_workers_do_not_count_what_the_main_process_sent():
    library = pufferlib_like()

    library._worker_process(library.Serial(), steps=10)

    assert counts() == {}
    assert library._worker_process.__name__ == "_worker_process"


def test_native_environments_of_pufferlib():
    class PufferEnv:
        num_agents = 4

        def step(self, actions):
            raise NotImplementedError

        def send(self, actions):
            self.step(actions)

    pufferlib_envs.count_native_envs(SimpleNamespace(PufferEnv=PufferEnv))

    class Squared(PufferEnv):
        def step(self, actions):
            return actions

    Squared().send(0)
    Squared().step(0)

    assert counts() == {"steps:pufferlib": 8}


def test_updates_and_batches_of_torch():
    before, after = {}, {}

    class Iterator:
        def __next__(self):
            return self._next_data()

    class SingleProcess(Iterator):
        def __init__(self, size):
            self.left = iter(range(size))

        def _next_data(self):
            return next(self.left)

    torch_training.count_updates(
        SimpleNamespace(_global_optimizer_pre_hooks=before, _global_optimizer_post_hooks=after)
    )
    torch_training.count_batches(SimpleNamespace(_BaseDataLoaderIter=Iterator))

    ((begin_update,), (end_update,)) = before.values(), after.values()
    begin_update("optimizer", (), {})
    assert torch_syncs.stays_here == [True]
    end_update("optimizer", (), {})
    assert torch_syncs.stays_here == [False]
    batches = SingleProcess(3)
    for _ in range(3):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)

    assert counts() == {"updates": 1, "batches": 3}


class Graph:
    """As ``torch.cuda.CUDAGraph``."""

    def capture_end(self):
        is_capturing.clear()

    def replay(self):
        pass


is_capturing = set()


def capture(graph, work):
    is_capturing.add("now")
    work()
    graph.capture_end()


def test_a_replayed_graph_makes_the_updates_that_were_captured_in_it(monkeypatch):
    """No optimizer is called by a replay. A graph of the policy alone has none in it."""
    monkeypatch.setattr(torch_training, "_asks_whether_captured", [])
    before, after = {}, {}
    torch_training.count_updates(
        SimpleNamespace(_global_optimizer_pre_hooks=before, _global_optimizer_post_hooks=after)
    )
    torch_training.count_replays(
        SimpleNamespace(_cuda_isCurrentStreamCapturing=is_capturing.copy, CUDAGraph=Graph)
    )
    (end_update,) = after.values()
    update, policy, again = Graph(), Graph(), Graph()

    end_update("optimizer", (), {})
    assert counts() == {"updates": 1}
    capture(update, lambda: [end_update(each, (), {}) for each in ("actor", "critic")])
    capture(policy, lambda: None)
    capture(again, lambda: end_update("actor", (), {}))
    policy.replay()
    captured = counts()["updates"]
    for _ in range(10):
        update.replay()
    assert counts()["updates"] == captured + 20
    again.replay()
    assert counts()["updates"] == captured + 21
    end_update("optimizer", (), {})
    assert counts()["updates"] == captured + 22


class Asked:
    """An environment that counts how often it is asked how many it is."""

    times = 0

    @property
    def unwrapped(self):
        return self

    def step(self, action):
        return action


class Failing(Asked):
    @property
    def num_envs(self):
        Asked.times += 1
        raise NotImplementedError


class Single(Asked):
    @property
    def num_envs(self):
        Asked.times += 1
        return 1


def count_steps(monkeypatch):
    monkeypatch.setattr(Asked, "times", 0)
    steps = counters.counter("steps:own", lambda env: env.num_envs)
    count_methods(Asked, ["step"], steps)


def test_who_cannot_say_how_many_it_is_is_asked_once(monkeypatch):
    """It took 30 to 50 µs at each step before."""
    count_steps(monkeypatch)
    env = Failing()

    for _ in range(100):
        env.step(0)

    assert (counts(), Asked.times) == ({"steps:own": 100}, 1)


def test_of_many_alike_no_more_are_asked(monkeypatch):
    """As in a search that makes an environment for each of its nodes."""
    count_steps(monkeypatch)

    for _ in range(1_000):
        Single().step(0)

    assert counts() == {"steps:own": 1_000}
    assert Asked.times < 100


def test_methods_of_python_classes_below_one_of_pybind11_are_counted():
    """Its metaclass has a ``__setattr__`` of its own, in C: ``torch.cuda.CUDAGraph`` is such a class, and simulators in C++ have them."""
    torch = pytest.importorskip("torch", reason="torch is missing (pip install torch)")

    class Simulator(torch._C.FileCheck):
        def step(self, action):
            return action

    count_methods(Simulator, ["step"], counters.counter("steps:own"))
    Simulator().step(1)

    assert counts() == {"steps:own": 1}


def test_a_build_of_torch_without_cuda_captures_nothing():
    class StandIn:
        def __init__(self):
            raise RuntimeError("Tried to instantiate dummy base class")

    class Graph(StandIn):
        def replay(self): ...

    replay = Graph.replay
    torch_training.count_replays(
        SimpleNamespace(_cuda_isCurrentStreamCapturing=StandIn, CUDAGraph=Graph)
    )

    assert Graph.replay is replay


def test_hooks_of_the_program_have_the_numbers_that_they_would_have():
    """They are saved with a module."""
    torch = pytest.importorskip("torch", reason="torch is missing (pip install torch)")
    from torch.utils.hooks import RemovableHandle

    before = RemovableHandle.next_id
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    module = importlib.import_module("torch.optim.optimizer")
    torch_training.count_updates(module)
    try:
        optimizer.step()

        assert RemovableHandle.next_id == before
        assert counts() == {"updates": 1}
    finally:
        module._global_optimizer_pre_hooks.clear()
        module._global_optimizer_post_hooks.clear()


def tqdm_like() -> type:
    class Bar:
        def __init__(self, initial=0):
            self.n = self.initial = initial
            self._instances.add(self)

        def update(self, n=1):
            self.n += n
            return self.n

        def close(self):
            self._instances.remove(self)

    Bar._instances = weakref.WeakSet()
    tqdm_bars.count_updates(SimpleNamespace(tqdm=Bar))
    return Bar


def test_what_bars_of_tqdm_are_told():
    kind = tqdm_like()

    class Notebook(kind):
        def update(self, n=1):
            return super().update(n=n)

    bar, of_bytes = Notebook(initial=100), kind()

    assert [bar.update(), bar.update(3), bar.update(-1)] == [101, 104, 103]
    assert of_bytes.update(0.5) == 0.5
    turns.turn(0)
    assert counts() == {"iterations:tqdm": 4}

    # It is begun anew.
    bar.n = 0
    turns.turn(0)
    bar.update(2)
    turns.turn(0)
    assert counts() == {"iterations:tqdm": 6}


def test_many_bars_are_read_at_some_turns_alone():
    kind = tqdm_like()
    bars = [kind() for _ in range(2 * tqdm_bars._MANY)]
    told = []
    for _ in range(6):
        turns.turn(0)
        told.append(counts().get("iterations:tqdm", 0))
        bars[0].n += 1

    # Two turns of three are left out.
    assert told == [0, 0, 0, 3, 3, 3]


def test_bars_of_steps_and_of_rollouts_are_each_told_what_they_did():
    kind = tqdm_like()
    steps, rollouts = kind(), kind()
    for _ in range(20):
        for _ in range(2048):
            steps.update()
        rollouts.update(2048)
    turns.turn(0)

    assert counts() == {"iterations:tqdm": 2 * 20 * 2048}


def test_a_bar_that_is_closed_is_counted_up_to_the_last_turn():
    kind = tqdm_like()
    for _ in range(3):
        bar = kind()
        bar.update(5)
        turns.turn(0)
        bar.close()

    assert counts() == {"iterations:tqdm": 15}


def test_messages_and_log_records():
    sent, handled = [], []

    class Connection:
        def _send_bytes(self, buf):
            sent.append(bytes(buf))

        def send_bytes(self, buf):
            self._send_bytes(memoryview(buf))

    class Logger:
        def handle(self, record):
            handled.append(record)

    standard_library.count_messages(SimpleNamespace(Connection=Connection))
    standard_library.count_log_records(SimpleNamespace(Logger=Logger))
    Connection().send_bytes(b"x" * 100)
    Connection().send_bytes(b"y" * 11)
    Logger().handle("record")

    assert counts() == {"ipc_messages": 2, "ipc_bytes": 111, "log_records": 1}
    assert (len(sent), handled) == (2, ["record"])


# --steps-from


def envs_module() -> SimpleNamespace:
    class Maze:
        num_envs = 16

        def step(self, action):
            return action

        @classmethod
        def solve(cls, n):
            return n

        @staticmethod
        def advance(n=1):
            return n

        async def walk(self, n):
            return n

        def wander(self, n):
            yield n

        forward = functools.partialmethod(step, 1)

        @functools.singledispatchmethod
        def move(self, action):
            return action

    class Cave(Maze):
        pass

    def simulate(state):
        return state

    @functools.lru_cache
    def cached(state):
        return state

    def episodes(count):
        yield from range(count)

    return SimpleNamespace(
        Maze=Maze,
        Cave=Cave,
        maze=Maze(),
        simulate=simulate,
        LIMIT=5,
        partial=len,
        Plain=type("Plain", (), {}),
        cached=cached,
        policy=functools.partial(simulate, 1),
        episodes=episodes,
    )


@pytest.mark.parametrize(
    ("qualname", "call", "steps"),
    [
        ("Maze.step", lambda m: m.Maze().step(1), 16),
        ("Maze", lambda m: m.Maze().step(action=1), 16),
        ("Cave.step", lambda m: m.Cave().step(1), 16),
        ("Maze.step", lambda m: m.Cave().step(1), 16),
        ("Maze.solve", lambda m: m.Cave.solve(1), 16),
        ("Maze.advance", lambda m: m.Maze.advance(), 1),
        ("Maze.walk", lambda m: asyncio.run(m.Maze().walk(1)), 16),
        ("maze.step", lambda m: m.maze.step(1), 16),
        ("simulate", lambda m: m.simulate(1), 1),
        ("simulate", lambda m: m.simulate(state=1), 1),
        ("partial", lambda m: m.partial("x"), 1),
    ],
)
def test_the_target_of_steps_from_counts(qualname, call, steps):
    module = envs_module()

    state = custom.count_target(module, qualname)

    assert state == layout.CUSTOM_COUNTED
    assert call(module) == 1
    assert counts() == {"steps:custom": steps}


def test_a_coroutine_function_stays_one():
    module = envs_module()
    custom.count_target(module, "Maze.walk")

    assert inspect.iscoroutinefunction(module.Maze.walk)


def test_a_coroutine_function_refuses_wrong_arguments_where_it_is_called():
    module = envs_module()
    custom.count_target(module, "Maze.walk")

    with pytest.raises(TypeError, match=r"walk\(\) takes 2 positional arguments but 3 were given"):
        module.Maze().walk(1, None)


@pytest.mark.parametrize(
    ("qualname", "state"),
    [
        ("Maze.jump", layout.CUSTOM_MISSING),
        ("Labyrinth.step", layout.CUSTOM_MISSING),
        ("LIMIT", layout.CUSTOM_NOT_CALLABLE),
        ("Plain", layout.CUSTOM_NOT_CALLABLE),
        ("cached", layout.CUSTOM_NOT_CALLABLE),
        ("policy", layout.CUSTOM_NOT_CALLABLE),
        ("episodes", layout.CUSTOM_NOT_CALLABLE),
        ("Maze.wander", layout.CUSTOM_NOT_CALLABLE),
        ("Maze.forward", layout.CUSTOM_NOT_CALLABLE),
        ("Maze.move", layout.CUSTOM_NOT_CALLABLE),
    ],
)
def test_a_target_that_is_none_says_why(qualname, state):
    assert custom.count_target(envs_module(), qualname) == state


@pytest.mark.parametrize("qualname", ["Sim", "Sim.step"])
def test_a_method_of_a_metaclass_is_counted_and_called_as_before(qualname):
    class Meta(type):
        def step(cls):
            return cls.__name__

    class Sim(metaclass=Meta):
        pass

    assert custom.count_target(SimpleNamespace(Sim=Sim), qualname) == layout.CUSTOM_COUNTED
    assert Sim.step() == "Sim"
    assert counts() == {"steps:custom": 1}


def test_a_method_that_is_made_when_it_is_asked_for_is_left_alone():
    class Meta(type):
        def __getattr__(cls, name):
            return lambda: name

    class Sim(metaclass=Meta):
        pass

    state = custom.count_target(SimpleNamespace(Sim=Sim), "Sim.step")

    assert state == layout.CUSTOM_NOT_CALLABLE
    assert Sim.step() == "step"


def test_a_method_of_a_built_in_class_cannot_be_counted():
    assert (
        custom.count_target(SimpleNamespace(Table=dict), "Table.update") == layout.CUSTOM_READ_ONLY
    )


def test_an_inherited_target_in_a_module_that_is_loaded_again_and_again_is_counted_and_not_held():
    source = """
class Base:
    def step(self, action): return action
class Sim(Base): ...
class Other(Base): ...
"""
    for _ in range(20):
        module = ModuleType("simulator")
        exec(source, vars(module))
        custom.count_target(module, "Sim.step")
        for kind in (module.Sim, module.Other):
            kind().step(1)
        sim = weakref.ref(module.Sim)
        del module, kind
        gc.collect()
        assert sim() is None

    assert counts() == {"steps:custom": 20}
    assert not custom._owners


def test_what_an_object_states_is_read_without_its_metaclass():
    class Watched(type):
        def __getattribute__(cls, name):
            raise AssertionError("nobody asks")

    class Maze(metaclass=Watched):
        num_envs = 4

        @property
        def __class__(self):
            raise AssertionError("nobody asks")

    assert counters.stated(Maze(), "num_envs") == 4
    assert counters.stated(Maze, "num_envs") == 4
    assert counters.stated(Maze(), "other") is None


def test_objects_that_are_read_keep_their_values_in_place():
    class Maze:
        def __init__(self):
            self.rows = 4

    fresh, read = Maze(), Maze()
    before = list(map(type, gc.get_referents(fresh)))

    assert counters.stated(read, "rows") == 4
    assert list(map(type, gc.get_referents(read))) == before
