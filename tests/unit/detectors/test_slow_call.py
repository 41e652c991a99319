from __future__ import annotations

import pytest

from rlprof.detectors.numpy_tiny_ops import DETECTOR as NUMPY_TINY_OPS
from rlprof.detectors.recognisers.calls.key_texts import TEXT
from rlprof.detectors.recognisers.calls.long_lists import (
    COPIED,
    CUT_OFF,
    KEPT_BY_SORTING,
    MOVED,
    MOVED_IN_ORDER,
    SEARCHED,
    SEARCHED_ARRAYS,
    SORTED,
    SORTED_FOR_PART,
)
from rlprof.detectors.recognisers.calls.slow_lines import LEAST_BESIDE_OTHERS, OBJECTS, OF_MANY
from rlprof.detectors.slow_call import DETECTOR, MIN_SHARE
from rlprof.libraries.known import LIBRARIES
from rlprof.libraries.pandas import LIBRARY as PANDAS
from rlprof.libraries.standard_library import _PROXY
from rlprof.model.finding import Confidence, Finding, Range
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, claimed_s, detect, lines_of, profile_of

MARKET = Script(
    "market.py",
    """
    import zlib
    import numpy as np
    import pandas as pd

    class Market:
        def __init__(self):
            self.tree = make_tree()

        def step(self, action):
            row = self.table.iloc[self.t]
            old = self.memory.pop(0)
            if row.key in self.seen:
                self.best = self.order.index(max(self.order))
            self.queue.insert(0, row)
            self.left = self.order.index(action)
            self.kept = zlib.compress(row)
            self.packed = zlib.compress(pack(row))
            self.inverse = np.linalg.inv(gram)
            rng = np.random.default_rng()
            self.pick = random.choice(list(self.book.keys()))
            first = list(self.book)[0]
            names = tuple(self.book)
            drawn = np.random.choice(n, 32, p=odds)
            kept = np.random.choice(n, size=n, p=odds)
            self.total = sum(list(self.book.values()))
            best = sorted(self.order, key=lambda it: it[1])[:3]
            least = sorted(self.book.items(), key=value_of)[-k:]
            self.order = sorted(self.order)[-900:]
            self.seen = sorted(self.seen)[-self.kept :]
            half = sorted(self.order)[:500]
            every = sorted(self.order)[::-1]
            ranked = sorted(self.order)
            value = self.q[str(self.cells.tolist())]
            known = repr(self.order) in self.seen
            print(str(self.order))
            name = f"{self.order}"
            middle = sorted(self.order)[len(self.order) // 2]
            most = sorted(self.order)[:-1]
            lowest = float(sorted(self.order)[0] + score(3))
            text = str(self.order)
            self.file.write(text)
            mark = str(self.order)
            self.table[mark] = 3
            cached = self.remote.get(str(self.order))
            joined = "|".join(str(round(x, 1)) for x in self.cells)
            self.table[joined] = 4
            shown = ",".join(str(x) for x in self.cells)
            flat = "".join(str(x) for x in self.cells.flatten()) + "x"
            self.table[flat] = 5
            ranked_by = sorted(range(n), key=lambda i: -self.odds[i])
            greatest = max(range(n), key=lambda i: self.worth(i))
            del self.memory[0]
            del self.memory[-1]
            self.log = self.log[-self.length :]
            self.rest = self.log[-self.length :]
            self.log = self.log[self.length :]
            self.log = self.log[:-1]
            if any(np.array_equal(row, seen) for seen in self.visited):
                row = None
            close = any(np.array_equal(row, seen) for seen in self.visited if seen.any())
            alike = any(np.allclose(row, seen) for seen in self.visited)
            equal = all(np.array_equal(row, seen) for seen in self.visited)
            return row

    def train():
        first = Market()
        for t in range(100):
            first.step(t)
            other = Market()

    class Shop:
        def __init__(self):
            self.shelf = fill()
    """,
)
LOOP = "train.py:3 train"
STEP = MARKET.at("first.step", "train")
ROW = MARKET.at("row = self.table", "Market.step")
LOOKED_UP = f"{SITE}/pandas/core/indexing.py:1191 _LocationIndexer.__getitem__"
INNER = f"{SITE}/pandas/core/internals/managers.py:973 fast_xs"
LIST = "type=list length={} first.type=tuple"
NUMBERS = "type=list length={} first.type=int"
CELLS = "type=numpy.ndarray shape={} dtype=i8"
BOOK = "type=dict length={} first.type=float"
IN_C = "type=builtin_function_or_method function=zlib.compress"


