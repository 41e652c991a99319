"""``python-loop-over-tensor`` on loops that ask a recurrent network for one time step after the other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rlprof.detectors.python_loop_over_tensor import DETECTOR
from rlprof.detectors.recognisers.networks.recurrent_loops import RESET_WITHIN
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

CALL = f"{SITE}/torch/nn/modules/module.py:1790 Module._call_impl"
FORWARD = f"{SITE}/torch/nn/modules/rnn.py:1100 LSTM.forward"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
BACKWARD = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"
AGENT = Script(
    "agent.py",
    """
    import torch

    class Agent:
        def step(self, obs, state):
            h, state = self.lstm(self.enc(obs).unsqueeze(0), state)
            return self.pi(h), state

        def evaluate(self, seq, state):
            made = []
            for obs in seq:
                logits, state = self.step(obs, state)
                made.append(logits)
            return torch.stack(made)

        def masked(self, seq, done, state):
            for t in range(seq.shape[1]):
                logits, state = self.step(seq[:, t], (1 - done[t]) * state)

        def collect(self, env, seq, state):
            for t in range(64):
                seq[t] = obs
                logits, state = self.step(seq[t], state)
                obs = env.step(logits)

        def split(self, seq, state):
            for obs in seq.split(1):
                logits, state = self.step(obs, state)

        def unbound(self, seq, state):
            for obs in torch.unbind(seq, 1):
                logits, state = self.step(obs, state)

        def imagine(self, seq, state):
            for noise in seq:
                logits, state = self.step(logits + noise, state)

    class Trainer:
        def update(self):
            logits = self.agent.evaluate(self.seq, self.start)
            loss = self.loss(logits)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        def learn(self):
            with torch.no_grad():
                warm = self.agent.evaluate(self.burn, self.start)

        def rollout(self):
            self.agent.evaluate(self.now, self.start)
    """,
)
ASK = AGENT.at("self.lstm(", "Agent.step")
LOOPS = {
    "evaluate": f"agent.py:{AGENT.line('made.append') - 1} Agent.evaluate",
    "split": f"agent.py:{AGENT.line('in seq.split') + 1} Agent.split",
    "unbound": f"agent.py:{AGENT.line('in torch.unbind') + 1} Agent.unbound",
    "masked": AGENT.at("self.step(seq[:, t]", "Agent.masked"),
    "collect": AGENT.at("self.step(seq[t]", "Agent.collect"),
    "imagine": AGENT.at("self.step(logits + noise", "Agent.imagine"),
}
UPDATE = AGENT.at("logits = self.agent.evaluate", "Trainer.update")
WITHOUT_GRADIENTS = AGENT.at("warm = self.agent", "Trainer.learn")
ROLLOUT = AGENT.at("self.agent.evaluate(self.now", "Trainer.rollout")


@dataclass(frozen=True)
class Told:
    found: list[Finding]
    claimed_s: float


def a_run_that(loop: str, called_by: str = UPDATE) -> RunBuilder:
    """Ten seconds, of which a loop takes three and the backward pass five."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, called_by, LOOPS[loop], ASK, CALL, FORWARD)
    run.spends(5.0, AGENT.at("loss.backward", "Trainer.update"), BACKWARD)
    return run.spends(2.0, "env.py:3 step")


def told(
    run: RunBuilder,
    loop: str = "evaluate",
    *,
    network: str = "LSTM",
    sequence: str = "type=torch.Tensor shape=64,32,6 dtype=torch.float32",
    state: str = "1,32,48",
    device: str = "cpu",
) -> Told:
    """What is found where the values are these."""
    pair = (
        f"type=tuple length=2 first.type=torch.Tensor first.shape={state} first.dtype=torch.float32"
    )
    run.sees(
        ASK,
        state=f"{pair} first.device={device}",
        self__lstm=f"type=__main__.Memory bases=torch.nn.modules.rnn.{network}",
    )
    run.sees(LOOPS[loop], seq=sequence)
    found = detect(DETECTOR, run, AGENT)
    return Told(found, claimed_s(profile_of(run, AGENT), found[0]) if found else 0.0)


def test_one_step_after_the_other_of_a_sequence_that_is_there():
    it = told(a_run_that("evaluate"))

    (finding,) = it.found
    assert finding.title.startswith(
        "a recurrent network is asked for one time step after the other"
    )
    assert it.claimed_s == 8.0
    assert lines_of(finding) == [AGENT.line("made.append") - 1]
    assert finding.evidence[1].endswith("seq: tensor of 64 × 32 × 6 float32")
    assert finding.evidence[2].startswith("the state: tuple of 2 (tensor of 1 × 32 × 48")


