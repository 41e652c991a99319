from __future__ import annotations

import pytest

from rlprof.detectors.numpy_tiny_ops import (
    CALL_REMOVABLE,
    DETECTOR,
    LINE_REMOVABLE,
    MIN_SHARE,
    OF_SEVERAL,
)
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of, ranked

ENV = Script(
    "env.py",
    """
    import numpy as np

    class Env:
        def reset(self):
            self.x = 0.0
            self.speed = 0.0
            self.image = np.zeros((84, 84))
            return np.array([self.x, self.speed])

        def step(self, action):
            self.speed = np.clip(self.speed + action, -1.0, 1.0)
            self.x += np.sqrt(self.speed)
            reward = np.mean([self.x, self.speed, 1.0])
            done = np.any([self.x > 5.0, self.x < 0.0])
            return np.array([self.x, self.speed]), reward, done
    """,
)
LOOP = "main.py:3 main"
ELSEWHERE = "main.py:4 main"
MEAN = f"{SITE}/numpy/_core/fromnumeric.py:3824 mean"
CLIP = f"{SITE}/numpy/_core/fromnumeric.py:2296 clip"
INNER = f"{SITE}/numpy/_core/_methods.py:132 _mean"
REDUCE = f"{SITE}/numpy/_core/_methods.py:113 _clip"


def a_training() -> RunBuilder:
    return a_run("main.py", steady_s=10.0).process("main", steps=100_000)


def averaging(seconds: float, script: Script = ENV) -> RunBuilder:
    """``np.mean`` of three numbers: a fifth on the line itself, the rest spread inside numpy."""
    line = script.at("np.mean", "Env.step")
    run = a_training()
    run.spends(seconds * 0.2, LOOP, line)
    run.spends(seconds * 0.4, LOOP, line, MEAN)
    run.spends(seconds * 0.4, LOOP, line, MEAN, INNER)
    return run.spends(10.0 - seconds, ELSEWHERE)


def found(run: RunBuilder, script: Script = ENV) -> list[Finding]:
    return detect(DETECTOR, run, script)


def test_claims_numpys_own_lines_and_the_line_that_calls():
    run = averaging(5.0)

    (finding,) = found(run)

    assert claimed_s(profile_of(run, ENV), finding) == pytest.approx(5.0)
    assert lines_of(finding) == [ENV.line("np.mean")]
    assert [saving.removable for saving in finding.savings] == [CALL_REMOVABLE, LINE_REMOVABLE]


def test_silent_just_under_its_threshold():
    assert found(averaging(10 * MIN_SHARE * 0.9)) == []
    assert len(found(averaging(10 * MIN_SHARE * 1.1))) == 1


def test_ranks_by_its_price():
    first = ranked(averaging(6.0), ENV)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.6 * 0.9 < first.saved_share.high


HEALTHY = Script(
    "healthy.py",
    """
    import numpy as np

    class Vector:
        def reset(self, n):
            self.x = np.zeros(n)
            self.table = np.ones((64, 64))
            return np.array([0.0, 0.0])

        def step(self, actions, rewards):
            self.x = np.clip(self.x + actions, -1.0, 1.0)
            mean = np.mean(rewards)
            best = np.argmax(self.table)
            angle, spin = self.state
            push = np.cos(angle) * spin
            both = np.mean([self.x, actions])
            noise = np.random.uniform(-1.0, 1.0, size=(64, 64))
            more = np.random.normal(0.0, 1.0, 1000)
            order = np.random.permutation(4096)
            return np.array([mean, best])

        def batch(self, episodes):
            rows, returns, self.seen = [], [0.0], [0.0]
            for episode in episodes:
                rows.append(episode.rows)
                returns.extend(episode.returns)
                self.seen.append(episode.seen)
            joined = np.concatenate(rows)
            spread = np.std(returns)
            top = np.max(self.seen)
    """,
)


@pytest.mark.parametrize(
    "piece",
    ["np.clip", "np.mean(rewards)", "np.argmax", "np.cos", "np.mean([self", "noise =", "more =",
     "order =", "return np.array([mean"],
)  # fmt: skip
def test_silent_on_a_healthy_run(piece):
    """Arrays of many, arrays of unknown size, and the observation, which has to be an array."""
    line = HEALTHY.at(piece, "Vector.step")
    run = a_training()
    run.spends(4.0, LOOP, line)
    run.spends(3.0, LOOP, line, MEAN)
    run.spends(3.0, LOOP, line, MEAN, INNER)

    assert found(run, HEALTHY) == []


