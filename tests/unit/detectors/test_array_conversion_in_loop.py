from __future__ import annotations

import pytest

from rlprof.detectors.array_conversion_in_loop import (
    DETECTOR,
    MIN_SHARE,
    MOST_REMOVABLE_LOW,
    REMOVABLE_UNCOUNTED,
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

STEPS = 100_000
"""In ten seconds: 100 µs a step, a slow bandit."""

ARGMAX = Script(
    "agent.py",
    """
    import numpy as np

    def argmax(values):
        estimates = np.array(list(values.values()))
        ranking = sorted(values, key=lambda arm: estimates[arm], reverse=True)
        return ranking[0]

    def train(agent, bandit):
        for step in range(1000):
            arm = argmax(agent.values)
            best = argmax(dict(enumerate(bandit.means)))
            bandit.step(arm)
    """,
)
CALL = ARGMAX.at("arm = argmax", "train")
ENV_STEP = "env.py:7 Bandit.step"
OTHER = "agent.py:12 train"


def a_training(*, steps: float = STEPS) -> RunBuilder:
    return a_run("agent.py", steady_s=10.0).process("main", steps=steps)


def with_argmax(seconds: float, *, steps: float = STEPS) -> RunBuilder:
    run = a_training(steps=steps)
    run.spends(seconds * 0.3, CALL, ARGMAX.at("estimates = np", "argmax"))
    run.spends(seconds * 0.4, CALL, ARGMAX.at("ranking =", "argmax"))
    run.spends(
        seconds * 0.3,
        CALL,
        ARGMAX.at("ranking =", "argmax"),
        ARGMAX.at("ranking =", "argmax.<locals>.<lambda>"),
    )
    return run.spends(10.0 - seconds, OTHER, ENV_STEP)


def found(run: RunBuilder, *scripts: Script) -> list[Finding]:
    return detect(DETECTOR, run, *(scripts or (ARGMAX,)))


def test_claims_a_home_made_argmax_as_a_whole():
    run = with_argmax(4.0)
    run.spends(0.2, CALL, ARGMAX.at("def argmax", "argmax"))
    run.spends(0.2, CALL, ARGMAX.at("return ranking", "argmax"))

    (finding,) = found(run)

    assert claimed_s(profile_of(run), finding) == pytest.approx(4.4)
    assert lines_of(finding)[0] == ARGMAX.line("ranking =")
    assert any("argmax: nearly all" in text for text in finding.evidence)


def test_the_container_made_for_its_call_is_part_of_it():
    run = with_argmax(4.0)
    run.spends(1.0, ARGMAX.at("best = argmax", "train"))

    (finding,) = found(run)

    assert ARGMAX.line("best = argmax") in lines_of(finding)


PLAY = Script(
    "play.py",
    """
    import numpy as np

    def play(board, weights):
        while True:
            seen = []
            for _ in range(40):
                legal = [place for place in range(49) if board[place] == 0]
                board[legal[0]] = 1
                seen.append(sum(board))
            weights += np.array(seen)
    """,
)


@pytest.mark.parametrize(("converting_s", "is_told"), [(0.3, False), (3.0, True)])
def test_lists_that_are_hardly_ever_converted_are_no_conversion(converting_s, is_told):
    run = a_run("play.py", steady_s=10.0).process("main", steps=STEPS)
    run.spends(9.0 - converting_s, PLAY.at("legal = ", "play"))
    run.spends(converting_s, PLAY.at("np.array(seen)", "play"))
    run.spends(1.0, PLAY.at("board[legal[0]]", "play"))

    assert bool(found(run, PLAY)) is is_told


def test_silent_just_under_its_threshold():
    assert found(with_argmax(10 * MIN_SHARE * 0.9)) == []
    assert len(found(with_argmax(10 * MIN_SHARE * 1.1))) == 1


HEALTHY = Script(
    "ppo.py",
    """
    import numpy as np
    import torch
    from torch.utils.data import DataLoader

    def act(policy, observation):
        observation = np.asarray(observation, dtype=np.float32)
        tensor = torch.as_tensor(observation)
        action = policy(tensor).argmax().item()
        return np.array([action, 1.0])

    def update(policy, batch):
        returns = np.concatenate([batch.returns, batch.last])
        loss = np.mean(returns) + np.max(batch.values)
        weights = torch.tensor(loss)
        rows = [env.step(a) for a in batch.actions]
        return max(rows, key=lambda row: policy(row))

    def train(policy, envs):
        for step in range(1000):
            act(policy, envs.observation)
            update(policy, envs.batch)

    def loaded(dataset):
        loader = DataLoader(dataset)
        for number, batch in enumerate(loader):
            use(batch)
    """,
)


@pytest.mark.parametrize(
    "piece",
    ["np.asarray", "as_tensor", ".item()", "np.array([", "concatenate", "np.mean", "torch.tensor",
     "rows = ", "max(rows", "enumerate(loader)"],
)  # fmt: skip
def test_silent_on_healthy_array_code(piece):
    run = a_training()
    run.spends(8.0, HEALTHY.at("act(policy, envs", "train"), HEALTHY.at(piece, "act"))
    run.spends(2.0, HEALTHY.at("update(policy, envs", "train"))

    assert found(run, HEALTHY) == []


def test_ranks_by_its_price():
    run = with_argmax(5.0)

    first = ranked(run, ARGMAX)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.48 < first.saved_share.high


def test_what_takes_its_place_is_taken_off_the_price():
    slow, quick = with_argmax(5.0, steps=10_000), with_argmax(5.0, steps=5_000_000)
    uncounted = with_argmax(5.0, steps=0)

    ranges = [found(run)[0].savings[0].removable for run in (slow, quick, uncounted)]

    # 500 µs a step against 1 µs a step, where an argmax of numpy costs as much.
    assert ranges[0].low == MOST_REMOVABLE_LOW
    assert ranges[1].low == 0.0
    assert ranges[2] == REMOVABLE_UNCOUNTED


def test_a_quick_search_of_a_plain_list_promises_nothing():
    run = a_training(steps=1_000_000)
    run.spends(3.0, "main.py:3 main", LOOP.at("if q[a]", "greedy"))
    run.spends(7.0, "main.py:4 main", ENV_STEP)

    (finding,) = found(run, LOOP)

    # 3 µs a step: an argmax of ten values with its ties may take as long.
    assert finding.savings[0].removable.low == 0.0
    assert finding.savings[0].removable.high > 0.9


@pytest.mark.parametrize(
    "line",
    [
        "x = np.array(list(q.values()))",
        "x = np.array([q[a] for a in range(n)])",
        "x = np.array(self.rewards)",
        "x = torch.tensor(self.rewards)",
        "x = np.argmax(list(q.values()))",
        "x = np.mean(self.window)",
        "x = values.tolist()",
        "x = dict(enumerate(self.table))",
        "x = max(range(len(q)), key=lambda i: q[i])",
        "x = max(q, key=q.get)",
        "x = q.index(max(q))",
        "x = np.max(np.array(self.by_state[n]))",
        "x = np.array(self.by_name[n])",
        "x = [a for a, v in enumerate(q) if v == max(q)]",
        "x = sorted(q.items(), key=lambda item: item[1])[-1]",
    ],
)
def test_the_lines_it_knows(line):
    script = Script(
        "agent.py",
        f"""
        class Agent:
            def __init__(self):
                self.rewards = []
                self.window = deque(maxlen=100)
                self.table = np.zeros(10)
                self.by_state = {{s: [0.0] * 4 for s in range(50)}}
                self.by_name = defaultdict(lambda: [0.0] * 4)

            def step(self, q, values, n):
                self.env.step()
                {line}
                self.learn()
        """,
    )
    run = a_training()
    run.spends(4.0, "main.py:3 main", script.at(line, "Agent.step"))
    run.spends(6.0, "main.py:3 main", script.at("self.learn", "Agent.step"), "net.py:9 learn")

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line(line)]
    assert claimed_s(profile_of(run), finding) == pytest.approx(4.0)


