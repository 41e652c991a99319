from __future__ import annotations

import pytest

from rlprof.detectors.number_loop import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, claimed_s, detect, lines_of, profile_of

AGENT = Script(
    "agent.py",
    """
    class Agent:
        def learn(self, step):
            faded = []
            for i, e in self.numbers.items():
                self.w[i] += step * e
                self.numbers[i] = e = e * 0.9
                if e < 0.01:
                    faded.append(i)

        def by_key(self, step):
            for i in self.numbers:
                self.w[i] += step * self.numbers[i]

        def normalised(self, mean, deviation):
            return [(it - mean) / deviation for it in self.numbers]

        def summed(self):
            total = 0.0
            for it in self.numbers:
                total += it * it
            return total

        def discounted(self, gamma):
            total = 0.0
            for it in self.numbers:
                total = it + gamma * total
                self.returns.append(total)

        def neighbours(self):
            for i, it in enumerate(self.numbers):
                self.w[i - 1] += it

        def searched(self, mark):
            for i, it in enumerate(self.numbers):
                mark -= it
                if mark < 0:
                    break

        def stepped(self):
            for it in self.numbers:
                self.env.step(it * 2)

        def kept(self):
            for it in self.numbers:
                self.total = self.total * 0.99 + it

        def horner(self):
            total = 0.0
            for it in self.numbers:
                total *= it
                total += 1.0

        def scaled(self, obs):
            return [obs * it for it in self.numbers]

        def stored(self):
            for it in self.numbers:
                self.buffer.add(it * 2)

        def rewarded(self):
            for i, it in enumerate(self.numbers):
                self.agents[i].reward += it

        def visited(self):
            for it in self.numbers:
                self.w[it] += 1

        def copied(self):
            return [it for it in self.numbers]

        def by_number(self, step):
            for i in range(len(self.numbers)):
                self.w[i] -= step * self.numbers[i]

        def by_count(self, step):
            for i in range(STATES):
                self.w[i] = self.w[i] * step

        def of_a_new_list(self, rewards, step):
            for i in range(STATES):
                out[i] = rewards[i] * step

        def of_few(self, step):
            for i in range(8):
                self.w[i] = self.w[i] + step

        def of_some(self, step, n):
            for i in range(n):
                self.w[i] = self.w[i] - step

        def backwards(self, step):
            for i in range(STATES):
                self.w[i] = self.w[i - 1] / step

        def swept(self, step):
            for i in range(STATES):
                self.v[i] = step * self.v[self.next[i]]

    STATES = 400
    """,
)
LINES = {
    "learn": "self.numbers[i] = e",
    "by_key": "step * self.numbers[i]",
    "normalised": "(it - mean)",
    "summed": "total += it * it",
    "discounted": "total = it + gamma",
    "neighbours": "self.w[i - 1]",
    "searched": "mark -= it",
    "stepped": "self.env.step",
    "kept": "self.total = self.total",
    "horner": "total *= it",
    "scaled": "[obs * it",
    "stored": "self.buffer.add",
    "rewarded": "self.agents[i].reward",
    "visited": "self.w[it] += 1",
    "copied": "[it for it in",
    "by_number": "self.w[i] -= step * self.numbers[i]",
    "by_count": "self.w[i] * step",
    "of_a_new_list": "out[i] = rewards[i] * step",
    "of_few": "self.w[i] + step",
    "of_some": "self.w[i] - step",
    "backwards": "self.w[i - 1] / step",
    "swept": "self.v[self.next[i]]",
}
NUMBER = "type=float"
WEIGHTS = "type=numpy.ndarray shape=1944 dtype=f8"
TRACES = "type=dict length=300 first.type=float"


def a_training(function: str, numbers: str = TRACES, *, loop_s: float = 4.0) -> RunBuilder:
    line = AGENT.at(LINES[function], f"Agent.{function}")
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(loop_s, line)
    run.spends(10.0 - loop_s, "env.py:3 step")
    seen = dict.fromkeys(("step", "mean", "deviation", "gamma", "mark", "self__total"), NUMBER)
    return run.sees(
        line,
        obs="type=numpy.ndarray shape=1000,84 dtype=f8",
        self__numbers=numbers,
        self__w=WEIGHTS,
        self__v=WEIGHTS,
        **seen,
    )


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


@pytest.mark.parametrize("function", ["learn", "by_key", "normalised", "summed"])
def test_turns_that_do_arithmetic_with_their_own_number(function):
    run = a_training(function)

    (finding,) = found(run)

    assert lines_of(finding) == [AGENT.line(LINES[function])]
    assert claimed_s(profile_of(run, AGENT), finding) == pytest.approx(4.0)


@pytest.mark.parametrize(
    "function",
    [
        *("discounted", "neighbours", "searched", "stepped", "copied", "kept", "horner"),
        *("scaled", "stored", "rewarded"),
    ],
)
def test_silent_where_a_turn_needs_another_or_does_more(function):
    assert not found(a_training(function))


