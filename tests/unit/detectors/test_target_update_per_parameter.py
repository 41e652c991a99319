from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.networks.target_loops import MovedBy, target_updates
from rlprof.detectors.target_update_per_parameter import (
    CALLS_REMOVABLE,
    DETECTOR,
    MIN_SHARE,
    ONE_CALL_REMOVABLE,
    REMOVABLE,
)
from rlprof.model.finding import Confidence, Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of, ranked

SAC = Script(
    "sac.py",
    """
    def follow(target, critic):
        for slow, fast in zip(target.parameters(), critic.parameters()):
            slow.data.copy_(TAU * fast.data + (1 - TAU) * slow.data)

    def train(env, policy):
        env.step(policy)
    """,
)
LOOP = SAC.at("for slow", "follow")
MOVE = SAC.at("slow.data.copy_", "follow")
STEP = SAC.at("env.step", "train")
PARAMETERS = f"{SITE}/torch/nn/modules/module.py:2600 Module.named_parameters"


def a_training(seconds: float) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds * 0.2, LOOP, PARAMETERS).spends(seconds * 0.8, MOVE)
    return run.spends(10.0 - seconds, STEP, "env.py:3 step")


def found(run: RunBuilder, text: str = SAC.text) -> list[Finding]:
    return detect(DETECTOR, run, Script("sac.py", text))


def test_names_the_loop_and_its_lines():
    (finding,) = found(a_training(4.0))

    assert finding.title.endswith(f"(sac.py:{SAC.line('for slow')})")
    assert lines_of(finding) == [SAC.line("slow.data.copy_"), SAC.line("for slow")]
    assert finding.evidence == (
        "40 % of the steady time is spent in that loop, 4 ms a step",
        "the source shows a Python loop over the parameters of two networks",
    )
    assert finding.savings[0].removable == REMOVABLE
    assert finding.confidence is Confidence.MEASURED


@pytest.mark.parametrize(
    ("move", "removable"),
    [
        ("lerp_(fast.data, TAU)", ONE_CALL_REMOVABLE),
        ("mul_(1 - TAU).add_(fast.data, alpha=TAU)", CALLS_REMOVABLE),
    ],
)
def test_promises_less_and_is_less_sure_where_the_sizes_decide(move, removable):
    text = SAC.text.replace("copy_(TAU * fast.data + (1 - TAU) * slow.data)", move)

    (finding,) = found(a_training(4.0), text)

    assert finding.savings[0].removable == removable
    assert finding.confidence is Confidence.BOUNDED


OF_STATES = """
def follow(target, critic):
    for name in slow:
        slow[name].copy_(fast[name])
slow = target.state_dict()
fast = critic.state_dict()
"""


def test_of_state_dicts_buffers_are_advised_too():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, "sac.py:3 follow").spends(6.0, STEP)

    (finding,) = found(run, OF_STATES)
    (plain,) = found(a_training(4.0))

    assert "buffers" in finding.fix
    assert "buffers" not in plain.fix


def test_silent_on_gradients_that_are_added_up():
    text = SAC.text.replace(
        "slow.data.copy_(TAU * fast.data + (1 - TAU) * slow.data)", "slow.grad.add_(fast.grad)"
    )

    assert found(a_training(4.0), text) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_silent_without_the_source():
    assert detect(DETECTOR, a_training(5.0)) == []


def test_ranks_by_the_time_of_the_loop():
    first, *_ = ranked(a_training(5.0), SAC)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.4 < first.saved_share.high


PAIRS = "for a, b in zip(f.parameters(), g.parameters()):\n    "
THREE = "for a, b, g in zip(f.parameters(), h.parameters(), grads):\n    "
MIXED = "a = f.state_dict()\nb = g.state_dict()\n"
ITEMS = "a = f.state_dict()\nfor k, p in g.state_dict().items():\n    "
NAMED = "a = dict(f.named_parameters())\nb = dict(g.named_parameters())\nfor k in a:\n    "
COUNTED = """
def mix(b, a, tau):
    return (1 - tau) * b + tau * a
def noted(b, a, tau):
    writer.add(b)
    return b.lerp(a, tau)
for i, (a, b) in enumerate(zip(f.parameters(), g.parameters())):
    """
STATES = "a = f.state_dict()\nb = g.state_dict()\nfor k in a:\n    "


