"""What counts has the program's globals, where names such as ``id`` may be the program's own, or built-in ones not there at all."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent import counters
from rlprof.agent.inject.rlprof_agent.counted.class_methods import count_methods
from rlprof.agent.inject.rlprof_agent.counted.own_environments import OwnEnvironment

PROGRAM = """
class Base:
    pass

class World(Base):
    def step(self, action):
        if action < 0:
            raise KeyError(action)
        return action
    def move(self, action, speed=1):
        if action < 0:
            raise KeyError(action)
        return action
    async def wait(self, action):
        return action

def make():
    class Later(World):
        pass
    return Later
"""

FEW = ("__build_class__", "KeyError", "__name__")


@pytest.fixture(params=["few built-in names", "names of its own"])
def program(request: pytest.FixtureRequest) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "program"}
    if request.param == "few built-in names":
        names["__builtins__"] = {name: getattr(builtins, name) for name in FEW}
    else:
        taken = ("id", "type", "getattr", "super", "BaseException", "ValueError")
        names |= dict.fromkeys(taken, 0)
    exec(PROGRAM, names)
    return names


def use(program: dict[str, Any]) -> None:
    world = program["make"]()()
    for step in (world.step, world.move):
        assert step(3) == 3
        with pytest.raises(KeyError):
            step(-1)
    assert world.move(3, speed=2) == 3
    with pytest.raises(StopIteration):
        world.wait(3).send(None)


def test_a_counted_class_reads_none_of_its_names(program: dict[str, Any]):
    count_methods(program["Base"], ("step", "move", "wait"), counters.counter("test:names"))
    use(program)


def test_an_environment_of_the_programs_reads_none_of_its_names(program: dict[str, Any]):
    world = program["World"]
    for name in ("step", "move"):
        own = OwnEnvironment(world, name, vars(world)[name])
        own.count_at(use.__code__, 1, 1)
    use(program)
