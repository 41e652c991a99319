from __future__ import annotations

import pytest

from rlprof.detectors.gae_loop import (
    DETECTOR,
    ONE_BY_ONE_REMOVABLE,
    REMOVABLE,
    SUFFIX_REMOVABLE,
    WIDE_REMOVABLE,
)
from rlprof.detectors.recognisers.line_time import MIN_SHARE
from rlprof.model.finding import Confidence, Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of, ranked

PPO = Script(
    "ppo.py",
    """
    import torch

    @torch.no_grad()
    def advantages(rewards, values, dones):
        found = torch.zeros_like(rewards)
        last = 0.0
        for t in reversed(range(128)):
            going_on = 1.0 - dones[t]
            last = rewards[t] - values[t] + 0.99 * going_on * (values[t + 1] + 0.95 * last)
            found[t] = last
        return found

    def train(envs, policy):
        for step in range(128):
            observation = envs.step(policy(observation))
    """,
)
IN_NUMPY = Script(
    "ppo.py",
    PPO.text.replace("torch.zeros_like(rewards)", "np.zeros_like(rewards)").replace(
        "return found", "return torch.from_numpy(found)"
    ),
)
GOING_ON = PPO.at("going_on =", "advantages")
LAST = PPO.at("last = rewards", "advantages")
FOUND = PPO.at("found[t]", "advantages")
ROLLOUT = PPO.at("envs.step", "train")
MINUS = f"{SITE}/torch/_tensor.py:1100 Tensor.__rsub__"