@pytest.mark.parametrize(
    ("code", "moved_by"),
    [
        (PAIRS + "b.data.mul_(1 - tau).add_(tau * a.data)", MovedBy.SUM),
        (PAIRS + "b.data.mul_(1 - tau)\n    b.data.add_(tau * a.data)", MovedBy.SUM),
        (PAIRS + "b.data = tau * a.data + (1 - tau) * b.data", MovedBy.SUM),
        (PAIRS + "b.copy_(tau * a + (1 - tau) * b)", MovedBy.SUM),
        (PAIRS + "b.mul_(1 - tau).add_(a, alpha=tau)", MovedBy.CALLS),
        (PAIRS + "b.data.copy_(a.data)", MovedBy.ONE_CALL),
        (PAIRS + "b.data.lerp_(a.data, 1 - tau)", MovedBy.ONE_CALL),
        (STATES + "b[k] = a[k] * tau + b[k] * (1 - tau)", MovedBy.SUM),
        (STATES + "b[k].copy_(a[k])", MovedBy.ONE_CALL),
        (STATES + "b[k].mul_(1 - tau)\n    b[k].add_(tau * a[k])", MovedBy.SUM),
        (STATES + "new = tau * a[k] + (1 - tau) * b[k]\n    b[k].copy_(new)", MovedBy.SUM),
        (ITEMS + "p.copy_(tau * a[k] + (1 - tau) * p)", MovedBy.SUM),
        (ITEMS + "p.lerp_(a[k], tau)", MovedBy.ONE_CALL),
        (
            PAIRS + "b.data.mul_(1 - tau)\n    torch.add(b.data, a.data, alpha=tau, out=b.data)",
            MovedBy.CALLS,
        ),
        (PAIRS + "torch.lerp(b.data, a.data, tau, out=b.data)", MovedBy.ONE_CALL),
        (COUNTED + "b.data = mix(b.data, a.data, tau)", MovedBy.SUM),
        (COUNTED + "b.data = noted(b.data, a.data, tau)", MovedBy.CALLS),
        (NAMED + "a[k] = tau * a[k].clone() + (1 - tau) * b[k].clone()", MovedBy.SUM),
        (NAMED + "a[k] = a[k] * 2", None),
        (PAIRS + "torch.add(total, a.data, out=total)", None),
        (PAIRS + "torch.add(b.data, a.grad, alpha=-rate, out=b.data)", None),
        (MIXED + "g.load_state_dict({k: (1 - tau) * b[k] + tau * a[k] for k in b})", MovedBy.SUM),
        (MIXED + "new = {k: tau * a[k] + (1 - tau) * p for k, p in b.items()}", MovedBy.SUM),
        (MIXED + "g.load_state_dict({k: a[k] * 0.9 for k in a})", None),
        (MIXED + "print({k: a[k].shape for k in b})", None),
        (ITEMS + "p.mul_(0.9)", None),
        (STATES + "noise = like(b[k])\n    b[k].add_(noise)", None),
        (STATES + "g = grads[k]\n    b[k] = b[k] - rate * g", None),
        (ITEMS + "sizes[k] = p.numel()", None),
        (ITEMS + "table[k] = p", None),
        (STATES + "b[k] = a[k] * tau\n    print(k)", None),
        (PAIRS + "b.copy_(a + sigma * torch.randn_like(a))", None),
        (PAIRS + "noise = torch.normal(0, sigma, a.shape)\n    b.data = a.data + noise", None),
        (COUNTED + "b.copy_(a - rate * grads[i])", None),
        (THREE + "b.copy_(a - rate * g)", None),
        (MIXED + "new = {k: a[k] + sigma * torch.randn_like(b[k]) for k in b}", None),
        (MIXED + "new = {k: a[k] + b[k] - rate * grads[k] for k in b}", None),
        (STATES + "b[k] = a[k] - rate * grads[k]", None),
        (PAIRS + "b.grad.add_(a.grad)", None),
        (PAIRS + "b.data.add_(a.grad, alpha=-rate)", None),
        (PAIRS + "b.data = b.data - rate * a.grad", None),
        (PAIRS + "b.grad.data.copy_(a)", None),
        (PAIRS + "total.add_(a.data - b.data)", None),
        (PAIRS + "total += (a - b).norm()", None),
        (PAIRS + "assert a.shape == b.shape", None),
        ("for p in f.parameters():\n    p.data.clamp_(-1, 1)", None),
        ("for a, b in zip(f.layers(), g.layers()):\n    b.copy_(a)", None),
        ("for k in table:\n    b[k] = a[k] * 2\nf.state_dict()", None),
        ("def broken(:\n    parameters()", None),
    ],
)
def test_reads_updates_off_the_source(code, moved_by):
    forms = {update.moved_by for update in target_updates(code).values()}

    assert forms == (set() if moved_by is None else {moved_by})


SHADOW = Script(
    "shadow.py",
    """
    class Shadow:
        def follow(self):
            for old, new in self.couples:
                old.lerp_(new, 0.005)

    def main(shadow):
        while True:
            shadow.follow()
    """,
)