def test_numbers_of_a_list_by_their_places():
    (finding,) = found(a_training("by_number", "type=list length=300 first.type=float"))

    assert finding.evidence[1].startswith("it goes through self.numbers: list of 300")


def test_as_many_numbers_as_the_program_says():
    (finding,) = found(a_training("by_count"))

    assert finding.evidence[1] == "it goes through 400 numbers in turn"


def test_places_of_a_list_that_is_made_anew_may_gain_nothing():
    run = a_training("of_a_new_list")
    new = "type=list length=400 first.type=float"
    place = AGENT.at(LINES["of_a_new_list"], "Agent.of_a_new_list")

    (finding,) = found(run.sees(place, rewards=new, out=new))
    (of_array,) = found(a_training("by_count"))

    assert finding.savings[0].removable.low == 0
    assert of_array.savings[0].removable.low > 0


@pytest.mark.parametrize("function", ["of_few", "of_some", "backwards", "swept"])
def test_silent_where_their_number_or_their_places_are_not_known(function):
    assert not found(a_training(function))


def test_silent_where_a_place_may_come_twice():
    assert not found(a_training("visited", "type=list length=300 first.type=int"))


@pytest.mark.parametrize(
    "numbers",
    ["type=list length=63 first.type=float", "type=list length=300 first.type=str", "type=float"],
)
def test_silent_of_few_numbers_and_of_other_things(numbers):
    assert not found(a_training("normalised", numbers))


def test_more_numbers_gain_more_and_dictionaries_perhaps_less():
    few, many = (
        found(a_training("normalised", f"type=list length={length} first.type=float"))[0]
        for length in (64, 300)
    )
    (of_dict,) = found(a_training("learn"))

    assert few.savings[0].removable == (0.5, 0.9)
    assert many.savings[0].removable == (0.8, 0.98)
    assert of_dict.savings[0].removable == (0.5, 0.98)


def test_silent_just_under_its_threshold():
    assert not found(a_training("learn", loop_s=0.29))


TURNS = {
    "returns that begin anew": """
for t in range(len(rewards)):
    if dones[t]:
        total = 0.0
    total = rewards[t] + gamma * total
    returns[t] = total
""",
    "the last of either branch": """
for t in range(len(rewards)):
    if dones[t]:
        last = rewards[t] * 2
    returns[t] = last + 1
""",
    "a list that grows as it is read": """
for i in range(len(rewards)):
    returns.append(rewards[i] + 0.9 * returns[i])
""",
    "values by the next state": """
for s, after in moves.items():
    values[s] = rewards[s] + gamma * values[after]
""",
    "a place of its own choice": """
for i in range(len(rewards)):
    i = max(i - 1, 0)
    values[i] = rewards[i] * 2
""",
    "powers that int64 does not hold": """
for i in range(len(counts)):
    values[i] = counts[i] ** 40
""",
    "hashes": """
for i in range(len(counts)):
    values[i] = counts[i] * 6364136223846793005 % 1000
""",
    "a filter that acts": """
kept = [it - 1.0 for it in rewards if self.env.step(it)]
""",
    "two names for one array": """
after = values[1:]
for i in range(len(rewards)):
    values[i] = rewards[i] + 0.9 * after[i]
""",
    "of several classes": """
for it in mixed:
    total += it * 2.0
""",
}


def of_turns(body: str) -> list[Finding]:
    lines = body.strip("\n").split("\n")
    text = "def f(self):\n    " + "\n    ".join(lines) + "\n"
    script = Script("turns.py", text)
    line = f"turns.py:{len(lines) + 1} f"
    floats = "type=list length=300 first.type=float"
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(4.0, line)
    run.spends(6.0, "env.py:3 step")
    run.sees(
        line,
        **dict.fromkeys(
            ("rewards", "returns", "dones", "values", "after", "self__rewards"), floats
        ),
        counts="type=list length=300 first.type=int",
        moves="type=dict length=300 first.type=int",
        mixed="type=list length=300 first.type=float mixed=1",
        **dict.fromkeys(("gamma", "total", "last"), NUMBER),
    )
    return detect(DETECTOR, run, script)


@pytest.mark.parametrize("name", TURNS)
def test_silent_where_numpy_would_come_to_something_else(name: str):
    assert not of_turns(TURNS[name])


def test_both_branches_may_give_a_number():
    assert of_turns(
        "for it in rewards:\n    if it > 0:\n        own = it * 2\n    else:\n        own = it * 3\n    total += own"
    )


def test_a_list_that_is_made_anew_may_gain_nothing():
    (anew,) = of_turns("scaled = [(it - gamma) / last for it in rewards]")
    (kept,) = of_turns("scaled = [(it - gamma) / last for it in self.rewards]")

    assert anew.savings[0].removable == (0.0, 0.98)
    assert kept.savings[0].removable == (0.8, 0.98)


TABLES = """
def learn(self, rows, columns, step, a, b):
    Q = [[0.0] * columns for _ in range(rows)]
    E = [[0.0] * columns for _ in range(rows)]
    while True:
        for i in range(rows):
            for j in range(columns):
                Q[i][j] += step * E[i][j]
"""
TABLE = "type=list length=100 first.type=list first.length=4 first.first.type=float"


