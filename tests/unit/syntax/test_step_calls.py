from __future__ import annotations

import textwrap

import pytest

from rlprof.syntax.module import parse
from rlprof.syntax.steps import step_calls


def found(text: str) -> str:
    """The call that steps an environment, on the line marked so."""
    text = textwrap.dedent(text)
    module = parse(text)
    assert module is not None
    line = next(
        i
        for i, source_line in enumerate(text.splitlines(), start=1)
        if source_line.endswith("# here")
    )
    return next((call.text for call in step_calls(module, line) if line in call.lines), "")


STEPS = {
    "an attribute gives what comes first": """
        def train(envs, policy):
            seen = envs.state
            while True:
                moves = policy(seen)
                seen, gains, over = envs.step(moves)  # here
        """,
    "a function of the program's own makes the same of what begins and of what comes next": """
        def run(env, agent):
            seen, _ = env.reset()
            x = flat(seen)
            while True:
                after, gain, over, late, _ = env.step(agent.act(x))  # here
                x = flat(after)
                if late:
                    x = flat(env.reset()[0])
        """,
    "a method makes the same of both, in one statement": """
        def run(env, reader, weights):
            x = reader.features(env.reset())
            while True:
                move = (weights @ x).argmax()
                text, gain, over, late, _ = env.step(move)  # here
                y = reader.features(text)
                x = reader.features(env.reset()) if over or late else y
        """,
    "what a new episode begins with stands last": """
        def train(worlds, net, ring):
            seen = worlds.observe()
            while True:
                moves = net.greedy(seen)
                after, gain, caught, over, fresh = worlds.step(moves)  # here
                ring.add(seen, moves, gain, after, caught)
                seen = fresh
        """,
    "an episode": """
        def train(world, policy):
            while True:
                seen, over = world.begin(), False
                while not over:
                    move = policy(seen)
                    seen, gain, over = world.advance(move)  # here
        """,
    "a second name for what comes next": """
        import numpy as np
        def train(world, net):
            x = np.asarray(world.start(), dtype=float)
            while True:
                scores = net(x)
                after, gain, over, info = world.advance(int(scores.argmax()))  # here
                x = np.asarray(after, dtype=float)
                if over:
                    x = np.asarray(world.start(), dtype=float)
        """,
    "one of two comes next": """
        def train(world, values):
            seen = world.start()
            for _ in range(1000):
                row = values[seen]
                after, gain, over = world.advance(row.index(max(row)))  # here
                seen = world.start() if over else after
        """,
    "copies that reset themselves": """
        def collect(worlds, net, gained, ended):
            x = worlds.seen()
            for t in range(128):
                x, gained[t], ended[t] = worlds.advance(net(x))  # here
        """,
    "an object that has all": """
        class Runner:
            def __init__(self, world):
                self.world = world
                self.x = self.world.begin()
            def run(self):
                for _ in range(100):
                    move = self.choose(self.x)
                    self.x, gain, over = self.world.advance(move)  # here
        """,
    "a planner that copies the world": """
        def train(world):
            x, over = world.begin(), False
            while not over:
                values = [0.0] * 4
                for k in range(4):
                    inner = world.copy()
                    _, gain, ended = inner.advance(k)
                    values[k] += gain
                x, gain, over = world.advance(values.index(max(values)))  # here
        """,
    "moves that the world draws": """
        def fill(world):
            x = world.begin()
            for _ in range(1000):
                x, gain, over = world.advance(world.moves.sample())  # here
        """,
}


@pytest.mark.parametrize("text", STEPS.values(), ids=STEPS)
def test_an_environment_is_told_by_its_use(text):
    assert found(text).rpartition("(")[0]


