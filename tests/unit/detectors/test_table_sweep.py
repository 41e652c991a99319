from __future__ import annotations

import pytest

from rlprof.detectors.table_sweep import DETECTOR, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import Script, detect

NUMBER = "type=float"
STATES = "type=numpy.ndarray shape=64 dtype=f8"

SEEN = {
    **dict.fromkeys(("V", "self__V", "q"), STATES),
    **dict.fromkeys(("prob", "reward", "gamma"), NUMBER),
    "model": "type=dict length=64 first.type=dict",
    "P": "type=numpy.ndarray shape=64,4,64 dtype=f8",
    "R": "type=numpy.ndarray shape=64,4 dtype=f8",
    "Q": "type=numpy.ndarray shape=64,4 dtype=f8",
    "rewards": STATES,
    "memory": "type=list length=5000 first.type=tuple",
    "trajectory": "type=list length=12 first.type=int",
    "noise": "type=numpy.ndarray shape=64,20000 dtype=f8",
}

SWEEPS = {
    "FrozenLake's table": """
        def sweep(env, V, gamma):
            for s in range(64):
                q = np.zeros(4)
                for a in range(4):
                    for prob, after, reward, done in env.P[s][a]:
                        q[a] += prob * (reward + gamma * V[after] * (1 - done))  # here
                V[s] = q.max()
        """,
    "dictionaries": """
        def sweep(model, V, gamma):
            new = {}
            for s in model:
                best = None
                for a in model[s]:
                    q = 0.0
                    for after, (prob, reward) in model[s][a].items():
                        q += prob * (reward + gamma * V[after])  # here
                    if best is None or q > best:
                        best = q
                new[s] = best
            return new
        """,
    "items of dictionaries": """
        def sweep(model, V, gamma):
            for s, actions in model.items():
                for a, outcomes in actions.items():
                    q = 0.0
                    for prob, after, reward in outcomes:
                        q = q + prob * (reward + gamma * V[after])  # here
        """,
    "a dense table": """
        def sweep(P, R, V, gamma):
            for s in range(64):
                for a in range(4):
                    total = 0.0
                    for after in range(64):
                        total += P[s, a, after] * (R[s, a] + gamma * V[after])  # here
        """,
    "two statements": """
        def sweep(env, V, gamma):
            for s in range(64):
                for a in range(4):
                    q = 0.0
                    for prob, after, reward, done in env.P[s][a]:
                        target = reward + gamma * (0.0 if done else V[after])
                        q += prob * target  # here
        """,
    "the best of a row": """
        def sweep(env, Q, gamma):
            for s in range(64):
                for a in range(4):
                    q = 0.0
                    for prob, after, reward, done in env.P[s][a]:
                        q += prob * (reward + gamma * np.max(Q[after]))  # here
                    Q[s, a] = q
        """,
    "parts of a transition": """
        def sweep(env, V, gamma):
            for s in range(64):
                outcomes = env.P[s][0]
                for t in outcomes:
                    q[s] += t[0] * (t[2] + gamma * V[t[1]])  # here
        """,
    "outcomes by a method": """
        class Planner:
            def value(self, s, a):
                return sum(p * (r + 0.9 * self.V[n]) for p, n, r in self.mdp.outcomes(s, a))  # here

            def sweep(self):
                for s in range(64):
                    self.V[s] = max(self.value(s, a=a) for a in range(4))  # above
        """,
    "a comprehension": """
        def sweep(self, P, V, gamma):
            for s in range(64):
                V[s] = max(sum(p * (r + gamma * V[n]) for p, n, r in P[s][a]) for a in range(4))  # here
        """,
    "a method of one pair": """
        class Planner:
            def value(self, s, a):
                return sum(p * (r + 0.9 * self.V[n]) for p, n, r in self.P[s][a])  # here

            def sweep(self):
                for s in range(64):
                    self.V[s] = max(self.value(s, a) for a in range(4))  # above
        """,
}