LOOP = Script(
    "agent.py",
    """
    def greedy(q):
        best, best_a = q[0], 0
        for a in range(len(q)):
            if q[a] > best:
                best, best_a = q[a], a
        return best_a
    """,
)


def test_a_loop_that_keeps_the_best_so_far():
    run = a_training()
    run.spends(3.0, "main.py:3 main", LOOP.at("if q[a]", "greedy"))
    run.spends(2.0, "main.py:3 main", LOOP.at("for a in", "greedy"))
    run.spends(5.0, "main.py:4 main", ENV_STEP)

    (finding,) = found(run, LOOP)

    assert "by hand" in finding.title
    assert claimed_s(profile_of(run), finding) == pytest.approx(5.0)


def test_a_loop_that_computes_what_it_compares_is_not_a_search_only():
    script = Script("agent.py", LOOP.text.replace("if q[a] >", "if self.rollout(a) >"))
    run = a_training()
    run.spends(8.0, "main.py:3 main", script.at("self.rollout", "greedy"), "sim.py:3 rollout")

    assert found(run, script) == []


def test_functions_of_the_user_below_the_line_are_left_out():
    script = Script(
        "agent.py",
        """
        def step(self, q):
            self.remember(np.array(list(q.values())))
            return q
        """,
    )
    run = a_training()
    run.spends(2.0, "main.py:3 main", script.at("self.remember", "step"))
    run.spends(
        3.0, "main.py:3 main", script.at("self.remember", "step"), "memory.py:5 Memory.remember"
    )
    run.spends(5.0, "main.py:4 main", ENV_STEP)

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run), finding) == pytest.approx(2.0)


