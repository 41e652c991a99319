from __future__ import annotations

import pytest

from rlprof.detectors.tensor_from_list import (
    BESIDE_OTHERS,
    DETECTOR,
    MIN_SHARE,
    MIN_SHARE_STACKED,
    OF_FEW_NUMBERS,
    OF_NUMBERS,
    REMOVABLE,
    STACKED,
    tensors_of_lists,
)
from rlprof.model.finding import Finding, Range
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect, lines_of, ranked

ROLLOUT = Script(
    "rollout.py",
    """
    import torch

    def collect(env, policy):
        observations, rewards = [], []
        for _ in range(128):
            observations.append(env.step(policy))
        batch = torch.tensor(observations, dtype=torch.float32)
        scores = torch.as_tensor([model.score(it) for it in observations])
        return batch, scores
    """,
)
BATCH = ROLLOUT.at("batch = torch.tensor", "collect")
SCORES = ROLLOUT.at("scores =", "collect")
STEP = ROLLOUT.at("env.step", "collect")


def a_training(seconds: float, *, line: str = BATCH) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    return run.spends(seconds, line).spends(10.0 - seconds, STEP, "env.py:3 step")


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, ROLLOUT)


def test_names_the_line_and_the_list():
    (finding,) = found(a_training(3.0))

    assert lines_of(finding) == [ROLLOUT.line("batch = torch.tensor")]
    assert finding.evidence == (
        "30 % of the steady time is spent on that line itself, 3 ms a step",
        "it is given a list: observations",
    )
    assert finding.savings[0].removable == REMOVABLE


def test_is_less_sure_where_the_line_calls_other_things():
    (finding,) = found(a_training(3.0, line=SCORES))

    assert finding.savings[0].removable == BESIDE_OTHERS


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_silent_without_the_source():
    assert detect(DETECTOR, a_training(5.0)) == []


def test_ranks_by_the_time_of_the_line():
    first, *_ = ranked(a_training(5.0), ROLLOUT)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.45 < first.saved_share.high


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("def f(xs):\n    ys = []\n    return torch.tensor(ys)\n", True),
        ("def f(xs):\n    ys = [x for x in xs]\n    return torch.FloatTensor(ys).to(d)\n", True),
        ("def f(xs):\n    self.rows.append(1)\n    return torch.tensor(self.rows)\n", True),
        ("def f(xs):\n    return torch.tensor([x + 1 for x in xs])\n", True),
        ("def f(xs):\n    return torch.tensor(xs)\n", False),
        ("def f(xs):\n    return torch.tensor([0.0, 1.0])\n", False),
        ("def f(xs):\n    ys = []\n    return torch.as_tensor(np.array(ys))\n", False),
        ("def f(xs):\n    ys = []\n    return tf.tensor(ys)\n", False),
        ("def broken(:\n  torch", False),
    ],
)
def test_reads_lists_off_the_source(code, is_one):
    found_lines = tensors_of_lists("import torch\n" + code)

    assert bool(found_lines) is is_one


FEED = Script(
    "feed.py",
    """
    from torch import tensor as T

    def feed(what):
        x = T(what); y = net(x)
        return T(other)

    def main(store):
        while True:
            feed(store)
    """,
)
FED = FEED.at("x = T(what)", "feed")
LISTS = "type=list length=48 first.type=numpy.ndarray first.shape=160 first.dtype=f8"
TENSOR = "type=builtin_function_or_method function=torch._VariableFunctionsClass.tensor"


def a_feeding(**seen: str) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, FEED.at("feed(store)", "main"), FED).sees(FED, **seen)
    return run.spends(6.0, FEED.at("feed(store)", "main"), "net.py:3 forward")


def test_knows_a_list_that_was_seen_whatever_the_names():
    (finding,) = detect(DETECTOR, a_feeding(T=TENSOR, what=LISTS), FEED)

    assert lines_of(finding) == [FEED.line("x = T(what)")]
    assert (
        finding.evidence[1] == "it is given a list: what, a list of 48 (array of 160 float64 first)"
    )


@pytest.mark.parametrize(("method", "is_told"), [("new_tensor", True), ("make_tensor", False)])
def test_a_method_that_tensors_alone_have_is_known_where_its_owner_is_a_property(method, is_told):
    script = Script("feed.py", FEED.text.replace("T(what)", f"self.like.{method}(what)"))
    line = script.at("x = self.like", "feed")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, FEED.at("feed(store)", "main"), line)
    run.sees(line, self__like="type=property function=feed.Net.like", what=LISTS)
    run.spends(6.0, FEED.at("feed(store)", "main"), "net.py:3 forward")

    assert bool(detect(DETECTOR, run, script)) == is_told


