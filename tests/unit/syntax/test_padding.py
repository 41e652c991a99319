from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from rlprof.syntax.module import SourceModule
from rlprof.syntax.padding import looked_at, paddings

SETTINGS = """
import numpy as np

WIDTH = 64
PARTS = 2

class Config:
    def __init__(self, limit=200):
        self.limit = limit
"""


def found(body: str, *others: str, arguments: str = "self, episodes") -> list[tuple[str, str]]:
    """Widths and sequences of a function with this body, and what else is in its file."""
    function = f"def collate({arguments}):\n{indent(dedent(body), '    ')}"
    text = "\n".join([SETTINGS, function, *map(dedent, others)])
    modules = {"train.py": SourceModule(ast.parse(text))}
    return [
        (ast.unparse(padding.width), ast.unparse(padding.sequence)) for padding in paddings(modules)
    ]


WRITTEN = """
rows = np.zeros((len(episodes), {width}, 4))
for i, episode in enumerate(episodes):
    rows[i, :len(episode)] = episode
"""


@pytest.mark.parametrize("width", ["64", "WIDTH", "self.limit", "WIDTH // PARTS", "self.config.limit"])  # fmt: skip
def test_finds_rows_that_are_written_up_to_a_length(width):
    assert found(WRITTEN.format(width=width)) == [(width, "episode")]


@pytest.mark.parametrize(("length", "is_found"), [("sizes[j]", True), ("sizes[i]", False)])
def test_lengths_that_are_kept_apart_are_those_of_what_is_picked_with_them(length, is_found):
    body = f"""
    rows = np.zeros((len(picked), WIDTH, 4))
    for i, j in enumerate(picked):
        k = {length}
        rows[i, :k] = episodes[j]
    """

    assert found(body, arguments="picked, episodes, sizes") == (
        [("WIDTH", "episodes[j]")] if is_found else []
    )


@pytest.mark.parametrize(
    "body",
    [
        """
        horizon = self.limit
        rows = torch.zeros(horizon, len(episodes), 4)
        for i, episode in enumerate(episodes):
            k = len(episode)
            rows[:k, i] = episode
        """,
        """
        rows = np.full((len(episodes), WIDTH), 0)
        for i, episode in enumerate(episodes):
            n = min(episode.shape[0], WIDTH)
            rows[i, :n] = episode[:n]
        """,
        """
        for episode in episodes:
            yield np.pad(episode, ((0, WIDTH - len(episode)), (0, 0)))
        """,
        """
        return [episode + [0] * (WIDTH - len(episode)) for episode in episodes]
        """,
        """
        return [np.concatenate([episode, np.zeros((WIDTH - len(episode), 4))]) for episode in episodes]
        """,
    ],
    ids=["first axis", "cut", "pad", "list", "joined"],
)
def test_finds_other_ways_to_fill_up(body):
    assert [sequence for _, sequence in found(body)] == ["episode"]


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ("collate(agent, episodes, WIDTH)", True),
        ("collate(agent, episodes, width=64)", True),
        ("collate(agent, episodes, max(map(len, episodes)))", False),
        ("collate(agent, episodes, longest)", False),
        ("other(agent)", False),
    ],
)
def test_a_width_that_is_handed_over_is_what_callers_give(call, is_found):
    caller = f"""
    def update(agent, episodes):
        longest = max(len(it) for it in episodes)
        return {call}
    """
    told = found(WRITTEN.format(width="width"), caller, arguments="agent, episodes, width")
    assert bool(told) == is_found


@pytest.mark.parametrize(
    "body",
    [
        WRITTEN.format(width="max(map(len, episodes))"),
        "longest = max(map(len, episodes))" + WRITTEN.format(width="longest"),
        WRITTEN.format(width="self.longest"),
        "rows = np.zeros((8, WIDTH))\nrows[0, :len(episodes)] = episodes",
        "rows = np.zeros((8, WIDTH))\nfor i, it in enumerate(episodes):\n    rows[i, :4] = it",
        "rest = WIDTH - len(episodes)\nreturn rest * 2",
        "k = episodes.shape[1]\nreturn torch.cat([episodes, torch.zeros(8, WIDTH - k, 4)], 1)",
        "k = episodes.size(1)\nreturn torch.cat([episodes, torch.zeros(8, WIDTH - k, 4)], 1)",
    ],
    ids=["longest", "variable", "attribute", "one row", "a part", "counted", "axis", "size"],
)
def test_finds_nothing_where_it_is_not_fixed_or_not_filled_up(body):
    longest = """
    def note(self, episodes):
        self.longest = max(self.longest, len(episodes))
    """
    assert found(body, longest) == []