@pytest.mark.parametrize("piece", ["joined =", "spread =", "top ="])
def test_silent_of_lists_that_are_filled(piece):
    run = a_training().spends(8.0, LOOP, HEALTHY.at(piece, "Vector.batch"))

    assert found(run, HEALTHY) == []


@pytest.mark.parametrize(
    "line",
    [
        "y = np.sqrt(2.0)",
        "y = np.cos(self.angle)",
        "y = np.max([1.0, self.angle])",
        "y = np.linalg.norm([self.angle, 3.0])",
        "y = np.argmax(self.weights)",
        "y = np.random.rand()",
        "y = np.random.choice(4)",
        "y = np.random.choice([0, 1])",
        "y = np.random.uniform(-1.0, 1.0)",
        "y = np.where(self.angle > 0.0, 1.0, -1.0)",
        "y = np.clip(float(action), 0, 1)",
        "y = np.hypot(gain, gain)",
        "y = np.linalg.norm(np.array([self.angle, 1.0]))",
    ],
)
def test_the_lines_it_knows(line):
    script = Script(
        "env.py",
        f"""
        import numpy as np

        class Env:
            def __init__(self):
                self.angle = 0.0
                self.weights = np.zeros(4)

            def step(self, action, gain: float):
                {line}
                self.angle += y
        """,
    )
    run = a_training()
    run.spends(4.0, LOOP, script.at(line, "Env.step"))
    run.spends(6.0, ELSEWHERE)

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line(line)]


def clipping(spread: float) -> RunBuilder:
    """``np.clip(self.speed + action, ...)``: ``spread`` of it in numpy's calls, the rest in one line."""
    line = ENV.at("np.clip", "Env.step")
    run = a_training()
    run.spends(5.0 * spread, LOOP, line, CLIP)
    run.spends(5.0 * (1 - spread), LOOP, line, CLIP, REDUCE)
    return run.spends(5.0, ELSEWHERE)


def test_an_unknown_part_counts_where_the_time_is_that_of_calls():
    overhead, work = clipping(0.5), clipping(0.1)

    (finding,) = found(overhead)

    assert claimed_s(profile_of(overhead, ENV), finding) == pytest.approx(5.0)
    # All of it on one line of numpy's: the action is an array, and a large one.
    assert found(work) == []


def test_a_line_that_calls_something_else_keeps_its_own_time():
    script = Script("env.py", ENV.text.replace("np.mean(", "self.world.simulate() + np.mean("))
    run = averaging(5.0, script)

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run, script), finding) == pytest.approx(4.0)


def test_numpy_in_a_library_is_not_the_users():
    file = f"{SITE}/gymnasium/envs/cartpole.py"
    script = Script(file, ENV.text)

    assert found(averaging(5.0, script), script) == []


DRONE = Script(
    "drone.py",
    """
    import numpy as np

    class Drone:
        def reset(self):
            self.position = np.zeros(3)
            self.velocity = np.array([0.1, 0.0, 0.0])

        def step(self, thrust):
            force = np.clip(np.array(thrust), -1.0, 1.0)
            self.velocity = self.velocity + 0.02 * force
            return force

    def fly(drone):
        thrust = [-0.8 * offset[0], -0.8 * offset[1], -0.8 * offset[2]]
        drone.step(thrust)
    """,
)


def test_arithmetic_of_small_arrays_is_claimed_too():
    run = a_training()
    run.spends(4.0, LOOP, DRONE.at("self.velocity = self", "Drone.step"))
    run.spends(6.0, ELSEWHERE)

    (finding,) = found(run, DRONE)

    assert claimed_s(profile_of(run, DRONE), finding) == pytest.approx(4.0)
    assert any("arithmetic" in text for text in finding.evidence)


