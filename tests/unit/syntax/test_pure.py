from __future__ import annotations

from textwrap import dedent

import pytest

from rlprof.model.recording import Frame
from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.pure import Pure, fitted_at, pure_around, pure_at

HEAD = """\
import copy, random
import numpy as np
import torch
from torch.nn import functional as F
SIDE = 8
"""


def read(text: str) -> SourceModule:
    module = parse(HEAD + dedent(text))
    assert module is not None
    return module


def around(text: str) -> Pure | None:
    """What the line with the mark, a comment, lies in."""
    lines = (HEAD + dedent(text)).splitlines()
    found = pure_around(read(text), next(i for i, line in enumerate(lines, 1) if "#" in line))
    return next((work for work in found if not work.is_part), None)


def test_a_function_that_only_computes_is_told_with_what_it_depends_on():
    found = around("""
        class Maze:
            def distances(self, goal):
                table = np.full((SIDE, SIDE), np.inf)
                for x, y in self.free:  #
                    table[x, y] = abs(x - goal[0]) + self.slope * y
                return table / table.max()
    """)

    assert found is not None
    assert found.function == "Maze.distances"
    assert [operand.text for operand in found.inputs] == [
        "SIDE",
        "self.free",
        "goal[0]",
        "self.slope",
    ]


def test_a_function_depends_on_what_those_of_the_file_depend_on_that_it_calls():
    found = around("""
        def scale(row):
            return row * GAIN

        class Map:
            def edges(self):
                return [it for it in self.links if it]

            def rows(self, first):
                return [scale(it) for it in self.edges()][first:]  #
    """)

    assert found is not None
    assert {operand.text for operand in found.inputs} == {"GAIN", "self.links", "first"}


def test_what_a_default_takes_is_no_parameter():
    found = around("""
        q = 1

        def best(x, key=lambda q: -q):
            return x + q

        def doubled(x):
            return best(x) * 2  #
    """)

    assert found is not None
    assert [operand.text for operand in found.inputs] == ["x", "q"]


def test_the_shape_of_an_array_is_the_array():
    found = around("""
        def ramp(values):
            n = values.shape[0]  #
            return np.linspace(0, 1, n)
    """)

    assert found is not None
    assert [operand.text for operand in found.inputs] == ["values"]


@pytest.mark.parametrize(
    "body",
    [
        "self.table = np.tril(np.ones((4, 4)))\n    return self.table",
        "self.seen.append(x)\n    return x",
        "rows = self.rows\n    rows[0] = 1\n    return rows",
        "for row in self.rows:\n        row += 1\n    return self.rows",
        "shared = torch.from_numpy(self.rows)\n    shared[0] = 1\n    return shared.sum()",
        "return x + random.random()",
        "return x + np.random.rand(3)",
        "return F.dropout(x, 0.5)",
        "return torch.randn(3) + x",
        "return self.net(x)",
        "return x.normal_()",
        "return self.policy.act(x)",
        "return open(x).read()",
        "yield x",
        "print(x)\n    return x",
        "global SIDE\n    SIDE = 3\n    return x",
        "return unknown(x)",
        "np.cumsum(x)",
        "with self.lock:\n        return np.cumsum(x)",
        "return np.add(x, x, out=self.buffer)",
        "np.multiply(x, x, self.buffer)\n    return x.sum()",
        "return np.square(x, x)",
        "np.add.at(self.visits, x, 1)\n    return self.visits.sum()",
        "return F.relu(x, inplace=True)",
        "return F.alpha_dropout(x, 0.1)",
        "return sum(map(np.random.normal, x))",
        "rows = list(self.rows)\n    rows[0][0] = 1\n    return rows[0][0] + x",
        "rows = [row for row in self.rows]\n    rows[0][0] = 1\n    return sum(rows[0])",
        "return torch.get_rng_state()",
        "torch.manual_seed(x)\n    return torch.arange(x)",
        "return torch.binomial(x, x)",
        "return round(x) + abs(x)",
        "return max(x)",
        "return np.random.Generator(x)",
        "operator.setitem(x, 0, 1)\n    return x",
    ],
)
def test_what_does_more_than_compute_is_no_pure_function(body: str):
    text = (
        f"import operator\ndef work(self, x):  #\n    {body}\n"
        "def round(number):\n    return number * random.random()\nmax = random.choice\n"
    )

    assert around(text) is None


