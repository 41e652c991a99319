"""Which lines of a function an update is made of."""

from __future__ import annotations

import textwrap

import pytest

from rlprof.source.updates import update_lines, without_gradients
from rlprof.syntax.module import parse

IN_TURNS = """
def go():
    while True:
        obs_list, logps = [], []               # ready
        for _ in range(64):
            x = torch.from_numpy(obs)
            logits, v = brain(x)               # network
            obs, r, over = world.advance(act)  # environment
            obs_list.append(x)
        last = brain(torch.from_numpy(obs))    # learns: network
        all_obs = torch.cat(obs_list)          # ready
        for epoch in range(4):
            for rows in torch.randperm(512).split(128):  # ready
                logits, v = brain(all_obs[rows])         # learns: network
                ratio = (logits - last).exp()            # learns
                loss = -ratio.mean()                     # learns
                opt.zero_grad(); loss.backward()         # updates
                opt.step()                               # updates
        print(loss)
"""

EACH_STEP = """
def train(env):
    memory = []
    while True:
        q = net(obs)                            # network
        action = int(q.argmax())
        obs2, reward, done, _ = env.step(action)  # environment
        memory.append((obs, action, reward, obs2))
        obs = obs2
        if len(memory) > 100:
            batch = random.sample(memory, 64)   # ready
            s = torch.stack([b[0] for b in batch])  # ready
            with torch.no_grad():
                target = frozen(s)              # learns: network
            error = net(s) - target             # learns: network
            error.pow(2).mean().backward()      # updates
            self.optimizer.step()               # updates
"""

COLLECTED_FIRST = """
while True:
    logps = []                                  # ready
    for _ in range(16):
        dist = net(obs)                         # network
        obs, r = envs.step(dist.sample())       # environment
        logps.append(dist.log_prob(act))
    with torch.no_grad():
        value = critic(obs)                     # learns: network
    loss = -(torch.stack(logps) * value).mean() # learns
    loss.backward()                             # updates
"""

SEVERAL_LOSSES = """
def update(self, batch):
    obs = batch["obs"]                          # ready
    losses = []                                 # ready
    for critic in self.critics:                 # learns
        losses.append(critic(obs))              # learns: network
    total = sum(losses)                         # learns
    total.backward()                            # updates
    self.count = self.count + 1
"""

ACTING_WITHOUT_GRADIENTS = """
def learn():
    while True:
        seen, gained = [], []                   # ready
        for _ in range(100):                    # acts
            with torch.no_grad():               # acts
                act = agent(torch.stack(obs))   # acts: network off
            seen.append(obs)                    # acts
            obs, reward = arena.advance(act)    # acts
            gained.append(reward)               # acts
        goals = torch.tensor(gained)            # ready
        chosen = agent(torch.stack(seen))       # learns: network
        loss = -(chosen * goals).mean()         # learns
        loss.backward()                         # updates
"""

NO_NETWORK_SEEN = """
def update(w):
    x = numbers()                               # learns
    loss = (w * x).sum()                        # learns
    loss.backward()                             # updates
"""


def lines_with(text: str, *words: str) -> set[int]:
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if any(word in line.partition("#")[2] for word in words)
    }


@pytest.mark.parametrize(
    "text",
    [
        *(IN_TURNS, EACH_STEP, COLLECTED_FIRST, SEVERAL_LOSSES, ACTING_WITHOUT_GRADIENTS),
        NO_NETWORK_SEEN,
    ],
)
def test_what_feeds_the_gradients_learns_from_the_first_network_on(text):
    text = textwrap.dedent(text)
    module = parse(text)
    assert module is not None

    found = update_lines(
        module,
        lines_with(text, "updates"),
        networks=lines_with(text, "network"),
        environment=lines_with(text, "environment"),
        without_gradients=lines_with(text, "off"),
    )

    assert found.learns == lines_with(text, "learns", "updates")
    assert found.makes_ready == lines_with(text, "ready")
    assert found.acts == lines_with(text, "acts")


def test_a_line_that_is_in_no_function_and_no_loop_is_one_too():
    module = parse("loss = net(x)\nloss.backward()\n")
    assert module is not None

    found = update_lines(module, {2}, networks={1}, environment=())

    assert found.learns == {1, 2}


def test_lines_that_the_source_does_not_have_are_no_error():
    module = parse("pass\n")
    assert module is not None

    assert update_lines(module, {40}, networks=(), environment=()) == (
        frozenset(),
        frozenset(),
        frozenset(),
    )


def test_a_file_that_speaks_of_no_gradients_is_not_parsed_for_them(monkeypatch):
    parsed = []
    monkeypatch.setattr("rlprof.source.updates.parse", parsed.append)

    without_gradients("class Buffer:\n    def sample(self): return self.rows\n")
    assert parsed == []
    without_gradients("with torch.no_grad():\n    only_here(x)\n")
    assert len(parsed) == 1
