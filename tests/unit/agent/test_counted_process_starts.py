"""Process starts, counted on stand-ins; what real ones do is in ``tests/e2e/test_counted_costs.py``."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import counters
from rlprof.agent.inject.rlprof_agent.counted import process_starts


@pytest.fixture(autouse=True)
def _counting_begins_anew(monkeypatch):
    monkeypatch.setattr(counters, "_counters", {})


def starts() -> int:
    return counters.counter("process_starts").cell[0]


class System(SimpleNamespace):
    """``os`` and the C module below it: what it forks, it tells."""

    def __init__(self) -> None:
        super().__init__(after_fork=[])

    def register_at_fork(self, *, after_in_parent):
        self.after_fork.append(after_in_parent)

    def fork(self):
        for tell in self.after_fork:
            tell()


@pytest.fixture
def system(monkeypatch):
    posix_like = ModuleType("posix_like")
    monkeypatch.setitem(sys.modules, "posix_like", posix_like)
    system = System()

    def system_(command):
        """Run a command."""
        if not command:
            raise TypeError("no command")
        return 0

    system_.__module__ = "posix_like"
    system.system = posix_like.system = system_
    process_starts.count_starts(system)
    return system


@pytest.fixture
def c_module(monkeypatch):
    module = ModuleType("_posixsubprocess")

    module.fork_exec = len
    monkeypatch.setitem(sys.modules, "_posixsubprocess", module)
    return module


def test_calls_and_forks_count(system):
    assert system.system("true") == 0
    system.fork()

    assert starts() == 2
    assert sys.modules["posix_like"].system is system.system
    assert not hasattr(system, "posix_spawn")


def test_a_start_that_fails_is_one_and_leaves_nothing_behind(system):
    with pytest.raises(TypeError, match="no command"):
        system.system(command="")
    assert starts() == 1

    system.fork()
    assert starts() == 2


EXECUTE_CHILD = """
def _execute_child(arguments, after_fork=()):
    for tell in after_fork:
        tell()
    return {}(arguments)
"""


@pytest.mark.parametrize("name", [None, "_fork_exec"], ids=["before 3.11", "since 3.11"])
def test_a_start_within_a_start_is_none(system, c_module, name):
    """``subprocess`` forks by itself, and tells of it where it runs Python in the child."""
    subprocess = ModuleType("subprocess")
    subprocess.c_module = c_module
    if name is not None:
        setattr(subprocess, name, c_module.fork_exec)
    exec(EXECUTE_CHILD.format(name or "c_module.fork_exec"), vars(subprocess))
    process_starts.count_subprocesses(subprocess)

    assert subprocess._execute_child(["a", "b"], system.after_fork) == 2
    assert starts() == 1
    assert subprocess._execute_child(["a"]) == 1
    assert starts() == 2
    system.fork()
    assert starts() == 3


@pytest.mark.parametrize("is_imported", [False, True])
def test_a_spawn_counts_once_with_subprocess_and_without(c_module, is_imported):
    def spawnv_passfds(_path, arguments, _fds):
        return c_module.fork_exec(arguments)

    util = SimpleNamespace(spawnv_passfds=spawnv_passfds)
    process_starts.count_spawns(util)
    if is_imported:
        process_starts.count_subprocesses(SimpleNamespace())

    for number in (1, 2):
        assert util.spawnv_passfds("python", ["a", "b", "c"], ()) == 3
        assert starts() == number


def test_the_program_finds_the_functions_as_they_were(system):
    function = system.system

    assert (function.__doc__, function.__module__) == ("Run a command.", "posix_like")
    assert function.__name__ == "system_"
