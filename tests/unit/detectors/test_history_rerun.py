from __future__ import annotations

import pytest

from rlprof.detectors.history_rerun import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

AGENT = Script(
    "agent.py",
    """
    import torch
    from torch import nn

    class Policy(nn.Module):
        def forward(self, x, state=None):
            out, state = self.lstm(x, state)
            return self.head(out[:, -1]), state

        def heads(self, x):
            h, state = self.lstm(x)
            return self.actor(h), self.critic(h).squeeze(-1), state

        def whole(self, x):
            out, _ = self.lstm(x)
            return self.head(out)

        def last_state(self, x):
            _, (state, _) = self.lstm(x)
            return self.head(state)

        def right_away(self, x):
            return self.head(self.lstm(self.embed(x))[0][:, -1, :])

        def zeros(self, x):
            zero = (torch.zeros(1, 1, 64), torch.zeros(1, 1, 64))
            out, _ = self.lstm(x, zero)
            return self.head(out[:, -1])

        def embedded(self, x):
            x = self.embed(x)
            out, kept = self.lstm(x)
            return self.head(out[:, -1])

        def taken_apart(self, x):
            seen = self.lstm(x)[0]
            return self.head(seen[:, -1])

        def moved(self, x):
            start = torch.zeros(1, 1, 64).to(x.device)
            out, _ = self.lstm(x, start)
            return self.head(out[:, -1])

        def given(self, x, before):
            out, _ = self.lstm(x, before)
            return self.head(out[:, -1])

    class Agent:
        def of_a_list(self, obs):
            self.seen.append(obs)
            x = torch.stack([encode(it) for it in self.seen])[None]
            return self.policy(x)

        def of_a_buffer(self, obs):
            self.buffer[self.t] = obs
            return self.policy(torch.as_tensor(self.buffer[: self.t + 1])[None])

        def of_itself(self, obs):
            self.past = torch.cat([self.past, obs[None, None]], 1)
            return self.policy(self.past)

        def of_a_window(self, obs):
            self.seen.append(obs)
            return self.policy(torch.stack(self.seen[-8:])[None])

        def of_a_deque(self, obs):
            self.recent = deque(maxlen=32)
            self.recent.append(obs)
            return self.policy(torch.stack(list(self.recent))[None])

        def of_words(self, obs):
            ids = []
            for word in obs["mission"].split():
                ids.append(self.vocabulary[word])
            return self.policy(torch.tensor(ids)[None])

        def of_a_burn_in(self, obs):
            return self.policy(self.sequence[:, : self.burn_in])

        def of_a_text(self, obs):
            return self.policy(self.words(obs["mission"]))

        def of_a_scale(self, obs):
            return self.policy(((torch.stack(self.seen) - self.mean) / 2)[None])

        def of_a_scaling_method(self, obs):
            return self.policy(self.scale.scaled(torch.stack(self.seen))[None])

        def of_a_fixed_scale(self, obs):
            return self.policy(((torch.stack(self.seen) - self.low) / 2)[None])

        def notice(self, obs):
            self.mean = 0.9 * self.mean + 0.1 * obs

        def scaled(self, values):
            return values - self.mean

        def to_embedded(self):
            return self.policy.embedded(torch.stack(self.seen)[None])

        def to_taken_apart(self):
            return self.policy.taken_apart(torch.stack(self.seen)[None])

        def to_moved(self):
            return self.policy.moved(torch.stack(self.seen)[None])

        def to_whole(self):
            return self.policy.whole(torch.stack(self.seen)[None])

        def to_last_state(self):
            return self.policy.last_state(torch.stack(self.seen)[None])

        def to_right_away(self):
            return self.policy.right_away(torch.stack(self.seen)[None])

        def to_zeros(self):
            return self.policy.zeros(torch.stack(self.seen)[None])

        def last_of_heads(self):
            logits, _, _ = self.policy.heads(torch.stack(self.seen)[None])
            return logits[0, -1].argmax()

        def all_of_heads(self):
            logits, values, _ = self.policy.heads(torch.stack(self.seen)[None])
            return logits[0, -1].argmax(), values.mean()

        def to_given(self, state):
            return self.policy.given(torch.stack(self.seen)[None], state)

        def update(self, batch):
            return self.policy(torch.stack(self.seen)[None])

    def train(agent, env):
        for _ in range(1000):
            with torch.no_grad():
                answer = agent.act(env.seen)
            loss = agent.update(env.seen)
    """,
)
_OTHER_WAYS = (
    "whole", "given", "last_state", "right_away", "zeros", "embedded", "taken_apart", "moved",
)  # fmt: skip
MODULE = f"{SITE}/torch/nn/modules/module.py:1773 Module._call_impl"
RNN = f"{SITE}/torch/nn/modules/rnn.py:1100 LSTM.forward"
LSTM = "type=torch.nn.modules.rnn.LSTM bases=torch.nn.modules.rnn.RNNBase,torch.nn.modules.module.Module"
POLICY = f"type=agent.Policy bases=torch.nn.modules.module.Module file={AGENT.file}"
TRAIN = AGENT.at("answer = agent.act", "train")
MAKES = {
    "of_a_list": "return self.policy(x)",
    "of_a_buffer": "return self.policy(torch.as_tensor",
    "of_itself": "return self.policy(self.past)",
    "of_a_window": "return self.policy(torch.stack(self.seen[-8:])",
    "of_a_deque": "return self.policy(torch.stack(list(self.recent))",
    "of_words": "return self.policy(torch.tensor(ids)",
    "of_a_burn_in": "return self.policy(self.sequence",
    "of_a_text": "return self.policy(self.words",
    "of_a_scale": "return self.policy(((torch.stack(self.seen) - self.mean)",
    "of_a_scaling_method": "return self.policy(self.scale.scaled(",
    "of_a_fixed_scale": "return self.policy(((torch.stack(self.seen) - self.low)",
    **{f"to_{way}": f"return self.policy.{way}(" for way in _OTHER_WAYS},
    "last_of_heads": "logits, _, _ = self.policy.heads(",
    "all_of_heads": "logits, values, _ = self.policy.heads(",
    "update": "return self.policy(torch.stack(self.seen)[None])",
}
ASKS = {
    "forward": "out, state = self.lstm(x, state)",
    "heads": "h, state = self.lstm(x)",
    "whole": "out, _ = self.lstm(x)",
    "last_state": "_, (state, _) = self.lstm(x)",
    "right_away": "return self.head(self.lstm(self.embed(x))",
    "zeros": "out, _ = self.lstm(x, zero)",
    "embedded": "out, kept = self.lstm(x)",
    "taken_apart": "seen = self.lstm(x)[0]",
    "moved": "out, _ = self.lstm(x, start)",
    "given": "out, _ = self.lstm(x, before)",
}