@pytest.mark.parametrize(
    ("line", "inputs"),
    [
        ("mask = torch.triu(torch.ones(SIDE, SIDE), 1)", ["SIDE"]),
        ("mean, spread = data.mean(0), data.std(0)", ["data"]),
        ("self.order = np.argsort([len(it) for it in data])", ["data"]),
        ("x = (data - self.low) / max(self.high, 1e-8)", ["data", "self.low", "self.high"]),
        ("with_grad = F.one_hot(torch.arange(SIDE))", ["SIDE"]),
    ],
)
def test_a_statement_is_pure_by_itself(line: str, inputs: list[str]):
    found = around(
        f"class A:\n    def learn(self, data):\n        {line}  #\n        self.step(data)\n"
    )

    assert found is not None
    assert found.function == ""
    assert [operand.text for operand in found.inputs] == inputs


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("total += data.sum()", "pass"),
        ("total = total.mean() + data.sum()", "pass"),
        ("seen[0] = data.sum()", "pass"),
        ("rows = np.zeros(SIDE)", "pass"),
        ("fresh = copy.deepcopy(data)", "pass"),
        ("kept = data.mean(0)", "kept[0] = 1"),
        ("kept = data.mean(0)", "kept *= 2"),
        ("self.kept = data.mean(0)", "self.kept.clamp_(0)"),
        ("low = data", "pass"),
        ("inds = np.arange(len(data))", "np.random.shuffle(inds)"),
        ("inds = np.arange(len(data))", "self.rng.shuffle(inds)"),
        ("canvas = np.repeat(data, 3, 2)", "np.fill_diagonal(canvas, 0)"),
        ("mean = data.mean(0)", "mean.data += 1"),
        ("batch = torch.zeros(4, 84).to(self.device)", "pass"),
        ("state = torch.get_rng_state()", "pass"),
        ("out = self.net(data)", "pass"),
        ("self.kept = data.mean(0)", "kept = self.kept; kept[0] = 1"),
        (
            "self.kept = np.repeat(data, 8)",
            "kept = self.kept.reshape(8, 8); low = kept; low[0] = 1",
        ),
        ("self.kept = np.repeat(data, 8)", "other.kept[0] = 1"),
        ("self.kept = np.repeat(data, 8)", "for row in self.kept: row[0] = 1"),
    ],
)
def test_a_statement_that_changes_something_or_whose_result_is_written_to_is_none(
    line: str, after: str
):
    text = (
        f"class A:\n    def learn(self, data, total, seen):\n        {line}  #\n        {after}\n"
    )

    assert around(text) is None


def test_what_is_kept_by_itself_is_not_told():
    text = """
        def train(links):
            table = None
            for _ in range(SIDE):
                if table is None:
                    table = np.sort(links)  #
    """

    assert around(text) is None


def test_in_the_frame_of_a_comprehension_nothing_is_told():
    module = read("""
        class Maze:
            def near(self, goal):
                return sum(abs(x - goal) for x in self.free)
    """)
    line = len(HEAD.splitlines()) + 4

    def told(function: str) -> list[str]:
        return [pure.function for pure in pure_at(module, Frame("maze.py", function, line))]

    assert told("Maze.near")[:1] == ["Maze.near"]
    assert told("near")[:1] == ["Maze.near"], "as Python before 3.11 has it"
    for inner in ("Maze.near.<locals>.<genexpr>", "<listcomp>", "Maze.near.<locals>.<lambda>"):
        assert told(inner) == []


