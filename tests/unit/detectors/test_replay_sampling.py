from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.calls.searched_places import (
    MANY_WEIGHTS,
    MIN_SHARE,
    SEARCHED,
    WALKED_ARRAYS,
    WALKED_LISTS,
)
from rlprof.detectors.replay_sampling import (
    DETECTOR,
    ITEM_BY_ITEM,
    LARGE,
    LOOPED,
    PERMUTED,
    SMALL,
    SMALL_TENSORS,
    UNKNOWN_SIZE,
)
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import (
    SITE,
    STDLIB,
    Script,
    claimed_s,
    detect,
    lines_of,
    profile_of,
    ranked,
)

DQN = Script(
    "dqn.py",
    """
    import random
    import numpy as np
    import torch

    class Memory:
        def sample(self, n):
            return random.sample(self.buffer, n)

    def learn(memory, net):
        batch = memory.sample(64)
        states, actions, rewards = zip(*batch)
        states = torch.as_tensor(np.stack(states))
        mask = [s is not None for s in actions]
        loss = net(states).mean()
        loss.backward()

    def train():
        while True:
            learn(memory, net)
    """,
)
CALL = DQN.at("learn(memory, net)", "train")
BATCH = DQN.at("batch = memory", "learn")
SAMPLE = DQN.at("random.sample", "Memory.sample")
DRAW = f"{STDLIB}/random.py:430 Random.sample"
STACK = DQN.at("np.stack", "learn")
NUMPY_STACK = f"{SITE}/numpy/_core/shape_base.py:370 stack"
LEARN = DQN.at("loss.backward", "learn")


def a_training() -> RunBuilder:
    return a_run("dqn.py", steady_s=10.0).process("main", steps=10_000)


def drawing(seconds: float) -> RunBuilder:
    """A fifth of the time in ``random.sample``: small observations."""
    run = a_training()
    run.spends(seconds * 0.2, CALL, BATCH, SAMPLE, DRAW)
    run.spends(seconds * 0.2, CALL, DQN.at("zip(*batch)", "learn"))
    run.spends(seconds * 0.3, CALL, STACK)
    run.spends(seconds * 0.3, CALL, STACK, NUMPY_STACK)
    return run.spends(10.0 - seconds, CALL, LEARN)


def found(run: RunBuilder, script: Script = DQN) -> list[Finding]:
    return detect(DETECTOR, run, script)


def test_claims_drawing_and_stacking():
    run = drawing(5.0)

    (finding,) = found(run)

    assert claimed_s(profile_of(run, DQN), finding) == pytest.approx(5.0)
    assert set(lines_of(finding)) == {DQN.line(piece) for piece in ("random.s", "zip(", "np.stack")}
    assert finding.savings[0].removable == SMALL


def test_tells_where_tensors_are_made_of_what_was_drawn_item_by_item():
    listed = Script(
        "dqn.py", DQN.text.replace("torch.as_tensor(np.stack(states))", "torch.tensor(states)")
    )
    making = listed.at("states = torch.tensor", "learn")
    run = a_training().spends(0.5, CALL, BATCH, SAMPLE, DRAW).spends(4.5, CALL, making)
    run.spends(5.0, CALL, LEARN)
    run.sees(
        making,
        torch__tensor="type=builtin_function_or_method function=torch.tensor",
        states="type=tuple length=64 first.type=numpy.ndarray first.shape=8 first.dtype=f4",
    )

    (finding,) = found(run, listed)

    assert finding.evidence[-1] == (
        "arrays are made of what was drawn: 45 %, 45 % of it item by item, as of states, a tuple of 64 (array of 8 float32 first)"
    )
    assert [saving.removable for saving in finding.savings] == [SMALL, ITEM_BY_ITEM]
    assert finding.fix.endswith("torch.as_tensor(np.array(items)).")


def test_silent_just_under_its_threshold():
    assert found(drawing(10 * MIN_SHARE * 0.9)) == []
    assert len(found(drawing(10 * MIN_SHARE * 1.1))) == 1