def looked_at_in(name: str) -> list[str]:
    """Operands that are asked for at the lines of a function."""
    text = """
    class Trainer:
        def collate(self, episodes):
            rows = np.zeros((64, len(episodes), 4))
            for i, episode in enumerate(episodes):
                k = len(episode)
                rows[:k, i] = episode.seen
            return rows

        def update(self, batch):
            loss = self.net(self.collate(batch.episodes)).mean()
            loss.backward()

        def log(self, batch):
            print(batch)
    """
    module = SourceModule(ast.parse(dedent(text)))
    (function,) = (candidate for candidate in module.functions if candidate.node.name == name)
    return [operand.text for operand in looked_at(module, function.first_line)]


@pytest.mark.parametrize(
    ("function", "operands"),
    [
        ("collate", ["episodes[0].seen"]),
        ("update", ["batch.episodes[0].seen"]),
        ("log", []),
    ],
)
def test_the_first_sequence_is_looked_at_where_it_is_handed_over(function, operands):
    assert looked_at_in(function) == operands


@pytest.mark.parametrize(
    "body",
    [
        """
        rows = torch.zeros(len(episodes), WIDTH, 4)
        for i, (seen, actions) in enumerate(episodes):
            n = len(actions)
            rows[i, -n:] = torch.from_numpy(np.stack(seen))
        """,
        """
        rows = torch.zeros(len(episodes), WIDTH, 4)
        for i, seen in enumerate(episodes):
            rows[i, WIDTH - len(seen):] = torch.tensor(seen)
        """,
    ],
)
def test_finds_what_is_filled_up_on_the_left(body):
    assert found(body) == [("WIDTH", "seen")]


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("while len(episode) < WIDTH:\n    episode.append((np.zeros(4), 0, 0.0))", True),
        ("zero = np.zeros(4)\nwhile len(episode) < WIDTH:\n    episode.append(zero)", True),
        ("while len(episode) < WIDTH:\n    episode.append(draw())", False),
        ("while len(episode) < WIDTH:\n    episode.append(episode[-1])", False),
        ("while len(episode) < WIDTH:\n    obs = step()\n    episode.append(0)", False),
        ("while len(episode) < max(map(len, episodes)):\n    episode.append(0)", False),
    ],
)
def test_a_list_that_zeros_are_added_to_until_it_is_long_enough(body, is_found):
    assert found(body, arguments="episode, episodes") == (
        [("WIDTH", "episode")] if is_found else []
    )


BY_STEP = """
    class Buffer:
        def __init__(self, rows, steps=100):
            self.obs = np.zeros((rows, steps, 8))
            self.episode = self.t = 0

        def add(self, obs, done):
            self.obs[self.episode, self.t] = obs
            self.t += 1
            if done:
                self.episode, self.t = (self.episode + 1) % 200, 0

        def sample(self, n):
            return self.obs[np.random.randint(0, 200, n)]

    def main():
        buffer = Buffer(200)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", True),
        ("self.episode, self.t = (self.episode + 1) % 200, 0", "self.episode += 1\n                self.t = 0", True),
        ("if done:", "if self.t == 100:", False),
        ("self.t += 1", "self.t = self.t + draw()", False),
        ("200, n)]", "200, n), :longest]", False),
        ("steps=100", "steps=longest(7)", False),
        ("self.episode, self.t = (self.episode + 1) % 200, 0", "self.t = 0", False),
        ("return self.obs[np.random.randint(0, 200, n)]", "return 3", False),
    ],
)  # fmt: skip
def test_rows_that_are_written_step_by_step_and_taken_whole(old, new, is_found):
    assert old in BY_STEP
    modules = {"train.py": SourceModule(ast.parse(dedent(BY_STEP.replace(old, new, 1))))}

    told = [(ast.unparse(each.width), each.function.qualname) for each in paddings(modules)]

    assert told == ([("steps", "Buffer.sample")] if is_found else [])
