from __future__ import annotations

import pytest

from rlprof.detectors.growing_array import (
    BESIDE_OTHERS,
    DETECTOR,
    MIN_SHARE,
    NEW_PART,
    OF_WINDOW,
    REMOVABLE,
)
from rlprof.model.finding import Confidence, Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

STORE = Script(
    "store.py",
    """
    import numpy as np

    class Store:
        def put(self, row):
            self.rows = np.append(self.rows, row[None], axis=0)

        def both(self, row):
            joined = np.concatenate((self.rows, np.tanh(row)))
            self.rows = joined

        def last(self, row):
            self.rows = np.append(self.rows, row[None], axis=0)[-1000:].copy()

        def moved(self, action):
            self.rows = self.rows + self.model(np.concatenate([self.rows, action], -1))

        def listed(self, row):
            self.items.append(row)

        def indexed(self, row):
            self.rows = np.r_[self.rows, row[None]]

        def kept(self, row):
            self.rows = longer(self.rows, row)

        def keys(self, batch):
            self.batch = joined(self.batch, batch)

    def longer(rows, row):
        return np.concatenate([rows, row[None]])

    def joined(one, other):
        return {key: np.vstack([one[key], other[key]]) for key in one}

    def with_goals(env, policy, goal):
        while True:
            obs = env.step(policy(obs))
            obs = np.concatenate([obs, goal])

    def collect(store, env):
        while True:
            store.put(env.step())
            store.both(env.step())
            store.listed(env.step())
            store.last(env.step())
            store.moved(env.step())
            store.indexed(env.step())
            store.kept(env.step())
            store.keys(env.step())
    """,
)
LOOP = STORE.at("store.put(", "collect")
PUT = STORE.at("np.append", "Store.put")
BOTH = STORE.at("np.concatenate", "Store.both")
INDEXED = STORE.at("np.r_", "Store.indexed")
KEPT = STORE.at("longer(self.rows", "Store.kept")
LONGER = STORE.at("np.concatenate([rows", "longer")
KEYS = STORE.at("joined(self.batch", "Store.keys")
JOINED = STORE.at("np.vstack", "joined")
LISTED = STORE.at("self.items.append", "Store.listed")
NP_APPEND = f"{SITE}/numpy/lib/_function_base_impl.py:5617 append"
NUMPY = "type=numpy._ArrayFunctionDispatcher function=numpy."
LENGTHS = (97, 1854, 358, 1046, 735)
"""Of an array that begins anew now and then, as looks met it."""
GROWING = ["type=numpy.ndarray shape=100,8 dtype=f8", "type=numpy.ndarray shape=300,8 dtype=f8"]


def a_training(seconds: float, *stack: str) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    return run.spends(seconds, *stack).spends(10.0 - seconds, LOOP, "env.py:3 step")


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, STORE)


def test_names_what_grows_by_the_shape_of_the_statement():
    (finding,) = found(a_training(3.0, LOOP, PUT, NP_APPEND))

    assert "self.rows grows by copying all of it" in finding.title
    assert lines_of(finding) == [STORE.line("np.append")]
    assert finding.confidence is Confidence.BOUNDED


def test_what_makes_the_new_part_may_go_too():
    run = a_training(2.0, LOOP, BOTH, f"{SITE}/numpy/_core/multiarray.py:9 concatenate")
    run.spends(1.0, LOOP, BOTH, f"{SITE}/mathlib/core.py:5 tanh")
    longer = [f"type=numpy.ndarray shape={100 * n},8 dtype=f8" for n in (1, 2, 3)]
    run.sees(BOTH, np__concatenate=NUMPY + "concatenate", self__rows=longer)

    (finding,) = found(run)

    assert finding.savings[-1].removable == NEW_PART
    assert claimed_s(profile_of(run, STORE), finding) == pytest.approx(3.0)
    assert "and on making that" in finding.evidence[0]