OTHERS = {
    "one state is looked ahead from": """
        def act(env, V, state, gamma):
            q = np.zeros(4)
            for a in range(4):
                for prob, after, reward, done in env.P[state][a]:
                    q[a] += prob * (reward + gamma * V[after])  # here
            return q.argmax()
        """,
    "the training loop goes through steps": """
        def train(env, V, gamma):
            for t in range(1000):
                for prob, after, reward, done in env.P[state][action]:
                    q += prob * (reward + gamma * V[after])  # here
                state = choose(q)
        """,
    "a turn calls something": """
        def sweep(env, V, gamma):
            for s in range(64):
                for prob, after, reward, done in env.P[s]:
                    q += prob * (reward_of(after) + gamma * V[after])  # here
        """,
    "nothing is weighted": """
        def sweep(edges, V):
            for s in range(64):
                for after in edges[s]:
                    q += V[after]  # here
        """,
    "the sum is that of a target": """
        def update(batch, V, Q):
            for i in range(64):
                for s, a, r, after in batch[i]:
                    Q[s][a] = Q[s][a] * 0.9 + 0.1 * V[after]  # here
        """,
    "one state is looked ahead from by a method": """
        def act(self, state, gamma):
            for a in range(4):
                for prob, after, reward in self.model.get((state, a), []):
                    q += prob * (reward + gamma * self.V[after])  # here
        """,
    "its outcomes were taken before": """
        def sweep(self, gamma):
            while self.queue:
                s = heappop(self.queue)
                for a in range(4):
                    outcomes = self.P[s][a]
                    for prob, after, reward in outcomes:
                        q += prob * (reward + gamma * self.V[after])  # here
        """,
    "samples move the values one by one": """
        def update(memory, V, alpha, gamma):
            for epoch in range(64):
                for s, r, after, mask in memory:
                    V[s] += alpha * (r + gamma * V[after] * mask - V[s])  # here
        """,
    "returns are discounted": """
        def returns(rewards, gamma):
            for t in range(64):
                for k in range(t, 64):
                    G[t] += gamma ** (k - t) * rewards[k]  # here
        """,
    "a loss is added up": """
        def loss(log_probs, rewards):
            for epoch in range(64):
                for t in range(64):
                    total += -log_probs[t] * rewards[t]  # here
        """,
    "features have weights": """
        def value(w, phi, rewards):
            for s in range(64):
                for i in range(64):
                    v += w[i] * rewards[i]  # here
        """,
    "noise is added up by fitness": """
        def step(noise, rewards):
            for generation in range(64):
                for i in range(64):
                    grad += rewards[i] * noise[i]  # here
        """,
    "few states are gone through in their order": """
        def backup(env, V, trajectory, gamma):
            for s in reversed(trajectory):
                for prob, after, reward in env.P[s][0]:
                    q += prob * (reward + gamma * V[after])  # here
        """,
    "a trajectory is gone through": """
        def backup(env, V, trajectory, gamma):
            for s in trajectory:
                for prob, after, reward in env.P[s][0]:
                    q += prob * (reward + gamma * V[after])  # here
        """,
    "a turn goes on from the one before": """
        def sweep(env, V, gamma):
            for s in range(64):
                for prob, after, reward in env.P[s]:
                    weight = weight * prob
                    q += prob * (weight + gamma * V[after])  # here
        """,
    "a turn looks at the sum": """
        def sweep(env, V, gamma):
            for s in range(64):
                for prob, after, reward in env.P[s]:
                    if q[s] < 3:
                        q[s] += prob * (reward + gamma * V[after])  # here
        """,
    "it ends before the last": """
        def sweep(env, V, gamma):
            for s in range(64):
                for prob, after, reward in env.P[s]:
                    q += prob * (reward + gamma * V[after])  # here
                    if q > 3:
                        break
        """,
    "other work of a loop's turn": """
        def sweep(env, V, gamma, phi):
            for s in range(64):
                hidden = W @ phi[s]  # here
                for prob, after, reward in env.P[s]:
                    q += prob * (reward + gamma * V[after])
        """,
    "one value for a pair is called for a state alone": """
        class Planner:
            def value(self, s, a):
                return sum(p * (r + 0.9 * self.V[n]) for p, n, r in self.P[s][a])  # here

            def act(self, state):
                return max(range(4), key=lambda a: self.value(state, a))  # above
        """,
}


def told(text: str, **seen: str) -> list[Finding]:
    script = Script("plan.py", text)
    here = script.at("# here", "Planner.value" if "# above" in text else "sweep")
    stack = (script.at("# above", "Planner.sweep"), here) if "# above" in text else (here,)
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(4.0, *stack)
    run.spends(6.0, "env.py:3 step")
    return detect(DETECTOR, run.sees(here, **{**SEEN, **seen}), script)


@pytest.mark.parametrize("name", SWEEPS)
def test_sums_over_a_table_for_all_states(name: str):
    (finding,) = told(SWEEPS[name])

    assert finding.title.startswith("a table of transitions is added up in Python (plan.py:")
    assert [saving.removable for saving in finding.savings] == [REMOVABLE]


@pytest.mark.parametrize("name", OTHERS)
def test_silent_where(name: str):
    assert told(OTHERS[name]) == []


@pytest.mark.parametrize(
    "seen",
    [
        {"V": "type=numpy.ndarray shape=8 dtype=f8"},
        {"V": "type=numpy.ndarray shape=64,4 dtype=f8"},
        {"V": "type=list length=64 first.type=torch.Tensor"},
        {"V": "type=torch.Tensor shape=64 dtype=torch.float32"},
        {"prob": "type=torch.Tensor shape= dtype=torch.float32"},
    ],
    ids=["few states", "rows", "tensors", "one tensor", "weights that are tensors"],
)
def test_silent_for(seen: dict[str, str]):
    assert told(SWEEPS["FrozenLake's table"], **seen) == []


def test_values_may_be_in_a_list_or_a_dictionary():
    for kind in ("list", "dict"):
        assert told(SWEEPS["dictionaries"], V=f"type={kind} length=64 first.type=float")
