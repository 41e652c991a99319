from __future__ import annotations

import pytest

from rlprof.detectors.environment_recreated import DETECTOR, MIN_SHARE, OF_DIFFERENT, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, claimed_s, detect, lines_of, profile_of

MAZE = Script(
    "maze.py",
    """
    class Grid:
        def reset(self):
            return 0

    class Maze(Grid):
        def __init__(self):
            self.walls = lay_out()

        def step(self, action):
            return 0, 0.0, True, {}

    class Table:
        def __init__(self):
            self.rows = fill()

    class World:
        def __init__(self, size):
            self.cells = dig(size)

    class Shelf:
        def __init__(self, size):
            self.places = build(size)

    class Noise:
        def __init__(self, size):
            self.drift = build(size)

        def reset(self):
            self.at = 0

        def step(self):
            self.at += 1
            return self.drift[self.at]

    class Wrapped(Base):
        def __init__(self):
            self.inner = build()
    """,
)
TRAIN = Script(
    "train.py",
    """
    def main():
        for episode in range(1000):
            env = Maze()
            table = Table()
            noise = Noise(8)
            other = Wrapped()
            made = gym.make("Maze-v0")
            run(env)

    def explore(agent):
        for episode in range(1000):
            world = World(8)
            over = False
            while not over:
                seen, gain, over = world.advance(agent.choose())
            shelf = Shelf(8)
            shelf.put(seen)
    """,
)
INIT = MAZE.at("self.walls", "Maze.__init__")
NEW = TRAIN.at("env = Maze", "main")
RUN = TRAIN.at("run(env)", "main")


def a_training(seconds: float, *stack: str) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    return run.spends(seconds, *stack).spends(10.0 - seconds, RUN, "agent.py:3 act")


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, MAZE, TRAIN)


def test_finds_a_class_with_reset_and_step_that_is_made_in_a_loop():
    (finding,) = found(a_training(3.0, NEW, INIT))

    assert lines_of(finding) == [TRAIN.line("env = Maze")]
    assert finding.evidence == ("30 % of the steady time is spent in making them, 3 ms a step",)


def test_finds_what_gymnasium_makes():
    made = f"{SITE}/gymnasium/envs/registration.py:700 make"
    run = a_training(3.0, TRAIN.at("gym.make", "main"), made, INIT)
    profile = profile_of(run, MAZE, TRAIN)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 3.0


def test_checks_of_first_steps_are_paid_for_each_new_environment():
    made = f"{SITE}/gymnasium/envs/registration.py:700 make"
    check = f"{SITE}/gymnasium/utils/passive_env_checker.py:293 env_step_passive_checker"
    run = a_training(3.0, TRAIN.at("gym.make", "main"), made, INIT)
    run.spends(1.0, RUN, check, f"{SITE}/gymnasium/spaces/box.py:300 Box.contains")
    run.spends(5.0, RUN, check, MAZE.at("return 0, 0.0", "Maze.step"))
    profile = profile_of(run, MAZE, TRAIN)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0
    assert "and in checking their first steps" in finding.evidence[0]


def test_finds_a_class_of_a_librarys_interface_by_its_bases():
    line = TRAIN.at("other = Wrapped", "main")
    run = a_training(3.0, line, MAZE.at("self.inner", "Wrapped.__init__"))

    assert found(run) == []
    run.sees(line, Wrapped="type=type class=maze.Wrapped bases=gymnasium.core.Env")
    assert len(found(run)) == 1


def test_finds_what_is_stepped_like_an_environment_whatever_its_methods_are_called():
    made = TRAIN.at("world = World", "explore"), MAZE.at("self.cells", "World.__init__")
    other = TRAIN.at("shelf = Shelf", "explore"), MAZE.at("self.places", "Shelf.__init__")

    assert len(found(a_training(3.0, *made))) == 1
    assert found(a_training(3.0, *other)) == []