def test_what_numpy_and_random_do_below_the_line_is_claimed():
    script = Script("agent.py", "def act(q):\n    return np.argmax(list(q.values()))\n")
    at = script.at("np.argmax", "act")
    run = a_training()
    run.spends(1.0, "main.py:3 main", at)
    run.spends(2.0, "main.py:3 main", at, f"{SITE}/numpy/_core/fromnumeric.py:1342 argmax")
    run.spends(1.0, "main.py:3 main", at, f"{STDLIB}/random.py:378 Random.choice")
    run.spends(6.0, "main.py:4 main", ENV_STEP)

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run), finding) == pytest.approx(4.0)


def test_a_caller_seen_on_its_neighbouring_lines_calls_once():
    """A stack read from outside may show the caller's line before or after it moved on."""
    script = Script(
        "agent.py",
        """
        def arrays(values):
            return np.array(list(values.values()))

        def act(values, step):
            first = step + 1
            q = arrays(values)
            best = first
            return q.argmax() + best
        """,
    )
    run = a_training()
    for line in ("first =", "q =", "best =", "return q"):
        run.spends(1.0, "main.py:3 main", script.at(line, "act"), script.at("np.array", "arrays"))
    run.spends(6.0, "main.py:4 main", ENV_STEP)

    (finding,) = found(run, script)

    assert finding.savings[0].removable.low == MOST_REMOVABLE_LOW


def test_writing_what_was_converted_is_not_converting():
    script = Script("log.py", "def log(writer, obs):\n    writer.writerow(obs.tolist())\n")
    run = a_training()
    run.spends(4.0, "main.py:3 main", script.at("writerow", "log"))
    run.spends(6.0, "main.py:4 main", ENV_STEP)

    assert found(run, script) == []


def test_without_steps_a_conversion_outside_every_loop_is_left_alone():
    script = Script("plot.py", "def plot(d):\n    return np.array(list(d.values()))\nplot(d)\n")
    run = a_training(steps=0)
    run.spends(9.0, "plot.py:3 <module>", script.at("np.array", "plot"))

    assert found(run, script) == []


