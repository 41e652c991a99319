from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from rlprof.source.slices.model import DataPlace, Doing
from rlprof.source.slices.needed import dependent_steps, needed_steps
from rlprof.source.slices.reading import read_program
from rlprof.syntax.module import parse

FILE = "train.py"


def judged(_file: str, call: ast.Call) -> Doing:
    """As of libraries: ``ask`` and methods that end in it compute, ``show`` shows, ``append`` and ``update`` change, ``net`` is a network."""
    name = ast.unparse(call.func).rpartition(".")[2]
    known = {
        "show": Doing.TELLS,
        "append": Doing.CHANGES,
        "update": Doing.CHANGES,
        "net": Doing.ASKS,
    }
    return known.get(name, Doing.COMPUTES if name in ("ask", "zip", "range", "max") else Doing.ACTS)


def program_of(text: str):
    module = parse(dedent(text))
    assert module is not None
    return read_program({FILE: module}, judged, {"step"})


def needless(text: str) -> list[str]:
    """The statements that nothing depends on, less those that only show."""
    program = program_of(text)
    needed = needed_steps(program)
    return [
        ast.unparse(step.node).splitlines()[0]
        for step in program.steps
        if step not in needed and not step.tells and not isinstance(step.node, ast.Pass)
    ]


def test_what_an_act_reads_is_needed_with_all_that_it_is_made_of():
    assert needless(
        """
        start = 1
        action = ask(start)
        env.step(action)
        figure = ask(action)
        show(figure)
        """
    ) == ["figure = ask(action)"]


def test_conditions_and_loops_around_an_act_are_needed():
    assert not needless(
        """
        limit = ask(1)
        for turn in range(limit):
            if turn > 3:
                env.step(turn)
        """
    )


def test_what_may_leave_a_loop_with_an_act_is_needed():
    assert not needless(
        """
        def train(env):
            while True:
                env.step(1)
                over = ask(env)
                if over:
                    break

        train(env)
        """
    )


@pytest.mark.parametrize(
    "change",
    [
        "table[0] = figure",
        "table[0] += figure",
        "table.append(figure)",
        "row = table[0]; row[1] = figure",
        "for row in table: row.append(figure)",
        "for row, _ in zip(table, others): row[0] = figure",
        "self.keep(figure)",
        "other = self.table; other.append(figure)",
        "tables = [table]; tables[0].append(figure)",
        "tables = []; tables.append(table); tables[0][1] = figure",
    ],
)
def test_what_is_changed_in_place_is_needed_under_any_name(change):
    text = f"""
        class Agent:
            def keep(self, what):
                self.table.append(what)

            def act(self, env, others):
                table = self.table = []
                figure = ask(1)
                {change}
                env.step(table)

        Agent().act(env, others)
        """

    assert not [each for each in needless(text) if "figure" in each]


def test_what_a_function_returns_is_needed_where_the_caller_needs_it():
    text = """
        def update(batch):
            env.step(batch)
            return ask(batch)

        figures = update(ask(1))
        show(figures)
        """

    assert needless(text) == ["return ask(batch)"]


def test_a_call_is_needed_for_what_the_function_does_and_its_arguments_for_what_it_needs():
    text = """
        def update(batch, figure):
            env.step(batch)
            show(figure)

        for turn in range(9):
            batch = ask(turn)
            figure = ask(batch)
            update(batch, figure)
        """

    assert needless(text) == ["figure = ask(batch)"]


def test_a_recorder_of_the_programs_own_is_told_by_what_it_does():
    text = """
        class Recorder:
            def __init__(self):
                self.rows = []

            def note(self, what):
                self.rows.append(ask(what))

            def tell(self):
                show(self.rows)

        recorder = Recorder()
        for turn in range(9):
            env.step(turn)
            recorder.note(turn)
        recorder.tell()
        """

    assert "recorder.note(turn)" in needless(text)
    assert "recorder.note(turn)" not in needless(text.replace("show(", "send("))


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (
            "def make():\n    def note(what):\n        ROWS.append(ask(what))\n    return note\nkeep = make()",
            "keep",
        ),
        ("def note(what):\n    ROWS.append(ask(what))\nkeep = partial(note)", "keep"),
        ("def note(what):\n    ROWS.append(ask(what))\nkeep = note", "keep"),
        (
            "class Note:\n    def __call__(self, what):\n        ROWS.append(ask(what))\nkeep = Note()",
            "keep",
        ),
    ],
)
def test_functions_are_followed_under_the_names_that_hold_them(made, call):
    text = f"ROWS = []\n{made}\nfor turn in range(9):\n    env.step(turn)\n    {call}(turn)\n"

    assert f"{call}(turn)" in needless(text + "show(ROWS)")
    assert f"{call}(turn)" not in needless(text + "send(ROWS)")
    other = text.replace("for turn", "if ask(1):\n    keep = start(1)\nfor turn")
    assert f"{call}(turn)" not in needless(other + "show(ROWS)")


@pytest.mark.parametrize(
    "text",
    [
        "class Env(gym.Env):\n    def look(self):\n        seen = ask(self)\n        return seen",
        "class Policy(nn.Module):\n    def train(self, way):\n        self.way = ask(way)",
        "def reward(state):\n    found = ask(state)\n    return found\nstart(reward)",
        "@compiled\ndef reward(state):\n    found = ask(state)\n    return found\nreward(1)",
        "def fill(rows):\n    rows[0] = ask(1)\nstart(fill)",
        "other.field = ask(1)",
        "def turns():\n    at = ask(1)\n    yield at\nturns()",
    ],
)
def test_what_others_may_call_or_read_is_needed(text):
    assert not [each for each in needless(text) if "ask" in each]