def a_training(seconds: float) -> RunBuilder:
    """Ten seconds, of which so many are spent on the recursion."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds / 4, GOING_ON, MINUS).spends(seconds / 2, LAST).spends(seconds / 4, FOUND)
    return run.spends(10.0 - seconds, ROLLOUT, "env.py:3 step")


def found(run: RunBuilder, script: Script = PPO) -> list[Finding]:
    return detect(DETECTOR, run, script)


def test_names_the_loop_and_its_heaviest_lines():
    (finding,) = found(a_training(4.0))

    assert finding.title.endswith(f"(ppo.py:{PPO.line('for t in')})")
    assert lines_of(finding)[0] == PPO.line("last = rewards")
    assert set(lines_of(finding)) == {
        PPO.line(piece) for piece in ("going_on =", "last = r", "found[t]")
    }
    assert finding.evidence == (
        "40 % of the steady time is spent in that loop, 4 ms a step",
        "the source shows a recursion from the last row of rewards to the first, in small operations of torch",
        "no gradient is recorded there",
    )
    assert (finding.savings[0].removable, finding.confidence) == (REMOVABLE, Confidence.MEASURED)


def test_is_less_sure_where_a_gradient_may_pass_through():
    script = Script("ppo.py", PPO.text.replace("@torch.no_grad()", "# with gradients"))

    (finding,) = found(a_training(4.0), script)

    assert finding.confidence is Confidence.BOUNDED
    assert "must stay torch's" in finding.evidence[2]


def test_promises_less_for_wide_rows():
    (finding,) = found(a_training(4.0).with_run(command=("python", "ppo.py", "--num-envs", "2048")))

    assert finding.savings[0].removable == WIDE_REMOVABLE


def test_promises_more_for_environments_that_are_gone_through_one_by_one():
    script = Script(
        "ppo.py",
        """
        import torch

        @torch.no_grad()
        def advantages(rewards: torch.Tensor, values, dones):
            found = torch.zeros_like(rewards)
            for env in range(2048):
                last = 0.0
                for t in reversed(range(128)):
                    last = rewards[t, env] - values[t, env] + 0.99 * (1.0 - dones[t, env]) * last
                    found[t, env] = last
            return found
        """,
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at("last = rewards", "advantages")).spends(6.0, "env.py:3 step")
    (finding,) = found(run.with_run(command=("python", "ppo.py", "--num-envs", "2048")), script)

    assert finding.savings[0].removable == ONE_BY_ONE_REMOVABLE


def test_silent_on_the_same_loop_in_numpy():
    assert found(a_training(4.0), IN_NUMPY) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_silent_without_the_source():
    assert detect(DETECTOR, a_training(5.0)) == []


def test_ranks_by_the_time_of_the_loop():
    first, *_ = ranked(a_training(5.0), PPO)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.41 < first.saved_share.high


NUMBERS = Script(
    "returns.py",
    """
    import numpy as np

    def to_go(gains, gamma):
        out = np.zeros_like(gains)
        for t in reversed(range(len(gains) - 1)):
            out[t] = gains[t] + gamma * out[t + 1]
        return out
    """,
)


@pytest.mark.parametrize(
    ("shape", "is_told"), [("500", True), ("8", False), ("500,64", False)], ids=str
)
def test_numbers_of_an_array_one_after_the_other(shape: str, is_told: bool):
    line = NUMBERS.at("out[t] =", "to_go")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, "train.py:9 main", line).spends(6.0, "env.py:3 step")
    array = f"type=numpy.ndarray shape={shape} dtype=f4"
    run.sees(line, out=array, gains=array, gamma="type=float")
    findings = detect(DETECTOR, run, NUMBERS)

    assert [lines_of(finding) for finding in findings] == (
        [[NUMBERS.line("out[t] =")]] if is_told else []
    )


LISTS = Script(
    "lists.py",
    """
    def compute_gae(last_value, rewards, masks, values):
        values = values + [last_value]
        gae = 0
        returns = []
        for step in reversed(range(len(rewards))):
            delta = rewards[step] + 0.99 * values[step + 1] * masks[step] - values[step]
            gae = delta + 0.95 * masks[step] * gae
            returns.insert(0, gae + values[step])
        return returns
    """,
)
DELTA = LISTS.at("delta = ", "compute_gae")


@pytest.mark.parametrize(
    ("items", "is_told"),
    [
        ("first.type=torch.Tensor first.shape=1 first.dtype=torch.float32", True),
        ("first.type=torch.Tensor first.shape=100000 first.dtype=torch.float32", False),
        ("first.type=float", False),
    ],
    ids=["of small tensors", "of large ones", "of numbers"],
)
def test_lists_of_tensors_are_gone_through_like_one(items: str, is_told: bool):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, "train.py:9 main", DELTA).spends(6.0, "env.py:3 step")
    seen = f"type=list length=256 {items}"
    findings = detect(DETECTOR, run.sees(DELTA, rewards=seen, masks=seen), LISTS)

    assert [lines_of(finding) for finding in findings] == (
        [[LISTS.line("delta = ")]] if is_told else []
    )


CELL = Script(
    "encoder.py",
    """
    import torch

    class Encoder(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            h = torch.zeros(x.shape[1], 48)
            found = []
            for t in reversed(range(len(x))):
                h = self.cell(x[t], h)
                found.append(h)
            return self.mean(torch.stack(found[::-1]))
    """,
)
ASKED = f"{SITE}/torch/nn/modules/module.py:1790 Module._call_impl"


@pytest.mark.parametrize(("below", "is_told"), [((MINUS,), True), ((ASKED, MINUS), False)])
def test_silent_where_a_network_is_asked_from_the_end(below: tuple[str, ...], is_told: bool):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, "train.py:9 main", CELL.at("h = self.cell", "Encoder.forward"), *below)

    assert bool(detect(DETECTOR, run.spends(6.0, "env.py:3 step"), CELL)) is is_told


DREAMER = """
import torch

def lambda_returns(rewards, values):
    returns, last = [], values[-1]
    for t in reversed(range(len(rewards))):
        last = rewards[t] + 0.99 * (0.05 * values[t + 1] + 0.95 * last)
        returns.append(last)
    return returns[::-1]

def train(optimizer, rewards, values):
    found = lambda_returns(rewards, values)
    loss = -{result}.mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("grad", "result", "is_told"),
    [
        ("1", "torch.stack(found)", False),
        ("0", "torch.stack(found)", True),
        ("1", "torch.stack(found).detach()", True),
    ],
    ids=["through it", "none recorded", "cut off"],
)
def test_silent_where_a_gradient_goes_through(grad: str, result: str, is_told: bool):
    script = Script("dreamer.py", DREAMER.format(result=result))
    last = script.at("last = rewards", "lambda_returns")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at("found = ", "train"), last).spends(6.0, "env.py:3 step")
    rows = f"first.type=torch.Tensor first.shape=16,1 first.dtype=torch.float32 first.grad={grad}"
    run.sees(last, rewards=f"type=list length=15 {rows}", values=f"type=list length=16 {rows}")

    assert bool(detect(DETECTOR, run, script)) is is_told


SUMS = """
def returns(rewards, gamma, T):
    {body}

def train(envs, policy):
    while True:
        returns(envs.play(policy), 0.99, 64)
"""
QUADRATIC = {
    "in a comprehension": "return [sum(gamma ** (k - t) * rewards[k] for k in range(t, T)) for t in range(T)]",
    "over what is left": "return [sum(gamma ** i * r for i, r in enumerate(rewards[t:])) for t in range(T)]",
    "in loops": "for t in range(T):\n        for k in range(t, T):\n            out[t] += gamma ** (k - t) * rewards[k]",
    "with a factor of each turn": "for t in range(T):\n        d = 1\n        for k in range(t, T - 1):\n            a[t] += d * (rewards[k] + gamma * values[k + 1])\n            d *= gamma",
    "along powers that were made before": "powers = np.power(0.9, np.arange(T)).tolist()\n    return [sum(gamma * r for gamma, r in zip(powers, rewards[t:])) for t in range(T)]",
    "with a last value": "return [sum(gamma ** (k - t) * rewards[k] for k in range(t, T)) + gamma ** (T - t) * last - values[t] for t in range(T)]",
    "with an end of the episode": "for t in range(T):\n        total, d = 0.0, 1.0\n        for k in range(t, T):\n            if dones[k]:\n                break\n            total = total + d * rewards[k]\n            d *= gamma",
    "with a counter": "for t in range(T):\n        total, i = 0.0, 0\n        for r in rewards[t:]:\n            total = total + gamma ** i * r\n            i += 1\n        out.append(total)",
    "by a product of arrays": "for t in range(T):\n        out[t] = rewards[t:] @ gamma ** np.arange(T - t) - values[t]",
    "of arrays": "return [np.sum(rewards[t:] * gamma ** np.arange(T - t)) for t in range(T)]",
}