@pytest.mark.parametrize(
    ("new", "is_told"), [("torch.nn.parameter.Parameter", True), ("torch.Tensor", False)]
)
def test_parameters_that_were_seen_are_known_however_they_are_gone_through(new, is_told):
    line = SHADOW.at("old.lerp_", "Shadow.follow")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, "shadow.py:8 main", line).spends(4.0, "env.py:3 step")
    run.sees(line, old="type=torch.nn.parameter.Parameter", new=f"type={new}")

    findings = detect(DETECTOR, run, SHADOW)

    assert [finding.title for finding in findings] == (
        ["a target network is moved parameter by parameter (shadow.py:3)"] if is_told else []
    )


POLYAK = Script(
    "polyak.py",
    """
    class Follower:
        def follow(self):
            for slow, fast in paired(self.slow, self.fast):
                slow.data.mul_(1 - 0.01)
                torch.add(slow.data, fast.data, alpha=0.01, out=slow.data)

        def by_layers(self):
            for old, new in self.layers:
                old.weight.copy_(0.99 * old.weight + 0.01 * new.weight)

        def decay(self):
            for slow, fast in paired(self.slow, self.fast):
                slow.data.mul_(0.9)
                self.seen.append(fast)

        def noted(self):
            for slow, fast in zipped(self.slow, self.fast):
                slow.data.lerp_(fast, 0.01)
                print(fast)
    """,
)
TWO = {"slow": "type=torch.nn.parameter.Parameter", "fast": "type=torch.nn.parameter.Parameter"}


def of_a_loop(piece: str, function: str, **seen: str) -> list[Finding]:
    """What is found where a line of ``function`` takes six seconds of ten, two of these in what it calls."""
    line = POLYAK.at(piece, f"Follower.{function}")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, line).spends(2.0, line, "pairs.py:3 paired").spends(4.0, "env.py:3 step")
    return detect(DETECTOR, run.sees(line, **seen), POLYAK)


@pytest.mark.parametrize(
    ("piece", "claimed"), [("slow.data.mul_", 4.0), ("torch.add(", 4.0), ("for slow", 6.0)]
)
def test_of_pairs_that_were_seen_all_lines_of_a_turn_count_and_what_pairs_them(piece, claimed):
    (finding,) = of_a_loop(piece, "follow", **TWO)

    assert finding.savings[0].removable == CALLS_REMOVABLE
    assert finding.evidence[0].startswith(f"{10 * claimed:.0f} %")


def test_parameters_of_layers_are_known_by_what_was_seen():
    parameter = "type=torch.nn.parameter.Parameter"

    (finding,) = of_a_loop(
        "old.weight.copy_", "by_layers", old__weight=parameter, new__weight=parameter
    )

    assert finding.savings[0].removable == REMOVABLE


@pytest.mark.parametrize(
    ("piece", "function", "seen"),
    [
        pytest.param("slow.data.mul_(0.9)", "decay", TWO, id="not by another one"),
        pytest.param(
            "for slow, fast in zipped",
            "noted",
            TWO,
            id="the loop does more",
        ),
        pytest.param(
            "torch.add(", "follow", {**TWO, "fast": "type=torch.Tensor"}, id="no parameter"
        ),
    ],
)
def test_silent_on_pairs_of_which_none_follows_the_other(piece, function, seen):
    assert of_a_loop(piece, function, **seen) == []


NOISY = Script(
    "noisy.py",
    """
    class Noisy:
        def noise(self):
            for slow, fast in self.couples:
                slow.copy_(fast + 0.1 * torch.randn_like(fast))

        def inner(self):
            for slow, fast, along in self.triples:
                change = 0.1 * along
                slow.copy_(fast - change)

        def numbered(self):
            for i, (slow, fast) in enumerate(self.couples):
                slow.copy_(fast - 0.1 * self.along[i])
    """,
)


@pytest.mark.parametrize(
    ("piece", "function"),
    [
        ("slow.copy_(fast + 0.1", "noise"),
        ("slow.copy_(fast - change", "inner"),
        ("slow.copy_(fast - 0.1", "numbered"),
    ],
)
def test_silent_on_what_is_made_of_more_than_two_parameters(piece, function):
    line = NOISY.at(piece, f"Noisy.{function}")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, line).spends(4.0, "env.py:3 step")

    assert detect(DETECTOR, run.sees(line, **TWO, along="type=torch.Tensor"), NOISY) == []


LOADED = Script(
    "loaded.py",
    """
    def follow(a, b):
        mine = dict(a.named_parameters())
        others = dict(b.named_parameters())
        for name in mine:
            mine[name] = 0.01 * mine[name] + 0.99 * others[name]
        b.load_state_dict(mine)
    """,
)


@pytest.mark.parametrize("is_kept", [False, True])
def test_what_takes_and_loads_the_parameters_is_for_the_loop_alone_unless_they_are_used_otherwise(
    is_kept,
):
    text = LOADED.text + "    return mine\n" * is_kept
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, LOADED.at("b.load_state_dict", "follow")).spends(4.0, "env.py:3 step")

    assert bool(detect(DETECTOR, run, Script("loaded.py", text))) != is_kept