def a_training(seconds: float, *stack: str) -> RunBuilder:
    """Ten seconds, some of them in ``stack`` and the others in the loop itself."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    return run.spends(seconds, STEP, *stack).spends(10.0 - seconds, STEP)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, MARKET)


def on(line: str, seconds: float = 4.0, **operands: str) -> list[Finding]:
    """What is told of time on a line of ``Market.step``, where ``operands`` were seen."""
    place = MARKET.at(line, "Market.step")
    return found(a_training(seconds, place).sees(place, **operands))


def test_a_call_is_known_by_where_it_is_defined():
    (finding,) = found(a_training(4.0, ROW, LOOKED_UP, INNER))

    assert (
        finding.title == f"a pandas table is looked up in a loop (market.py:{MARKET.line('row =')})"
    )
    assert lines_of(finding) == [MARKET.line("row =")]
    assert finding.evidence == (
        "40 % of the steady time is spent on it, 4 ms a step",
        "called: __getitem__",
    )
    assert "to_numpy()" in finding.fix
    assert finding.confidence is Confidence.MEASURED


def test_it_claims_all_that_the_call_does():
    profile = profile_of(a_training(4.0, ROW, LOOKED_UP, INNER), MARKET)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0
    (saving,) = finding.savings
    assert saving.removable == PANDAS.slow_calls[r"core/indexing\.py$"]["*"].removable


EYE = f"{SITE}/numpy/lib/_twodim_base_impl.py:214 eye"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return np.eye(self.count)[state]", True),
        ("return np.eye(self.count) * self.ridge", False),
        ("return np.eye(self.count) @ np.eye(4)[state]", False),
    ],
)
def test_an_identity_matrix_is_told_where_rows_of_it_are_all_that_is_taken(line: str, told: bool):
    script = Script(
        "corridor.py",
        f"""
        class Corridor:
            def row(self, state):
                {line}

        def train(env):
            while True:
                env.row(0)
        """,
    )
    run = a_training(4.0, script.at("env.row", "train"), script.at("return", "Corridor.row"), EYE)

    titles = [finding.title for finding in detect(DETECTOR, run, script)]
    place = f"corridor.py:{script.line('return')}"
    assert titles == [f"an identity matrix is made for a few rows ({place})"] * told


DESK = Script(
    "desk.py",
    """
    class Desk:
        def features(self):
            part = self.quotes.iloc[self.t - 30 : self.t]
            change = part["close"].pct_change()
            return change.mean()

        def reset(self):
            return self.features()

        def step(self, action):
            return self.features()

        def guarded(self):
            if self.t < 30:
                return None
            return self.features()

        def at_the_end(self):
            if self.done:
                return self.features()

    class Trainer:
        def update(self):
            return self.features()

    def train(desk):
        for action in actions:
            desk.step(action) if action else desk.reset()
    """,
)
PART, CHANGE, MEAN = (
    DESK.at(piece, "Desk.features") for piece in ("part =", "change =", "return change")
)
IN_STEP, IN_RESET = (
    f"{DESK.file}:{DESK.line(f'def {name}(') + 1} Desk.{name}" for name in ("step", "reset")
)
PCT_CHANGE = f"{SITE}/pandas/core/generic.py:11900 NDFrame.pct_change"
SERIES_MEAN = f"{SITE}/pandas/core/series.py:6500 Series.mean"


GUARDED, AT_THE_END = (
    f"{DESK.file}:{DESK.line(f'def {name}(') + line} Desk.step"
    for name, line in (("guarded", 3), ("at_the_end", 2))
)
OF_A_TRAINER = f"{DESK.file}:{DESK.line('def update(') + 1} Trainer.step"


def features_of_a_desk(above: str, *, steps: float = 20_000) -> list[Finding]:
    """Ten seconds, six of them in pandas."""
    run = a_run(steady_s=10.0).process("main", steps=steps)
    loop = DESK.at("desk.step", "train")
    run.spends(1.0, loop, above, PART, LOOKED_UP, INNER)
    run.spends(3.0, loop, above, CHANGE, PCT_CHANGE).spends(2.0, loop, above, MEAN, SERIES_MEAN)
    return detect(DETECTOR, run.spends(4.0, loop, above), DESK)


@pytest.mark.parametrize("above", [IN_STEP, GUARDED])
def test_small_work_of_pandas_in_each_step_is_told_with_the_look_ups_beside_it(above: str):
    (finding,) = features_of_a_desk(above)

    line = DESK.line("change =")
    assert finding.title == f"pandas works on a few rows at each step (desk.py:{line})"
    assert finding.evidence[0] == "60 % of the steady time is spent on it, 300 µs a step"
    assert set(finding.evidence[1].removeprefix("called: ").split(", ")) == {
        "pct_change", "mean", "__getitem__",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("above", "steps"),
    [(IN_RESET, 20_000), (IN_STEP, 1_000), (IN_STEP, 0), (AT_THE_END, 20_000), (OF_A_TRAINER, 20_000)],
    ids=["once an episode", "long calls", "no steps", "at its end", "of a trainer"],
)  # fmt: skip
def test_other_work_of_pandas_is_not(above: str, steps: float):
    told = features_of_a_desk(above, steps=steps)

    assert [finding.title.partition(" (")[0] for finding in told] == [
        "a pandas table is looked up in a loop"
    ]


def test_kinds_of_calls_are_told_apart():
    run = a_training(3.0, ROW, LOOKED_UP)
    run.spends(3.0, STEP, ROW, f"{STDLIB}/statistics.py:300 mean")

    assert [finding.title.partition(" (")[0] for finding in found(run)] == [
        "a pandas table is looked up in a loop",
        "statistics computes with fractions",
    ]


@pytest.mark.parametrize(
    "stack",
    [
        (ROW, f"{SITE}/somelib/core.py:3 look", LOOKED_UP),
        (ROW, f"{SITE}/pandas/core/groupby/groupby.py:3 GroupBy.mean"),
        (ROW, "/home/researcher/project/statistics.py:3 mean"),
        ("/home/researcher/project/inspect.py:3 stack",),
    ],
    ids=["a library calls it", "other work of the library", "a file of that name", "the user's"],
)
def test_silent_for(stack: tuple[str, ...]):
    assert found(a_training(4.0, *stack)) == []


def test_silent_for_lines_that_run_once():
    once = MARKET.at("first = Market()", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)

    assert found(run.spends(5.0, once, LOOKED_UP).spends(5.0, STEP)) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9, ROW, LOOKED_UP)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1, ROW, LOOKED_UP))) == 1


def test_what_an_object_makes_is_told_where_the_object_is_made():
    again = MARKET.at("other = Market()", "train")
    making = MARKET.at("self.tree = make_tree", "Market.__init__")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, again, making, f"{SITE}/torch/nn/modules/linear.py:90 Linear.__init__")
    (finding,) = found(run.spends(6.0, STEP))

    assert lines_of(finding) == [MARKET.line("other = Market()")]
    assert finding.title.startswith("networks are made again and again")


@pytest.mark.parametrize(("number", "times"), [(20_000, 1), (10, 0)])
def test_draws_from_many_probabilities(number: int, times: int):
    found = on("drawn =", odds=f"type=numpy.ndarray shape={number} dtype=f8")

    assert len(found) == times
    assert all(finding.title.startswith("choice(p=...) goes through all") for finding in found)


def test_silent_where_as_many_are_drawn_as_there_are():
    assert on("kept =", odds="type=numpy.ndarray shape=20000 dtype=f8") == []


REPLAY = Script(
    "memory.py",
    """
    class Replay:
        def sample(self, batch):
            scaled = self.priorities ** self.alpha
            odds = scaled / scaled.sum()
            kept = self.priorities * 2
            index = self.rng.choice(self.size, batch, p=odds)
            return index
    """,
)


@pytest.mark.parametrize(
    ("piece", "numbers", "times"),
    [("scaled =", 5_000, 1), ("odds =", 5_000, 1), ("kept =", 5_000, 0), ("odds =", 50, 0)],
)
def test_odds_that_are_made_for_a_draw_go_with_it(piece: str, numbers: int, times: int):
    place = REPLAY.at(piece, "Replay.sample")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(5.0, LOOP, place)
    run.source("train.py", "while True:\n    x = 1\n    replay.sample(x)\n")
    array = f"type=numpy.ndarray shape={numbers} dtype=f8"
    run.spends(5.0, "env.py:3 step").sees(place, self__priorities=array, scaled=array)

    told = detect(DETECTOR, run, REPLAY)

    assert [finding.savings[0].removable for finding in told] == [Range(0.3, 0.95)] * times


def test_what_a_library_generates_is_no_line_of_the_users():
    generated = "<string>:2 __getitem__"
    (finding,) = found(
        a_training(4.0, ROW, generated, f"{STDLIB}/multiprocessing/managers.py:820 _callmethod")
    )

    assert lines_of(finding) == [MARKET.line("row =")]


GENERATED = "<string>:2 __getitem__"
ASK = f"{STDLIB}/multiprocessing/managers.py:820 BaseProxy._callmethod"
HEAR = f"{STDLIB}/multiprocessing/connection.py:395 Connection._recv"
SERVE = f"{STDLIB}/multiprocessing/managers.py:230 Server.serve_client"


def a_manager(asking_s: float, *, waiting_s: float, messages: float = 40_000) -> RunBuilder:
    """Ten seconds, in which a manager is asked, with two seconds of its own work and one of an object that it keeps."""
    run = a_run(steady_s=10.0).process("main", steps=1000).counts("ipc_messages", messages)
    run.spends(asking_s, STEP, ROW, GENERATED, ASK)
    run.spends(waiting_s, STEP, ROW, GENERATED, ASK, HEAR, idle=True)
    run.spends(10.0 - asking_s - waiting_s, STEP)
    run.process("manager").spends(2.0, SERVE).spends(1.0, SERVE, "sim.py:3 Sim.step")
    return run.spends(7.0, SERVE, HEAR, idle=True)


def test_of_a_manager_it_claims_what_is_worked_on_and_no_waits_but_those_for_its_answers():
    (finding,) = found(a_manager(2.0, waiting_s=6.0))

    removable = finding.savings[0].removable
    whole = _PROXY.removable
    assert (
        finding.title == f"a manager is asked for single values (market.py:{MARKET.line('row =')})"
    )
    assert finding.evidence[0].startswith("20 % of the steady time is spent on it")
    assert finding.evidence[1] == "called: __getitem__"
    # Three seconds of the waits are the manager's work, two of which are its own.
    assert removable.low == pytest.approx(whole.low * 2 / 5)
    assert removable.high == pytest.approx(whole.high * (2 + 2) / 5)
    assert finding.savings[1].removable == whole


def test_who_waits_until_somebody_fills_a_managers_queue_waits_for_his_work():
    assert found(a_manager(0.0, waiting_s=8.0)) == []
    assert found(a_manager(0.2, waiting_s=8.0)) == []


def test_stacks_of_who_falls_asleep_as_it_asks_are_no_more_than_its_messages_can_take():
    assert found(a_manager(2.0, waiting_s=6.0, messages=1_000)) == []


def test_objects_that_a_manager_keeps_do_their_own_work():
    profile = profile_of(a_manager(2.0, waiting_s=8.0), MARKET)
    (finding,) = DETECTOR.in_samples.detect(profile)

    # All but the second of the object's, for which the main process waits, too.
    assert claimed_s(profile, finding) == 9.0


@pytest.mark.parametrize(
    ("called", "kind", "times"),
    [
        ("get", "AutoProxy[Queue]", 0),
        ("get", "DictProxy", 1),
        ("get", "", 1),
        ("put", "", 0),
        ("wait", "", 0),
    ],
)
def test_queues_and_barriers_of_a_manager_hold_no_values(called: str, kind: str, times: int):
    asking = Script("ask.py", f"def ask(shared):\n    while True:\n        shared.{called}(3)\n")
    line = asking.at("shared.", "ask")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, line)
    run.spends(6.0, line, f"<string>:2 {called}", ASK)
    if kind:
        run.sees(line, shared=f"type=multiprocessing.managers.{kind}")

    assert len(detect(DETECTOR, run, asking)) == times


@pytest.mark.parametrize("method", ["ValueProxy.get", "NamespaceProxy.__getattr__"])
def test_values_of_a_manager_are_asked_for_by_methods_of_its_module(method: str):
    proxy = f"{STDLIB}/multiprocessing/managers.py:1150 {method}"

    (finding,) = found(a_training(4.0, ROW, proxy, ASK))

    assert finding.evidence[1] == f"called: {method.rpartition('.')[2]}"


PREDICT = f"{SITE}/sklearn/linear_model/_base.py:300 LinearModel.predict"


@pytest.mark.parametrize(
    ("checking", "times"), [(3.0, 1), (1.0, 0)], ids=["few rows", "so many that it works"]
)
def test_scikit_learn_is_told_where_it_mostly_checks(checking: float, times: int):
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(6.0, STEP)
    run.spends(checking, STEP, ROW, PREDICT, f"{SITE}/sklearn/utils/validation.py:9 check_array")
    run.spends(4.0 - checking, STEP, ROW, PREDICT, f"{SITE}/sklearn/utils/extmath.py:9 dot")

    assert len(found(run)) == times


INV = f"{SITE}/numpy/linalg/_linalg.py:669 inv"


@pytest.mark.parametrize(
    ("shape", "times"),
    [("32,32", 1), ("12,12", 1), ("6,6", 0), ("64,6,6", 0), ("64,32,32", 1), (None, 0)],
    ids=["large", "of a bandit", "small", "many small ones", "many large ones", "not seen"],
)
def test_inverses_of_small_matrices_have_no_cheaper_way(shape: str | None, times: int):
    place = MARKET.at("self.inverse", "Market.step")
    run = a_training(4.0, place, INV)
    if shape:
        run.sees(place, gram=f"type=numpy.ndarray shape={shape} dtype=f8")

    findings = found(run)

    assert len(findings) == times
    assert all(finding.savings[0].removable.low == 0 for finding in findings)


SUMS = Script(
    "sums.py",
    """
    def train(batches):
        for batch in batches:
            inverse = np.linalg.inv(batch + np.outer(row, row))
            gram = np.linalg.inv(batch.T @ batch)
            odds = gamma.cdf(batch, 2.0)
            drawn = gamma.rvs(2.0, size=count)
            likely = multivariate_normal.logpdf(batch, mean, cov)
            summed = np.apply_over_axes(np.sum, batch, [0, 2])
            sorted_ = np.apply_along_axis(rank, 1, batch)
            chosen = table.loc[batch]
            drawn_by = random.choices(range(n), weights=batch, k=64)
            drawn_of = random.choices(rows, batch)
            drawn_from = random.choices(batch, k=64)
            drawn_anew = random.choices(rows, batch, k=len(rows))
            drawn_each = random.choices(batch, weights=[each.worth for each in batch], k=8)
    """,
)


def on_sums(line: str, seconds: dict[str, float], shape: str = "") -> list[Finding]:
    """What is told of a line of ``SUMS`` that spends ``seconds`` of ten in functions of libraries, each below the one before."""
    place = SUMS.at(line, "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(10.0 - sum(seconds.values()), place)
    stack: tuple[str, ...] = (place,)
    for function, spent in seconds.items():
        stack = (*stack, function if function.startswith("/") else f"{SITE}/{function}")
        run.spends(spent, *stack)
    if shape:
        run.sees(place, batch=f"type=numpy.ndarray shape={shape} dtype=f8")
    return detect(DETECTOR, run, SUMS)


def test_a_matrix_is_seen_in_arithmetic_with_another_one_and_not_in_a_product():
    inverted = {"numpy/linalg/_linalg.py:669 inv": 4.0}

    assert len(on_sums("inverse =", inverted, "32,32")) == 1
    assert on_sums("gram =", inverted, "1000,6") == []


CHOICES = {f"{STDLIB}/random.py:480 Random.choices": 4.0}


@pytest.mark.parametrize(
    ("line", "shape", "times"),
    [
        ("drawn_by =", "20000", 1),
        ("drawn_of =", "20000", 1),
        ("drawn_by =", "64", 0),
        ("drawn_from =", "20000", 0),
        ("drawn_anew =", "20000", 0),
        ("drawn_each =", "20000", 1),
    ],
)
def test_choices_are_told_for_many_weights(line: str, shape: str, times: int):
    assert len(on_sums(line, CHOICES, shape)) == times


def test_weights_that_are_made_for_a_draw_go_with_it():
    (finding,) = on_sums("drawn_each =", CHOICES, "20000")
    (of_others,) = on_sums("drawn_by =", CHOICES, "20000")

    assert len(finding.savings[0].nodes) > len(of_others.savings[0].nodes)


ASKED = "scipy/stats/_distn_infrastructure.py:2000 rv_continuous."
DOES = "scipy/stats/_continuous_distns.py:3000 gamma_gen._"


@pytest.mark.parametrize(
    ("line", "function", "working", "shape", "times"),
    [
        ("odds =", "cdf", 0.5, "8", 1),
        ("odds =", "cdf", 0.5, "", 1),
        ("odds =", "cdf", 0.5, "100000", 0),
        ("odds =", "cdf", 2.5, "", 0),
        ("drawn =", "rvs", 0.5, "", 1),
        ("drawn =", "rvs", 3.0, "", 0),
    ],
    ids=["few", "not seen", "many", "it works", "draws few", "draws many"],
)
def test_scipy_is_told_for_few_numbers_where_most_of_its_time_goes(
    line: str, function: str, working: float, shape: str, times: int
):
    seconds = {f"{ASKED}{function}": 4.0 - working, f"{DOES}{function}": working}

    assert len(on_sums(line, seconds, shape)) == times


@pytest.mark.parametrize(("shape", "times"), [("64,6", 1), ("4096,6", 0), ("", 0)])
def test_vectors_of_distributions_have_to_be_seen(shape: str, times: int):
    logpdf = {"scipy/stats/_multivariate.py:500 multivariate_normal_gen.logpdf": 4.0}

    assert len(on_sums("likely =", logpdf, shape)) == times


def test_a_function_of_axes_is_called_for_each_axis_and_one_of_rows_may_have_no_other_way():
    shapes = "numpy/lib/_shape_base_impl.py:500"

    assert on_sums("summed =", {f"{shapes} apply_over_axes": 4.0}) == []
    (finding,) = on_sums("sorted_ =", {f"{shapes} apply_along_axis": 4.0})
    assert finding.savings[0].removable.low == 0


@pytest.mark.parametrize(("copying", "times"), [(0.2, 1), (2.0, 0)])
def test_rows_that_are_copied_in_any_case_are_no_look_up(copying: float, times: int):
    picked = {
        "pandas/core/indexing.py:1191 _LocIndexer.__getitem__": 4.0 - copying,
        "pandas/core/array_algos/take.py:130 _take_nd_ndarray": copying,
    }

    told = on_sums("chosen =", picked)

    assert len(told) == times
    # Copying stays, and is no part of what is spent on it.
    assert all(
        "38% of the steady time" in finding.evidence[0].replace(" %", "%") for finding in told
    )


def test_a_row_that_is_added_is_no_look_up():
    added = {
        "pandas/core/indexing.py:912 _LocIndexer.__setitem__": 1.0,
        "pandas/core/indexing.py:2231 _iLocIndexer._setitem_with_indexer_missing": 3.0,
    }

    (finding,) = on_sums("chosen =", added)

    assert finding.title.startswith("a pandas table is written row by row")
    assert "pandas.DataFrame(rows)" in finding.fix


def test_a_column_that_is_set_is_written_in_any_case():
    assert on_sums("chosen =", {"pandas/core/frame.py:4300 DataFrame.__setitem__": 4.0}) == []


@pytest.mark.parametrize(("matrix", "times"), [("torch.diag(variance)", 1), ("covariance", 0)])
def test_a_full_covariance_is_told_where_the_source_shows_a_diagonal(matrix: str, times: int):
    actor = Script(
        "actor.py",
        f"""
        def act(mean, variance, covariance):
            return MultivariateNormal(mean, {matrix}).sample()

        def train():
            for t in range(100):
                act(t, 1, 1)
        """,
    )
    stack = (
        actor.at("act(t", "train"),
        actor.at("return Multi", "act"),
        f"{SITE}/torch/distributions/distribution.py:167 Distribution.sample",
        f"{SITE}/torch/distributions/multivariate_normal.py:240 MultivariateNormal.rsample",
    )
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, *stack)

    told = detect(DETECTOR, run.spends(6.0, stack[0]), actor)

    assert len(told) == times
    assert all("diagonal covariance" in finding.title for finding in told)


def test_a_call_in_c_is_known_by_what_was_seen():
    (finding,) = on("self.kept", zlib__compress=IN_C)

    assert finding.title.startswith("data are compressed while it trains")
    assert finding.evidence[1] == "seen there: zlib.compress: zlib.compress"
    assert finding.confidence is Confidence.BOUNDED
    assert finding.savings[0].removable.low > LEAST_BESIDE_OTHERS


def test_beside_another_call_less_of_the_line_may_go():
    (finding,) = on("self.packed", zlib__compress=IN_C)

    assert finding.savings[0].removable.low == LEAST_BESIDE_OTHERS


LISTS = (SEARCHED, MOVED, MOVED_IN_ORDER, SORTED, SORTED_FOR_PART, KEPT_BY_SORTING, TEXT)

NOISE = Script(
    "noise.py",
    """
    import numpy as np

    def search(theta, seeds):
        while True:
            for seed in seeds:
                score(theta + np.random.default_rng(seed).normal(size=20))
            for _ in seeds:
                other(theta + np.random.default_rng(0).normal(size=20))
            made = [np.random.default_rng(each).normal(size=20) for each in seeds]
            E = [np.random.default_rng(o[1]).normal(size=20) for o in seeds]
            own = np.random.default_rng(seed=theta.seed).normal(size=20)
            pair = np.random.default_rng([0, 1]).normal(size=20)
            read = np.random.default_rng().random()
            many = np.random.default_rng().standard_normal(theta.size)
            large = np.random.default_rng(0).standard_normal((200, 100))
            rng = np.random.default_rng(0); rng.shuffle(theta)
            kept = np.random.default_rng(0)
            either = (kept if theta else np.random.default_rng()).normal(size=seeds)

    def noise(seed, n):
        while True:
            yield np.random.default_rng(seed).standard_normal(n)
    """,
)


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("score(", False),
        ("other(", True),
        ("made =", False),
        ("E =", False),
        ("own =", False),
        ("pair =", True),
        ("yield", False),
    ],
)
def test_noise_that_is_made_again_from_its_seed_needs_a_generator_each(line: str, is_told: bool):
    assert bool(generators_made_at(line)) is is_told


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("kept =", Range(0.9, 1.0)),
        ("read =", Range(LEAST_BESIDE_OTHERS, 1.0)),
        ("pair =", Range(LEAST_BESIDE_OTHERS, 1.0)),
        ("many =", Range(0.0, 1.0)),
        ("large =", Range(0.0, 1.0)),
        ("rng =", Range(0.0, 1.0)),
        ("either =", Range(0.0, 1.0)),
    ],
)
def test_what_is_drawn_from_a_generator_on_its_line_is_not_what_making_it_takes(
    line: str, part: Range
):
    (finding,) = generators_made_at(line)

    assert [saving.removable for saving in finding.savings] == [part]


def generators_made_at(line: str) -> list[Finding]:
    place = NOISE.at(line, "noise" if line == "yield" else "search")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, place)
    run.spends(6.0, "env.py:3 step")
    run.sees(
        place,
        np__random__default_rng="type=cython_function_or_method function=numpy.random.default_rng",
    )
    return [*DETECTOR.in_samples.detect(profile_of(run, NOISE))]


SEEDED = Script(
    "mezo.py",
    """
    import torch

    def moves(parameters, seeds):
        for seed in seeds:
            torch.manual_seed(seed)
            torch.manual_seed(0)
    """,
)


@pytest.mark.parametrize(("line", "is_told"), [("seed(seed)", False), ("seed(0)", True)])
def test_a_seed_that_the_program_chooses_is_meant(line: str, is_told: bool):
    place = SEEDED.at(line, "moves")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, place, f"{SITE}/torch/random.py:46 manual_seed").spends(6.0, "env.py:3 step")

    assert bool([*DETECTOR.in_samples.detect(profile_of(run, SEEDED))]) is is_told


def test_python_code_that_it_calls_is_its_own():
    place = MARKET.at("rng = np", "Market.step")
    run = a_training(2.0, place).spends(2.0, STEP, place, f"{STDLIB}/random.py:805 getrandbits")
    run.sees(
        place,
        np__random__default_rng="type=cython_function_or_method function=numpy.random.default_rng",
    )
    profile = profile_of(run, MARKET)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0


@pytest.mark.parametrize(
    ("line", "operand", "seen", "words"),
    [
        ("if row.key in", "self__seen", LIST.format(500), "a long list is searched"),
        ("self.left =", "self__order", LIST.format(500), "a long list is searched"),
        ("old = self.memory", "self__memory", LIST.format(50_000), "all of a long list is moved"),
        ("self.queue.insert", "self__queue", LIST.format(50_000), "all of a long list is moved"),
        ("self.pick =", "self__book", BOOK.format(500), "a long container is copied"),
        ("first = list", "self__book", BOOK.format(500), "a long container is copied"),
        ("best = sorted", "self__order", LIST.format(1000), "a long list is sorted for a few"),
        ("least = sorted", "self__book", BOOK.format(1000), "a long list is sorted for a part"),
        ("self.order = sorted", "self__order", LIST.format(1000), "a long list is sorted anew"),
        (
            "self.order = sorted",
            "self__order",
            LIST.format(90_000),
            "a long list is sorted for a few",
        ),
        ("self.seen = sorted", "self__seen", LIST.format(1000), "a long list is sorted anew"),
        ("known = repr", "self__order", NUMBERS.format(16), "a list of numbers is made into text"),
        ("mark = str", "self__order", NUMBERS.format(16), "a list of numbers is made into text"),
        ("joined = ", "self__cells", CELLS.format(4), "a list of numbers is made into text"),
        ("flat = ", "self__cells", CELLS.format("6,6"), "a list of numbers is made into text"),
        ("ranked_by", "self__odds", CELLS.format(6_000), "an array is ranked by a function"),
        (
            "names = tuple",
            "self__book",
            "type=set length=500 first.type=str",
            "a long container is copied",
        ),
    ],
)
def test_long_lists(line: str, operand: str, seen: str, words: str):
    (finding,) = on(line, **{operand: seen})

    assert finding.title.startswith(words)
    kind = seen.partition(" ")[0].removeprefix("type=").replace("numpy.ndarray", "array")
    assert finding.evidence[1].startswith(f"seen there: {operand.replace('__', '.')}: {kind} of ")


def test_a_copy_to_pick_from_is_all_that_its_line_does():
    (finding,) = on("self.pick =", self__book=BOOK.format(500))

    assert [saving.removable for saving in finding.savings] == [COPIED.removable]


@pytest.mark.parametrize(
    ("line", "operand", "seen"),
    [
        ("self.pick =", "self__book", BOOK.format(50)),
        ("self.total =", "self__book", BOOK.format(500)),
        ("if row.key in", "self__seen", LIST.format(20)),
        ("if row.key in", "self__seen", "type=set length=5000"),
        ("if row.key in", "self__seen", "type=dict length=5000 first.type=int"),
        ("self.best =", "self__order", LIST.format(500)),
        ("best = sorted", "self__order", LIST.format(500)),
        ("every = sorted", "self__order", LIST.format(5000)),
        ("half = sorted", "self__order", LIST.format(1000)),
        ("ranked = sorted", "self__order", LIST.format(5000)),
        ("value = self.q", "self__cells", CELLS.format(4)),
        ("print(str", "self__order", NUMBERS.format(16)),
        ('name = f"', "self__order", NUMBERS.format(16)),
        ("text = str", "self__order", NUMBERS.format(16)),
        ("cached = ", "self__order", NUMBERS.format(16)),
        ("known = repr", "self__order", LIST.format(16)),
        ("shown = ", "self__cells", CELLS.format(4)),
        ("joined = ", "self__cells", CELLS.format(2)),
        ("joined = ", "self__cells", CELLS.format("4,4")),
        ("ranked_by", "self__odds", CELLS.format(100)),
        ("ranked_by", "self__odds", LIST.format(6_000)),
        ("greatest = ", "self__odds", CELLS.format(6_000)),
        ("middle = sorted", "self__order", LIST.format(5000)),
        ("most = sorted", "self__order", LIST.format(5000)),
        ("old = self.memory", "self__memory", LIST.format(500)),
        ("old = self.memory", "self__memory", "type=collections.deque length=50000"),
        ("if row.key in", "row", LIST.format(500)),
    ],
    ids=[
        "few to copy",
        "copied for all of it",
        "short",
        "a set",
        "a dict",
        "where the largest is",
        "few to sort",
        "sorted for all",
        "sorted for more than heapq is quick for",
        "sorted to be kept",
        "few numbers for a text",
        "a text to be shown",
        "a text that nobody looks up",
        "a text that is written",
        "a text that is sent",
        "lists that no tuple of numbers takes the place of",
        "a text put together that nobody looks up",
        "one put together of two numbers",
        "one put together of rows",
        "few to rank",
        "a list to rank",
        "ranked by more than an array",
        "the middle",
        "nearly all",
        "short to move",
        "a deque",
        "another",
    ],
)
def test_silent_for_other_containers(line: str, operand: str, seen: str):
    assert on(line, **{operand: seen}) == []


def test_beside_another_call_no_more_goes_than_of_the_call_alone():
    (finding,) = on("lowest = float", self__order=LIST.format(1000))

    assert [saving.removable for saving in finding.savings] == [SORTED.removable]


KEYS = Script(
    "keys.py",
    """
    class Agent:
        def key(self, board):
            return str(board)

        def show(self, board):
            return str(board)

        def __str__(self):
            return str(self.board)

        def act(self, board):
            key = self.key(board)
            print(self.show(board))
            return self.q[key]
    """,
)


@pytest.mark.parametrize(
    ("method", "times"), [("Agent.key", 1), ("Agent.show", 0), ("Agent.__str__", 0)]
)
def test_a_text_that_is_returned_is_a_key_where_all_callers_look_up_by_it(method: str, times: int):
    number = {"Agent.key": 3, "Agent.show": 6, "Agent.__str__": 9}[method]
    place = f"keys.py:{number} {method}"
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(5.0, LOOP, place)
    run.source("train.py", "while True:\n    x = 1\n    agent.act(x)\n").spends(
        5.0, "env.py:3 step"
    )
    numbers = NUMBERS.format(16)

    assert len(detect(DETECTOR, run.sees(place, board=numbers, self__board=numbers), KEYS)) == times


def test_a_list_that_is_made_of_an_array_for_a_text_has_its_numbers():
    (finding,) = on("value = self.q", self__cells=CELLS.format("4,4"))

    assert finding.title.startswith("a list of numbers is made into text")
    assert finding.evidence[1].startswith("seen there: self.cells: array of 4 × 4")
    assert [saving.removable for saving in finding.savings] == [TEXT.removable]


@pytest.mark.parametrize(
    ("called", "words"),
    [
        ("spaces/box.py:210 Box.sample", "values are drawn from a space one by one"),
        ("spaces/discrete.py:40 Discrete.__init__", "a space is made again and again"),
    ],
)
@pytest.mark.parametrize("package", ["gym", "gymnasium"])
def test_spaces(package: str, called: str, words: str):
    (finding,) = found(a_training(4.0, STEP, ROW, f"{SITE}/{package}/{called}"))

    assert finding.title == f"{words} (market.py:10)"


def test_a_text_that_is_compared_with_all_others():
    matches = f"{STDLIB}/difflib.py:666 get_close_matches"
    ratio = f"{STDLIB}/difflib.py:619 SequenceMatcher.ratio"

    (finding,) = found(a_training(4.0, STEP, ROW, matches, ratio))

    assert finding.title == "a text is compared with all that are known (market.py:10)"


ROOM = Script(
    "room.py",
    """
    class Room:
        def step(self, action):
            assert self.action_space.contains(action)
            if action not in self.action_space:
                raise ValueError(action)
            if self.observation_space.contains(self.after):
                self.at = self.after
            return self.action_space.sample(self.mask)
    """,
)


@pytest.mark.parametrize(
    ("piece", "called", "times"),
    [
        ("assert self", "box.py:240 Box.contains", 1),
        ("not in", "space.py:117 Space.__contains__", 1),
        ("if self.observation", "box.py:240 Box.contains", 0),
        ("sample(self.mask)", "discrete.py:60 Discrete.sample", 0),
    ],
)
def test_a_space_whose_answer_the_program_goes_by_is_asked(piece: str, called: str, times: int):
    place = ROOM.at(piece, "Room.step")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.source("train.py", "while True:\n    x = 1\n    env.step(x)\n")
    run.spends(5.0, LOOP, place, f"{SITE}/gymnasium/spaces/{called}").spends(5.0, "env.py:3 step")

    assert len(detect(DETECTOR, run, ROOM)) == times


def test_a_space_that_a_library_draws_from_is_none_of_yours():
    learning = f"{SITE}/stable_baselines3/common/off_policy_algorithm.py:380 _sample_action"

    assert found(a_training(4.0, learning, f"{SITE}/gymnasium/spaces/box.py:210 Box.sample")) == []


def test_a_list_that_was_seen_at_another_line_of_the_function_is_known():
    searching = MARKET.at("if row.key in", "Market.step")
    other = MARKET.at("self.kept", "Market.step")
    run = a_training(4.0, searching)

    assert found(run) == []
    assert len(found(run.sees(other, self__seen=LIST.format(500)))) == 1


A_MARKET = "type=__main__.Market bases=__main__.Base file=market.py"


@pytest.mark.parametrize(
    ("operands", "times"),
    [
        ({"first": A_MARKET, "first__seen": LIST.format(500)}, 1),
        ({"first": A_MARKET.replace("Market", "Sub").replace("Base", "Market"), "first__seen": LIST.format(500)}, 1),
        ({"first": A_MARKET.replace("Market", "Shop"), "first__seen": LIST.format(500)}, 0),
        ({"first": A_MARKET.replace("file=", "file=other/"), "first__seen": LIST.format(500)}, 0),
        ({"first__seen": LIST.format(500)}, 0),
        (
            {
                "first": A_MARKET,
                "first__seen": LIST.format(500),
                "second": A_MARKET,
                "second__seen": "type=set length=500",
            },
            0,
        ),
    ],
    ids=["an object of the class", "of a derived one", "of another class", "of another file's", "nobody knows of what", "others have a set"],
)  # fmt: skip
def test_a_list_that_was_seen_as_an_attribute_of_another_name_for_the_object(
    operands: dict[str, str], times: int
):
    searching, calling = MARKET.at("if row.key in", "Market.step"), STEP

    assert len(found(a_training(4.0, searching).sees(calling, **operands))) == times


@pytest.mark.parametrize(
    ("line", "function", "times"),
    [("self.tree =", "__init__", 1), ("self.shelf =", "__init__", 0)],
    ids=["its own", "another class's"],
)
def test_a_list_that_was_seen_in_another_method(line: str, function: str, times: int):
    """Before Python 3.11 a frame does not say which class its method is of."""
    run = a_training(4.0, MARKET.at("if row.key in", "step"))
    run.sees(MARKET.at(line, function), self__seen=LIST.format(500))

    assert len(found(run)) == times


QUOTES = Script(
    "quotes.py",
    """
    class Quotes:
        def step(self):
            window = (self.quotes[self.t - 288 : self.t] - self.center) / self.scale
            seen = window.max(axis=0) - window.min(axis=0)
            return np.mean(window), self.orders[self.t]
    """,
)
OBJECTS_SEEN = "type=numpy.ndarray shape={} dtype=O8"


@pytest.mark.parametrize(
    ("piece", "seen", "part"),
    [
        ("window = ", {"self__quotes": "30000,5"}, Range(0.35, 0.99)),
        ("window = ", {"self__quotes": "30000,5", "window": "288,5"}, OF_MANY),
        ("seen = ", {"window": "288,5"}, OF_MANY),
        ("return np", {"window": "48,5"}, Range(0.35, 0.99)),
    ],
)
def test_arithmetic_on_arrays_of_objects(piece: str, seen: dict[str, str], part: Range):
    place = QUOTES.at(piece, "Quotes.step")
    run = a_training(4.0, place)
    run.sees(
        place, np="type=module", **{name: OBJECTS_SEEN.format(each) for name, each in seen.items()}
    )

    (finding,) = detect(DETECTOR, run, MARKET, QUOTES)

    assert finding.title.startswith("numpy computes with arrays of Python objects (quotes.py:")
    assert [saving.removable for saving in finding.savings] == [part]
    assert "array of " in finding.evidence[1]


@pytest.mark.parametrize(
    ("piece", "seen"),
    [
        ("window = ", {"self__quotes": "type=numpy.ndarray shape=30000,5 dtype=f8"}),
        ("seen = ", {"window": OBJECTS_SEEN.format("2,5")}),
        ("return np", {"self__orders": OBJECTS_SEEN.format("500")}),
    ],
    ids=["of-numbers", "of-a-few", "no-arithmetic"],
)
def test_silent_for_other_arrays(piece: str, seen: dict[str, str]):
    place = QUOTES.at(piece, "Quotes.step")
    run = a_training(4.0, place).sees(place, np="type=module", **seen)

    assert detect(DETECTOR, run, MARKET, QUOTES) == []


def test_each_row_says_what_and_what_instead():
    for library in LIBRARIES:
        rows = [
            function for functions in library.slow_calls.values() for function in functions.values()
        ]
        for call in (*rows, *library.slow_in_c.values(), *LISTS, OBJECTS):
            assert call.done[0].islower() or call.done.startswith(("JSON", "NetworkX", "SymPy"))
            assert len(f"{call.done} (train.py:123)") < 60
            assert call.instead.endswith(".")
            assert 0 <= call.removable.low < call.removable.high <= 1


CANDIDATES = Script(
    "cma.py",
    """
    import numpy as np

    class Search:
        def one_by_one(self, n):
            return np.stack([self.rng.multivariate_normal(self.mean, self.cov) for _ in range(n)])

        def at_once(self, n):
            for _ in range(2):
                drawn = self.rng.multivariate_normal(self.mean, self.cov, size=n)

        def one(self):
            for _ in range(2):
                drawn = self.rng.multivariate_normal(self.mean, self.cov, method="cholesky")
    """,
)


@pytest.mark.parametrize(
    ("piece", "rng", "times"),
    [
        ("np.stack", "type=numpy.random._generator.Generator", 1),
        ("np.stack", "type=cma.Drawer", 0),
        ("size=n", "type=numpy.random._generator.Generator", 0),
        ("method=", "type=numpy.random._generator.Generator", 0),
    ],
)
def test_a_method_in_c_is_known_by_the_class_of_its_object(piece: str, rng: str, times: int):
    place = CANDIDATES.at(piece, "Search.ask")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, place, f"{SITE}/numpy/linalg/_linalg.py:1800 svd").spends(5.0, "env.py:3 step")
    run.sees(place, self__rng=rng, self__mean="type=numpy.ndarray shape=64 dtype=f8")

    told = detect(DETECTOR, run, CANDIDATES)
    assert [finding.savings[0].removable for finding in told] == [Range(0.6, 0.98)] * times


def test_what_a_call_is_given_by_a_generator_is_no_part_of_it():
    script = Script(
        "evaluate.py",
        """
        import statistics

        def main(seeds):
            while True:
                told = statistics.mean(episode(seed) for seed in seeds)

        def episode(seed):
            return play(seed)
        """,
    )
    line = script.at("statistics.mean", "main")
    mean = f"{STDLIB}/statistics.py:320 mean"
    inner = script.at("statistics.mean", "main.<locals>.<genexpr>")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(1.0, line, mean).spends(9.0, line, mean, inner, script.at("play(", "episode"))

    profile = profile_of(run, script)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == pytest.approx(1.0)


LISTED = Script(
    "memory.py",
    """
    def learn(buffer):
        while True:
            batch = buffer.sample()
    """,
)


def test_a_buffer_of_torchrl_that_keeps_a_list_is_told_through_what_hands_calls_over():
    buffers = f"{SITE}/torchrl/data/replay_buffers"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(
        4.0,
        LISTED.at("buffer.sample()", "learn"),
        f"{buffers}/replay_buffers/base.py:2338 ReplayBuffer.sample",
        f"{SITE}/pyvers/implement_for.py:78 _RegisterableFunction.__call__",
        f"{buffers}/storages/utils.py:27 _stack_anything",
        f"{SITE}/tensordict/_torch_func.py:869 _stack",
    )
    (finding,) = detect(DETECTOR, run.spends(6.0, STEP), LISTED)

    assert (
        finding.title
        == f"a replay buffer keeps its rows in a list (memory.py:{LISTED.line('buffer.sample')})"
    )


@pytest.mark.parametrize(
    ("line", "length", "is_told"),
    [
        ("del self.memory[0]", 60_000, True),
        ("del self.memory[0]", 2_000, False),
        ("del self.memory[-1]", 60_000, False),
    ],
)
def test_a_long_list_whose_first_element_is_taken_away(line: str, length: int, is_told: bool):
    findings = on(line, self__memory=LIST.format(length))

    assert [finding.title.partition(" (")[0] for finding in findings] == [MOVED.done] * is_told


@pytest.mark.parametrize(
    ("line", "seen", "is_told"),
    [
        ("self.log = self.log[-self.length :]", LIST.format(8_000), True),
        ("self.log = self.log[-self.length :]", LIST.format(50), False),
        ("self.log = self.log[-self.length :]", CELLS.format("8000,4"), False),
        ("self.rest =", LIST.format(8_000), False),
        ("self.log = self.log[self.length :]", LIST.format(8_000), False),
        ("self.log = self.log[:-1]", LIST.format(8_000), False),
    ],
    ids=["long", "short", "a view", "another one", "many at once", "off the end"],
)
def test_a_long_list_that_is_copied_to_cut_off_its_front(line: str, seen: str, is_told: bool):
    findings = on(line, self__log=seen)

    assert [finding.title.partition(" (")[0] for finding in findings] == [CUT_OFF.done] * is_told


@pytest.mark.parametrize(
    ("line", "length", "is_told"),
    [
        ("if any(np.array_equal", 40, True),
        ("if any(np.array_equal", 4, False),
        ("close =", 40, False),
        ("alike =", 40, False),
        ("equal =", 40, False),
    ],
)
def test_a_list_of_arrays_that_is_searched(line: str, length: int, is_told: bool):
    name = "np.allclose" if "alike" in line else "np.array_equal"
    findings = on(
        line,
        **{
            name.replace(
                ".", "__"
            ): f"type=numpy._ArrayFunctionDispatcher function={name.replace('np', 'numpy')}"
        },
        self__visited=f"type=list length={length} first.type=numpy.ndarray first.shape=2",
    )

    told = [finding.title.partition(" (")[0] for finding in findings]
    assert told == [SEARCHED_ARRAYS.done] * is_told


def test_what_compares_a_list_of_arrays_is_claimed_with_it_and_told_once():
    place = MARKET.at("if any(np.array_equal", "Market.step")
    inner = place.replace("Market.step", "Market.step.<locals>.<genexpr>")
    equal = [f"{SITE}/numpy/_core/numeric.py:{line} array_equal" for line in (2540, 2551, 2560)]
    run = a_training(1.0, place)
    for line in equal:
        run.spends(1.0, STEP, place, inner, line)
    array = "type=numpy.ndarray shape=2 dtype=f4"
    for each in (place, inner):
        run.sees(
            each,
            np__array_equal="type=numpy._ArrayFunctionDispatcher function=numpy.array_equal",
            self__visited="type=list length=40 first.type=numpy.ndarray first.shape=2",
            row=array,
            seen=array,
        )
    profile = profile_of(run, MARKET)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0
    assert detect(NUMPY_TINY_OPS, run, MARKET) == []