def tensors(*lengths: int, batch: int = 1) -> list[str]:
    return [
        f"type=torch.Tensor shape={batch},{length},6 dtype=torch.float32 device=cpu"
        for length in lengths
    ]


def asking(function: str) -> str:
    """The place where a method of the policy asks the network."""
    return AGENT.at(ASKS[function], f"Policy.{function}")


def an_episode(
    makes: str = "of_a_list",
    asks: str = "forward",
    x: list[str] | None = None,
    state: str = "type=NoneType",
    above: str = TRAIN,
) -> RunBuilder:
    """Ten seconds, six of them in the recurrent network."""
    ask, made = asking(asks), AGENT.at(MAKES[makes], f"Agent.{makes}")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, above, made, ask, RNN).spends(4.0, above)
    run.sees(made, self__policy=POLICY)
    return run.sees(ask, self__lstm=LSTM, x=x or tensors(4, 40, 70, 25), state=state, before=state)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


@pytest.mark.parametrize("makes", ["of_a_list", "of_a_buffer", "of_itself", "of_a_fixed_scale"])
def test_tells_a_policy_that_gives_the_whole_history(makes):
    run = an_episode(makes)

    (finding,) = found(run)

    line = AGENT.line(ASKS["forward"])
    assert finding.title == f"the LSTM goes through the history anew (agent.py:{line})"
    assert lines_of(finding) == [line]
    assert claimed_s(profile_of(run, AGENT), finding) == pytest.approx(6.0)
    assert finding.evidence[1] == (
        "it was given 32.5 steps in the middle, 70 at most, no state, and its last answer alone is used"
    )


