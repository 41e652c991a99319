from __future__ import annotations

import pytest

from rlprof.detectors.network_not_frozen import BACKWARD, DETECTOR, GRAPH, MIN_SHARE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of, ranked

RND = Script(
    "rnd.py",
    """
    import torch

    class Curiosity(torch.nn.Module):
        def error(self, seen):
            goal = self.target(seen)
            return (self.predictor(seen) - goal).pow(2).mean()

    def learn(curiosity, optimizer, batch):
        loss = curiosity.error(batch)
        loss.backward()
        optimizer.step()
    """,
)
CALL = f"{SITE}/torch/nn/modules/module.py:1775 Module._wrapped_call_impl"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
GOING_BACK = f"{SITE}/torch/_tensor.py:630 Tensor.backward"
NO_GRAD = f"{SITE}/torch/utils/_contextlib.py:120 context_decorator.<locals>.decorate_context"
LEARN = RND.at("loss = curiosity", "learn")
TARGET = RND.at("goal = self.target", "Curiosity.error")
PREDICTOR = RND.at("return (self.predictor", "Curiosity.error")
BASE = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
CONSTANT = [f"{BASE} optimized=0 gradients=1 changes=1"] * 2
TRAINED = [f"{BASE} optimized=1"] * 2
MOVED = [f"{BASE} optimized=0 gradients=1 changes={count}" for count in (10, 300)]


def a_training(target_s: float = 2.0, *above: str, looks: list[str] = CONSTANT) -> RunBuilder:
    """Ten seconds: a target and a predictor are asked, and one goes back through both."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(target_s, *(above or (LEARN,)), TARGET, CALL, LINEAR)
    run.spends(2.0, LEARN, PREDICTOR, CALL, LINEAR)
    run.spends(4.0, RND.at("loss.backward", "learn"), GOING_BACK)
    run.spends(4.0 - target_s, "env.py:3 step")
    run.sees(TARGET, self__target=looks)
    return run.sees(PREDICTOR, self__predictor=TRAINED)


def found(run: RunBuilder, text: str = RND.text) -> list[Finding]:
    return detect(DETECTOR, run, Script("rnd.py", text))


def test_names_the_line_that_asks_it_and_takes_its_part_of_the_backward_pass():
    (finding,) = found(a_training())

    assert lines_of(finding) == [RND.line("goal = self.target")]
    assert finding.evidence == (
        "20 % of the steady time is spent in its calls, 2 ms a step",
        "it is 50 % of what networks take that gradients go through",
        "its parameters are given gradients, and no optimizer moves them",
    )
    graph, backward = finding.savings
    assert graph.removable == GRAPH
    assert backward.removable.low == BACKWARD.low / 2
    assert backward.removable.high == BACKWARD.high / 2


@pytest.mark.parametrize(
    "looks",
    [
        TRAINED,
        MOVED,
        CONSTANT[:1],
        [f"{BASE} optimized=0 gradients=0 changes=1"] * 2,
        [BASE] * 2,
        ["type=function function=rnd.goal"] * 2,
    ],
    ids=["trained", "moved", "too few looks", "frozen", "not looked into", "no network"],
)
def test_silent_on_what_is_no_untrained_network(looks: list[str]):
    assert found(a_training(looks=looks)) == []


def test_silent_where_gradients_are_off():
    assert found(a_training(2.0, NO_GRAD, LEARN)) == []
    assert found(a_training(), RND.text.replace("goal =", "with torch.no_grad(): goal =")) == []


def test_silent_where_a_trained_network_is_asked_on_the_same_line():
    run = a_training()

    assert found(run.sees(TARGET, self__predictor=TRAINED), RND.text.replace("(seen)\n", "(seen) - self.predictor(seen)\n", 1)) == []  # fmt: skip


@pytest.mark.parametrize(
    "more",
    ["for p in q.parameters(): p.data.sub_(p.grad)", "vector_to_parameters(flat, q.parameters())"],
)
def test_silent_where_the_program_moves_parameters_by_hand(more: str):
    assert found(a_training(), RND.text + "\n" + more) == []


@pytest.mark.parametrize(
    "hook", ["layer.register_full_backward_hook(keep)", "weight.register_hook(norms.append)"]
)
def test_silent_where_a_hook_is_given_the_gradients(hook: str):
    assert found(a_training(), f"{RND.text}\n{hook}\n") == []


def test_silent_where_a_network_that_nobody_saw_is_asked_on_the_same_line():
    assert found(a_training(), RND.text.replace("(seen)\n", "(seen) - heads[0](seen)\n", 1)) == []


def test_in_a_forward_that_networks_may_share_it_takes_more_looks():
    text = RND.text.replace("def error", "def forward").replace("curiosity.error", "curiosity")
    shared = [line.replace("Curiosity.error", "Curiosity.forward") for line in (TARGET, PREDICTOR)]

    def told(looks: int) -> list[Finding]:
        run = a_run(steady_s=10.0).process("main", steps=1000)
        run.spends(4.0, LEARN, shared[0], CALL, LINEAR).spends(6.0, LEARN, shared[1], CALL, LINEAR)
        return found(run.sees(shared[0], self__target=CONSTANT[:1] * looks), text)

    assert told(3) == []
    assert len(told(4)) == 1


def test_silent_below_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_its_price_holds_the_backward_pass():
    first, *_ = ranked(a_training(), RND)

    assert first.finding.detector == DETECTOR.id
    assert 0.04 < first.saved_share.low < 0.2 < first.saved_share.high < 0.4
