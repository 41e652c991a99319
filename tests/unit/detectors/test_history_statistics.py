from __future__ import annotations

import pytest

from rlprof.detectors.history_statistics import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

AGENT = Script(
    "agent.py",
    """
    import numpy as np
    from collections import deque

    class Agent:
        def __init__(self):
            self.rewards = []
            self.recent = deque(maxlen=5000)
            self.rollout = []

        def scaled(self, reward):
            self.rewards.append(reward)
            return reward / np.std(self.rewards)

        def summed(self):
            return sum(it.reward for it in self.rewards)

        def by_an_array(self):
            rows = np.array(self.rewards)
            return rows.mean()

        def by_pandas(self):
            return pd.Series(self.rewards).std()

        def smoothed(self):
            return pd.Series(self.rewards).rolling(100, min_periods=1).mean().iloc[-1]

        def drawn_smoothly(self):
            return pd.Series(self.rewards).rolling(100).mean()

        def by_pandas_of_the_last(self):
            return pd.Series(self.rewards[-100:]).mean()

        def for_more(self):
            rows = np.array(self.rewards, float)
            self.net.fit(rows)
            return rows.mean()

        def of_the_last(self):
            return np.mean(self.rewards[-100:])

        def of_recent(self):
            return np.median(self.recent)

        def with_others(self):
            return np.mean(self.rewards) + self.env.score(3)

        def of_rollout(self):
            mean = np.mean(self.rollout)
            self.rollout = []

        def of_two(self, reward):
            return max(reward, self.best)

        def counted(self):
            return len(self.rewards)

        def kept(self, rewards):
            self.recent.append(np.mean(rewards))

        def asked(self, batch):
            self.recent.append(self.net(batch).mean())

        def drawn(self):
            return np.mean([it.reward for it in random.sample(self.recent, 32)])

        def by_key(self, worth):
            return max(self.recent, key=worth)

        def nearest(self, x):
            return min(abs(x - y) for y in self.recent)

        def normalised(self):
            return (np.array(self.recent) - np.mean(self.recent)) / np.std(self.recent)

        def energies(self):
            return sum(it.energy for it in self.recent)

        def of_the_good(self):
            return sum(it.reward for it in self.rewards if it.reward > 0)

        def of_the_near(self, x):
            return sum(it.reward for it in self.rewards if abs(it.place - x) < 0.1)

        def of_what_fades(self):
            return sum(it.weight for it in self.rewards)

        @property
        def weight(self):
            return self.gain * 0.99 ** (NOW - self.born)

        def step(self):
            self.recent[0].energy = 3

        def of_an_episode(self, env):
            rewards = []
            for _ in range(1000):
                rewards.append(env.step())
            return np.sum(rewards)

        def so_far(self, env):
            rewards = []
            for _ in range(1000):
                rewards.append(env.step())
                env.best = np.max(rewards)
    """,
)
LINES = {
    "scaled": "return reward / np.std",
    "summed": "sum(it.reward",
    "by_an_array": "rows = np.array(self.rewards)",
    "by_pandas": "pd.Series(self.rewards).std()",
    "smoothed": "mean().iloc[-1]",
    "drawn_smoothly": "rolling(100).mean()",
    "by_pandas_of_the_last": "pd.Series(self.rewards[-100:])",
    "for_more": "rows = np.array(self.rewards, float)",
    "of_the_last": "self.rewards[-100:]",
    "of_recent": "np.median(self.recent)",
    "with_others": "self.env.score(3)",
    "of_rollout": "np.mean(self.rollout)",
    "of_two": "max(reward, self.best)",
    "counted": "len(self.rewards)",
    "kept": "self.recent.append(np.mean",
    "asked": "self.recent.append(self.net",
    "drawn": "random.sample(self.recent",
    "by_key": "max(self.recent, key",
    "nearest": "abs(x - y)",
    "normalised": "np.array(self.recent) -",
    "energies": "it.energy for",
    "of_the_good": "if it.reward > 0",
    "of_the_near": "abs(it.place - x)",
    "of_what_fades": "it.weight for",
    "of_an_episode": "return np.sum(rewards)",
    "so_far": "env.best = np.max(rewards)",
}
LOOP = "train.py:3 train"
IN_NUMPY = f"{SITE}/numpy/_core/_methods.py:200 _var"


def a_training(function: str, *lengths: int, spent_s: float = 4.0) -> RunBuilder:
    line = AGENT.at(LINES[function], f"Agent.{function}")
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.source("train.py", "while True:\n    x = 1\n    agent.step()\n")
    run.spends(spent_s / 4, LOOP, line).spends(3 * spent_s / 4, LOOP, line, IN_NUMPY)
    run.spends(10.0 - spent_s, LOOP, "env.py:3 step")
    looks = [f"type=list length={length} first.type=float" for length in lengths or (300, 500, 900)]
    return run.sees(
        line,
        self__rewards=looks,
        self__rollout=looks,
        self__recent="type=collections.deque length=5000 first.type=float",
        reward="type=float",
        rewards=looks,
    )


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


@pytest.mark.parametrize(
    "function", ["scaled", "summed", "of_the_good", "by_an_array", "by_pandas", "smoothed"]
)
def test_a_list_that_is_gone_through_from_its_beginning(function):
    run = a_training(function)

    (finding,) = found(run)

    assert lines_of(finding) == [AGENT.line(LINES[function])]
    assert claimed_s(profile_of(run, AGENT), finding) == pytest.approx(4.0)
    assert finding.savings[0].removable == (0.85, 1.0)
    assert finding.evidence[1].startswith("it goes through self.rewards each time: list of 900")


