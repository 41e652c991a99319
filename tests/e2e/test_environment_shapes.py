"""Environments of shapes that trainings have, stepped with and without rlprof: the same output, and no harm."""

from __future__ import annotations

import pytest

pytest.importorskip("gymnasium", reason="gymnasium is missing (pip install gymnasium)")

PROXY = """
    import multiprocessing as mp
    import gymnasium

    class Simulator:
        def step(self, action): return action + 1, 1.0, False, False, {}

    def serve(connection):
        simulator = Simulator()
        while (asked := connection.recv()) is not None:
            name, arguments = asked
            connection.send(getattr(simulator, name)(*arguments))

    class Remote(gymnasium.Env):
        def __init__(self):
            self.connection, other = mp.Pipe()
            self.process = mp.Process(target=serve, args=(other,))
            self.process.start()

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.connection.send((name, ()))
            return self.connection.recv()

        def step(self, action):
            self.connection.send(("step", (action,)))
            return self.connection.recv()

    if __name__ == "__main__":
        env = Remote()
        print([env.step(action)[0] for action in range(3)])
        env.connection.send(None)
        env.process.join()
        print("the simulator ended with", env.process.exitcode)
"""

MADE_ANEW = """
    import gymnasium

    class Base(gymnasium.Env):
        def step(self, action): return action, 1.0, False, False, {}

    try:
        import attrs
        define = attrs.define(eq=False)
    except ImportError:
        define = lambda cls: cls

    @define
    class Maze(Base):
        limit: int = 5
        def step(self, action): return super().step(action)

    print(Maze().step(1))
"""

DECORATED = """
    import functools, gymnasium

    class Maze(gymnasium.Env):
        @functools.lru_cache
        def step(self, action): return action, 1.0, False, False, {}

    print(Maze().step(1), Maze.step.cache_info())
"""

COMPILED = """
    import gymnasium, torch

    class Batched(gymnasium.Env):
        num_envs = 8
        def step(self, action):
            self.state = self.state + action
            return self.state, self.state.sum(-1), False, False, {}

    env = Batched()
    env.state = torch.zeros(8, 3)

    @torch.compile(backend="eager", fullgraph=True)
    def rollout(actions):
        return sum(env.step(actions)[1] for _ in range(4))

    print([rollout(torch.ones(8, 3)).tolist() for _ in range(3)])
"""

SCRIPTED = """
    import gymnasium, torch

    class Model(torch.nn.Module, gymnasium.Env):
        __jit_ignored_attributes__ = [
            "_np_random", "_np_random_seed", "np_random", "np_random_seed", "unwrapped", "metadata", "spec",
            "render_mode", "action_space", "observation_space",
        ]
        __jit_unused_properties__ = ["unwrapped", "np_random", "np_random_seed"]

        def step(self, action: torch.Tensor):
            return torch.tanh(action) + 1

        def forward(self, state: torch.Tensor):
            for _ in range(5):
                state = self.step(state)
            return state

    print(torch.jit.script(Model())(torch.zeros(2)).tolist())
    print(Model.step.__globals__ is globals())
"""

STRICT = """
    import dataclasses, gymnasium

    @dataclasses.dataclass(frozen=True)
    class Broken(Exception):
        where: int

    class Loud(type(gymnasium.Env)):
        def __setattr__(cls, name, value):
            print("set", name)
            super().__setattr__(name, value)

    class Maze(gymnasium.Env, metaclass=Loud):
        def step(self, action): raise Broken(action)

    try:
        Maze().step(7)
    except Broken as error:
        print("broken at", error.where)
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(PROXY, id="of-another-process"),
        pytest.param(MADE_ANEW, id="made-anew", marks=pytest.mark.slow),
        pytest.param(DECORATED, id="decorated", marks=pytest.mark.slow),
        pytest.param(COMPILED, id="compiled"),
        pytest.param(SCRIPTED, id="compiled-by-torchscript"),
        pytest.param(STRICT, id="with-classes-that-guard-themselves"),
    ],
)
def test_it_is_stepped_as_without_rlprof(write, rlprof_run, bare_run, program):
    if "torch" in program:
        pytest.importorskip("torch", reason="torch is missing (pip install torch)")
    script = write(program)

    result, alone = rlprof_run(script), bare_run(script)

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out, result.err) == (0, alone.stdout, "")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--torch", "off"], id="windows"),
        pytest.param(["--no-probe", "--torch", "off"], id="probe", marks=pytest.mark.slow),
        pytest.param(["--no-values", "--torch", "off"], id="values", marks=pytest.mark.slow),
    ],
)
def test_a_compiled_one_is_stepped_as_without_rlprof_where_less_is_recorded(
    write, rlprof_run, bare_run, options
):
    pytest.importorskip("torch", reason="torch is missing (pip install torch)")
    script = write(COMPILED)

    result, alone = rlprof_run(script, options=options), bare_run(script)

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out, result.err) == (0, alone.stdout, "")