def of_a_table(old: str = "", new: str = "", table: str = TABLE) -> list[Finding]:
    assert old in TABLES
    script = Script("table.py", TABLES.replace(old, new, 1))
    line = script.at("        Q[i][j]" if "Q[i][j]" in script.text else "Q[", "learn")
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(4.0, line)
    run.spends(6.0, "env.py:3 step")
    run.sees(line, Q=table, E=table, step=NUMBER, a="type=int", rows="type=int", i="type=int")
    return detect(DETECTOR, run, script)


def test_two_loops_that_go_through_all_rows_of_tables():
    (finding,) = of_a_table()

    assert finding.evidence[1] == "it goes through Q: 400 numbers, row by row"
    assert finding.savings[0].removable == (0.8, 0.98)


def test_tables_that_each_turn_makes_may_gain_nothing():
    made = "    E = [[0.0] * columns for _ in range(rows)]\n"
    text = TABLES.replace(made, "").replace("while True:\n", f"while True:\n    {made}")

    (finding,) = of_a_table(TABLES, text)

    assert finding.savings[0].removable.low == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("E[i][j]", "E[j][i]"),
        ("E[i][j]", "Q[i - 1][j]"),
        ("E[i][j]", "E[i][0]"),
        ("E[i][j]", "self.draw(i, j)"),
        ("E = [[0.0] * columns for _ in range(rows)]", "E = Q"),
        ("for i in range(rows)", "for i in range(8)"),
        ("for j in range(columns)", "for j in range(i)"),
        ("Q[i][j] +=", "Q[i][j] = Q[i - 1][j] +"),
    ],
)
def test_silent_where_places_of_tables_are_not_each_ones_own(old, new):
    assert not of_a_table(old, new)


@pytest.mark.parametrize(
    "table",
    [
        "type=list length=10 first.type=list first.length=4 first.first.type=float",
        "type=list length=100 first.type=list first.length=4 first.first.type=str",
        f"{TABLE} first.mixed=1",
        "type=list length=100 first.type=list first.length=4",
    ],
)
def test_silent_of_small_tables_and_of_other_things(table):
    assert not of_a_table(table=table)


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("for i in range(200):\n    self.w[a][i] += gamma * self.z[a][i]", True),
        ("for i in range(200):\n    self.w[a][i] += gamma * self.z[last][i]", True),
        ("for i in range(200):\n    self.w[i][a] += gamma * self.z[i][a]", False),
        ("for i in range(200):\n    self.w[a][i] += gamma * self.w[a][i - 1]", False),
        ("for i in range(200):\n    a = i\n    self.w[a][i] += gamma", False),
    ],
)
def test_one_row_of_a_table(body, is_told):
    script = Script("rows.py", "def f(self):\n    " + "\n    ".join(body.split("\n")) + "\n")
    line = f"rows.py:{len(body.splitlines()) + 1} f"
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(4.0, line)
    run.spends(6.0, "env.py:3 step")
    table = "type=list length=4 first.type=list first.length=200 first.first.type=float"
    run.sees(line, self__w=table, self__z=table, a="type=int", last="type=int", gamma=NUMBER)

    assert bool(detect(DETECTOR, run, script)) == is_told


PLANS = Script(
    "plans.py",
    """
    class Agent:
        def expected(self, s):
            total = 0.0
            for a in range(64):
                total += self.policy[s][a] * self.q[s][a]
            return total

        def plan(self, s, a, to):
            self.q[s][a] += 0.1 * (max(self.q[to]) - self.q[s][a])

        def row(self, s):
            return self.rows(self.q[s])
    """,
)


@pytest.mark.parametrize(
    ("reading_s", "text", "is_told"),
    [
        (5.0, "self.q[s][a] +=", False),
        (1.0, "self.q[s][a] +=", True),
        (5.0, "return self.rows", True),
    ],
)
def test_silent_where_other_lines_read_more_single_items(reading_s, text, is_told):
    loop = PLANS.at("total +=", "Agent.expected")
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(3.0, loop)
    reads = PLANS.at(text, "Agent.row" if "rows" in text else "Agent.plan")
    run.spends(reading_s, reads).spends(7.0 - reading_s, "env.py:3 step")
    table = "type=list length=200 first.type=list first.length=64 first.first.type=float"
    run.sees(loop, self__policy=table, self__q=table, s="type=int", total=NUMBER)

    assert bool(detect(DETECTOR, run, PLANS)) == is_told


@pytest.mark.parametrize(("power", "is_told"), [("type=float", True), ("type=int", False)])
def test_powers_of_floats_are_floats(power, is_told):
    line = AGENT.at(LINES["scaled"], "Agent.scaled")
    script = Script(AGENT.file, AGENT.text.replace("[obs * it for it", "[it ** self.alpha for it"))
    numbers = "type=deque length=300 first.type=int".replace("deque", "collections.deque")
    run = a_training("scaled", numbers).sees(line, self__alpha=power)

    assert bool(detect(DETECTOR, run, script)) == is_told