def test_ranks_by_its_price():
    first = ranked(drawing(6.0), DQN)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.6 * 0.8 < first.saved_share.high


HEALTHY = Script(
    "healthy.py",
    """
    import random
    import numpy as np
    import torch

    class Arrays:
        def sample(self, n):
            index = np.random.randint(0, self.size, size=n)
            return torch.from_numpy(self.states[index]), torch.from_numpy(self.actions[index])

        def keys(self):
            return jax.random.choice(key, 10, replace=False)

    def learn(memory, policy):
        states, actions = memory.sample(64)
        drawn = torch.stack([distribution.sample() for distribution in policy(states)])
        batch = np.stack([env.observation for env in envs])
        action = random.choice([0, 1])
        tasks = random.sample(ALL_TASKS, 4)
        fields = list(zip(names, values))
        level = np.array(LEVELS[random.randrange(len(LEVELS))])
        offers = [random.choice(colours) for _ in range(8)]
        painted = np.array([colour.value for colour in offers])
        turns = []
        turns.append(players[(random.random() > 0.5) % len(teams)])
        recent = [rewards[(step + 1) % len(rewards)] for step in range(int(random.random() * 9))]
        means = np.array(recent)
    """,
)


@pytest.mark.parametrize(
    "piece",
    ["index = np", "return torch", "jax.random", "states, actions", "drawn =", "batch =", "action =",
     "tasks =", "fields =", "level =", "offers =", "painted =", "turns.append", "recent =", "means ="],
)  # fmt: skip
def test_silent_on_a_healthy_run(piece):
    run = a_training()
    run.spends(8.0, "main.py:3 main", HEALTHY.at(piece, "learn"))
    run.spends(1.0, "main.py:3 main", HEALTHY.at(piece, "learn"), DRAW)
    run.spends(1.0, "main.py:3 main", LEARN)

    assert found(run, HEALTHY) == []


def with_lines(*lines: str) -> tuple[RunBuilder, Script]:
    """A second for each of ``lines``, which make up a function, and five elsewhere."""
    body = "".join(f"\n            {line}" for line in lines)
    script = Script("agent.py", f"\n        def learn(self, n):{body}\n")
    run = a_training()
    for number in range(2, len(lines) + 2):
        run.spends(1.0, "main.py:3 main", f"agent.py:{number} learn")
    return run.spends(5.0, "main.py:3 main", LEARN), script


@pytest.mark.parametrize(
    "lines",
    [
        ("batch = random.sample(self.memory, n)", "s = np.array([t[0] for t in batch])"),
        ("batch = self.rng.sample(self.memory, n)", "s, a = map(np.stack, zip(*batch))"),
        ("batch = Transition(*zip(*random.sample(self.memory, n)))", "s = torch.cat(batch.state)"),
        ("b = random.choices(self.memory, k=n)", "r = torch.tensor([t.reward for t in b])"),
        ("i = np.random.randint(0, n, 64)", "b = [self.buffer[k] for k in i]",
         "s = np.stack([t[0] for t in b])"),
        ("b = [self.data[random.randrange(len(self.data))] for _ in range(n)]",
         "s = np.array([t[0] for t in b])"),
        ("b = [self.data[int(rng.integers(0, len(self.data)))] for _ in range(n)]",
         "r = torch.tensor([t[2] for t in b])"),
        ("b = [random.choice(self.memory) for _ in range(n)]", "s, a = map(np.stack, zip(*b))"),
        ("chosen = []", "while len(chosen) < n:",
         "    chosen.append(self.rows[int(self.chance() * len(self.rows) * random.random())])",
         "s, a = zip(*chosen)", "x = np.stack(s)"),
        ("b = random.sample(self.memory, n)", "states = []", "for s, a in b:",
         "    states.append(s)", "x = np.array(states)"),
    ],
)  # fmt: skip
def test_the_lines_it_knows(lines):
    run, script = with_lines(*lines)

    (finding,) = found(run, script)

    ordinary = ("i = np.random", "states = []", "chosen = []", "while")
    expected = [n for n, line in enumerate(lines, start=2) if not line.startswith(ordinary)]
    assert sorted(lines_of(finding)) == expected