def test_calls_of_a_line_of_very_many_are_not_read():
    calls = ", ".join(f"np.sin(x * {number})" for number in range(400))
    module = read(f"def seen(x):\n    yield np.array([{calls}])\n")

    assert pure_around(module, len(HEAD.splitlines()) + 2) == []


@pytest.mark.parametrize(
    "text",
    [
        "x = data.mean(0); self.net(3)",
        "yield other @ (seen - data.mean(0))",
        "self.kept = np.repeat(data, 8).reshape(8, 8)\n        kept = self.kept; kept[0] = 1",
        "return np.repeat(data, 8).reshape(8, 8)\nboard = A().learn([], [], [])\nboard[0] = 1",
    ],
)
def test_a_call_is_not_told_where_the_line_may_do_more_or_its_result_is_written_to(text: str):
    head = "class A:\n    def learn(self, data, seen, other):\n        self.turns = 1\n        "
    module = read(head + text)

    assert pure_around(module, len(HEAD.splitlines()) + 4) == []


@pytest.mark.parametrize(
    "line",
    [
        "self.net(x) + torch.log(self.mask)",
        "x @ self.weights.transpose()",
        "np.random.normal(0, np.exp(self.spread), size=3)",
        "[np.linalg.norm(self.table[player]) for player in x]",
        "np.exp(x) * self.data.mean(0)",
    ],
)
def test_a_call_is_not_told_beside_other_work(line: str):
    text = f"class A:\n    def act(self, x):\n        yield {line}\n"
    last = len((HEAD + text).splitlines())

    assert [
        work for work in pure_around(read(text), last) if "x" not in {i.text for i in work.inputs}
    ] == []


def test_a_method_that_a_derived_class_has_too_is_not_read():
    assert (
        around("""
            class Base:
                def reward(self, x):
                    return np.abs(x)

                def table(self):
                    return self.reward(np.arange(self.n))  #

            class Child(Base):
                def reward(self, x):
                    return np.abs(x - self.goal)
        """)
        is None
    )


def test_what_a_loop_goes_through_is_no_input_that_stays():
    assert around("for player in (0, 1):\n    w = np.linalg.norm(table[player])  #\n") is None


def test_the_device_of_a_tensor_is_of_no_matter():
    found = around("""
        class A:
            def act(self, n):
                order = torch.arange(n, device=self.device)  #
                return self.go(order, self.size)
    """)

    assert found is not None
    assert [operand.text for operand in found.inputs] == ["n"]


def test_a_call_is_pure_within_a_statement_that_is_not():
    text = (
        "def scale(x, data):\n    yield (x - data.mean(0)) / np.linalg.norm(data - data.min())  #\n"
    )
    lines = (HEAD + text).splitlines()

    found = pure_around(read(text), len(lines))

    assert [[operand.text for operand in pure.inputs] for pure in found] == [["data"]]
    assert all(pure.is_part for pure in found)


@pytest.mark.parametrize(
    ("used", "is_told"),
    [
        ("b = board()\nprint(b[0])", True),
        ("b = board()\nb[0][1] = 2", False),
        ("b = board()\nb.append(3)", False),
        ("play(board())", False),
    ],
)
def test_a_new_container_is_only_told_where_nobody_writes_to_it(used: str, is_told: bool):
    found = around(f"def board():\n    return [[0] * SIDE for _ in range(SIDE)]  #\n\n{used}\n")

    assert (found is not None) == is_told


def test_functions_that_call_each_other_end():
    assert around("def a(x):\n    return b(x)  #\n\ndef b(x):\n    return a(x)\n") is None