@pytest.mark.parametrize(
    ("drawn", "findings"), [("random.sample(memory, n)", 0), ("memory[:n]", 1)]
)
def test_a_batch_drawn_from_objects_is_left_to_the_replay_buffers_finding(drawn, findings):
    script = Script(
        "dqn.py",
        f"""
        import random
        import numpy as np

        def sample(memory, n):
            batch = {drawn}
            states, rewards = zip(*batch)
            return np.array(list(states))

        def train(memory):
            while True:
                sample(memory, 64)
        """,
    )
    run = a_training()
    run.spends(8.0, script.at("sample(memory, 64)", "train"), script.at("np.array", "sample"))
    run.spends(2.0, script.at("sample(memory, 64)", "train"), ENV_STEP)

    assert len(found(run, script)) == findings


ONE_LINE = Script(
    "one_line.py",
    """
    import numpy as np

    def learn(seen, net, opt):
        rows = []
        for row in seen:
            rows.append(row)
        batch = np.array(rows); loss = net(batch); loss.backward()

    def main():
        while True:
            learn(rows, net, opt)
    """,
)


def test_what_other_statements_on_the_line_call_is_not_the_conversions():
    line = ONE_LINE.at("batch = np.array", "learn")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(9.8, line, f"{SITE}/torch/_tensor.py:500 Tensor.backward").spends(0.2, line)

    assert detect(DETECTOR, run, ONE_LINE) == []


def test_an_array_that_was_seen_there_needs_no_conversion():
    line = ONE_LINE.at("batch = np.array", "learn")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, line)

    assert len(detect(DETECTOR, run, ONE_LINE)) == 1
    run.sees(line, rows="type=numpy.ndarray shape=64,4 dtype=f4")
    assert detect(DETECTOR, run, ONE_LINE) == []


def test_rows_that_were_seen_to_be_arrays_are_joined_to_a_batch():
    script = Script(
        "batches.py",
        """
        import numpy as np

        def gather(envs):
            rows = []
            for env in envs:
                rows.append(env.look())
            return np.stack(rows)

        def main():
            while True:
                gather(worlds)
        """,
    )
    line = script.at("np.stack", "gather")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(10.0, script.at("gather(worlds)", "main"), line)

    assert len(detect(DETECTOR, run, script)) == 1
    run.sees(line, rows="type=list length=8 first.type=numpy.ndarray")
    assert detect(DETECTOR, run, script) == []


GREEDY = Script(
    "greedy.py",
    """
    import numpy as np

    def act(row):
        best = max(row)
        return row.index(max(row))

    def ask(layers, views):
        rows = [view for view in views]
        return layers(np.stack(rows))

    def main():
        while True:
            act(row)
            ask(layers, views)
    """,
)


@pytest.mark.parametrize(("length", "is_one"), [(4, False), (200, True)])
def test_a_search_among_a_handful_that_was_seen_is_none(length: int, is_one: bool):
    line = GREEDY.at("row.index(max", "act")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, line)

    assert len(detect(DETECTOR, run, GREEDY)) == 1
    run.sees(line, row=f"type=list length={length} first.type=float")
    assert bool(detect(DETECTOR, run, GREEDY)) == is_one


TREE = """
def descend(node):
    while node.kids:
        best = -1e9
        for move, kid in node.kids.items():
            gain = {gain}
            if gain > best:
                best, chosen = gain, kid
        node = chosen
    return node
"""
VALUE = "kid.w / kid.n + 1.5 * kid.prior * node.root / (1 + kid.n)"


@pytest.mark.parametrize(("gain", "is_one"), [(VALUE, False), ("kid.n", True)])
def test_a_tree_search_that_computes_the_value_of_each_child_searches_no_list(gain, is_one):
    tree = Script("tree.py", TREE.format(gain=gain))
    line = tree.at("gain = kid", "descend")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, "main.py:3 main", line)
    run.sees(line, node__kids="type=dict length=5", kid__n="type=int")

    assert bool(detect(DETECTOR, run, tree)) == is_one


def test_a_network_that_the_line_asks_is_not_the_conversions():
    line = GREEDY.at("return layers(", "ask")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(9.8, line, f"{SITE}/torch/nn/modules/module.py:1700 Module._wrapped_call_impl")
    run.spends(0.2, line)

    assert detect(DETECTOR, run, GREEDY) == []