def test_a_deque_is_added_to_though_its_length_stays():
    (finding,) = found(a_training("of_recent"))

    assert finding.title.startswith("median of all of self.recent")
    assert finding.savings[0].removable == (0.5, 1.0)


def test_less_is_promised_where_the_line_does_more():
    (finding,) = found(a_training("with_others"))

    assert finding.savings[0].removable == (0.3, 1.0)


@pytest.mark.parametrize(
    "function",
    [
        *("for_more", "of_the_last", "of_two", "counted", "kept", "asked", "drawn", "by_key"),
        *("nearest", "of_the_near", "of_what_fades"),
        *("energies", "of_an_episode", "drawn_smoothly", "by_pandas_of_the_last"),
    ],
)
def test_silent_of_what_is_no_statistic_of_all(function):
    assert not found(a_training(function))


def test_a_list_that_is_begun_before_the_loop_grows_in_it():
    assert len(found(a_training("so_far"))) == 1


def test_nothing_is_sure_where_all_of_it_is_gone_through_in_any_case():
    (finding,) = found(a_training("normalised"))

    assert finding.savings[0].removable == (0.0, 1.0)


def test_silent_of_gradients():
    looks = [f"type=list length={length} first.type=torch.Tensor" for length in (300, 500, 900)]
    run = a_training("scaled")
    run.sees(AGENT.at(LINES["scaled"], "Agent.scaled"), self__rewards=looks)

    assert not found(run)


def test_silent_of_a_list_that_does_not_grow():
    assert not found(a_training("scaled", 900, 900, 900))


def test_silent_of_a_list_that_begins_anew():
    assert not found(a_training("of_rollout", 900, 300, 900))


@pytest.mark.parametrize(
    "run",
    [
        a_training("scaled", 50, 90, 199),
        a_training("scaled", spent_s=0.29),
    ],
    ids=["few", "cheap"],
)
def test_silent_of(run):
    assert not found(run)


REPLAY = Script(
    "replay.py",
    """
    import numpy as np

    class Replay:
        def __init__(self, size):
            self.obs = np.zeros((size, 10), np.float32)
            self.rewards = np.zeros(size)
            self.values = np.zeros(size)

        def add(self, row, reward):
            self.obs[self.at] = row
            self.rewards[self.at] = reward
            self.at = (self.at + 1) % self.size

        def add_next(self, row):
            i = self.at
            self.next_obs[i] = row
            self.at = (i + 1) % self.size

        def scale(self):
            return self.next_obs.std(0)

        def keep(self, value):
            self.values[self.step] = value
            self.step += 1

        def normalised(self, batch):
            return (batch - self.obs[: self.filled].mean(0)) / self.obs[: self.filled].std(0)

        def largest(self):
            return self.obs.max(0)

        def of_rollout(self):
            return self.values.mean()

        def of_some(self, index):
            return self.obs[index].mean(0)

        def recent(self):
            return self.obs[-100:].mean(0)

        def so_far(self):
            past = self.seen[: self.count]
            return past.std(0)
    """,
)
IN_STEPS = {
    "normalised": "return (batch",
    "largest": "self.obs.max",
    "of_rollout": "self.values.mean",
    "of_some": "self.obs[index]",
    "recent": "self.obs[-100:]",
    "scale": "self.next_obs.std",
}


def of_an_array(function: str, steps: int = 20_000, rows: int = 5_000) -> list[Finding]:
    line = REPLAY.at(IN_STEPS[function], f"Replay.{function}")
    run = a_run(steady_s=10.0).process("main", steps=steps)
    run.source("train.py", "while True:\n    x = 1\n    agent.step()\n")
    run.spends(4.0, LOOP, line, IN_NUMPY).spends(6.0, LOOP, "env.py:3 step")
    array = f"type=numpy.ndarray shape={rows},10 dtype=f4"
    seen = dict.fromkeys(("self__obs", "self__values", "self__next_obs"), array)
    return detect(DETECTOR, run.sees(line, **seen), REPLAY)


def test_an_array_that_is_written_round_is_gone_through_at_each_step():
    (finding,) = of_an_array("normalised")

    assert finding.title.startswith("mean of all of self.obs, each time")
    assert finding.evidence[1].endswith("which is written row by row")
    assert finding.savings[0].removable == (0.5, 1.0)


def test_the_place_may_have_another_name():
    assert len(of_an_array("scale")) == 1


@pytest.mark.parametrize("function", ["largest", "of_rollout", "of_some", "recent"])
def test_other_statistics_of_arrays_have_no_running_sum(function: str):
    assert of_an_array(function) == []


@pytest.mark.parametrize(("rows", "times"), [((3000, 5000, 9000), 1), ((9000, 3000, 5000), 0)])
def test_the_filled_part_of_an_array_that_grows_all_along(rows: tuple[int, ...], times: int):
    line = REPLAY.at("return past.std", "Replay.so_far")
    run = a_run(steady_s=10.0).process("main", steps=20_000)
    run.source("train.py", "while True:\n    x = 1\n    agent.step()\n")
    run.spends(4.0, LOOP, line, IN_NUMPY).spends(6.0, LOOP, "env.py:3 step")
    run.sees(line, past=[f"type=numpy.ndarray shape={row},8 dtype=f4" for row in rows])

    assert len(detect(DETECTOR, run, REPLAY)) == times


def test_an_array_that_is_gone_through_now_and_then_has_no_running_sum_either():
    assert of_an_array("normalised", steps=1_000_000) == []
    assert of_an_array("normalised", steps=0) == []
    assert of_an_array("normalised", rows=1_000) == []
