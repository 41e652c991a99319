from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.calls.same_inputs import MOST_IN_A_KEY
from rlprof.detectors.repeated_work import (
    AROUND,
    DETECTOR,
    MIN_SHARE,
    OF_A_PART,
    REMOVABLE,
)
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of

MAZE = Script(
    "maze.py",
    """
    import numpy as np

    class Agent:
        def features(self):
            steep = np.gradient(self.heights)
            return np.stack(steep) / self.scale

        def act(self, seen):
            mask = np.tril(np.ones((SIDE, SIDE)))
            return self.policy(seen, self.features(), mask)

    def train(agent, world):
        for _ in range(1000):
            agent.act(world.seen)
    """,
)
TRAIN = MAZE.at("agent.act(world", "train")
CALL = MAZE.at("return self.policy", "Agent.act")
MASK = MAZE.at("mask = np.tril", "Agent.act")
STEEP = MAZE.at("steep = np", "Agent.features")
HEIGHTS = "type=numpy.ndarray shape=64,64 dtype=f8"
CALLED = "entered=9 reached=9"
SAME, OTHER, RARE = (
    f"same=5 other=0 {CALLED}",
    f"same=4 other=1 {CALLED}",
    f"same=2 other=0 {CALLED}",
)
ONE_CALL = "same=5 other=0 entered=2 reached=2"


def looks(kind: str, compared: str) -> list[str]:
    """Two, what was compared with the last."""
    return [kind, f"{kind} {compared}".strip()]


