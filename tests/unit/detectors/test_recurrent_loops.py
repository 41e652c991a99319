"""``python-loop-over-tensor`` on loops that ask a recurrent network for one time step after the other."""

from __future__ import annotations

import pytest

from rlprof.detectors.python_loop_over_tensor import DETECTOR
from rlprof.detectors.recognisers.recurrent_loops import RESET_WITHIN
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

FORWARD = f"{SITE}/torch/nn/modules/rnn.py:1100 LSTM.forward"
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
            for t in range(len(seq)):
                logits, state = self.step(seq[t], (1 - done[t]) * state)

        def act(self, env, obs, state):
            while True:
                logits, state = self.step(obs, state)
                obs = env.step(logits)

        def update(self, loss):
            loss.backward()
    """,
)
ASK = AGENT.at("self.lstm(", "Agent.step")
LOOPS = {
    "evaluate": f"agent.py:{AGENT.line('made.append') - 1} Agent.evaluate",
    "masked": AGENT.at("self.step(seq[t]", "Agent.masked"),
    "act": f"agent.py:{AGENT.line('obs = env.step') - 1} Agent.act",
}


def a_training(
    loop: str = "evaluate", *, steps: int = 64, state: str = "1,32,48", pair: bool = True
) -> tuple[list[Finding], float]:
    """What is found, and the seconds that the first finding claims, of 3 s in the loop and 5 in the backward pass."""
    at = LOOPS[loop]
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, at, ASK, FORWARD)
    run.spends(5.0, AGENT.at("loss.backward", "Agent.update"), BACKWARD)
    run.spends(2.0, "env.py:3 step")
    held = (
        f"type=tuple length=2 first.type=torch.Tensor first.shape={state} first.dtype=torch.float32"
        if pair
        else f"type=torch.Tensor shape={state} dtype=torch.float32"
    )
    run.sees(ASK, state=held)
    run.sees(at, seq=f"type=torch.Tensor shape={steps},32,6 dtype=torch.float32")
    found = detect(DETECTOR, run, AGENT)
    return found, claimed_s(profile_of(run, AGENT), found[0]) if found else 0.0


def test_one_step_after_the_other_of_a_sequence_that_is_there():
    (finding,), seconds = a_training()

    assert finding.title.startswith(
        "a recurrent network is asked for one time step after the other"
    )
    assert seconds == 8.0
    assert lines_of(finding) == [AGENT.line("made.append") - 1]
    assert finding.evidence[1].endswith("seq: tensor of 64 × 32 × 6 float32")
    assert finding.evidence[2].startswith("the state: tuple of 2 (tensor of 1 × 32 × 48")


def test_a_gated_unit_and_a_wide_state_leave_more():
    lows = [
        a_training(**changes)[0][0].savings[0].removable.low
        for changes in ({}, {"pair": False}, {"state": "1,32,128"})
    ]

    assert lows[0] > lows[2] > lows[1]


def test_a_state_that_is_reset_within_the_sequence_may_leave_nearly_all():
    (finding,), _ = a_training("masked")

    assert finding.savings[0].removable.low == RESET_WITHIN


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"loop": "act"}, id="a rollout"),
        pytest.param({"steps": 8}, id="a few steps"),
        pytest.param({"state": "1,256,256"}, id="a state that takes the time itself"),
    ],
)
def test_silent_where_one_call_saves_little_or_cannot_be_made(changes: dict[str, object]):
    assert a_training(**changes)[0] == []