def test_what_the_program_computes_to_be_joined_is_no_part_of_it():
    text = STORE.text.replace("np.tanh(row)", "evaluate(row)")
    script = Script("store.py", text + "\ndef evaluate(row):\n    return play(row)\n")
    both = script.at("np.concatenate", "Store.both")
    run = a_training(2.0, LOOP, both, f"{SITE}/numpy/_core/multiarray.py:9 concatenate")
    run.spends(7.0, LOOP, both, script.at("play(row)", "evaluate"))
    longer = [f"type=numpy.ndarray shape={100 * n},8 dtype=f8" for n in (1, 2, 3)]
    run.sees(both, np__concatenate=NUMPY + "concatenate", self__rows=longer)

    profile = profile_of(run, script)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == pytest.approx(2.0)


def test_is_sure_where_an_array_was_seen():
    run = a_training(3.0, LOOP, PUT, NP_APPEND).sees(
        PUT, np__append=NUMPY + "append", self__rows=GROWING
    )
    (finding,) = found(run)

    assert finding.confidence is Confidence.MEASURED
    assert finding.evidence[1] == "self.rows was last seen as array of 300 × 8 float64"


def test_finds_an_array_that_was_longer_at_each_look_under_another_name():
    longer = [f"type=numpy.ndarray shape={rows},8 dtype=f8" for rows in (100, 200, 400, 800)]
    run = a_training(3.0, LOOP, BOTH)

    assert found(run) == []
    (finding,) = found(run.sees(BOTH, np__concatenate=NUMPY + "concatenate", self__rows=longer))
    assert finding.savings[0].removable == BESIDE_OTHERS


def test_a_window_is_copied_as_well_and_what_a_network_makes_of_both_is_no_longer_array():
    last = STORE.at("[-1000:]", "Store.last")
    moved = STORE.at("self.model(", "Store.moved")

    (finding,) = found(a_training(3.0, LOOP, last, NP_APPEND))
    assert finding.title.startswith("self.rows is copied whole for each new part")
    assert finding.savings[0].removable == OF_WINDOW
    assert found(a_training(3.0, LOOP, moved).sees(moved, self__rows=GROWING[:1])) == []


def test_knows_numpys_objects_that_join_what_they_are_indexed_with():
    joins = f"{SITE}/numpy/lib/_index_tricks_impl.py:9 AxisConcatenator.__getitem__"
    run = a_training(3.0, LOOP, INDEXED, joins)

    profile = profile_of(run, STORE)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 3.0
    run.sees(INDEXED, np__r_="type=mine.Shelf", self__rows=GROWING)
    assert found(run) == []


def test_follows_what_a_function_returns_to_whom_it_was_given():
    run = a_training(3.0, LOOP, KEPT, LONGER)
    run.sees(LONGER, rows=[f"type=numpy.ndarray shape={rows},8 dtype=f8" for rows in LENGTHS])

    (finding,) = found(run)

    assert lines_of(finding) == [STORE.line("np.concatenate([rows")]


def test_silent_where_a_function_returns_what_is_as_long_each_time():
    run = a_training(3.0, LOOP, KEPT, LONGER)
    assert found(run) == []

    run.sees(
        LONGER, rows=[f"type=numpy.ndarray shape={rows},8 dtype=f8" for rows in (1, 64, 1, 64)]
    )
    assert found(run) == []


def test_silent_where_the_caller_does_not_keep_what_comes_back_as_what_it_gave():
    both = STORE.at("store.put(", "collect")
    run = a_training(3.0, both, LONGER)
    run.sees(LONGER, rows=[f"type=numpy.ndarray shape={rows},8 dtype=f8" for rows in LENGTHS])

    assert found(run) == []


def test_knows_a_dictionary_of_arrays_each_of_which_is_joined():
    run = a_training(3.0, LOOP, KEYS, JOINED, STORE.at("np.vstack", "joined.<locals>.<dictcomp>"))
    first = "type=dict length=4 first.type=numpy.ndarray first.dtype=f8"
    assert found(run) == []

    run.sees(JOINED, one=[f"{first} first.shape={rows},8" for rows in LENGTHS])
    (finding,) = found(run)

    assert "one grows by copying all of it" in finding.title
    assert finding.evidence[1] == "one was last seen as dict of 4 (array of 735 × 8 float64 first)"