@pytest.mark.parametrize("asks", _OTHER_WAYS[2:])
def test_tells_other_ways_to_ask_for_the_last_answer(asks):
    (finding,) = found(an_episode(f"to_{asks}", asks))

    assert finding.title.startswith("the LSTM goes through the history anew")


@pytest.mark.parametrize(("makes", "is_told"), [("last_of_heads", True), ("all_of_heads", False)])
def test_the_last_answer_may_be_picked_out_by_who_asks(makes, is_told):
    assert bool(found(an_episode(makes, "heads"))) == is_told


def test_long_histories_save_more_and_a_gru_more_than_an_lstm():
    def saved(*lengths: int, kind: str = "LSTM") -> tuple[float, float]:
        run = an_episode(x=tensors(*lengths))
        run.sees(asking("forward"), self__lstm=LSTM.replace("LSTM", kind))
        (finding,) = found(run)
        removable = finding.savings[0].removable
        return removable.low, removable.high

    short, long, gru = saved(8, 9, 10), saved(80, 90, 100), saved(8, 9, 10, kind="GRU")
    assert short < long
    assert short < gru
    assert long == pytest.approx((1 - 46 / 135, 1 - 4 / 93))


@pytest.mark.parametrize(
    "makes",
    [
        *("of_a_window", "of_a_deque", "of_words", "of_a_burn_in", "of_a_text"),
        *("of_a_scale", "of_a_scaling_method"),
    ],
)
def test_silent_where_it_is_given(makes):
    assert found(an_episode(makes)) == []


@pytest.mark.parametrize("asks", ["whole", "given"])
def test_silent_where_the_policy_is(asks):
    carried = "type=tuple length=2 first.type=torch.Tensor first.shape=1,1,64"
    assert found(an_episode(f"to_{asks}", asks, state=carried)) == []


@pytest.mark.parametrize(
    "x", [tensors(8, 8, 8, 8), tensors(1, 2, 3, 2), [*tensors(9), *tensors(5, batch=3)]]
)
def test_silent_for_sequences_that_do_not_grow(x):
    assert found(an_episode(x=x)) == []


def test_silent_for_a_network_that_goes_both_ways():
    script = Script(
        AGENT.file, AGENT.text.rstrip() + "\n\nlstm = nn.LSTM(6, 64, bidirectional=True)\n"
    )
    assert detect(DETECTOR, an_episode(), script) == []


WRITER = Script(
    "writer.py",
    """
    class Writer(nn.Module):
        def forward(self, ids, state=None):
            out, state = self.gru(self.embed(ids), state)
            return self.head(out), state

        @torch.no_grad()
        def write(self, n):
            ids = torch.zeros(n, 1, dtype=torch.long)
            for _ in range(40):
                logits, _ = self(ids)
                new = logits[:, -1].argmax(-1, keepdim=True)
                ids = torch.cat([ids, new], 1)
            return ids

    def train(writer):
        while True:
            loss = learn(writer, writer.write(64))
            loss.backward()
    """,
)