def test_what_an_unknown_function_is_given_within_a_call_of_ones_own_is_needed():
    text = """
        def keep(what):
            pass

        figure = ask(1)
        keep(start(figure))
        """

    assert not needless(text)


def test_memory_that_others_may_share_is_needed():
    text = """
        class Worker:
            def __init__(self, name):
                self.board = shared(name)
                self.notes = []

            def work(self):
                self.board[0] = ask(1)
                self.notes.append(ask(2))

        Worker(1).work()
        """

    assert [each for each in needless(text) if "ask" in each] == ["self.notes.append(ask(2))"]


def test_a_network_is_asked_for_what_it_keeps_too():
    text = """
        class Cell(nn.Module):
            def forward(self, x):
                self.state = ask(x)
                return self.state

            def act(self):
                env.step(self.state)

        for turn in range(9):
            told = net(turn)
            Cell().act()
        """

    assert not [each for each in needless(text) if "told" in each]
    pure = text.replace("self.state = ask(x)", "state = ask(x)").replace(
        "return self.state", "return state"
    )
    assert [each for each in needless(pure) if "told" in each]


@pytest.mark.parametrize(
    "given",
    [
        "nn.Sequential(nn.Linear(4, 2), nn.Tanh())",
        "nn.Linear(4, 2).to(device)",
        "copy.deepcopy(self.other)",
        "mlp(4, 2)",
    ],
)
def test_what_is_given_a_network_of_torch_is_one(given):
    text = f"""
        import copy
        from torch import nn

        def mlp(before, after):
            return nn.Sequential(nn.Linear(before, after))

        class Agent:
            def __init__(self, device):
                self.other = nn.Linear(4, 2)
                self.critic = {given}

            def act(self):
                for turn in range(9):
                    told = self.critic(turn)
                    env.step(turn)

        Agent(1).act()
        """

    assert "told = self.critic(turn)" in needless(text)
    unknown = text.replace(given, "start(4)")
    assert "told = self.critic(turn)" not in needless(unknown)
    replaced = text.replace(
        "def act(self):", "def act(self):\n                self.critic += start(4)"
    )
    assert "told = self.critic(turn)" not in needless(replaced)


def test_a_method_whose_name_a_channel_has_too_may_be_the_channels():
    text = """
        class Net:
            def send(self, what):
                pass

        pipe = Net()
        pipe = start(1)
        figure = ask(1)
        pipe.send(figure)
        """

    assert not [each for each in needless(text) if "figure" in each]
    own = text.replace("pipe = start(1)", "")
    assert [each for each in needless(own) if "figure" in each]


@pytest.mark.parametrize("call", ["locals()", "globals()", "eval(name)"])
def test_a_program_that_names_variables_at_run_time_cannot_be_read(call):
    assert program_of(f"name = ask(1)\nshow({call})").is_opaque


@pytest.mark.parametrize("call", ["vars(run)", "getattr(run, name)", "run.__dict__", "asdict(run)"])
def test_who_needs_attributes_that_are_named_at_run_time_needs_all(call):
    text = f"""
        class Run:
            def __init__(self, name):
                self.speed = ask(1)

        run = Run(1)
        show({call})
        """

    assert "self.speed = ask(1)" in needless(text)
    assert "self.speed = ask(1)" not in needless(text.replace("show(", "send("))


def test_an_attribute_that_is_named_is_read():
    text = """
        class Agent:
            def __init__(self):
                self.speed = ask(1)

        agent = Agent()
        env.step(getattr(agent, "speed"))
        """

    assert not [each for each in needless(text) if "ask" in each]


@pytest.mark.parametrize(
    ("read", "is_read"),
    [
        ("rewards, chances = memory", True),
        ("*_, chances = memory", True),
        ("one, two, three = memory", False),
        ("chances = memory[1]", True),
        ("chances = memory[-1]", True),
        ("chances = memory[0]", False),
        ("chances = [part for part in memory]", True),
        ("chances = list(memory)", True),
        ("chances = ask(*memory)", True),
        ("chances = memory", False),
    ],
)
def test_named_tuples_are_read_by_place_too(read: str, is_read: bool):
    defined = "class Memory(NamedTuple):\n    rewards: list\n    chances: list\n"
    text = f"{defined}memory.chances.append(ask(1))\n{read}\nenv.step(chances)"

    assert ("memory.chances.append(ask(1))" not in needless(text)) is is_read


def test_functions_that_call_each_other_are_read_once():
    text = """
        def even(table, n):
            rows = odd(table, n)
            rows[0] = n
            return rows

        def odd(table, n):
            rows = even(table, n)
            rows[1] = n
            return rows

        odd(even([], 1), 2)
        """

    assert "rows[0] = n" in needless(text)
    assert "rows[0] = n" not in needless(text + "\n        send(odd([], 3))")


def test_what_depends_on_a_value_is_followed_through_containers_and_calls():
    program = program_of(
        """
        def learn(table, reward):
            table[0] = reward

        def train(env):
            table = []
            action = ask(table)
            _, reward, over = env.step(action)
            other = ask(over)
            learn(table, reward)

        train(env)
        """
    )
    (train,) = {step.function for step in program.steps if ":train:" in step.function}

    dependent = {
        ast.unparse(step.node) for step in dependent_steps(program, [DataPlace(train, "reward")])
    }

    assert "_, reward, over = env.step(action)" in dependent
    assert "other = ask(over)" in dependent
    assert "table = []" not in dependent