def test_silent_where_each_turn_of_a_loop_makes_anew_what_is_joined():
    step = STORE.at("[obs, goal]", "with_goals")

    assert found(a_training(3.0, step)) == []


MADE = Script(
    "made.py",
    """
    import numpy as np
    import torch

    class Agent:
        def forward(self, obs, action):
            both = torch.cat([obs, action], 1)
            x = self.first(both)
            x = torch.cat([x, both], 1)
            return self.second(x)

        def update(self, place):
            obs = self.buffer[place]
            obs = torch.cat([obs, obs.roll(1)])
            return self.net(obs)

        def see(self):
            self.obs = self.env.step(self.act(self.obs))
            self.obs = np.append(self.obs, self.goal)

        def learn(self, batch):
            batch = mixed(batch, self.demos)
            return self.net(batch)

        def each(self, places):
            for place in places:
                row = self.buffer[place]
                row = np.append(row, self.goal)
                self.net(row)

        def put(self, new):
            rows = self.rows
            rows = np.vstack([rows, new])
            self.rows = rows

        def add(self, new):
            self.rows = longer(self.rows, new)

    def mixed(batch, demos):
        return {key: np.concatenate([batch[key], demos[key]]) for key in batch}

    def longer(rows, new):
        rows = np.hstack([rows, new])
        return rows

    def train(agent, steps):
        for step in range(steps):
            agent.turn(step)
    """,
)
TRAIN = MADE.at("agent.turn(", "train")


@pytest.mark.parametrize(
    ("piece", "function"),
    [
        ("torch.cat([x", "Agent.forward"),
        ("torch.cat([obs, obs.roll", "Agent.update"),
        ("np.append(self.obs", "Agent.see"),
        ("np.append(row", "Agent.each"),
    ],
)
def test_silent_where_each_call_makes_anew_what_is_joined(piece, function):
    assert detect(DETECTOR, a_training(3.0, TRAIN, MADE.at(piece, function)), MADE) == []


def test_silent_where_the_caller_has_a_batch_of_its_own():
    first = "type=dict length=4 first.type=numpy.ndarray first.dtype=f8"
    joined = MADE.at("np.concatenate", "mixed")
    run = a_training(3.0, TRAIN, MADE.at("mixed(batch", "Agent.learn"), joined)
    run.sees(joined, batch=[f"{first} first.shape={rows},8" for rows in LENGTHS])

    assert detect(DETECTOR, run, MADE) == []


def test_follows_a_variable_to_where_it_is_kept():
    put = a_training(3.0, TRAIN, MADE.at("np.vstack", "Agent.put"))
    joined = MADE.at("np.hstack", "longer")
    add = a_training(3.0, TRAIN, MADE.at("longer(self.rows", "Agent.add"), joined)
    add.sees(joined, rows=[f"type=numpy.ndarray shape={rows},8 dtype=f8" for rows in LENGTHS])

    assert len(detect(DETECTOR, put, MADE)) == 1
    assert len(detect(DETECTOR, add, MADE)) == 1


def test_claims_the_line_and_the_function_that_joins():
    run = a_training(3.0, LOOP, PUT, NP_APPEND).spends(1.0, LOOP, PUT)
    profile = profile_of(run, STORE)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0
    assert finding.savings[0].removable == REMOVABLE


@pytest.mark.parametrize(
    "seen",
    [
        {"self__items": "type=list length=8", "self__items__append": "type=method_descriptor function=list.append"},
        {},
    ],
)  # fmt: skip
def test_silent_for_lists(seen: dict[str, str]):
    assert found(a_training(3.0, LOOP, LISTED).sees(LISTED, **seen)) == []


def test_silent_where_what_is_joined_is_no_array():
    run = a_training(3.0, LOOP, PUT).sees(PUT, self__rows="type=list length=8")

    assert found(run) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9, LOOP, PUT)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1, LOOP, PUT))) == 1