def test_queues_and_heaps_of_its_own_are_nobody_elses():
    found = around("""
        import heapq
        from collections import deque

        class Maze:
            def far(self, here):
                queue, heap = deque([here]), [(0, here)]
                while queue:
                    cell = queue.popleft()  #
                    heapq.heappush(heap, (1, cell))
                return heapq.heappop(heap)[0] + self.size
    """)

    assert found is not None
    assert found.keeps_arguments
    assert [operand.text for operand in found.inputs] == ["here", "self.size"]


def test_a_heap_of_others_is_changed():
    assert (
        around("""
        import heapq

        def next_of(heap):
            return heapq.heappop(heap)  #
    """)
        is None
    )


def test_an_argument_that_is_assigned_is_no_key_of_the_result():
    found = around("""
        def far(here, there):
            here = here + SIDE
            return (there - here) ** 2  #
    """)

    assert found is not None
    assert not found.keeps_arguments


def test_each_function_is_read_once_however_many_call_it():
    layers = "".join(
        f"def layer{k}(x):\n    return " + " + ".join([f"layer{k + 1}(x)"] * 12) + "\n"
        for k in range(3)
    )
    found = around(
        f"{layers}def layer3(x):\n    return x * SIDE\ndef top(x):\n    return layer1(x)  #\n"
    )

    assert found is not None
    assert [operand.text for operand in found.inputs] == ["x", "SIDE"]


def test_a_search_in_a_text_only_computes():
    found = around("""
        import re
        def setting(name):
            told = re.search(rf"^{re.escape(name)} = (.+)$", SCENARIO, re.M)  #
            return float(told.group(1))
    """)

    assert found is not None
    assert [operand.text for operand in found.inputs] == ["name", "SCENARIO"]


SCALER = """
class Scaler:
    def __init__(self):
        self.mean = self.width = 0.0

    def fit(self, rows):  #
        apart = rows - rows.mean(0)
        self.mean = rows.mean(0)
        self.width = np.sqrt((apart**2).mean(0))
        return self

    def scaled(self, rows):
        return (rows - self.mean) / self.width
"""


def fitted(text: str) -> Pure | None:
    lines = (HEAD + text).splitlines()
    return fitted_at(read(text), next(i for i, line in enumerate(lines, 1) if "#" in line))


def test_a_method_that_fits_its_object_leaves_the_same_when_it_is_called_again():
    found = fitted(SCALER)

    assert found is not None
    assert (found.function, [each.text for each in found.inputs]) == ("Scaler.fit", ["rows"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.mean = rows", "self.mean = 0.9 * self.mean + rows"),
        ("self.width = np", "self.width += np"),
        ("self.mean = rows", "self.seen.append(rows); self.mean = rows"),
        ("rows.mean(0)\n        self.width", "np.random.rand(3)\n        self.width"),
        ("return self", "return rows"),
        ("self.mean = rows", "if self.is_new: self.mean = rows"),
    ],
    ids=["a running mean", "added to", "kept", "drawn", "gives it", "at times"],
)
def test_not_where_the_next_call_leaves_something_else(before, after):
    assert before in SCALER

    assert fitted(SCALER.replace(before, after, 1)) is None


@pytest.mark.parametrize(
    ("held", "inputs"),
    [
        ("lambda rows: rows.reshape((-1,) + rows.shape[2:])", {"self.frames"}),
        ("lambda rows: rows.reshape(-1, self.width)", {"self.frames", "self.width"}),
        ("lambda rows, width=8: rows.reshape(-1, width)", {"self.frames"}),
        ("lambda rows: self.draw(rows)", None),
        ("lambda rows: flat(rows)", None),
        ("lambda rows: rows\n                flat = lambda rows: rows[::2]", None),
    ],
)
def test_a_lambda_that_a_variable_holds_is_read(held: str, inputs: set[str] | None):
    found = around(f"""
        class Rollout:
            def as_tensor(self):
                flat = {held}
                return torch.as_tensor(flat(self.frames)).float().div(255.0)  #
        """)
    assert ({operand.text for operand in found.inputs} if found else None) == inputs