OTHERS = {
    "nothing is made alike of what another method gives": """
        def run(solver, agent):
            seen = solver.hint()
            x = hinted(seen)
            while True:
                after, gain, over = solver.step(agent.act(x))  # here
                x = flat(after)
        """,
    "what is made of other input": """
        def train(learner, batches):
            weights = learner.begin()
            for batch in batches:
                weights, loss, done = learner.update(batch)  # here
        """,
    "an iteration": """
        def solve(solver):
            x = solver.begin()
            done = False
            while not done:
                x, error, done = solver.improve(x)  # here
        """,
    "a ray through a scene": """
        def render(scene, directions):
            for direction in directions:
                point, distance, hit = scene.cast(direction)  # here
        """,
    "a look into a table": """
        def read(table, keys):
            row = table.first()
            for key in keys:
                row, count, last = table.find(key)  # here
        """,
    "a step of a copy alone": """
        def plan(world):
            x = world.begin()
            inner = world.copy()
            _, gain, over = inner.advance(3)  # here
        """,
    "a part of the environment's own work": """
        class World:
            def advance(self, move):
                place = self.start()
                place, gain, over = self.push(place, move + place)  # here
                return place, gain, over
        """,
    "two results": """
        def train(world, policy):
            x = world.begin()
            while True:
                x, gain = world.advance(policy(x))  # here
        """,
    "a function": """
        def train(advance, policy, x):
            while True:
                x, gain, over = advance(policy(x))  # here
        """,
    "one of two calls of a name": """
        def train(world, agent):
            x = world.begin()
            while True:
                x, gain, over = world.step(agent.step(x))  # here
        """,
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_calls_are_none(text):
    assert found(text) == ""


def test_a_function_that_a_program_has_written_is_left_alone():
    lines = "".join(f"        a{i}, b{i}, c{i} = world.step(a{i})\n" for i in range(1000))
    module = parse(f"def play(world):\n    a = world.reset()\n    for _ in range(3):\n{lines}")

    assert module is not None
    assert step_calls(module, 5) == ()


@pytest.mark.parametrize(
    "lines",
    [
        "outcome = [e.advance(a) for e, a in zip(worlds, moves)]  # here",
        "seen, gains, ends = zip(*[e.advance(a) for e, a in zip(worlds, moves)])  # here",
        "seen, gains, ends = zip(*(e.advance(moves[i]) for i, e in enumerate(worlds)))  # here",
    ],
)
@pytest.mark.parametrize(
    "begins", ["seen = [world.start() for world in worlds]", "for world in worlds: world.start()"]
)
def test_a_list_of_environments_is_stepped(lines, begins):
    text = f"""
def train(worlds, policy):
    {begins}
    while True:
        moves = policy(seen)
        {lines}
        seen = [one[0] for one in outcome] or seen
"""
    module = parse(text)
    assert module is not None
    (call,) = step_calls(module, 6)

    assert (call.method, call.owner) == ("advance", ("worlds", "i0"))
    assert call.text.startswith("e.advance(")


@pytest.mark.parametrize(
    "lines",
    [
        "outcome = [e.advance() for e in worlds]  # here",
        "outcome = [score(e.advance(a)) for e, a in zip(worlds, moves)]  # here",
        "outcome = [e.start() for e in worlds]  # here",
        "[e.advance(a) for e, a in zip(worlds, moves)]  # here",
    ],
    ids=["without-an-action", "what-becomes-of-it", "begins", "kept-by-nobody"],
)
def test_no_step_of_a_list_is(lines):
    text = f"""
def train(worlds, policy):
    for world in worlds: world.start()
    while True:
        moves = policy(seen)
        {lines}
"""

    assert found(text) == ""


def test_a_list_whose_items_nobody_begins_is_none_of_environments():
    assert (
        found(
            "def f(worlds, moves):\n  while True:\n    moves = [e.advance(a) for e, a in zip(worlds, moves)]  # here\n"
        )
        == ""
    )


def test_a_list_of_tasks_that_are_given_from_elsewhere_is_solved():
    text = """
        def solve(solvers, batches):
            for solver in solvers: solver.reset()
            for batch in batches:
                outcome = [e.solve(b) for e, b in zip(solvers, batch)]  # here
                log.append([one[1] for one in outcome])
        """

    assert found(text) == ""
