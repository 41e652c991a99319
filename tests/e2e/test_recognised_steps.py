"""Environments of programs' own: found by their use, counted from then on, and nothing else is."""

from __future__ import annotations

import json

import pytest

from rlprof.pace.pace import measure_pace
from tests.live_processes import Result

WORLD = """\
import json, sys, time

class Maze:
    def __init__(self, side):
        self.side, self.made = side, 0
        self.begin()

    def begin(self):
        self.at = [0, 0]
        self.left = 50
        return tuple(self.at)

    def copy(self):
        other = Maze(self.side)
        other.at, other.left = self.at[:], self.left
        return other

    def go(self, way):
        self.made += 1
        for _ in range(40):
            self.at[way % 2] = (self.at[way % 2] + (1 if way < 2 else -1)) % self.side
        self.left -= 1
        return tuple(self.at), float(sum(self.at)), self.left % 50 == 0
"""

TRAINING = """\
def train(maze, seconds):
    values = {}
    steps, until, half = 0, time.thread_time() + seconds, None
    while time.thread_time() < until:
        seen, over = maze.begin(), False
        while not over:
            way = int(values.get(seen, 0)) % 4
            then, gain, over = maze.go(way)
            values[seen] = values.get(seen, 0.0) + 0.1 * gain
            seen = then
            steps += 1
        if half is None and time.thread_time() > until - seconds / 2:
            half = steps, time.perf_counter()
    return steps, (steps - half[0]) / (time.perf_counter() - half[1])
"""

PRINTED = """
if __name__ == "__main__":
    steps, sps = train(Maze(7), 3.0)
    print(json.dumps({"steps": steps, "sps": sps, "made": Maze.go.__name__}))
"""


def recognised(result: Result) -> float:
    return sum(
        counter.value for counter in result.recording.counters if counter.name == "steps:recognised"
    )


def check(result: Result) -> None:
    assert result.code == 0
    told = json.loads(result.out)
    throughput = measure_pace(result.recording).throughput
    assert 0.3 * told["steps"] < recognised(result) < told["steps"]
    assert throughput.total_steps == recognised(result)
    assert throughput.unit == "steps"
    assert "steps-recognised" in result.note_slugs
    assert told["made"] == "go"


def test_an_environment_of_the_programs_own_is_counted(write, rlprof_run):
    check(rlprof_run(write(WORLD + TRAINING + PRINTED)))


def test_in_every_python(write, rlprof_run, other_python):
    result = rlprof_run(write(WORLD + TRAINING + PRINTED), options=["--python", other_python])

    check(result)
    # Each tells what its hot lines work on, too.
    told = [dict(value.fields) for value in result.recording.values if value.operand == "self.at"]
    assert {value["type"] for value in told} == {"list"}


# Before Python 3.12 a comprehension has a frame of its own.
@pytest.mark.parametrize("other_python", ["3.9", "3.13"], indirect=True)
def test_each_of_a_list(write, rlprof_run, other_python):
    script = """
def train(maze, seconds):
    mazes = [maze, maze.copy(), maze.copy(), maze.copy()]
    until, steps = time.thread_time() + seconds, 0
    seen = [each.begin() for each in mazes]
    while time.thread_time() < until:
        ways = [sum(one) % 4 for one in seen]
        outcome = [each.go(way) for each, way in zip(mazes, ways)]
        seen = [then for then, _, _ in outcome]
        steps += len(mazes)
    return steps, 0.0
"""
    check(rlprof_run(write(WORLD + script + PRINTED), options=["--python", other_python]))


def test_in_a_worker(write, rlprof_run):
    script = """
def work(told):
    told.put(train(Maze(7), 3.0))

if __name__ == "__main__":
    import multiprocessing
    told = multiprocessing.Queue()
    worker = multiprocessing.Process(target=work, args=(told,))
    worker.start()
    steps, sps = told.get()
    worker.join()
    print(json.dumps({"steps": steps, "sps": sps, "made": Maze.go.__name__}))
"""
    check(rlprof_run(write(WORLD + TRAINING + script)))


def test_the_steps_of_a_search_are_not_the_trainings(write, rlprof_run):
    script = """
def train(maze, seconds):
    until, steps = time.thread_time() + seconds, 0
    while time.thread_time() < until:
        seen, over = maze.begin(), False
        while not over:
            values = [0.0] * 4
            for first in range(4):
                inner = maze.copy()
                _, values[first], ended = inner.go(first)
            way = values.index(max(values))
            seen, gain, over = maze.go(way)
            steps += 1
    return steps, 0.0
"""
    result = rlprof_run(write(WORLD + script + PRINTED))

    steps = json.loads(result.out)["steps"]
    assert 0.3 * steps < recognised(result) < steps


OTHERS = {
    "a method that returns other things": TRAINING.replace("then, gain", "gain, then").replace(
        "maze.go(way)", "maze.back(way)"
    ),
    "one that nobody resets": TRAINING.replace("maze.begin()", "(0, 0)"),
    "one with an action from elsewhere": TRAINING.replace("values.get(seen, 0)", "steps"),
}


@pytest.mark.parametrize("training", OTHERS.values(), ids=OTHERS)
def test_healthy_helpers_are_not_counted(write, rlprof_run, training):
    more = """
    def back(self, way):
        then, gain, over = self.go(way)
        return gain, then, over
"""
    result = rlprof_run(write(WORLD + more + training + PRINTED))

    assert result.code == 0
    assert recognised(result) == 0
    assert "steps-recognised" not in result.note_slugs


def test_what_the_script_counts_is_what_counts(write, rlprof_run):
    training = TRAINING.replace("steps += 1", "steps += 1; rlprof.step()")

    result = rlprof_run(write("import rlprof\n" + WORLD + training + PRINTED))

    steps = json.loads(result.out)["steps"]
    assert measure_pace(result.recording).throughput.total_steps == steps
    assert recognised(result) == 0


@pytest.mark.slow
def test_where_the_user_says_what_counts_nothing_else_is(write, rlprof_run):
    result = rlprof_run(
        write(WORLD + TRAINING + PRINTED), options=["--sps-pattern", r'"sps": (\d+)']
    )

    assert result.code == 0
    assert recognised(result) == 0