def a_writer(script: Script) -> RunBuilder:
    """Ten seconds: six in the network, two in what is made of all its outputs."""
    above = (script.at("loss = learn", "train"), script.at("logits, _ =", "Writer.write"))
    ask = script.at("out, state = ", "Writer.forward")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, *above, MODULE, ask, RNN)
    run.spends(2.0, *above, MODULE, script.at("return self.head", "Writer.forward"))
    run.spends(2.0, script.at("loss.backward()", "train"))
    run.sees(
        above[1], self=f"type=writer.Writer bases=torch.nn.modules.module.Module file={script.file}"
    )
    ids = [
        f"type=torch.Tensor shape=64,{size} dtype=torch.int64 device=cpu" for size in (4, 40, 25)
    ]
    return run.sees(ask, self__gru=LSTM.replace("LSTM", "GRU"), ids=ids, state="type=NoneType")


def test_tells_tokens_that_a_loop_joins_with_the_next_and_all_that_is_made_of_them_again():
    run = a_writer(WRITER)

    (finding,) = detect(DETECTOR, run, WRITER)

    assert finding.title.startswith("the GRU goes through the history anew (writer.py:")
    assert claimed_s(profile_of(run, WRITER), finding) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[ids, new], 1)", "[ids, new], 1)[:, -8:]"),
        ("ids = torch.cat([ids, new], 1)", "ids = new"),
        ("@torch.no_grad()", "@timed"),
    ],
)
def test_silent_where_tokens_do_not_grow_or_gradients_are_recorded(old, new):
    script = Script(WRITER.file, WRITER.text.replace(old, new))

    assert detect(DETECTOR, a_writer(script), script) == []


ANSWERER = Script(
    "answerer.py",
    """
    @torch.no_grad()
    def answer(model, ids, mask):
        for _ in range(40):
            logits = model(ids, mask)
            new = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, new], 1)
        return ids

    @torch.no_grad()
    def answer_by_hidden(self, ids):
        for _ in range(40):
            logits = self.last_logits(ids)
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], 1)
        return ids

    def last_logits(self, tokens):
        x = self.embed(tokens)
        x = self.body(x)
        return self.head(x[:, -1])

    def train(model):
        mask = torch.tril(torch.ones(64, 64))
        loss = learn(model, answer(model, ask(), mask))
        loss.backward()
    """,
)
MODEL = f"type=answerer.Model bases=torch.nn.modules.module.Module file={ANSWERER.file}"


def an_answer(script: Script, rows: int = 8) -> RunBuilder:
    """Ten seconds, eight of them in a transformer of the program's own."""
    ask = script.at("logits = model(ids", "answer")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(8.0, script.at("loss = learn", "train"), ask, MODULE, "model.py:9 Model.forward")
    run.spends(2.0, script.at("loss.backward()", "train"))
    ids = [
        f"type=torch.Tensor shape={rows},{size} dtype=torch.int64 device=cpu"
        for size in (4, 40, 25)
    ]
    return run.sees(ask, model=MODEL, ids=ids)


def test_tells_a_network_of_ones_own_that_reads_all_tokens_for_each_next_one():
    run = an_answer(ANSWERER)

    (finding,) = detect(DETECTOR, run, ANSWERER)

    line = ANSWERER.line("logits = model(ids")
    assert finding.title == f"the network goes through the history anew (answerer.py:{line})"
    assert claimed_s(profile_of(run, ANSWERER), finding) == pytest.approx(8.0)


HOLDS = """
class Core(nn.Module):
    def __init__(self):
        self.inner = {}(32, 32)

class Model(nn.Module):
    def __init__(self):
        self.core = Core()
"""


@pytest.mark.parametrize(("inner", "is_told"), [("nn.GRU", False), ("Attention", True)])
def test_what_holds_a_recurrent_network_is_no_transformer(inner, is_told):
    script = Script(ANSWERER.file, ANSWERER.text + HOLDS.format(inner))

    assert bool(detect(DETECTOR, an_answer(script), script)) == is_told


def test_few_rows_save_less():
    def saved(rows: int) -> float:
        (finding,) = detect(DETECTOR, an_answer(ANSWERER, rows), ANSWERER)
        return finding.savings[0].removable.low

    assert saved(1) < 0.15 < 0.5 < saved(32)