def summed(body: str, line: str = "") -> list[Finding]:
    """Findings where the time is on ``line``, without one on the last that has a factor."""
    script = Script("sums.py", SUMS.format(body=body))
    line = line or next(text for text in body.splitlines()[::-1] if "gamma" in text).strip()
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at("returns(envs", "train"), script.at(line, "returns"))
    return detect(DETECTOR, run.spends(6.0, "env.py:3 step"), script)


@pytest.mark.parametrize("body", QUADRATIC.values(), ids=QUADRATIC)
def test_returns_that_are_added_up_anew_for_each_step(body: str):
    (finding,) = summed(body)

    assert finding.title.startswith("returns are added up anew for each step (sums.py:")
    assert finding.evidence[0] == "40 % of the steady time is spent in these sums, 4 ms a step"
    assert [saving.removable for saving in finding.savings] == [SUFFIX_REMOVABLE]


def test_the_head_of_the_inner_loop_is_a_part_of_it():
    loops = QUADRATIC["in loops"]

    assert len(summed(loops, "for k in range(t, T):")) == 1
    assert not summed(loops.replace("gamma ** (k - t) * ", ""), "for k in range(t, T):")


@pytest.mark.parametrize(
    "body",
    [
        "return [sum(gamma ** k * rewards[t + k] for k in range(5)) for t in range(T)]",
        "return [sum(gamma ** (k - t) * rewards[k] for k in range(t, t + 5)) for t in range(T)]",
        "return [sum(gamma * rewards[k] for k in range(t, T)) for t in range(T)]",
        "return sum(gamma ** k * rewards[k] for k in range(start, T))",
        "d = 1\n    for t in range(T):\n        for k in range(t, T):\n            a[t] += d * rewards[k]\n            d *= gamma",
        "for t in range(T):\n        d = 1\n        for k in range(t, T):\n            a[t] += d * (rewards[k] - gamma * values[t])\n            d *= gamma",
        "for t in range(T):\n        d = 1\n        for k in range(t, t + 5):\n            a[t] += d * rewards[k]\n            d *= gamma",
        "return [sum(gamma * r for gamma, r in zip(weights, rewards[t:])) for t in range(T)]",
        "for t in range(T):\n        goal, total, d = goals[t], 0.0, 1.0\n        for k in range(t, T):\n            total += d * abs(states[k] - goal)\n            d *= gamma",
        "for t in range(T):\n        goal = goals[t]\n        for k in range(t, T):\n            near = abs(states[k] - goal)\n            out[t] += gamma ** (k - t) * near",
        "for t in range(T):\n        for k in range(t, T):\n            out[t] += gamma ** (k - t) * rewards[k]\n            if k - t + 1 == n:\n                break",
        "for t in range(T):\n        for i, r in enumerate(rewards[t:]):\n            if i == n:\n                break\n            out[t] += gamma ** i * r",
        "for t in range(T):\n        end = min(t + n, T)\n        out[t] = sum(gamma ** (k - t) * rewards[k] for k in range(t, end))",
        "for t in range(1, T):\n        total += gamma * ((plan[t:] - plan[:-t]) ** 2).sum()",
        "for t in range(T):\n        for k in range(t, T):\n            total += gamma * (x[t] - x[k]) ** 2",
        "for k in range(1, T):\n        loss = loss + gamma ** k * (guess - states[k:]).square().sum()",
        "for t in range(T):\n        for k in range(t, T):\n            alike[t, k] = gamma ** (k - t)",
    ],
    ids=[
        "of some steps",
        "up to some steps later",
        "without powers",
        "once",
        "of a factor that goes on",
        "of what depends on the step",
        "of a factor for some steps",
        "of weights that are no powers",
        "towards a goal of each step",
        "towards a goal of each step, by a variable",
        "that end after some steps",
        "that end after some steps, counted",
        "up to an end of each step",
        "of squares at lags",
        "of squares of pairs",
        "of a weight of each step",
        "no sum at all",
    ],
)
def test_silent_on_other_sums(body: str):
    assert summed(body) == []