def test_indices_drawn_in_place_have_a_clock_too():
    script = Script(
        "agent.py",
        """
        def learn(self, n):
            b = [self.data[random.randrange(len(self.data))] for _ in range(n)]
            s = np.array([t[0] for t in b])
        """,
    )
    run = a_training()
    drawing = (script.at("b = ", "learn"), script.at("b = ", "learn.<locals>.<listcomp>"))
    run.spends(1.0, "main.py:3 main", *drawing, f"{STDLIB}/random.py:284 Random.randrange")
    run.spends(2.0, "main.py:3 main", script.at("s = ", "learn"))
    run.spends(7.0, "main.py:3 main", LEARN)

    (finding,) = found(run, script)

    assert finding.savings[0].removable == SMALL


def test_images_keep_most_of_their_copying():
    run = a_training()
    run.spends(0.1, CALL, BATCH, SAMPLE, DRAW)
    run.spends(4.0, CALL, STACK)
    run.spends(5.9, CALL, LEARN)

    (finding,) = found(run)

    assert finding.savings[0].removable == LARGE


def test_tensors_joined_one_by_one():
    script = Script("dqn.py", DQN.text.replace("np.stack(states)", "torch.cat(states)"))
    run = a_training()
    run.spends(0.1, CALL, BATCH, SAMPLE, DRAW)
    run.spends(2.5, CALL, script.at("torch.cat", "learn"))
    run.spends(7.4, CALL, LEARN)

    (finding,) = found(run, script)

    assert finding.savings[0].removable == SMALL_TENSORS


def test_without_the_clock_of_drawing_the_range_is_wide():
    run, script = with_lines(
        "i = np.random.randint(0, n, 64)",
        "b = [self.memory[k] for k in i]",
        "s = np.stack([t[0] for t in b])",
    )

    (finding,) = found(run, script)

    assert finding.savings[0].removable == UNKNOWN_SIZE


def test_a_shuffle_of_the_whole_buffer_for_a_few_indices():
    run, script = with_lines(
        "i = np.random.choice(len(self.buffer), n, replace=False)", "s = self.states[i]"
    )

    (finding,) = found(run, script)

    assert "shuffled" in finding.title
    assert finding.savings[0].removable == PERMUTED
    assert claimed_s(profile_of(run, script), finding) == pytest.approx(1.0)


OLD_GENERATOR = "type=method owner=numpy.random.mtrand.RandomState"


@pytest.mark.parametrize(
    ("line", "operand", "seen"),
    [
        (
            "i = self.noise.choice(self.size, n, replace=False)",
            "self.noise",
            "type=numpy.random.mtrand.RandomState",
        ),
        ("i = pick(self.size, n, replace=False)", "pick", OLD_GENERATOR),
        ("i = choice(self.size, n, False)", "choice", OLD_GENERATOR),
    ],
)
def test_an_old_generator_is_known_by_its_values(line: str, operand: str, seen: str):
    run, script = with_lines(line, "s = self.states[i]")
    run.sees(script.at(line, "learn"), **{operand.replace(".", "__"): seen})

    (finding,) = found(run, script)

    assert "shuffled" in finding.title
    assert "default_rng" in finding.fix
    assert claimed_s(profile_of(run, script), finding) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("i = self.noise.choice(self.size, n, replace=False)", "type=numpy.random._generator.Generator"),
        ("i = self.noise.choice(self.size, n)", "type=numpy.random.mtrand.RandomState"),
        ("i = self.noise.choice(self.size, n, True)", "type=numpy.random.mtrand.RandomState"),
    ],
)  # fmt: skip
def test_silent_on_draws_that_shuffle_nothing(line: str, seen: str):
    run, script = with_lines(line, "s = self.states[i]")
    run.sees(script.at(line, "learn"), self__noise=seen)

    assert found(run, script) == []


def test_what_is_computed_with_the_batch_is_left_out():
    script = Script("dqn.py", DQN.text.replace("torch.as_tensor(np.", "net(np."))
    run = drawing(4.0)
    run.spends(3.0, CALL, script.at("np.stack", "learn"), f"{SITE}/torch/nn/modules/module.py:9 f")

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run, script), finding) == pytest.approx(4.0)


