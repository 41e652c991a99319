from __future__ import annotations

import pytest

from rlprof.detectors.table_sweep import DETECTOR, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import Script, detect

NUMBER = "type=float"
STATES = "type=numpy.ndarray shape=64 dtype=f8"

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
    "a comprehension": """
        def sweep(self, P, V, gamma):
            for s in range(64):
                V[s] = max(sum(p * (r + gamma * V[n]) for p, n, r in P[s][a]) for a in range(4))  # here
        """,
    "a method of one pair": """
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
    "one value for a pair is called for a state alone": """
        def value(self, s, a):
            return sum(p * (r + 0.9 * self.V[n]) for p, n, r in self.P[s][a])  # here

        def act(self, state):
            return max(range(4), key=lambda a: self.value(state, a))  # above
        """,
}


def told(text: str, **seen: str) -> list[Finding]:
    script = Script("plan.py", text)
    here = script.at("# here", "value" if "# above" in text else "sweep")
    stack = (script.at("# above", "sweep"), here) if "# above" in text else (here,)
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(4.0, *stack)
    run.spends(6.0, "env.py:3 step")
    operands = {"V": STATES, "self__V": STATES, "prob": NUMBER, "reward": NUMBER, "gamma": NUMBER}
    return detect(DETECTOR, run.sees(here, **{**operands, **seen}), script)


@pytest.mark.parametrize("name", SWEEPS)
def test_sums_over_a_table_for_all_states(name: str):
    (finding,) = told(SWEEPS[name])

    assert finding.title.startswith("a table of transitions is added up in Python (plan.py:")
    assert [it.removable for it in finding.savings] == [REMOVABLE]


@pytest.mark.parametrize("name", OTHERS)
def test_silent_where(name: str):
    assert told(OTHERS[name]) == []


@pytest.mark.parametrize(
    "seen",
    [
        {"V": "type=numpy.ndarray shape=8 dtype=f8"},
        {"V": "type=numpy.ndarray shape=64,4 dtype=f8"},
        {"V": "type=list length=64 first.type=torch.Tensor"},
        {"prob": "type=torch.Tensor shape= dtype=torch.float32"},
    ],
    ids=["few states", "rows", "tensors", "weights that are tensors"],
)
def test_silent_for(seen: dict[str, str]):
    assert told(SWEEPS["FrozenLake's table"], **seen) == []


def test_values_may_be_in_a_list_or_a_dictionary():
    for kind in ("list", "dict"):
        assert told(SWEEPS["dictionaries"], V=f"type={kind} length=64 first.type=float")