FACTORY = Script(
    "factory.py",
    """
    class Desk:
        def open(self, kind, size):
            return kind(size)

    def explore(desk, agent):
        world = desk.open(World, 8)
        while True:
            seen, gain, over = world.advance(agent.choose())
            if over:
                world = desk.open(World, 8)
    """,
)


def test_finds_what_is_made_elsewhere_and_was_seen_to_be_stepped():
    stack = (
        FACTORY.at("            world = desk", "explore"),
        FACTORY.at("return kind", "Desk.open"),
        MAZE.at("self.cells", "World.__init__"),
    )  # fmt: skip
    stepping = FACTORY.at("seen, gain", "explore")

    def told(kind: str) -> list[Finding]:
        run = a_training(4.0, *stack).sees(stepping, world=f"type={kind} file=maze.py")
        return detect(DETECTOR, run, MAZE, FACTORY)

    assert [lines_of(finding) for finding in told("maze.World")] == [[FACTORY.line("return kind")]]
    assert told("maze.Shelf") == []


GIVEN = """
import numpy as np

def make(board):
    return gym.make("Lake-v1", desc=board)

def main():
    size = 8
    for episode in range(1000):
        board = draw(size)
        env = {made}
        run(env)
"""


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ('gym.make("Lake-v1", desc=board)', "board"),
        ('Timed(gym.make("Lake-v1", desc=draw(size)), 60)', "draw(size)"),
        ("make(board)", "board"),
        ('gym.make("Lake-v1", size=size)', ""),
        ('gym.make("Lake-v1", size=int(size), at=np.zeros(2))', ""),
        ('Timed(gym.make("Lake-v1", seed=episode), 60)', ""),
        ("make(size)", ""),
    ],
)
def test_what_is_given_something_else_each_time_may_have_to_be_made_anew(made, given):
    script = Script("lake.py", GIVEN.format(made=made))
    stack = [script.at("env =", "main")]
    if made.startswith("make"):
        stack.append(script.at("return gym.make", "make"))
    run = a_training(3.0, *stack, f"{SITE}/gymnasium/envs/registration.py:700 make", INIT)

    (finding,) = detect(DETECTOR, run, MAZE, script)

    assert finding.savings[0].removable == (OF_DIFFERENT if given else REMOVABLE)
    assert (f"something of its own ({given})" in finding.fix) == bool(given)


def test_silent_for_classes_that_are_no_environments():
    table = TRAIN.at("table = Table", "main"), MAZE.at("self.rows", "Table.__init__")

    assert found(a_training(3.0, *table)) == []


def test_silent_for_a_process_of_noise_whose_steps_take_no_action():
    noise = TRAIN.at("noise = Noise", "main"), MAZE.at("self.drift =", "Noise.__init__")

    assert found(a_training(3.0, *noise)) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9, NEW, INIT)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1, NEW, INIT))) == 1


def test_what_a_worker_does_that_an_environment_forks_is_not_its_making():
    forked = (
        NEW,
        INIT,
        "/usr/lib/python3.11/multiprocessing/process.py:314 BaseProcess._bootstrap",
    )
    serving = a_training(3.0, *forked, "worker.py:3 serve")

    assert found(serving) == []
    both = a_run(steady_s=10.0).process("main", steps=1000)
    both.spends(3.0, NEW, INIT).spends(4.0, *forked, "worker.py:3 serve").spends(3.0, RUN)
    profile = profile_of(both, MAZE, TRAIN)
    (finding,) = DETECTOR.in_samples.detect(profile)
    assert claimed_s(profile, finding) == 3.0


def test_a_worker_that_is_forked_as_its_environment_is_made_steps_it():
    start = f"{STDLIB}/multiprocessing/process.py:121 BaseProcess.start"
    forked = f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"

    assert found(a_training(9.0, NEW, INIT, start, forked, "serve.py:7 serve")) == []
    (finding,) = found(a_training(9.0, NEW, INIT, start, forked, NEW, INIT))
    assert lines_of(finding) == [TRAIN.line("env = Maze")]