def test_without_a_mask_of_what_comes_later_nothing_is_sure_to_go():
    script = Script(ANSWERER.file, ANSWERER.text.replace("torch.tril(", "torch.outer("))

    (finding,) = detect(DETECTOR, an_answer(script), script)

    assert finding.savings[0].removable.low == 0


def test_tells_of_a_body_that_a_helper_asks_for_its_last_answer():
    above = (
        ANSWERER.at("loss = learn", "train"),
        ANSWERER.at("logits = self.last_logits", "answer_by_hidden"),
    )
    ask = ANSWERER.at("x = self.body(x)", "last_logits")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(8.0, *above, ask, MODULE).spends(2.0, above[0])
    floats = [f"type=torch.Tensor shape=8,{size},16 dtype=torch.float32" for size in (4, 40, 25)]
    run.sees(above[1], self__last_logits=f"type=method function=last_logits file={ANSWERER.file}")
    run.sees(ask, self__body=MODEL, x=floats)

    assert detect(DETECTOR, run, ANSWERER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("logits[:, -1].argmax(-1, keepdim=True)", "pick(logits)"),
        (
            "ids = torch.cat([ids, new], 1)\n    return",
            "ids = torch.cat([ids, new], 1)[:, 1:]\n    return",
        ),
        ("@torch.no_grad()\ndef answer(", "@timed\ndef answer("),
        ("model(ids, mask)", "model(ids[:, -1:], mask)"),
        ("model(ids, mask)", "model(ids, cache)"),
        ("model(ids, mask)", "model(ids, mask)[1]"),
        ("logits[:, -1]", "logits[:, :, -1]"),
        ("torch.cat([ids, new], 1)", "torch.cat([ids[:, 1:], new], 1)"),
        ("torch.cat([ids, new], 1)", "torch.as_tensor(ids)"),
        ("for _ in range(40):", "for ids in loader:"),
    ],
)
def test_silent_where_the_network_needs_them_all(old, new):
    assert old in ANSWERER.text
    script = Script(ANSWERER.file, ANSWERER.text.replace(old, new))

    assert detect(DETECTOR, an_answer(script), script) == []


def test_silent_in_an_update():
    above = AGENT.at("loss = agent.update", "train")
    assert found(an_episode("update", above=above)) == []


def test_silent_for_the_targets_of_an_update():
    script = Script(
        AGENT.file,
        AGENT.text.replace("answer = agent.act(env.seen)", "target = agent.act(env.seen)").replace(
            "loss = agent.update(env.seen)", "agent.update(env.seen).backward()"
        ),
    )
    run = an_episode(above=script.at("target = agent.act", "train"))

    assert detect(DETECTOR, run, script) == []


def test_a_variable_that_is_given_another_answer_later_is_not_read_for_this_one():
    script = Script(
        ANSWERER.file,
        ANSWERER.text.replace(
            "ids = torch.cat([ids, new], 1)\n    return ids",
            "ids = torch.cat([ids, new], 1)\n    logits = model(ids, mask)\n    return logits.mean()",
            1,
        ),
    )
    assert script.text != ANSWERER.text
    assert detect(DETECTOR, an_answer(script), script)


@pytest.mark.parametrize(
    "new",
    [
        "ids = torch.cat([ids, new], 1)\n    return logits.mean()",
        "ids = torch.cat([ids, new], 1)\n        if other:\n            logits = 0\n    return logits.mean()",
    ],
)
def test_silent_where_the_last_answer_of_the_loop_is_read_whole(new):
    script = Script(
        ANSWERER.file,
        ANSWERER.text.replace("ids = torch.cat([ids, new], 1)\n    return ids", new, 1),
    )
    assert detect(DETECTOR, an_answer(script), script) == []


PLANNER = Script(
    "planner.py",
    """
    class Planner(nn.Module):
        def forward(self, states):
            x = self.embed(states)
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.head(self.blocks(x, mask=mask))

        def get_action(self, states):
            answers = self.forward(states[None])
            return answers[0, -1]

    def act(model, env):
        states = env.reset()
        while True:
            with torch.no_grad():
                action = model.get_action(states)
            states = torch.cat([states, env.step(action)], dim=0)
    """,
)


