"""repeated-work: what is computed anew in each turn of a loop, though no turn changes what it depends on."""

from __future__ import annotations

import re

import pytest

from rlprof.detectors.repeated_work import DETECTOR, MOST_OF_TURNS
from rlprof.model.finding import Finding, Range
from rlprof.syntax.module import parse
from tests.factories import a_run
from tests.profile_factory import Script, detect, lines_of
from tests.unit.detectors.changing_turns import PROGRAMS

WORLD = """
import numpy as np

class Flock:
    def gaps(self):
        apart = self.at[None] - self.at[:, None]
        return np.sqrt((apart ** 2).sum(-1))

    def view(self, i):
        near = self.gaps()
        return near[i]

    def gaps_of(self, kind):
        return np.sqrt((self.at[kind] ** 2).sum(-1))

    def view_of(self, i):
        near = self.gaps_of(i)
        return near[i]

    def look(self, i):
        near = self.gaps()
        self.at[i] = near[i]
        return near[i]

    def step(self, moves):
        self.at = self.at + moves
        {loop}
"""


def told(
    loop: str, method: str = "view", inner: str = "gaps", line: str = "np.sqrt((apart"
) -> list[Finding]:
    script = Script("flock.py", WORLD.format(loop=loop))
    step = script.at(f"{method}(i)", "Flock.step")
    stack = (
        "train.py:3 train",
        step,
        script.at(f"near = self.{inner}(", f"Flock.{method}"),
        script.at(line, f"Flock.{inner}"),
    )
    run = (
        a_run(steady_s=10.0)
        .process("main", steps=1000)
        .source("train.py", "for _ in range(9):\n    x = 1\n    flock.step(moves)\n")
    )
    return detect(DETECTOR, run.spends(4.0, *stack).spends(6.0, "train.py:3 train"), script)


def test_is_told_at_the_loop():
    (finding,) = told("return [self.view(i) for i in range(self.number)]")

    assert finding.title.startswith("gaps is computed anew in each turn (flock.py:")
    assert len(lines_of(finding)) == 1
    assert finding.evidence[1] == (
        "it is called by view in each turn of a loop, and no turn changes what it depends on: self.at"
    )
    assert finding.savings[0].removable == Range(0.0, MOST_OF_TURNS)


@pytest.mark.parametrize(
    "loop",
    [
        "return {i: self.view(i) for i in range(self.number)}",
        "return np.stack([self.view(i) for i in range(self.number)])",
        "views = []\n        for i in range(self.number):\n            views.append(self.view(i))",
        "views = {}\n        for i in range(self.number):\n            views[i] = self.view(i)",
    ],
)
def test_whatever_the_loop(loop: str):
    assert len(told(loop)) == 1


def test_the_number_of_turns_is_the_price():
    (finding,) = told("return [self.view(i) for i in range(5)]")

    assert finding.savings[0].removable == Range(0.8, 0.8)


def test_loops_in_each_other_multiply():
    (finding,) = told("return [self.view(i) for _ in range(4) for i in range(5)]")
    (unknown,) = told("return [self.view(i) for _ in range(4) for i in range(self.number)]")

    assert finding.savings[0].removable == Range(0.95, 0.95)
    assert unknown.savings[0].removable == Range(0.75, MOST_OF_TURNS)


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(self.number):\n            self.at = self.view(i)",
        "for i in range(self.number):\n            self.at[i] = self.view(i)",
        "for i in range(self.number):\n            self.push(self.view(i))",
        "return [bird.view(i) for i, bird in enumerate(self.birds)]",
        "return self.view(i)",
    ],
    ids=["changes it", "changes a part", "may change it", "another object each turn", "no loop"],
)
def test_silent_where_a_turn_may_make_a_difference(loop: str):
    assert told(loop) == []


def test_silent_where_it_is_given_something():
    loop = "return [self.view_of(i) for i in range(self.number)]"

    assert told(loop, "view_of", "gaps_of", "np.sqrt((self.at[kind]") == []


def test_silent_where_who_calls_it_changes_what_it_depends_on():
    assert told("return [self.look(i) for i in range(self.number)]", "look") == []


LEARNER = """
import numpy as np

class Basis:
    def __init__(self, centres):
        self.centres = centres

    def __call__(self, obs):
        apart = obs[:, None] - self.centres
        return np.exp(-(apart ** 2).sum(-1))

class Fitted:
    def __init__(self, basis, window):
        self.basis, self.window = basis, window

    def sweep(self, obs, actions):
        phi = self.basis(obs)
        self.weights += phi.T @ actions

    def improve(self, data):
        {improve}

    def train(self):
        while True:
            self.improve(self.window.all())
"""
SWEEPS = "for _ in range({turns}):\n            self.sweep(*data)"