@pytest.mark.parametrize(("spread", "claimed"), [(0.5, 1), (0.1, 0)])
def test_a_parameter_is_what_its_namesake_in_the_file_is_where_the_stacks_agree(spread, claimed):
    line = DRONE.at("force = np.clip", "Drone.step")
    run = a_training()
    run.spends(5.0 * spread, LOOP, line, CLIP)
    run.spends(5.0 * (1 - spread), LOOP, line, CLIP, REDUCE)
    run.spends(5.0, ELSEWHERE)

    assert len(found(run, DRONE)) == claimed


HANDLE = Script(
    "handle.py",
    """
    import numpy as np

    def handle(gained):
        return float(np.clip(gained, -1.0, 1.0))

    def main():
        while True:
            handle(gained)
    """,
)


@pytest.mark.parametrize(
    ("gained", "is_one"),
    [
        ("type=float", True),
        ("type=numpy.float64 bases=numpy.floating,float", True),
        ("type=numpy.ndarray shape=3 dtype=f8", True),
        ("type=numpy.ndarray shape=512 dtype=f8", False),
    ],
)
def test_what_was_seen_there_tells_how_many_numbers_they_are(gained: str, is_one: bool):
    line = HANDLE.at("np.clip(gained", "handle")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    for number in range(4):
        run.spends(1.0, line, f"{SITE}/numpy/_core/fromnumeric.py:{100 + number} clip")
    run.spends(6.0, HANDLE.at("handle(gained)", "main"))

    assert detect(DETECTOR, run, HANDLE) == []
    run.sees(
        line, np__clip="type=numpy._ArrayFunctionDispatcher function=numpy.clip", gained=gained
    )
    assert bool(detect(DETECTOR, run, HANDLE)) == is_one


def spent_on(line: str, *inside: str, **seen: str) -> RunBuilder:
    """A run with six tenths of its time there, and what was seen there."""
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, "env.py:3 step")
    run.spends(6.0, "train.py:3 main", line, *inside)
    run.sees(line, **seen)
    return run


DRIFT = Script(
    "drift.py",
    """
    from numpy import clip as bound, dot as along, sqrt as root

    def drift(x, v, speed):
        pull = bound(x - 0.1 * speed, -1.0, 1.0)
        return root(along(v, v))
    """,
)


@pytest.mark.parametrize(("shape", "is_told"), [("2", True), ("200", False)])
def test_functions_under_other_names_on_what_was_seen_to_be_few(shape, is_told):
    run = spent_on(
        DRIFT.at("root(", "drift"),
        v=f"type=numpy.ndarray shape={shape} dtype=f8",
        root="type=numpy.ufunc function=numpy.sqrt",
        along="type=x function=numpy.dot",
    )

    assert bool(detect(DETECTOR, run, DRIFT)) == is_told


NEAR = Script(
    "near.py",
    """
    import numpy as np

    def sense(source, places, out):
        return np.subtract(source, places)
    """,
)


@pytest.mark.parametrize(("shape", "is_told"), [("2", True), ("192,8,2", False)])
def test_the_largest_argument_tells_how_many_numbers_it_works_on(shape, is_told):
    run = spent_on(
        NEAR.at("np.subtract", "sense"),
        np__subtract="type=numpy.ufunc function=numpy.subtract",
        source="type=numpy.ndarray shape=2 dtype=f4",
        places=f"type=numpy.ndarray shape={shape} dtype=f4",
    )

    assert bool(detect(DETECTOR, run, NEAR)) == is_told


FAR = Script(
    "far.py",
    """
    import numpy as np

    def step(position):
        return np.any(np.abs(position) > 10.0)
    """,
)


@pytest.mark.parametrize(("shape", "is_told"), [("3", True), ("3000", False)])
def test_of_a_few_numbers_that_were_seen_one_line_of_numpys_may_have_it_all(shape, is_told):
    numpy = f"{SITE}/numpy/_core/fromnumeric.py"
    run = spent_on(
        FAR.at("np.any(", "step"),
        f"{numpy}:2500 any",
        f"{numpy}:85 _wrapreduction_any_all",
        position=f"type=numpy.ndarray shape={shape} dtype=f8",
        np__any="type=x function=numpy.any",
        np__abs="type=numpy.ufunc function=numpy.absolute",
    )

    assert bool(detect(DETECTOR, run, FAR)) == is_told


