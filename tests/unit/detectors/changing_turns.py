"""Programs whose loops change what a function depends on, in ways that are easily overlooked: nothing in them is computed anew in vain.

``#1`` marks the line in the loop, ``#2`` and so on the lines below it, the last of which is hot. What is in another file stands apart.
"""

from __future__ import annotations

from typing import Final

PROGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "memo between": (
        """
import numpy as np
class A:
    def compute(self, obs):
        return np.exp(-(obs - self.c) ** 2)   #4
    def feats(self, obs):
        if self._phi is None:
            self._phi = self.compute(obs)   #3
        return self._phi
    def sweep(self, obs):
        phi = self.feats(obs)   #2
        self.w = self.w + phi.sum(0)
    def fit(self, obs):
        self._phi = None
        for _ in range(4):
            self.sweep(obs)  #1
""",
    ),
    "early return between": (
        """
import numpy as np
def compute(o):
    return np.exp(-o)  #3
class A:
    def feats(self, k, o):
        if k in self.cache:
            return self.cache[k]
        self.cache[k] = compute(o)  #2
        return self.cache[k]
    def fit(self, k, o):
        for _ in range(4):
            x = self.feats(k, o)  #1
""",
    ),
    "compr beside": (
        """
import numpy as np
class A:
    def feats(self):
        return np.exp(-(self.at ** 2))   #2
    def step(self, rewards):
        x = self.feats() @ np.array([r for r in rewards])  #1
        return x
""",
    ),
    "compr first iter": (
        """
import numpy as np
class A:
    def gaps(self):
        return np.exp(-(self.at ** 2))   #2
    def near(self):
        return [d for d in self.gaps() if d < 1]  #1
""",
    ),
    "memo else": (
        """
import numpy as np
def compute(obs):
    return np.exp(-(obs ** 2))   #2
def fit(obs):
    phi = None
    for _ in range(4):
        if phi is not None:
            print(phi)
        else:
            phi = compute(obs)  #1
""",
    ),
    "memo try": (
        """
import numpy as np
def compute(obs):
    return np.exp(-(obs ** 2))   #2
def fit(obs, cache):
    for _ in range(4):
        try:
            phi = cache["phi"]
        except KeyError:
            phi = cache["phi"] = compute(obs)  #1
""",
    ),
    "memo ternary": (
        """
import numpy as np
def compute(obs):
    return np.exp(-(obs ** 2))   #2
def fit(obs):
    phi = None
    for _ in range(4):
        phi = phi if phi is not None else compute(obs)  #1
""",
    ),
    "lru between": (
        """
import numpy as np
from functools import lru_cache
def compute(n, c):
    return np.exp(-(np.arange(n) - c) ** 2)   #3
@lru_cache(maxsize=None)
def table(n, c):
    return compute(n, c)   #2
def fit(n, c):
    for _ in range(4):
        x = table(n, c)  #1
        print(x)
""",
    ),
    "for else": (
        """
import numpy as np
class A:
    def gaps(self):
        return np.exp(-(self.at ** 2))   #2
    def near(self, xs):
        for x in xs:
            if x > 3:
                break
        else:
            y = self.gaps()  #1
            return y
""",
    ),
    "retry break": (
        """
import numpy as np
class Env:
    def occupied(self):
        return np.exp(-(self.walls ** 2))   #2
    def spawn(self):
        for attempt in range(100):
            occ = self.occupied()  #1
            cell = self.rng.integers(9)
            if not occ[cell]:
                return cell
""",
    ),
    "lambda in loop": (
        """
import numpy as np
def shaped(pos):
    return np.exp(-(pos ** 2))   #2
def build(self, n):
    for i in range(n):
        self.terms.append(lambda: shaped(self.pos))  #1<lambda>
""",
    ),
    "wrapper skip step": (
        """
import gymnasium as gym
import numpy as np
class Shaped(gym.Wrapper):
    def potential(self):
        return np.exp(-np.sum((self.env.unwrapped.state - self.goals) ** 2, -1)).max()  #2
    def step(self, action):
        total = 0.0
        for _ in range(4):
            obs, r, done, trunc, info = self.env.step(action)
            total += r + self.potential()  #1
        return obs, total, done, trunc, info
""",
    ),
    "subclass super step": (
        """
from gymnasium.envs.classic_control import CartPoleEnv
import numpy as np
class Pole(CartPoleEnv):
    def features(self):
        return np.exp(-np.sum((self.state - self.centres) ** 2, -1))  #2
    def step(self, action):
        obs, r, done, trunc, info = super().step(action)
        return obs, r - abs(obs[0]), done, trunc, info
def rollout(env, w):
    for t in range(200):
        phi = env.features()  #1
        obs, r, done, trunc, info = env.step(int(phi @ w > 0))
""",
    ),
    "lib env step counter": (
        """
import numpy as np
class Agent:
    def __init__(self, env):
        self.env = env
        self.step = 0
    def features(self):
        return np.exp(-np.sum((self.env.unwrapped.state - self.centres) ** 2, -1))  #2
    def rollout(self):
        for t in range(200):
            phi = self.features()  #1
            self.env.step(int(phi @ self.w > 0))
            self.step += 1
""",
    ),
    "env local alias": (
        """
import numpy as np
class Agent:
    def features(self):
        return np.exp(-np.sum((self.env.unwrapped.state - self.centres) ** 2, -1))  #2
    def rollout(self):
        env = self.env
        for t in range(200):
            phi = self.features()  #1
            env.step(int(phi @ self.w > 0))
""",
    ),
    "env in helper": (
        """
import numpy as np
class Agent:
    def features(self):
        return np.exp(-np.sum((self.env.unwrapped.state - self.centres) ** 2, -1))  #2
    def advance(self, a):
        return self.env.step(a)
    def rollout(self):
        for t in range(200):
            phi = self.features()  #1
            self.advance(int(phi @ self.w > 0))
""",
    ),
    "property of lib env": (
        """
import numpy as np
class Agent:
    @property
    def pos(self):
        return self.env.unwrapped.state
    def features(self):
        return np.exp(-np.sum((self.pos - self.centres) ** 2, -1))  #2
    def rollout(self):
        for t in range(200):
            phi = self.features()  #1
            self.env.step(int(phi @ self.w > 0))
""",
    ),
    "mujoco sim": (
        """
import mujoco
import numpy as np
class Env:
    def reward(self):
        return -np.linalg.norm(self.sim.qpos[None] - self.goals, axis=-1).min()   #2
    def step(self, action):
        total = 0.0
        for _ in range(self.frame_skip):
            mujoco.mj_step(self.model, self.sim)
            total += self.reward()  #1
        return total
""",
    ),
    "grad norm": (
        """
import torch
def grad_norm(params):
    return torch.sqrt(sum((p.grad ** 2).sum() for p in params))  #2
def train(net, opt, data):
    params = list(net.parameters())
    for step in range(10):
        loss = net(data).mean()
        loss.backward()
        n = grad_norm(params)  #1
        opt.step()
""",
    ),
    "l2 params": (
        """
import torch
def l2(params):
    return sum((p ** 2).sum() for p in params)  #2
def train(net, opt, data):
    params = list(net.parameters())
    for step in range(10):
        loss = net(data).mean() + l2(params)  #1
        opt.zero_grad()
        loss.backward()
        opt.step()
""",
    ),
    "bn stats": (
        """
import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(4)
    def stats(self):
        return torch.sqrt(self.bn.running_var + 1e-5).mean()  #2
    def fit(self, data):
        for step in range(10):
            y = self.bn(data)
            s = self.stats()  #1
""",
    ),
    "learn callback lib": (
        """
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
class Log(BaseCallback):
    def _on_step(self):
        self.rewards.append(self.locals["rewards"])
        return True
def curve(rewards):
    return np.convolve(np.array(rewards), np.ones(100))  #2
def run(model, n):
    cb = Log()
    for k in range(n):
        model.learn(1000, callback=cb)
        print(curve(cb.rewards))   #1
""",
    ),
    "rms lib update": (
        """
import numpy as np
from stable_baselines3.common.running_mean_std import RunningMeanStd
class Agent:
    def update(self, x):
        self.w = x
def normalise(obs, rms):
    return (obs - rms.mean) / np.sqrt(rms.var)  #2
def run(env, agent, obs, n):
    rms = RunningMeanStd()
    for a in range(n):
        x = normalise(obs, rms)   #1
        rms.update(obs)
""",
    ),
    "pre loop attr alias": (
        """
import numpy as np
class Q:
    def values(self):
        return self.q.max(1)  #2
    def sweep(self, states):
        q = self.q
        for s in states:
            v = self.values()   #1
            q[s] = self.r[s] + 0.9 * v.mean()
""",
    ),
    "arg is attribute": (
        """
import numpy as np
def features(obs):
    return np.exp(-obs ** 2)  #2
class A:
    def run(self):
        obs = self.obs
        for t in range(20):
            phi = features(obs)   #1
            self.obs[t] = phi[t]
""",
    ),
    "board of env": (
        """
import numpy as np
class Env:
    def __init__(self):
        self.board = np.zeros((8, 8))
    def step(self, a):
        self.board[a] = 1
def evaluate(board):
    return (board * W).sum()  #2
W = np.ones((8, 8))
def play(env):
    board = env.board
    for t in range(64):
        v = evaluate(board)   #1
        env.step(t)
""",
    ),
    "pre loop view": (
        """
import numpy as np
def neighbours(cells):
    return sum(np.roll(cells, k, 0) for k in (-1, 1))  #2
def live(grid, n):
    inner = grid[1:-1, 1:-1]
    for t in range(n):
        c = neighbours(inner)  #1
        grid[1:-1, 1:-1] = (c == 3)
""",
    ),
    "attr alias in init": (
        """
import numpy as np
class World:
    def __init__(self):
        self.cells = np.zeros((8, 8))
    def advance(self, a):
        self.cells[a] = 1
class Agent:
    def __init__(self, world):
        self.world = world
        self.map = world.cells
    def distances(self):
        return np.sqrt(self.map ** 2 + 1)  #2
    def run(self):
        for t in range(64):
            d = self.distances()   #1
            self.world.advance(t)
""",
    ),
    "items inplace": (
        """
import numpy as np
class A:
    def best(self):
        return {s: int(np.argmax(row)) for s, row in self.q.items()}  #2
    def sweep(self):
        for k in range(20):
            pi = self.best()   #1
            for s, row in self.q.items():
                row += 0.1 * self.err[s]
""",
    ),
    "tuple unpack alias": (
        """
import numpy as np
class A:
    def act(self, obs):
        return np.tanh(obs @ self.layers[0] + self.layers[1])  #2
    def fit(self, obs, y):
        for k in range(20):
            out = self.act(obs)   #1
            w, b = self.layers
            w -= 0.1 * obs.T @ (out - y)
            b -= 0.1 * (out - y).mean(0)
""",
    ),
    "one line method": (
        """
import numpy as np
class Env:
    def bump(self): self.pos = self.pos + 1
    def score(self):
        return np.sqrt((self.pos - self.goals) ** 2).sum()  #2
    def run(self, n):
        for a in range(n):
            s = self.score()   #1
            self.bump()
""",
    ),
    "own add and set": (
        """
import numpy as np
class Buffer:
    def add(self, x):
        self.rows = [x]
def coverage(visited):
    return len(sorted(visited)) / 100  #2
def run(env, n):
    visited = set()
    for a in range(n):
        c = coverage(visited)   #1
        visited.add(a)
""",
    ),
    "callbacks list": (
        """
import numpy as np
def anneal(agent):
    agent.temp *= 0.9
class A:
    def __init__(self):
        self.callbacks = [anneal]
    def probs(self):
        return np.exp(self.q / self.temp)  #2
    def run(self):
        for t in range(20):
            p = self.probs()   #1
            for cb in self.callbacks:
                cb(self)
""",
    ),
    "node constructor": (
        """
class Node:
    def __init__(self, parent, move):
        self.parent = parent
        self.move = move
        self.children = []
        if parent is not None:
            parent.children.append(self)
def open_moves(root):
    return sum(len(str(c.move)) for c in root.children)  #2
def expand(root, moves):
    for m in moves:
        print(open_moves(root))   #1
        Node(root, m)
""",
    ),
    "setattr schedule": (
        """
import numpy as np
class A:
    def probs(self):
        return np.exp(self.q / self.temp)  #2
    def run(self, sched):
        for t in range(20):
            p = self.probs()   #1
            setattr(self, "temp", sched[t])
""",
    ),
    "config module": (
        """
import numpy as np
TEMP = 1.0
def probs(q):
    return np.exp(q / TEMP)  #2
""",
        """
import mod0
def run(q, n):
    for k in range(n):
        p = mod0.probs(q)   #1
        mod0.TEMP *= 0.9
""",
    ),
    "base class by name": (
        """
import numpy as np
class Base:
    def features(self, obs):
        return np.exp(-(obs - self.c) ** 2)  #2
class Mine(Base):
    def run(self, data):
        for obs in data:
            phi = Base.features(self, obs)   #1
""",
    ),
    "long chain": (
        """
import numpy as np
def feats(obs, c):
    return np.exp(-(obs - c) ** 2)   #2
class Agent:
    def run(self, n):
        for t in range(n):
            phi = feats(self.runner.env.unwrapped.sim.body.qpos, self.c)  #1
            self.runner.env.unwrapped.sim.body.qpos = phi
""",
    ),
    "property random": (
        """
import numpy as np
class Agent:
    @property
    def noise(self):
        return self.rng.normal(size=4)
    def perturbed(self):
        return np.exp(-np.sum((self.w + self.noise) ** 2, -1))  #2
    def rollout(self):
        return [self.perturbed() for t in range(200)]  #1
""",
    ),
    "islice stream": (
        """
import itertools
import numpy as np
def batch(stream):
    return np.stack(list(itertools.islice(stream, 32)))  #2
def run(stream, n):
    for k in range(n):
        b = batch(stream)   #1
        print(b.mean())
""",
    ),
    "default arg global": (
        """
import numpy as np
HISTORY = []
def smooth(obs, c, history=HISTORY):
    return np.convolve(np.array(history), c)   #2
def run(obs, c, n):
    for t in range(n):
        phi = smooth(obs, c)  #1
        HISTORY.append(t)
""",
    ),
    "result written other file": (
        """
import numpy as np
def feats(obs):
    return np.exp(-obs ** 2)  #2
""",
        """
from mod0 import feats
def run(obs, n):
    for k in range(n):
        phi = feats(obs)   #1
        phi *= 0.9 ** k
        print(phi)
""",
    ),
    "multiline header": (
        """
import numpy as np
class A:
    def gaps(self):
        return np.exp(-(self.at ** 2))   #2
    def near(self, xs):
        for x, g in zip(
            xs,
            self.gaps(),  #1
        ):
            print(x, g)
""",
    ),
    "single item list": (
        """
import numpy as np
def compute(obs):
    return np.exp(-(obs ** 2))   #2
def fit(agent, obs):
    for a in [agent]:
        phi = compute(obs)  #1
        print(a, phi)
""",
    ),
    "weights no values": (
        """
import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def penalty(self):
        return (self.fc.weight ** 2).sum()  #2
def train(net, opt, data):
    for step in range(10):
        loss = net(data).mean() + net.penalty()  #1
        loss.backward()
        opt.step()
""",
    ),
    "dispatch dict": (
        """
import numpy as np
def up(grid):
    grid[0] = 1
def down(grid):
    grid[1] = 1
MOVES = {0: up, 1: down}
def score(grid):
    return np.sqrt(grid ** 2).sum()  #2
def run(grid, actions):
    for a in actions:
        s = score(grid)   #1
        MOVES[a](grid)
""",
    ),
    "queue get true": (
        """
import numpy as np
class L:
    def batch(self):
        return np.mean([self.queue.get(True) for _ in range(32)], 0)  #2
    def run(self, n):
        for k in range(n):
            b = self.batch()   #1
            print(b.mean())
""",
    ),
    "local shadows global": (
        """
import numpy as np
scale = np.ones(4)
def feats(obs):
    return np.exp(-obs * scale)  #3
def sweep(obs, k):
    scale2 = 1
    scale = obs
    return feats(obs)   #2
def grow():
    global scale
    scale = scale * 2
def run(obs, n):
    for k in range(n):
        sweep(obs, k)   #1
        grow()
""",
    ),
}