def told_of_sweeps(improve: str, looks: str = "") -> list[Finding]:
    script = Script("fitted.py", LEARNER.format(improve=improve))
    inside = script.at("return np.exp", "Basis.__call__")
    stack = (
        script.at("self.improve(", "Fitted.train"),
        script.at("self.sweep(", "Fitted.improve"),
        script.at("phi = self.basis", "Fitted.sweep"),
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, *stack, inside).spends(4.0, stack[0])
    if looks:
        run.sees(inside, obs=looks, self__centres="type=numpy.ndarray same=9 other=0")
    return detect(DETECTOR, run, script)


def test_is_told_through_the_functions_between():
    (finding,) = told_of_sweeps(SWEEPS.format(turns=4), "type=numpy.ndarray same=0 other=9")

    assert finding.title == "Basis is computed anew in each turn (fitted.py:21)"
    assert finding.evidence[1] == (
        "it is called by sweep in each of 4 turns of a loop, and no turn changes what it depends on: data, self.basis.centres"
    )
    assert finding.fix.startswith("Compute it once before the loop, and hand the result to sweep;")
    assert finding.savings[0].removable == Range(0.75, 0.75)


@pytest.mark.parametrize(
    ("improve", "looks"),
    [
        (SWEEPS.format(turns=1), ""),
        ("for data in self.batches(data):\n            self.sweep(*data)", ""),
        ("for turn in range(4):\n            if turn % 2:\n                self.sweep(*data)", ""),
        (
            "for _ in range(4):\n            self.basis.centres = 2\n            self.sweep(*data)",
            "",
        ),
    ],
    ids=["one turn", "other data", "not in each turn", "changed"],
)
def test_silent_where_not_the_same_is_computed(improve: str, looks: str):
    assert told_of_sweeps(improve, looks) == []


MODEL = Script(
    "model.py",
    """
    import numpy as np

    class Scaler:
        def fit(self, rows):
            self.mean = rows.mean(0)

        def __call__(self, rows):
            return rows - self.mean

    class Model:
        def train(self, rows):
            for _ in range(4):
                for start in range(0, len(rows), 64):
                    self.scaler.fit(rows)
                    some = self.scaler(rows[start : start + 64])
    """,
)


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("self.scaler.fit(rows)", ""),
        ("self.scaler.fit(rows[start:])", ""),
        ("self.scaler.fit(rows)", "\ndef fade(scaler):\n    scaler.mean *= 0.9\n"),
    ],
    ids=["the same", "others in each turn", "others give it values, too"],
)
def test_what_is_fitted_anew_to_the_same_in_each_turn(line: str, others: str):
    script = Script("model.py", MODEL.text.replace("self.scaler.fit(rows)", line) + others)
    call, inside = script.at(line, "Model.train"), script.at("self.mean = rows", "Scaler.fit")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, call, inside).spends(6.0, "train.py:3 train")
    run.sees(inside, rows="type=numpy.ndarray shape=4000,6 dtype=f8")
    run.sees(script.at("some = ", "Model.train"), self__scaler="type=model.Scaler file=model.py")

    found = detect(DETECTOR, run, script)

    titles = [finding.title for finding in found]
    is_the_same = line == "self.scaler.fit(rows)" and not others
    assert titles == (["fit is computed anew in each turn (model.py:14)"] if is_the_same else [])


def frames_of(files: list[Script]) -> list[str]:
    """The frames of the lines marked ``#1``, ``#2`` ..., the outermost first; ``#2<listcomp>`` is one of a comprehension."""
    found: list[tuple[str, str]] = []
    for script in files:
        module = parse(script.text)
        assert module is not None
        for number, line in enumerate(script.text.splitlines(), start=1):
            for mark, inner in re.findall(r"#(\d)(<\w+>)?", line):
                function = module.function_at(number)
                names = [function.qualname] if function else []
                names += [inner] if inner else []
                found.append((mark, f"{script.file}:{number} {'.<locals>.'.join(names)}"))
    return [frame for _, frame in sorted(found)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_silent_where_turns_differ(name: str):
    files = [Script(f"mod{number}.py", text) for number, text in enumerate(PROGRAMS[name])]
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.source("train.py", "for _ in range(9):\n    x = 1\n    main_program()\n")
    run.spends(6.0, "train.py:3 train", *frames_of(files)).spends(4.0, "train.py:3 train")

    assert detect(DETECTOR, run, *files) == []