PRIORITIES = Script(
    "priorities.py",
    """
    class Memory:
        def find(self, mark):
            for row in range(self.size):
                mark -= self.weight[row]
                if mark <= 0:
                    return row

        def batch(self, count):
            return [self.find(random() * self.total) for _ in range(count)]
    """,
)


def searching(weights: int, seconds: float = 4.0) -> RunBuilder:
    line = PRIORITIES.at("if mark", "Memory.find")
    run = a_training().spends(seconds, PRIORITIES.at("return [", "Memory.batch"), line)
    run.spends(10.0 - seconds, CALL, LEARN)
    summed = PRIORITIES.at("mark -=", "Memory.find")
    return run.sees(summed, self__weight=f"type=list length={weights} first.type=float")


def test_searches_by_a_running_sum_over_many_weights():
    (finding,) = found(searching(5_000), PRIORITIES)

    assert "a place in self.weight is searched by a running sum" in finding.title
    assert finding.evidence[1] == "self.weight has 5 000 items"
    assert lines_of(finding) == [PRIORITIES.line("if mark")]
    assert finding.savings[0].removable == SEARCHED


def test_silent_on_a_running_sum_over_a_few_actions():
    assert found(searching(MANY_WEIGHTS - 1), PRIORITIES) == []
    assert found(searching(5_000, seconds=10 * MIN_SHARE * 0.9), PRIORITIES) == []


SUM_TREE = Script(
    "per.py",
    """
    class SumTree:
        def put(self, node, priority):
            change = priority - self.sums[node]
            while node:
                self.sums[node] += change
                node //= 2

        def find(self, mark):
            node = 1
            while 2 * node < len(self.sums):
                left = 2 * node
                if mark <= self.sums[left]:
                    node = left
                else:
                    mark -= self.sums[left]
                    node = left + 1
            return node

        def search(self, node, mark):
            left = 2 * node + 1
            right = left + 1
            if left >= len(self.sums):
                return node
            if mark <= self.sums[left]:
                return self.search(left, mark)
            return self.search(right, mark - self.sums[left])
    """,
)


def walking(function: str, text: str, script: Script = SUM_TREE) -> RunBuilder:
    run = a_training().spends(4.0, CALL, SUM_TREE.at(text, f"SumTree.{function}"))
    run.spends(6.0, CALL, LEARN)
    return run.sees(
        SUM_TREE.at(text, f"SumTree.{function}"),
        self__sums="type=numpy.ndarray shape=16384 dtype=f8",
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [("find", "if mark <="), ("put", "+= change"), ("search", "return self.search(left")],
)
def test_walks_through_a_tree_of_sums(function: str, text: str):
    (finding,) = found(walking(function, text), SUM_TREE)

    assert "a sum tree is walked for one item at a time" in finding.title
    assert "40 % of the steady time is spent in walks through self.sums" in finding.evidence[0]
    assert lines_of(finding) == [SUM_TREE.line(text)]
    assert finding.savings[0].removable == WALKED_ARRAYS


def test_of_a_tree_in_a_list_less_goes():
    line = SUM_TREE.at("if mark <=", "SumTree.find")
    run = a_training().spends(4.0, CALL, line).spends(6.0, CALL, LEARN)
    (finding,) = found(run.sees(line, self__sums="type=list length=16384"), SUM_TREE)

    assert finding.savings[0].removable == WALKED_LISTS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A heap, whose items are moved; and a search among sorted items.
        ("mark -= self.sums[left]", "self.sums[node] = self.sums[left]"),
        ("left = 2 * node\n", "left = (node + mark) // 2\n"),
    ],
)
def test_silent_on_other_walks(before: str, after: str):
    text = SUM_TREE.text[: SUM_TREE.text.index("def search")]
    assert before in text

    assert found(walking("find", "if mark <="), Script("per.py", text.replace(before, after))) == []