@pytest.mark.parametrize(
    "seen",
    [
        {"T": TENSOR, "what": "type=numpy.ndarray shape=48,160 dtype=f8"},
        {"T": TENSOR, "what": "type=list length=4 first.type=float"},
        {"T": "type=function function=feed.T file=feed.py line=3", "what": LISTS},
        {},
    ],
)
def test_silent_where_no_list_was_seen_or_it_is_another_function(seen: dict[str, str]):
    assert detect(DETECTOR, a_feeding(**seen), FEED) == []


CALM = Script(
    "calm.py",
    """
    import torch

    def learn(ponds, seen):
        while True:
            outs = ponds.step(); gains = torch.tensor([gain for _, gain in outs])
    """,
)


def test_a_list_that_nobody_saw_on_a_line_with_other_calls_has_to_take_long():
    line = CALM.at("torch.tensor", "learn")
    for seconds, is_told in ((0.4, False), (0.6, True)):
        run = a_run(steady_s=10.0).process("main", steps=1000)
        run.spends(seconds, line).spends(10.0 - seconds, "env.py:3 step")
        run.sees(line, ponds="type=__main__.Ponds")

        assert bool(detect(DETECTOR, run, CALM)) == is_told


BUFFER = Script(
    "buffer.py",
    """
    import torch

    class Store:
        def tensors(self):
            return (
                pile(self.seen),
                pile(self.won),
            )
    """,
)
PILE = "type=builtin_function_or_method function=torch.stack"
TENSORS = "type=list length={} first.type=torch.Tensor first.shape=4 first.dtype=torch.float32"


def a_stacking(seconds: float, **seen: str) -> list[Finding]:
    line = BUFFER.at("pile(self.seen)", "Store.tensors")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds, line).spends(10.0 - seconds, "env.py:3 step")
    return detect(DETECTOR, run.sees(line, **seen), BUFFER)


def test_long_lists_of_tensors_that_are_put_together_often():
    long = TENSORS.format(2048)

    (finding,) = a_stacking(4.0, pile=PILE, self__seen=long, self__won=long)

    assert (
        finding.title
        == f"long lists of tensors are put together often (buffer.py:{BUFFER.line('self.seen')})"
    )
    assert (
        finding.evidence[1]
        == "it is given a list: self.seen, a list of 2048 (tensor of 4 float32 first)"
    )
    assert finding.savings[0].removable == STACKED


@pytest.mark.parametrize(
    ("seconds", "pile", "given"),
    [
        (10 * MIN_SHARE_STACKED * 0.9, PILE, TENSORS.format(2048)),
        (4.0, PILE, TENSORS.format(8)),
        (4.0, PILE, "type=list length=2048 first.type=float"),
        (4.0, "type=function function=buffer.pile file=buffer.py line=3", TENSORS.format(2048)),
    ],
    ids=["once for each rollout", "a few environments", "no tensors", "a function of the user's"],
)
def test_silent_for_other_stacks(seconds: float, pile: str, given: str):
    assert a_stacking(seconds, pile=pile, self__seen=given) == []


@pytest.mark.parametrize(
    ("what", "part"),
    [
        ("type=list length=16 first.type=float", OF_FEW_NUMBERS),
        ("type=list length=20 first.type=tuple first.length=2", OF_FEW_NUMBERS),
        ("type=list length=128 first.type=float", OF_NUMBERS),
        ("type=list length=16 first.type=numpy.float32", REMOVABLE),
        (LISTS, REMOVABLE),
    ],
)
def test_numbers_of_pythons_leave_more_to_an_array_than_arrays_do(what, part):
    script = Script("feed.py", FEED.text.replace("x = T(what); y = net(x)", "x = T(what)"))
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, FEED.at("feed(store)", "main"), script.at("x = T(what)", "feed"))
    run.spends(6.0, FEED.at("feed(store)", "main"), "net.py:3 forward")
    run.sees(script.at("x = T(what)", "feed"), T=TENSOR, what=what)

    (finding,) = detect(DETECTOR, run, script)

    assert [saving.removable for saving in finding.savings] == [part]


def test_no_more_goes_beside_other_calls_than_alone():
    (finding,) = detect(
        DETECTOR, a_feeding(T=TENSOR, what="type=list length=16 first.type=float"), FEED
    )

    assert finding.savings[0].removable == Range(BESIDE_OTHERS.low, OF_FEW_NUMBERS.high)