@pytest.mark.parametrize(("angle", "is_told"), [("v", True), ("x[:, 4]", False), ("v[4:]", True)])
def test_a_column_of_a_table_is_as_long_as_there_are_environments(angle, is_told):
    script = Script(
        "drift.py",
        DRIFT.text.replace("root(along(v, v))", "root(angle)").replace(
            "pull =", f"angle = {angle}; pull ="
        ),
    )
    line = script.at("root(angle)", "drift")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(
        line,
        angle="type=numpy.ndarray shape=8 dtype=f8",
        root="type=numpy.ufunc function=numpy.sqrt",
    )

    assert bool(detect(DETECTOR, run, script)) == is_told


def test_numbers_in_arithmetic_are_numbers():
    line = DRIFT.at("bound(", "drift")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(line, x="type=numpy.float64", speed="type=float", bound="type=x function=numpy.clip")

    assert len(detect(DETECTOR, run, DRIFT)) == 1


@pytest.mark.parametrize(("shape", "is_told"), [("3", True), ("64", False), ("(2, 32)", False)])
def test_an_array_that_is_made_has_the_elements_of_its_shape(shape, is_told):
    script = Script(
        "view.py",
        f"""
        import numpy as np

        def view(x):
            seen = np.zeros({shape})
            return seen
        """,
    )
    line = script.at("np.zeros", "view")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(line, np__zeros="type=builtin_function_or_method function=numpy.zeros")

    assert bool(detect(DETECTOR, run, script)) == is_told


def test_an_array_between_bounds_is_as_long_as_they_say():
    script = Script(
        "span.py", "import numpy as np\n\ndef span(low, high):\n    return np.arange(low, high)\n"
    )
    line = script.at("np.arange", "span")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(
        line,
        np__arange="type=builtin_function_or_method function=numpy.arange",
        low="type=int",
        high="type=int",
    )

    assert detect(DETECTOR, run, script) == []


LEGS = Script(
    "legs.py",
    """
    import numpy as np

    class Legs:
        def step(self, push):
            self.force = np.clip(push, -1, 1)
    """,
)


@pytest.mark.parametrize(
    ("numbers", "removable"), [(1, LINE_REMOVABLE), (4, LINE_REMOVABLE), (8, OF_SEVERAL)]
)
def test_of_more_than_a_handful_of_numbers_less_goes(numbers, removable):
    line = LEGS.at("np.clip", "Legs.step")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(
        line,
        push=f"type=numpy.ndarray shape={numbers} dtype=f8",
        np__clip="type=function function=numpy.clip",
    )

    (finding,) = detect(DETECTOR, run, LEGS)

    assert [saving.removable for saving in finding.savings] == [removable]


HOPPER = Script(
    "hopper.py",
    """
    import numpy as np

    class Hopper:
        def step(self):
            push = np.minimum(self.depth, 60.0)
            force = np.tanh(self.vel[0]) * (push > 0) + push
            total = force.sum() + (push * self.vel).sum()
            return self.net.sum(push)
    """,
)


@pytest.mark.parametrize("piece", ["np.tanh(self.vel[0])", "force.sum() + (push"])
@pytest.mark.parametrize(("shape", "is_told"), [("2", True), ("64", False)])
def test_methods_of_arrays_and_items_of_such_that_other_lines_show(piece, shape, is_told):
    line, other = HOPPER.at(piece, "Hopper.step"), HOPPER.at("np.minimum", "Hopper.step")
    array = f"type=numpy.ndarray shape={shape} dtype=f8"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(other, self__vel=array, force=array)
    run.sees(
        line,
        push=array,
        np__tanh="type=numpy.ufunc function=numpy.tanh",
        force__sum="type=method_descriptor function=numpy.ndarray.sum",
    )

    assert bool(detect(DETECTOR, run, HOPPER)) == is_told


def test_a_method_of_another_object_is_none_of_arrays():
    line = HOPPER.at("self.net.sum", "Hopper.step")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    run.sees(line, push="type=numpy.ndarray shape=2 dtype=f8")

    assert detect(DETECTOR, run, HOPPER) == []