def a_training(work_s: float = 3.0, compared: str = SAME, *above: str) -> RunBuilder:
    """Ten seconds, some of them in ``Agent.features``."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(work_s, *(above or (TRAIN, CALL)), STEEP)
    run.spends(10.0 - work_s, TRAIN, MAZE.at("return self.policy", "Agent.act"))
    run.sees(STEEP, self__heights=looks(HEIGHTS, compared))
    return run.sees(STEEP, self__scale=looks("type=float", compared or SAME))


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, MAZE)


def test_names_the_call_of_a_function_whose_inputs_never_change():
    (finding,) = found(a_training())

    call = MAZE.line("return self.policy")
    assert finding.title == f"features is computed again and again (maze.py:{call})"
    assert lines_of(finding) == [MAZE.line("return self.policy")]
    assert finding.evidence == (
        "30 % of the steady time is spent in it, 3 ms a step",
        "the same at each look: self.heights (array of 64 × 64 float64), self.scale (float)",
        "it calls nothing that does more than compute",
    )
    assert [saving.removable for saving in finding.savings] == [REMOVABLE]


def test_a_line_that_does_nothing_but_call_it_is_priced_with_it():
    text = MAZE.text.replace("self.features(), mask)", "near, mask)")
    near = "        near = self.features()\n        return self.policy"
    script = Script(MAZE.file, text.replace("        return self.policy", near))
    above = (script.at("agent.act(world", "train"), script.at("near = self", "Agent.act"))

    (finding,) = detect(DETECTOR, a_training(3.0, SAME, *above), script)

    assert [saving.removable for saving in finding.savings] == [REMOVABLE, AROUND]


def test_few_windows_tell_of_few_calls():
    (finding,) = found(a_training(compared="same=5 other=0 entered=3 reached=3"))

    assert finding.savings[0].removable.low == 0.5
    assert finding.savings[0].removable.high == REMOVABLE.high


def test_names_a_statement_in_a_function_that_does_more():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(2.0, TRAIN, MASK).spends(8.0, TRAIN, CALL)
    run.sees(MASK, SIDE=looks("type=int", SAME))

    (finding,) = found(run)

    mask = MAZE.line("mask = np.tril")
    assert finding.title == f"a value is computed again and again (maze.py:{mask})"


@pytest.mark.parametrize(
    ("seen", "is_told"),
    [
        ("type=numpy.ndarray shape=16 dtype=f8", True),
        ("type=numpy.ndarray shape=4096,16 dtype=f8", False),
        ("type=torch.Tensor shape=16 dtype=torch.float32 device=cpu", True),
        ("type=torch.Tensor shape=16 dtype=torch.float32 device=cuda", False),
        ("type=list length=3 first.type=torch.Tensor first.shape=4096", False),
    ],
)
def test_names_a_line_of_which_a_large_part_is_the_same(seen: str, is_told: bool):
    text = MAZE.text + (
        "class Scaled:\n    def of(self, seen):\n        return (seen - self.data.mean(0)) / 2\n"
        "for seen in range(10):\n    Scaled().of(seen)\n"
    )
    script = Script("maze.py", text)
    place = script.at("return (seen", "Scaled.of")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(2.0, script.at("Scaled().of", "<module>"), place).spends(8.0, TRAIN, CALL)
    run.sees(place, self__data=looks("type=numpy.ndarray shape=5000,16 dtype=f8", SAME))
    run.sees(place, seen=looks(seen, OTHER))

    found = detect(DETECTOR, run, script)
    assert [finding.savings[0].removable for finding in found] == [OF_A_PART] * is_told
    assert all(finding.title.startswith("part of a line is computed") for finding in found)


@pytest.mark.parametrize(
    "run",
    [
        a_training(compared=OTHER),
        a_training(compared=RARE),
        a_training(compared=""),
        a_training(work_s=MIN_SHARE * 10 - 0.1),
        a_training(3.0, SAME, CALL),
        a_training(compared=ONE_CALL),
    ],
    ids=["changes", "few looks", "not compared", "cheap", "not in a loop", "one long call"],
)
def test_is_silent(run: RunBuilder):
    assert found(run) == []


def test_a_generator_within_one_long_call_is_not_many_calls():
    run = a_training(compared=ONE_CALL)
    inner = STEEP.replace("Agent.features", "Agent.features.<locals>.<genexpr>")
    run.spends(1.0, TRAIN, CALL, STEEP, inner)
    run.sees(inner, self__heights=looks(HEIGHTS, SAME), self__scale=looks("type=float", SAME))

    assert found(run) == []


TABLE = Script(
    "tables.py",
    """
    import numpy as np

    def build():
        total = 0
        for n in range(10_000):
            total += n * n
        return total

    def train(env):
        for t in range(1000):
            table = build()
            env.step(t, table)
    """,
)


@pytest.mark.parametrize(
    ("windows", "is_told"), [("entered=9 reached=9", True), ("entered=2 reached=2", False)]
)
def test_work_on_constants_has_to_begin_and_end_too(windows: str, is_told: bool):
    adds, step = TABLE.at("total += n", "build"), TABLE.at("env.step", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, TABLE.at("table = build", "train"), adds).spends(7.0, step)
    run.sees(adds, n=looks("type=int", windows)).sees(step, t="type=int")

    told = detect(DETECTOR, run, TABLE)
    assert len(told) == is_told
    assert all(finding.evidence[1] == "it works on constants alone" for finding in told)


BASE = Script(
    "base.py",
    """
    class Task:
        def value(self):
            return self.scale * self.reward()

        def reward(self):
            return sum(range(1000))

    def train(task):
        for _ in range(1000):
            task.value()
    """,
)
VALUE = BASE.at("return self.scale", "Task.value")
MINE = Script("mine.py", "class Mine(Task):\n    def reward(self):\n        return ask()\n")


@pytest.mark.parametrize(
    ("below", "seen", "is_told"),
    [
        (BASE.at("return sum", "Task.reward"), "type=base.Task file=base.py", True),
        (BASE.at("return sum", "Task.reward"), "type=mine.Mine file=mine.py", False),
        (BASE.at("return sum", "Task.reward"), "type=far.Mine file=far.py", False),
        (MINE.at("return ask", "Mine.reward"), "type=base.Task", False),
        (f"{SITE}/tasks/far.py:3 Far.reward", "type=base.Task", False),
        (f"{SITE}/numpy/core/fromnumeric.py:3 sum", "type=base.Task", True),
        (f"{SITE}/rlprof/agent/inject/rlprof_agent/value_looks.py:3 look", "type=base.Task", True),
    ],
)
def test_a_method_of_a_class_in_another_file_was_not_read(below: str, seen: str, is_told: bool):
    train = BASE.at("task.value()", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, train, VALUE, below).spends(4.0, train)
    run.sees(VALUE, self__scale=looks("type=float", SAME), self=seen)

    told = detect(DETECTOR, run, BASE, MINE)
    assert len(told) == is_told


@pytest.mark.parametrize("file", ["maze.py", "the_agent_with_the_long_name_of_its_own.py"])
@pytest.mark.parametrize("name", ["features", "features_of_all_that_is_to_be_seen_from_here"])
def test_titles_are_short(name: str, file: str):
    script = Script(file, MAZE.text.replace("features", name))
    run = a_run(steady_s=10.0).process("main", steps=1000)
    steep = script.at("steep = np", f"Agent.{name}")
    run.spends(3.0, script.at("agent.act(w", "train"), script.at("return self.p", "act"), steep)
    run.sees(steep, self__heights=looks(HEIGHTS, SAME), self__scale=looks("type=float", SAME))

    (finding,) = detect(DETECTOR, run, script)

    assert len(finding.title) < 60
    assert (name in finding.title) == (name == "features")


SEARCH = Script(
    "search.py",
    """
    from collections import deque

    class Maze:
        def far(self, here, there):
            queue, seen = deque([here]), {here}
            while queue:
                cell = queue.popleft()
                if cell == there:
                    return len(seen)
                for other in self.beside[cell]:
                    if other not in seen:
                        seen.add(other)
                        queue.append(other)
            return len(seen)

    def train(maze):
        for _ in range(1000):
            maze.left = maze.far(maze.at, maze.goal)
    """,
)
FAR = SEARCH.at("for other in", "Maze.far")


def a_search(calls: int, once: int, steps: float = 1000) -> RunBuilder:
    """Ten seconds, six of them in a search that was looked at so often, ``once`` of them with inputs of its own."""
    called = f"entered=9 reached=9 calls={calls} once={once}"
    run = a_run(steady_s=10.0).process("main", steps=steps)
    asks = SEARCH.at("maze.left", "train")
    run.spends(6.0, asks, FAR).spends(4.0, asks)
    for changing in ("here", "there"):
        run.sees(
            FAR,
            **{changing: looks("type=tuple length=2 first.type=int", f"same=2 other=7 {called}")},
        )
    return run.sees(FAR, self__beside=looks("type=dict length=64", f"same=9 other=0 {called}"))


def test_a_function_is_told_that_is_called_with_inputs_that_it_had_before():
    (finding,) = detect(DETECTOR, a_search(calls=20, once=6), SEARCH)

    place = f"search.py:{SEARCH.line('maze.left')}"
    assert finding.title == f"far is computed again for old inputs ({place})"
    assert finding.evidence[1].startswith(
        "14 of 20 calls that were looked at had the inputs of another one: here (tuple of 2"
    )
    assert "lru_cache would know objects by their identity" in finding.fix, (
        "self.beside is no argument"
    )
    (saving,) = finding.savings
    assert 0.3 < saving.removable.low < 0.7 * REMOVABLE.low
    assert saving.removable.high == REMOVABLE.high


QUICK = Script(
    "grid.py",
    """
    def apart(ax, ay):
        return abs(ax - ay) + 1

    def spread(ax, ay):
        return sum(abs(ax - other) for other in range(ay))

    def walk():
        for _ in range(1000):
            apart(1, 2)
            spread(1, 2)
    """,
)


@pytest.mark.parametrize(("name", "times"), [("apart", 0), ("spread", 1)])
def test_what_is_computed_as_quickly_as_it_is_looked_up_is_left(name: str, times: int):
    place = QUICK.at("return abs(" if name == "apart" else "return sum(", name)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    asks = QUICK.at(f"{name}(1, 2)", "walk")
    run.spends(6.0, asks, place).spends(4.0, asks)
    told = "same=2 other=7 entered=9 reached=9 calls=20 once=6"
    for each in ("ax", "ay"):
        run.sees(place, **{each: looks("type=int", told)})

    assert len(detect(DETECTOR, run, QUICK)) == times


@pytest.mark.parametrize(
    ("calls", "once"), [(20, 18), (6, 1), (0, 0)], ids=["mostly new", "few", "none"]
)
def test_silent_for_calls_that_are(calls: int, once: int):
    assert detect(DETECTOR, a_search(calls, once), SEARCH) == []


@pytest.mark.parametrize(
    ("seen", "is_told", "is_bounded"),
    [
        ("type=tuple length=2 first.type=int", True, True),
        ("type=numpy.ndarray shape=8,8 dtype=f8", True, True),
        ("type=list length=8 first.type=list first.length=8", True, False),
        ("type=dict length=100 first.type=float", True, False),
        (f"type=numpy.ndarray shape={MOST_IN_A_KEY + 1} dtype=f8", False, False),
        ("type=list length=84 first.type=list first.length=84", False, False),
    ],
)
def test_a_result_is_looked_up_by_short_inputs(seen: str, is_told: bool, is_bounded: bool):
    run = a_search(calls=20, once=6)
    run.sees(FAR, here=looks(seen, "same=2 other=7 entered=9 reached=9 calls=20 once=6"))

    told = detect(DETECTOR, run, SEARCH)

    assert len(told) == is_told
    assert [finding.savings[0].removable.low > 0 for finding in told] == [is_bounded] * is_told


PLACE, MAP = "type=tuple length=2 first.type=int", "type=dict length=64"


def a_search_from(here: str, kept: str, place: str = PLACE) -> list[Finding]:
    """What is told of a search whose calls all have inputs of their own; of pairs of calls soon after each other it is said what they share."""
    run = a_search(calls=20, once=20)
    called = "same=0 other=7 entered=9 reached=9 calls=20 once=20"
    run.sees(FAR, here=looks(place, f"{called} {here}"))
    run.sees(FAR, there=looks(PLACE, f"{called} same_soon=6 other_soon=0"))
    run.sees(FAR, self__beside=looks(MAP, f"{called} {kept}"))
    return detect(DETECTOR, run, SEARCH)


def test_a_search_is_told_that_begins_at_another_place_of_the_same_map():
    (finding,) = a_search_from("same_soon=1 other_soon=5", "same_soon=5 other_soon=1")

    place = f"search.py:{SEARCH.line('maze.left')}"
    assert finding.title == f"far searches anew for each place ({place})"
    assert finding.evidence[1] == (
        "of 6 pairs of calls soon after each other 5 had the same map; what changed is where it begins: here"
    )
    assert finding.fix.startswith("Search once from the goal")
    (saving,) = finding.savings
    assert saving.removable.low == pytest.approx(REMOVABLE.low * 5 / 6)
    assert saving.removable.high == REMOVABLE.high


def test_short_searches_are_many_between_two_looks():
    run = a_search(calls=20, once=20, steps=50_000)
    called = "same=0 other=7 entered=9 reached=9 calls=20 once=20"
    run.sees(FAR, here=looks(PLACE, f"{called} same_soon=1 other_soon=5"))
    run.sees(FAR, there=looks(PLACE, f"{called} same_soon=6 other_soon=0"))
    run.sees(FAR, self__beside=looks(MAP, f"{called} same_soon=2 other_soon=4"))

    assert len(detect(DETECTOR, run, SEARCH)) == 1


@pytest.mark.parametrize(
    "pairs",
    [
        ("same_soon=1 other_soon=5", "same_soon=2 other_soon=4"),
        ("same_soon=1 other_soon=5", "same_soon=3 other_soon=3"),
        ("same_soon=0 other_soon=3", "same_soon=3 other_soon=0"),
        ("same_soon=1 other_soon=5", ""),
        ("same_soon=5 other_soon=1", "same_soon=5 other_soon=1"),
        ("same_soon=0 other_soon=6", "same_soon=6 other_soon=0", "type=tuple length=4"),
    ],
    ids=[
        "other map",
        "other map half of the time",
        "few",
        "unknown map",
        "one call",
        "more than a place",
    ],
)
def test_a_search_is_not_told_of(pairs: tuple[str, ...]):
    assert a_search_from(*pairs) == []


REWARDS = Script(
    "rewards.py",
    """
    import numpy as np

    def shaped(reward, scale):
        return float(np.clip(np.mean([reward, scale]), -1.0, 1.0))

    def train(env, scale):
        while True:
            seen, reward, done, _, _ = env.step(1)
            total = shaped(reward, scale)
            again = shaped(0.5, scale)

    def mean_of(rewards, scale):
        return float(np.mean(rewards) * scale)

    def roll_out(env, scale, fixed):
        while True:
            rewards = []
            for _ in range(64):
                seen, reward, done, _, _ = env.step(1)
                rewards.append(reward)
            mean = mean_of(rewards, scale)
            other = mean_of(fixed, scale)
    """,
)


def on_rewards(call: str) -> list[Finding]:
    """What is told of a function of two numbers that ``call`` gives it."""
    inside = REWARDS.at("np.clip", "shaped")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, REWARDS.at(call, "train"), inside)
    run.spends(6.0, REWARDS.at("env.step", "train"))
    for name in ("reward", "scale"):
        run.sees(inside, **{name: looks("type=float", f"same=9 other=0 {CALLED}")})
    return detect(DETECTOR, run, REWARDS)


def test_a_number_that_each_step_returns_is_the_same_by_luck():
    assert not on_rewards("total = shaped(")
    assert on_rewards("again = shaped(")


@pytest.mark.parametrize(("call", "is_told"), [("mean =", False), ("other =", True)])
def test_a_list_of_what_steps_return_is_the_same_by_luck(call: str, is_told: bool):
    inside = REWARDS.at("np.mean(rewards)", "mean_of")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, REWARDS.at(call, "roll_out"), inside)
    run.spends(6.0, REWARDS.at("env.step(1)", "roll_out"))
    same = f"same=9 other=0 {CALLED}"
    run.sees(inside, rewards=looks("type=list length=64", same), scale=looks("type=float", same))

    assert bool(detect(DETECTOR, run, REWARDS)) is is_told


SHAPER = Script(
    "shaper.py",
    """
    import numpy as np

    class Shaper:
        @property
        def shaped(self):
            return float(np.clip(np.mean([self.reward, 0.0]), -1.0, 1.0))

    def train(env, shaper):
        while True:
            seen, reward, done, _, _ = env.step(1)
            shaper.reward = reward
            total = shaper.shaped
    """,
)


@pytest.mark.parametrize(("given", "is_told"), [("reward", False), ("0.5", True)])
def test_an_attribute_that_each_turn_is_given_a_reward_is_the_same_by_luck(given, is_told):
    text = SHAPER.text.replace("shaper.reward = reward", f"shaper.reward = {given}")
    script = Script(SHAPER.file, text)
    inside = script.at("np.clip", "Shaper.shaped")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at("total = shaper", "train"), inside)
    run.spends(6.0, script.at("env.step(1)", "train"))
    run.sees(inside, self__reward=looks("type=float", f"same=9 other=0 {CALLED}"))

    assert bool(detect(DETECTOR, run, script)) is is_told


PLANT = Script(
    "plant.py",
    """
    import numpy as np

    def linearised(plant, eps=1e-5):
        return np.linalg.inv(plant.matrix @ plant.matrix.T) * eps

    def train(plant, env):
        while True:
            state = env.step(linearised(plant) @ state)
    """,
)


@pytest.mark.parametrize(("signature", "is_told"), [("eps=1e-5", True), ("eps", False)])
def test_a_setting_with_a_default_is_the_same_by_luck_no_more_than_an_array(signature, is_told):
    script = Script(PLANT.file, PLANT.text.replace("eps=1e-5", signature))
    work = script.at("return np.linalg", "linearised")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    turn = script.at("linearised(plant) @", "train")
    run.spends(4.0, turn, work).spends(6.0, turn, "env.py:3 step")
    same = f"same=3 other=0 {CALLED}"
    run.sees(work, eps=looks("type=float", same), plant__matrix=looks(HEIGHTS, same))

    titles = [finding.title for finding in detect(DETECTOR, run, script)]
    assert any(title.startswith("linearised is computed") for title in titles) is is_told


VOTES = Script(
    "votes.py",
    """
    def features(frame):
        return frame.mean(axis=1).ravel()

    def train(env, weights):
        while True:
            frame = env.render()
            for _ in range(12):
                scores = features(frame) @ weights
    """,
)


def test_what_each_turn_computes_anew_is_told_once():
    line, inside = VOTES.at("scores =", "train"), VOTES.at("frame.mean", "features")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(8.0, line, inside)
    run.spends(2.0, VOTES.at("env.render", "train"))
    frame = "type=numpy.ndarray shape=96,96 dtype=f8"
    run.sees(line, frame=looks(frame, f"same=9 other=0 {CALLED}"))
    run.sees(
        line, weights=looks("type=numpy.ndarray shape=96 dtype=f8", f"same=9 other=0 {CALLED}")
    )
    run.sees(inside, frame=looks(frame, f"same=9 other=0 {CALLED}"))

    (finding,) = detect(DETECTOR, run, VOTES)

    assert finding.title.startswith("features is computed anew in each turn")


ANEW = Script(
    "anew.py",
    """
    class Maze:
        def __init__(self, size):
            self.size = size
            self.distance = self.distances()

        def distances(self):
            return [k * k for k in range(self.size)]

        def reset(self):
            return 0

        def step(self, action):
            return 0, 0.0, True

    class Table(object):
        def __init__(self, size):
            self.size = size
            self.squares = self.rows()

        def rows(self):
            return [k * k for k in range(self.size)]

    def train():
        while True:
            maze = Maze(24)
            table = Table(24)
    """,
)


@pytest.mark.parametrize(
    ("name", "method", "told"), [("Maze", "distances", 0), ("Table", "rows", 1)]
)
def test_what_an_environment_computes_when_it_is_made_anew_is_another_finding(
    name: str, method: str, told: int
):
    made = ANEW.at(f"= {name}(24)", "train")
    inside = ANEW.at(f"self.{method}()", f"{name}.__init__")
    number = ANEW.text[: ANEW.text.index(f"def {method}")].count("\n") + 2
    work = f"anew.py:{number} {name}.{method}"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, made, inside, work).spends(6.0, ANEW.at("while True", "train"))
    run.sees(work, self__size=looks("type=int", f"same=9 other=0 {CALLED}"))

    assert len(detect(DETECTOR, run, ANEW)) == told


STATE = Script(
    "state.py",
    """
    import numpy as np

    class Swarm:
        def step(self, push):
            self.state = 0.98 * self.state + push
            distance = np.abs(self.state).mean(axis=1)
            goal = np.abs(self.goal).mean(axis=1)
            return self.state, distance, goal

    def train(swarm):
        while True:
            swarm.step(push())
    """,
)


@pytest.mark.parametrize(
    ("line", "operand", "told"), [("distance =", "state", 0), ("goal =", "goal", 1)]
)
def test_a_state_is_the_same_by_luck(line: str, operand: str, told: int):
    """One that has become NaN."""
    work = STATE.at(line, "Swarm.step")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, STATE.at("swarm.step", "train"), work)
    run.spends(6.0, STATE.at("while True", "train"))
    array = "type=numpy.ndarray shape=16,8 dtype=f4"
    run.sees(work, **{f"self__{operand}": looks(array, f"same=9 other=0 {CALLED}")})

    assert len(detect(DETECTOR, run, STATE)) == told


LATEST = Script(
    "latest.py",
    """
    import statistics

    latest = [1.0] * 10
    fixed = [1.0] * 10

    def keep(reward, number):
        latest[number % 10] = reward
        middle = statistics.mean(latest)
        other = statistics.mean(fixed)
        return middle - other

    def train(env):
        for number in range(10_000):
            keep(env.step(), number)
    """,
)


@pytest.mark.parametrize(
    ("line", "operand", "told"), [("middle", "latest", 0), ("other", "fixed", 1)]
)
def test_what_is_written_to_each_time_is_the_same_by_luck(line: str, operand: str, told: int):
    """As the latest rewards are, where each is 1."""
    work = LATEST.at(f"{line} =", "keep")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, LATEST.at("keep(env", "train"), work)
    run.spends(6.0, LATEST.at("for number", "train"))
    numbers = "type=list length=10 first=float"
    run.sees(work, **{operand: looks(numbers, f"same=9 other=0 {CALLED}")})

    assert len(detect(DETECTOR, run, LATEST)) == told