BY_LEVELS = Script(
    "levels.py",
    """
    class SumTree:
        def find(self, marks):
            node = np.ones(len(marks), int)
            while node[0] < SIZE:
                node = 2 * node
                right = marks >= self.sums[node]
                marks[right] -= self.sums[node[right]]
                node[right] += 1
            return node - SIZE
    """,
)


def test_silent_where_all_of_a_batch_go_down_together():
    run = a_training().spends(4.0, CALL, BY_LEVELS.at("marks[right] -=", "SumTree.find"))

    assert found(run.spends(6.0, CALL, LEARN), BY_LEVELS) == []


DRAWS = """
class SumTree:
    def put(self, node, priority):
        change = priority - self.sums[node]
        while node:
            self.sums[node] += change
            node //= 2

    def find(self, mark):
        node = 1
        while node < SIZE:
            node = 2 * node
            if mark >= self.sums[node]:
                mark -= self.sums[node]
                node += 1
        return node

def sweep(tree, model):
    for _ in range(64):
        place = tree.find(random.random())
        {then}
    for place in model.changed():
        tree.put(place, 1.0)
"""


@pytest.mark.parametrize(
    ("then", "is_told"), [("places.append(place)", True), ("tree.put(place, 0.0)", False)]
)
def test_silent_where_a_draw_goes_by_what_the_one_before_has_changed(then: str, is_told: bool):
    script = Script("sweeping.py", DRAWS.format(then=then))
    run = a_training().spends(6.0, CALL, LEARN)
    find, put = script.at("mark -=", "SumTree.find"), script.at("+= change", "SumTree.put")
    run.spends(2.0, CALL, script.at("place = tree", "sweep"), find)
    putting = then if "put" in then else "tree.put(place, 1.0)"
    run.spends(2.0, CALL, script.at(putting, "sweep"), put)

    assert bool(found(run, script)) is is_told


HINDSIGHT = Script(
    "her.py",
    """
    import numpy as np

    class Buffer:
        def sample(self, count):
            inputs, gains = [], []
            for _ in range(count):
                ep = self.rng.integers(self.size)
                goal = self.goals[ep]
                inputs.append(np.concatenate([self.seen[ep], goal]))
                gains.append(gain_of(self.seen[ep], goal))
            return np.array(inputs), np.array(gains)

    def gain_of(seen, goal):
        return -float(abs(seen - goal).sum() > 1)
    """,
)


def by_row(shape: str = "1000,8", script: Script = HINDSIGHT) -> list[Finding]:
    joining = HINDSIGHT.at("inputs.append", "Buffer.sample")
    gaining = HINDSIGHT.at("gains.append", "Buffer.sample")
    run = a_training().spends(2.0, CALL, joining)
    run.spends(2.0, CALL, gaining, HINDSIGHT.at("return -float", "gain_of"))
    run.spends(6.0, CALL, LEARN)
    run.sees(joining, self__seen=f"type=numpy.ndarray shape={shape} dtype=f4")
    return detect(DETECTOR, run, script)


def test_rows_that_are_drawn_and_appended_in_a_loop():
    (finding,) = by_row()

    assert "the rows of a batch are drawn and appended one by one" in finding.title
    assert lines_of(finding) == [HINDSIGHT.line("inputs.append"), HINDSIGHT.line("gains.append")]
    assert finding.evidence[0].startswith("40 % of the steady time")
    assert finding.savings[0].removable == LOOPED


def test_what_would_be_done_to_all_rows_at_once_too_is_left_out():
    text = HINDSIGHT.text.replace("-float(abs(seen - goal).sum() > 1)", "zlib.decompress(seen)")
    packed = Script("her.py", text)
    unpacking = packed.at("return zlib", "gain_of")
    run = a_training().spends(2.0, CALL, HINDSIGHT.at("inputs.append", "Buffer.sample"))
    run.spends(2.0, CALL, HINDSIGHT.at("gains.append", "Buffer.sample"), unpacking)
    run.spends(6.0, CALL, LEARN)
    run.sees(unpacking, zlib__decompress="type=builtin_function_or_method function=zlib.decompress")
    (finding,) = detect(DETECTOR, run, packed)

    assert claimed_s(profile_of(run, packed), finding) == 2.0