def test_a_list_of_steps_is_a_sequence_too():
    listed = "type=list length=64 first.type=torch.Tensor first.shape=32,6"

    assert told(a_run_that("evaluate"), sequence=listed).claimed_s == 8.0


@pytest.mark.parametrize(("loop", "shape"), [("split", "64,32,6"), ("unbound", "2,64,6")])
def test_a_tensor_may_be_taken_apart_first(loop: str, shape: str):
    it = told(a_run_that(loop), loop, sequence=f"type=torch.Tensor shape={shape}")

    assert it.claimed_s == 8.0


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        pytest.param({"network": "LSTMCell"}, {}, id="a cell has less to lose"),
        pytest.param({"network": "GRU"}, {"network": "RNN"}, id="a gated unit works more"),
        pytest.param({"state": "1,32,128"}, {}, id="a wide state works more"),
    ],
)
def test_the_kind_of_network_and_its_width_tell_the_part_that_goes(
    cheaper: dict[str, str], dearer: dict[str, str]
):
    low, high = (
        told(a_run_that("evaluate"), **changes).found[0].savings[0].removable
        for changes in (cheaper, dearer)
    )

    assert low.low < high.low
    assert low.high < high.high


def test_a_gpu_may_lose_more():
    (finding,) = told(a_run_that("evaluate"), network="GRU", device="cuda:0").found

    assert finding.savings[0].removable.high > 0.9


@pytest.mark.parametrize(
    ("state", "is_told"), [("1,64,256", True), ("1,64,1024", False)], ids=["launches", "arithmetic"]
)
def test_on_a_gpu_a_step_is_launches_alone_up_to_larger_states(state: str, is_told: bool):
    assert bool(told(a_run_that("evaluate"), state=state, device="cuda:0").found) is is_told


def test_a_state_that_is_reset_within_the_sequence_may_leave_nearly_all():
    sequence = "type=torch.Tensor shape=32,64,6 dtype=torch.float32"

    (finding,) = told(a_run_that("masked"), "masked", sequence=sequence).found

    assert finding.savings[0].removable.low == RESET_WITHIN
    assert finding.evidence[2].endswith("which is reset within the sequence")


def test_layers_around_the_network_go_to_another_part():
    run = a_run_that("evaluate").spends(1.0, UPDATE, LOOPS["evaluate"], ASK, CALL, LINEAR)

    network, layers, backward = told(run, network="GRU").found[0].savings

    assert layers.removable.low > network.removable.high / 2
    assert network.removable.low < backward.removable.low < layers.removable.low


def test_no_backward_pass_goes_through_what_records_no_gradients():
    assert told(a_run_that("evaluate", WITHOUT_GRADIENTS)).claimed_s == 3.0


def test_of_a_backward_pass_with_other_networks_it_is_a_part():
    run = a_run_that("evaluate").spends(
        1.0, AGENT.at("loss = self.loss", "Trainer.update"), CALL, LINEAR
    )

    *_, backward = told(run).found[0].savings

    assert backward.removable.low == pytest.approx(0.75 * 3 / 5)
    assert backward.removable.high == pytest.approx(0.97 * 3 / 3.5)


def test_the_same_loop_in_a_rollout_is_not_claimed():
    run = a_run_that("evaluate").spends(1.0, ROLLOUT, LOOPS["evaluate"], ASK, CALL, FORWARD)

    assert told(run).claimed_s == 8.0


def test_a_torn_stack_keeps_nobody_from_telling():
    run = a_run_that("evaluate")
    run.spends(
        0.02, UPDATE, LOOPS["evaluate"], AGENT.at("return self.pi", "Agent.step"), CALL, FORWARD
    )

    assert told(run).found


@pytest.mark.parametrize(
    ("loop", "changes"),
    [
        pytest.param("collect", {}, id="a rollout that fills its buffer"),
        pytest.param("imagine", {}, id="an input that needs the answer before"),
        pytest.param("evaluate", {"sequence": "type=torch.Tensor shape=8,32,6"}, id="a few steps"),
        pytest.param("evaluate", {"state": "1,256,256"}, id="a state that takes the time itself"),
        pytest.param("evaluate", {"sequence": "type=__main__.Batch"}, id="not known what it is"),
    ],
)
def test_silent_where_one_call_saves_little_or_cannot_be_made(loop: str, changes: dict[str, str]):
    assert told(a_run_that(loop), loop, **changes).found == []