MIXED = Script(
    "mixed.py",
    """
    import numpy as np
    import torch

    def advance(worlds, moves):
        return [world.advance(move) for world, move in zip(worlds, moves.tolist())]

    def choose(scores):
        return torch.multinomial(torch.softmax(scores, dim=1), 1).squeeze(1).tolist()

    def seen_by(players):
        return np.stack(list(players.values()))

    def main():
        while True:
            seen_by(advance(worlds, choose(scores)))
    """,
)
ROW = "type=dict length=6 first.type=numpy.ndarray first.shape=32"


@pytest.mark.parametrize(
    ("piece", "function", "looks"),
    [
        ("return [world", "advance", {"worlds": "type=list length=8"}),
        (
            "return torch.multi",
            "choose",
            {"torch__multinomial": "type=builtin_function_or_method function=torch.multinomial"},
        ),
        ("return np.stack", "seen_by", {"players": ROW}),
    ],
)
def test_what_a_line_does_besides_is_not_the_conversions(piece, function, looks):
    line = MIXED.at(piece, function)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(10.0, MIXED.at("seen_by(adv", "main"), line)

    assert len(detect(DETECTOR, run, MIXED)) == 1
    run.sees(line, **looks)
    assert detect(DETECTOR, run, MIXED) == []


PACKED = Script(
    "packed.py",
    """
    from numpy import asarray as pack
    import torch

    class Sky:
        def mood(self):
            sheet = pack(self.panes())
            return self.fold(self.cells)

        def pour(self, rows):
            return torch.tensor(rows)

        def note(self, seen):
            self.diary << {"at": seen.tolist()}

    def main(sky, pond, rows):
        while True:
            pond.step(0)
            together = pack([row for row in rows])
    """,
)


@pytest.mark.parametrize(
    ("piece", "function", "looks", "is_told"),
    [
        ("pack(self", "Sky.mood", {"pack": "function=numpy.asarray"}, True),
        ("pack(self", "Sky.mood", {}, False),
        (
            "self.fold",
            "Sky.mood",
            {"self__fold": "function=numpy.array", "self__cells": "length=600"},
            True,
        ),
        (
            "self.fold",
            "Sky.mood",
            {"self__fold": "function=__main__.Sky.fold file=/home/you/sky.py", "self__cells": "length=600"},
            False,
        ),
        (
            "torch.tensor",
            "Sky.pour",
            {"torch__tensor": "function=torch.tensor", "rows": "length=64"},
            False,
        ),
    ],
)  # fmt: skip
def test_what_makes_an_array_is_known_by_what_was_seen_there(piece, function, looks, is_told):
    line = PACKED.at(piece, function)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "packed.py:17 main", line).spends(4.0, "env.py:3 step")
    types = {"length=600": "type=list", "length=64": "type=list"}
    run.sees(line, **{name: f"{types.get(look, 'type=x')} {look}" for name, look in looks.items()})

    assert bool(detect(DETECTOR, run, PACKED)) == is_told


def test_a_handful_of_numbers_costs_nothing():
    line = PACKED.at("tolist", "Sky.note")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "packed.py:17 main", line).spends(4.0, "env.py:3 step")

    assert len(detect(DETECTOR, run, PACKED)) == 1
    run.sees(line, seen="type=numpy.ndarray shape=6 dtype=f8")
    assert detect(DETECTOR, run, PACKED) == []


def test_what_was_seen_to_be_no_array_is_not_taken_apart():
    script = Script(
        "loader.py",
        "import numpy as np\ndef main():\n    rows = np.zeros(9)\n    for i, row in enumerate(rows):\n        use(row)\n",
    )
    line = script.at("enumerate", "main")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(9.0, line)

    assert len(detect(DETECTOR, run, script)) == 1
    run.sees(line, rows="type=torch.utils.data.dataloader.DataLoader")
    assert detect(DETECTOR, run, script) == []


