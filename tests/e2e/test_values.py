"""What hot lines work on, as looked at in real programs."""

from __future__ import annotations

import pytest

from rlprof.report.build import build_report
from tests.live_processes import Result

TRAINING = """\
import sys, time

class Env:
    def __init__(self):
        self.state = [0.0] * 16

    def step(self, action):
        total = 0.0
        for value in self.state * 400:
            total += value * action
        return self.state, total, False, {}

def train(env, history):
    until = time.thread_time() + 3.0
    while time.thread_time() < until:
        state, reward, done, info = env.step(1.0)
        history = history + [reward]

train(Env(), [])
print("trained")
"""


def seen(result: Result, operand: str) -> list[dict[str, str]]:
    values = sorted(result.recording.values, key=lambda value: value.first_us)
    return [dict(value.fields) for value in values if value.operand == operand]


def check(result: Result) -> None:
    assert (result.code, result.out) == (0, b"trained\n")
    assert {value["function"] for value in seen(result, "env.step")} == {"__main__.Env.step"}
    assert {value["type"] for value in seen(result, "self.state")} == {"list"}
    assert {value["type"] for value in seen(result, "reward")} == {"float"}
    assert result.recording.overhead["values_cpu_us"] > 0


def test_values_of_hot_lines_are_told(write, rlprof_run):
    check(rlprof_run(write(TRAINING)))


def test_children_tell_theirs(write, rlprof_run):
    program = TRAINING.replace("train(Env(), [])\n", "").replace(
        'print("trained")',
        "import multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    child = multiprocessing.Process(target=train, args=(Env(), []))\n"
        "    child.start(); child.join()\n"
        "    print('trained')",
    )
    check(rlprof_run(write(program)))


def test_what_a_hot_line_calls_can_be_read_in_the_report(tmp_path, write, rlprof_run):
    (tmp_path / "quiet.py").write_text("def hush(text):\n    return None\n")
    program = TRAINING.replace("import sys, time", "import sys, time\nfrom quiet import hush")
    result = rlprof_run(
        write(program.replace("history = history", "hush(reward); history = history"))
    )

    assert result.code == 0
    assert "def hush" in result.recording.sources[str(tmp_path / "quiet.py")]


SEARCHING = """\
import time

class Shelf:
    def __init__(self):
        self.rows = [(row, row + 1) for row in range(20_000)]

    def __call__(self, number):
        found = (number, -1) in self.rows

def train(shelf):
    until = time.thread_time() + 5.0
    while time.thread_time() < until:
        shelf(3)
        total = sum(range(3_000))

train(Shelf())
print("trained")
"""


def test_what_a_line_works_on_whose_function_has_returned_when_python_looks_is_told(
    write, rlprof_run
):
    result = rlprof_run(write(SEARCHING))

    assert (result.code, result.out) == (0, b"trained\n")
    assert [(value["type"], value["length"]) for value in seen(result, "self.rows")] == [
        ("list", "20000")
    ]


def test_none_are_told_where_they_are_not_wanted(write, rlprof_run):
    result = rlprof_run(write(TRAINING), options=["--no-values"])

    assert result.out == b"trained\n"
    assert result.recording.values == ()
    assert result.recording.overhead["values_cpu_us"] == 0


@pytest.mark.parametrize("reader", ["locals()", "sys._getframe().f_locals"])
def test_a_program_that_reads_its_locals_finds_them(write, rlprof_run, reader):
    """Before Python 3.13 both give one dict, which a look would renew and empty."""
    program = f"""\
import sys, time

def busy(n):
    return sum(i * i for i in range(n))

def train():
    until = time.thread_time() + 2.0
    kept = {reader}
    before = sorted(kept)
    while time.thread_time() < until:
        x = busy(2000)
        assert sorted(kept) == before, sorted(kept)

train()
print("trained")
"""
    result = rlprof_run(write(program))

    assert (result.code, result.out) == (0, b"trained\n")


DISTILLATION = """\
import time, torch

def embedding():
    return torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))

torch.set_num_threads(1)
target, predictor = embedding(), embedding()
optimizer = torch.optim.Adam(predictor.parameters())
seen = torch.randn(64, 16)

def error():
    goal = target(seen)
    guess = predictor(seen)
    return (goal - guess).pow(2).mean()

until = time.process_time() + 6.0
while time.process_time() < until:
    optimizer.zero_grad()
    error().backward()
    optimizer.step()
print("trained")
"""


@pytest.mark.slow
def test_a_network_that_is_given_gradients_and_not_trained_is_told(write, rlprof_run):
    pytest.importorskip("torch", reason="torch is missing (make test installs it)")

    result = rlprof_run(write(DISTILLATION))

    assert (result.code, result.out) == (0, b"trained\n")
    (target, predictor) = (seen(result, name)[-1] for name in ("target", "predictor"))
    assert (target["optimized"], target["gradients"]) == ("0", "1")
    assert predictor["optimized"] == "1"


ENSEMBLE = """\
import time, torch

class Critics(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.members = torch.nn.ModuleList(torch.nn.Linear(16, 1) for _ in range(8))

    def forward(self, seen):
        return torch.stack([member(seen) for member in self.members])

torch.set_num_threads(1)
critics, seen = Critics(), torch.randn(64, 16)
optimizer = torch.optim.SGD(critics.parameters())
until = time.process_time() + 6.0
while time.process_time() < until:
    optimizer.zero_grad()
    critics(seen).pow(2).mean().backward()
    optimizer.step()
print("trained")
"""


@pytest.mark.slow
def test_networks_that_are_asked_one_after_the_other_are_told(write, rlprof_run):
    pytest.importorskip("torch", reason="torch is missing (make test installs it)")

    result = rlprof_run(write(ENSEMBLE))

    assert (result.code, result.out) == (0, b"trained\n")
    told = seen(result, "self.members")[-1]
    assert (told["length"], told["first.type"]) == ("8", "torch.nn.modules.linear.Linear")
    report = build_report(result.recording)
    assert "ensemble-loop" in {finding.finding.detector for finding in report.findings}


GRAPH = """\
import time

LINKS = [[(node + 1) % 40, (node + 7) % 40] for node in range(40)]

class Features:
    def __init__(self, links):
        self.links = links

    def distances(self):
        table = [[99] * 40 for _ in range(40)]
        for node, others in enumerate(self.links):
            for other in others:
                table[node][other] = 1
        return [min(row) for row in table]

    def of(self, node):
        near = self.distances()
        return near[node] + sum(range(3_000))

class Env:
    def __init__(self, features):
        self.features = features
        self.node = 0

    def reset(self):
        return 0.0

    def step(self, action):
        self.node = (self.node + action) % 40
        return float(self.features.of(self.node)), 0.0, False, {}

env = Env(Features(LINKS))
state = env.reset()
until = time.thread_time() + 6.0
while time.thread_time() < until:
    state, reward, done, info = env.step(1 + int(state) % 2)
"""


def test_work_on_what_never_changes_is_told(write, rlprof_run):
    result = rlprof_run(write(GRAPH))

    compared = [value for value in seen(result, "self.links") if "same" in value]
    assert sum(int(value["same"]) for value in compared) >= 3
    assert {value["other"] for value in compared} == {"0"}
    findings = build_report(result.recording).findings
    assert "repeated-work" in [finding.finding.detector for finding in findings]