TABLE = Script(
    "table.py",
    """
    import numpy as np

    class Table:
        def __init__(self):
            self.angle = np.zeros(4)

        def learn(self, w, x, gain):
            w *= 0.9
            np.tanh(w, out=w)
            h = np.tanh(x @ self.angle)
            w += np.outer(x, np.arange(64))
            row = np.tile(x, 20)
            noise = np.random.normal(0.0, 0.1, 64)
            shift = np.eye(3) + 0.5
    """,
)


@pytest.mark.parametrize(
    "piece",
    ["np.tanh(w", "h = np.tanh", "w += np.outer", "row =", "noise =", "shift ="],
)
def test_what_works_on_many_numbers_of_few_arguments_is_not_told(piece):
    line = TABLE.at(piece, "Table.learn")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "train.py:3 main", line).spends(4.0, "env.py:3 step")
    functions = {
        f"np__{name}": f"type=x function=numpy.{name}"
        for name in ("outer", "arange", "tile", "eye")
    }
    run.sees(
        line,
        w="type=numpy.ndarray shape=64,64 dtype=f8",
        x="type=numpy.ndarray shape=8 dtype=f4",
        self__angle="type=numpy.ndarray shape=8,200 dtype=f8",
        np__random__normal="type=x function=numpy.random.normal",
        np__tanh="type=numpy.ufunc function=numpy.tanh",
        **functions,
    )

    assert detect(DETECTOR, run, TABLE) == []


def test_a_number_that_grows_by_a_number_stays_one_and_a_parameter_stays_unknown():
    script = Script(
        "sum.py",
        """
        import numpy as np

        def total(parts, w):
            x = 0.0
            x += 0.5
            w *= 0.5
            y = np.sqrt(x)
            return np.sqrt(w)
        """,
    )
    for piece, is_told in (("y = np.sqrt(x)", True), ("np.sqrt(w)", False)):
        run = a_training().spends(6.0, LOOP, script.at(piece, "total")).spends(4.0, ELSEWHERE)
        assert bool(detect(DETECTOR, run, script)) == is_told


TABLE_OF_ARRAYS = Script(
    "arrays.py",
    """
    import numpy as np

    def greedy(self, seen):
        return int(np.argmax(self.table[seen]))

    def pairs(w):
        w += np.outer(np.arange(64), np.arange(64))
    """,
)


@pytest.mark.parametrize(
    ("kind", "shape", "is_told"),
    [
        ("collections.defaultdict", "4", True),
        ("collections.defaultdict", "4000", False),
        # The first of what somebody put there need not be like the others.
        ("dict", "4", False),
    ],
)
def test_items_that_a_table_makes_when_they_are_asked_for(kind, shape, is_told):
    run = spent_on(
        TABLE_OF_ARRAYS.at("np.argmax", "greedy"),
        np__argmax="type=numpy._ArrayFunctionDispatcher function=numpy.argmax",
        self__table=f"type={kind} length=9 first.type=numpy.ndarray first.shape={shape} first.dtype=f8",
        seen="type=int",
    )

    assert bool(detect(DETECTOR, run, TABLE_OF_ARRAYS)) == is_told


@pytest.mark.parametrize(
    ("put", "is_told"),
    [("self.table[0] = np.zeros(2)", False), ("self.table[0] = self.table[0] * 0.9", True)],
)
def test_an_item_that_is_put_into_a_table_need_not_be_like_the_others(put, is_told):
    script = Script("arrays.py", f"{TABLE_OF_ARRAYS.text}\ndef begin(self):\n    {put}\n")
    table = "type=collections.defaultdict length=9 first.type=numpy.ndarray first.shape=2"
    run = spent_on(
        script.at("np.argmax", "greedy"),
        np__argmax="type=numpy._ArrayFunctionDispatcher function=numpy.argmax",
        self__table=f"{table} first.dtype=f8",
        seen="type=int",
    )

    assert bool(detect(DETECTOR, run, script)) == is_told


def test_a_number_for_each_pair_is_many():
    run = spent_on(
        TABLE_OF_ARRAYS.at("np.outer", "pairs"),
        np__outer="type=numpy._ArrayFunctionDispatcher function=numpy.outer",
        np__arange="type=builtin_function_or_method function=numpy.arange",
        w="type=numpy.ndarray shape=64,64 dtype=f8",
    )

    assert detect(DETECTOR, run, TABLE_OF_ARRAYS) == []