def test_rows_of_images_are_copied_anyhow():
    (finding,) = by_row("1000,84,84")

    assert finding.savings[0].removable.low < 0.2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.rng.integers(self.size)", "next(places)"),
        ("self.rng.integers(self.size)", "self.rng.integers(self.size, size=count)"),
        ("goal = self.goals[ep]", "goal = env.step(self.goals[ep])"),
        ("return np.array(inputs), np.array(gains)", "return inputs, gains"),
    ],
    ids=["not drawn", "drawn at once", "a rollout", "no array"],
)
def test_silent_on_loops_that_put_no_batch_together(before: str, after: str):
    assert before in HINDSIGHT.text

    assert by_row(script=Script("her.py", HINDSIGHT.text.replace(before, after))) == []


BY_PLACE = Script(
    "ddpg.py",
    """
    import numpy as np

    class Buffer:
        def encode(self, places):
            seen, gains = [], []
            for i in places:
                row = self.rows[i]
                obs, gain = row
                seen.append(np.array(obs, copy=True))
                gains.append(gain)
            return np.array(seen), np.array(gains)
    """,
)


def encoding(script: Script = BY_PLACE) -> list[Finding]:
    run = a_training().spends(4.0, CALL, BY_PLACE.at("seen.append", "Buffer.encode"))
    return detect(DETECTOR, run.spends(6.0, CALL, LEARN), script)


def test_rows_at_places_that_are_given_are_appended_in_a_loop():
    (finding,) = encoding()

    assert "the rows of a batch are drawn and appended one by one" in finding.title


@pytest.mark.parametrize(
    "places",
    ["rng.choice(self.size, 64)", "drawn"],
)
def test_rows_at_drawn_places_are_a_batch_whatever_is_reckoned_of_them(places: str):
    text = BY_PLACE.text.replace("for i in places", f"for i in {places}")
    text = text.replace("gains.append(gain)", "gains.append(-gain)")
    text = text.replace("np.array(obs, copy=True)", "obs[:-1]")
    text = text.replace(
        "seen, gains = [], []", "seen, gains, drawn = [], [], rng.permutation(9)[:4]"
    )

    assert len(encoding(Script("ddpg.py", text))) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("obs, gain = row", "obs = gain = row"),
        ("return np.array(seen), np.array(gains)", "return seen, gains"),
        ("row = self.rows[i]", "row = self.env.step(self.rows[i])"),
        (
            "seen.append(np.array(obs, copy=True))\n            gains.append(gain)",
            "seen.append((info[i] - obs) / gain)",
        ),
    ],
    ids=["one thing of each agent", "no array", "a rollout", "features that are scaled"],
)
def test_silent_on_loops_over_what_is_no_row_of_a_batch(before: str, after: str):
    assert before in BY_PLACE.text

    assert encoding(Script("ddpg.py", BY_PLACE.text.replace(before, after))) == []


FACTORY = Script(
    "factory.py",
    """
    class FactoryEnv:
        def release(self):
            self.queue.append(self.rng.permutation(6)[:4].tolist())

        def reset(self):
            self.release()

        def step(self, action):
            self.release()
            return self.queue, 0.0, False, {}

    def train(env, memory):
        while True:
            env.step(0)
            rows = rng.permutation(len(memory))[:4].tolist()
    """,
)


@pytest.mark.parametrize("is_of_the_environment", [True, False])
def test_what_an_environment_draws_is_no_batch(is_of_the_environment):
    stack = (
        [
            FACTORY.at("env.step(0)", "train"),
            f"{FACTORY.file}:{FACTORY.line('def step') + 1} FactoryEnv.step",
            FACTORY.at("self.queue.append", "FactoryEnv.release"),
        ]
        if is_of_the_environment
        else [FACTORY.at("rows = rng", "train")]
    )
    run = a_training().spends(3.0, *stack).spends(7.0, FACTORY.at("env.step(0)", "train"))

    assert bool(detect(DETECTOR, run, FACTORY)) != is_of_the_environment