def test_the_loop_of_a_training_is_not_claimed_for_a_conversion_in_it():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(7.0, PACKED.at("together", "main"))
    run.spends(3.0, PACKED.at("pond.step", "main"), "packed.py:6 Pond.step")
    run.source("pond.py", "def step(self, action):\n    return action\n")
    run.spends(1.0, PACKED.at("pond.step", "main"), "pond.py:2 step")

    (finding,) = detect(DETECTOR, run, PACKED)

    assert claimed_s(profile_of(run, PACKED), finding) == pytest.approx(7.0)


STEPS_IT = Script(
    "steps_it.py",
    """
    import numpy as np

    def main(env, returns, best):
        while True:
            returns.append(env.step(0))
            if np.mean(returns) > best: best = 1
            together = np.array(list(returns))
    """,
)


def beside_an_environment(piece: str) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=STEPS)
    run.spends(9.0, STEPS_IT.at(piece, "main"))
    return run.spends(
        1.0,
        STEPS_IT.at("env.step", "main"),
        f"{SITE}/gymnasium/wrappers/common.py:130 TimeLimit.step",
    )


def test_the_environment_that_a_loop_steps_is_not_the_conversions():
    run = beside_an_environment("together")

    (finding,) = detect(DETECTOR, run, STEPS_IT)

    assert claimed_s(profile_of(run, STEPS_IT), finding) == pytest.approx(9.0)
    assert not any("nearly all" in text for text in finding.evidence)


def test_a_mean_of_all_that_was_gathered_is_left_to_its_own_finding():
    run = beside_an_environment("np.mean")
    looks = [f"type=list length={length} items=builtins.float" for length in (400, 800, 1600, 3200)]
    run.sees(STEPS_IT.at("np.mean", "main"), returns=looks)

    assert detect(DETECTOR, run, STEPS_IT) == []
    assert ranked(run, STEPS_IT)[0].finding.detector == "history-statistics"


def test_a_line_that_calls_other_things_is_told_where_much_is_converted():
    script = Script("one_line.py", ONE_LINE.text.replace("rows = []", "rows = seen.rows"))
    line = script.at("batch = np.array", "learn")
    for length, is_told in (("32", False), ("4096", True)):
        run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, line)
        run.sees(line, rows=f"type=list length={length} first.type=float")
        assert bool(detect(DETECTOR, run, script)) == is_told


@pytest.mark.parametrize(("made", "is_told"), [("[]", False), ("self.rows", True)])
def test_rows_that_were_appended_to_a_new_list_are_in_no_array_that_lives_on(made, is_told):
    script = Script(
        "crew.py",
        f"""
        import numpy as np

        class Crew:
            def step(self, actions):
                rows = {made}
                for env, action in zip(self.envs, actions):
                    rows.append(env.step(action))
                return np.array(rows, np.float32)

            def train(self):
                while True:
                    self.step(self.act())
        """,
    )
    line = script.at("np.array(rows", "Crew.step")
    run = a_training().spends(5.0, script.at("self.step(", "Crew.train"), line)
    run.spends(5.0, OTHER, ENV_STEP).sees(
        line, rows="type=list length=32 first.type=list first.length=4"
    )

    assert bool(found(run, script)) is is_told


SHUFFLES = Script(
    "shuffles.py",
    """
    import numpy as np

    def deal(seed, rng, table):
        while True:
            made = np.random.RandomState(seed).permutation(52).tolist()
            drawn = rng.permutation(52).tolist()
            told = table.rows(seed).tolist()
    """,
)


@pytest.mark.parametrize(
    ("piece", "seen", "is_told"),
    [
        (
            "made =",
            {"np__random__RandomState": "type=type class=numpy.random.mtrand.RandomState file=mtrand.so"},
            False,
        ),
        ("drawn =", {"rng": "type=numpy.random._generator.Generator"}, False),
        ("told =", {"table__rows": "type=method function=shuffles.Table.rows file=table.py line=3"}, True),
    ],
    ids=["a-class-in-c", "unseen", "python"],
)  # fmt: skip
def test_what_is_computed_before_it_is_converted_is_not_claimed(piece, seen, is_told):
    line = SHUFFLES.at(piece, "deal")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, line).sees(line, **seen)

    assert bool(detect(DETECTOR, run, SHUFFLES)) == is_told