def planning(script: Script) -> list[Finding]:
    above = (
        script.at("action = model.get_action", "act"),
        script.at("answers = self.forward", "Planner.get_action"),
    )
    ask = script.at("self.blocks(x, mask", "Planner.forward")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(8.0, *above, ask, MODULE).spends(2.0, above[0])
    floats = [f"type=torch.Tensor shape=1,{size},16 dtype=torch.float32" for size in (60, 200, 90)]
    kind = f"bases=torch.nn.modules.module.Module file={script.file}"
    run.sees(above[0], model__get_action=f"type=method function=get_action file={script.file}")
    run.sees(above[1], self=f"type=planner.Planner {kind}")
    network = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
    run.sees(ask, self__blocks=network, self__head=network, x=floats)
    return detect(DETECTOR, run, script)


def test_tells_a_body_whose_answers_a_head_returns_to_who_takes_the_last():
    (finding,) = planning(PLANNER)

    assert lines_of(finding) == [PLANNER.line("self.blocks(x, mask")]
    assert "in self.head and self.blocks" in finding.evidence[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("answers[0, -1]", "answers[0]"),
        ("self.head(self.blocks(x, mask=mask))", "self.head(self.blocks(x, mask=mask)).mean(1)"),
        ("answers[0, -1]", "answers[0, -1], answers.sum()"),
    ],
)
def test_silent_where_more_than_the_last_of_what_a_head_returns_is_used(old, new):
    assert old in PLANNER.text
    assert planning(Script(PLANNER.file, PLANNER.text.replace(old, new))) == []


WRAPPED = Script(
    "wrapped.py",
    """
    class Histories(gym.Wrapper):
        def reset(self):
            self.history = [self.env.reset()]

        def step(self, action):
            obs, reward, over = self.env.step(action)
            self.history.append(obs)
            return np.stack(self.history), reward, over

    class Agent:
        def act(self, seen):
            with torch.no_grad():
                out, _ = self.gru(torch.as_tensor(seen).unsqueeze(1))
            return self.head(out[-1])

    def play(env, agent):
        while True:
            action = agent.act(obs)
            obs, reward, over = env.step(action)
    """,
)


def playing(script: Script, method: str = "step") -> list[Finding]:
    above = script.at("action = agent.act", "play")
    ask = script.at("out, _ = self.gru", "Agent.act")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(8.0, above, ask, MODULE, RNN).spends(2.0, above)
    arrays = [f"type=torch.Tensor shape={size},8 dtype=torch.float32" for size in (60, 200, 90)]
    run.sees(ask, self__gru=LSTM.replace("LSTM", "GRU"), seen=arrays)
    line = script.line(f"def {method}(self")
    made = f"type=function function=wrapped.Histories.{method} file={script.file} line={line}"
    return detect(
        DETECTOR, run.sees(script.at("= env.step(action)", "play"), env__step=made), script
    )


def test_tells_a_history_that_the_step_of_a_wrapper_hands_out():
    (finding,) = playing(WRAPPED)

    assert lines_of(finding) == [WRAPPED.line("out, _ = self.gru")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.stack(self.history)", "obs"),
        ("np.stack(self.history)", "np.stack(self.history[-8:])"),
        ("np.stack(self.history), reward", "reward, np.stack(self.history)"),
        ("self.history.append(obs)", "self.history.append(obs); self.history.pop(0)"),
        ("out[-1]", "out"),
    ],
)
def test_silent_where_a_wrapper_hands_out_no_history(old, new):
    assert old in WRAPPED.text
    assert not playing(Script(WRAPPED.file, WRAPPED.text.replace(old, new)))


def test_silent_where_another_method_was_seen_to_be_called():
    assert not playing(WRAPPED, "reset")