STACKED = Script(
    "stacked.py",
    """
    import numpy as np

    class Stacked:
        def observe(self):
            return np.concatenate(self.frames, axis=0)

    def flat(obs):
        parts = []
        for key in sorted(obs):
            parts.append(np.ravel(obs[key]))
        return np.concatenate(parts)

    def train(env):
        while True:
            obs = env.observe()
            flat(env.raw())
    """,
)
OBSERVE = STACKED.at("np.concatenate(self.frames", "Stacked.observe")
FLAT = STACKED.at("np.ravel", "flat")
CONCATENATE = "type=numpy._ArrayFunctionDispatcher function=numpy.concatenate"


def stacked(*frames: str) -> list[Finding]:
    run = a_training().spends(3.0, STACKED.at("env.observe()", "train"), OBSERVE)
    run.spends(7.0, OTHER, ENV_STEP)
    run.sees(OBSERVE, np__concatenate=CONCATENATE, self__frames=list(frames))
    return found(run, STACKED)


def frames_of(length: int, numbers: int, kind: str = "collections.deque") -> str:
    return (
        f"type={kind} length={length} first.type=numpy.ndarray first.shape={numbers} first.dtype=f4"
    )


def test_a_window_that_moves_by_one_is_joined_anew():
    (finding,) = stacked(frames_of(64, 4))

    assert finding.title == "a window of arrays is joined anew at every step (stacked.py:5)"
    assert "window.copy()" in finding.fix
    # Of 30 µs a step 1 to 5 are left.
    assert finding.savings[0].removable == pytest.approx((MOST_REMOVABLE_LOW, 1 - 1 / 30))


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([frames_of(64, 4, "list")], id="a batch of new ones"),
        pytest.param([frames_of(20, 4), frames_of(64, 4)], id="gathered until it is full"),
        pytest.param([frames_of(4, 4)], id="of a few"),
        pytest.param([frames_of(64, 7056)], id="of images, whose copy takes the time"),
    ],
)
def test_silent_where_joining_arrays_is_no_window_or_copying_is_what_takes_the_time(frames):
    assert stacked(*frames) == []


def flattened(obs: str) -> list[Finding]:
    run = a_training().spends(3.0, STACKED.at("flat(env", "train"), FLAT)
    run.spends(7.0, OTHER, ENV_STEP)
    ravel = "type=numpy._ArrayFunctionDispatcher function=numpy.ravel"
    append = "type=method_descriptor function=list.append"
    return found(run.sees(FLAT, np__ravel=ravel, parts__append=append, obs=obs), STACKED)


def test_silent_of_lists_that_become_an_array_each_for_a_use_of_its_own():
    text = STACKED.text.replace("parts.append(np.ravel(obs[key]))", "own[key] = np.ravel(obs[key])")
    run = a_training().spends(3.0, STACKED.at("flat(env", "train"), FLAT)
    run.spends(7.0, OTHER, ENV_STEP)
    ravel = "type=numpy._ArrayFunctionDispatcher function=numpy.ravel"
    obs = "type=dict length=5 first.type=list first.length=3"

    assert found(run.sees(FLAT, np__ravel=ravel, obs=obs), Script("stacked.py", text)) == []


def test_lists_in_a_dictionary_are_turned_into_arrays_one_by_one():
    (finding,) = flattened("type=dict length=5 first.type=list first.length=3")

    assert lines_of(finding) == [STACKED.line("np.ravel")]
    assert finding.fix.startswith("Put the numbers of all of them into one list")
    assert flattened("type=dict length=5 first.type=numpy.ndarray first.shape=3") == []
    # Of as many numbers it is the conversion that takes the time, however they are put together.
    assert flattened("type=dict length=5 first.type=list first.length=180") == []
    assert flattened("type=dict length=2 first.type=list first.length=3") == []
