"""Calls that ``slow-call`` and ``fp64`` name, and what takes their place; those of libraries that are not installed are left out."""

from __future__ import annotations

import bisect
import bz2
import difflib
import gzip
import heapq
import inspect
import io
import itertools
import json
import lzma
import math
import multiprocessing
import pickle
import random
import statistics
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from replacement import Replacement, network
from torch import nn

_RNG = np.random.default_rng(0)


def a_call(what: str, now: Callable[[], Any], instead: Callable[[], Any]) -> Replacement:
    return Replacement("slow-call", what, now, instead)


def pandas_tables() -> Iterator[Replacement]:
    if not find_spec("pandas"):
        return
    import pandas

    table = pandas.DataFrame(_RNG.random((5_000, 5)), columns=list("abcde"))
    array = table.to_numpy()
    text = io.StringIO()
    table.to_csv(text)
    yield a_call("pandas: a row", lambda: table.iloc[7], lambda: array[7])
    yield a_call("pandas: a cell", lambda: table["b"].iloc[7], lambda: array[7, 1])
    mask, series, own = array[:, 0] > 0.5, table["b"].copy(), array.copy()
    yield a_call("pandas: half of the rows by a mask", lambda: table.loc[mask], lambda: array[mask])
    yield a_call(
        "pandas: a cell written",
        lambda: series.__setitem__(7, 0.5),
        lambda: own.__setitem__((7, 1), 0.5),
    )
    yield a_call(
        "pandas: 30 rows", lambda: table.iloc[100:130].to_numpy(), lambda: array[100:130].copy()
    )
    window, few = table["b"].iloc[100:130], array[100:130, 1]
    yield a_call("pandas: the mean of 30 rows", window.mean, few.mean)
    yield a_call("pandas: the deviation of 30 rows", window.std, lambda: few.std(ddof=1))
    yield a_call("pandas: changes of 30 rows", window.pct_change, lambda: few[1:] / few[:-1] - 1.0)
    yield a_call("pandas: two columns of 30 rows added", lambda: window + window, lambda: few + few)
    yield a_call(
        "pandas: a running mean of 30 rows, the last looked up in a table made before",
        lambda: window.rolling(5).mean(),
        lambda: array[129, 1],
    )
    yield a_call(
        "pandas: a file of 5 000 rows",
        lambda: pandas.read_csv(io.StringIO(text.getvalue())),
        table.copy,
    )
    yield a_call(
        "pandas: a date", lambda: pandas.to_datetime("2026-11-24 10:00"), lambda: array[7, 0]
    )


def lists() -> Iterator[Replacement]:
    for size in (200, 5_000):
        cells = [(row, row + 1) for row in range(size)]
        marked, wanted = set(cells), (-1, 0)
        yield a_call(
            f"{size} pairs searched",
            lambda pairs=cells, w=wanted: w in pairs,
            lambda pairs=marked, w=wanted: w in pairs,
        )
    for size in (5_000, 100_000):
        kept, ring = list(range(size)), deque(range(size), maxlen=size)
        yield a_call(
            f"the first of {size} taken",
            lambda queue=kept: queue.append(queue.pop(0)),
            lambda queue=ring: queue.append(0),
        )


def identities() -> Iterator[Replacement]:
    for size in (16, 500):
        rows = np.eye(size)
        yield a_call(
            f"a row of an identity matrix of {size}",
            lambda count=size: np.eye(count)[3],
            lambda rows=rows: rows[3],
        )


def picks() -> Iterator[Replacement]:
    for size in (200, 5_000):
        table, keys = dict.fromkeys(range(size)), list(range(size))
        yield a_call(
            f"one of {size} keys picked",
            lambda mapping=table: random.choice(list(mapping.keys())),
            lambda choices=keys: random.choice(choices),
        )
    for size in (1_000, 20_000, 100_000):
        odds = _RNG.random(size)
        odds /= odds.sum()
        yield a_call(
            f"64 drawn of {size} by their odds",
            lambda probabilities=odds: np.random.choice(len(probabilities), 64, p=probabilities),
            lambda probabilities=odds: np.searchsorted(np.cumsum(probabilities), _RNG.random(64)),
        )
    for size, draws in itertools.product((1_000, 20_000), (1, 64, 128)):
        weights = [1.0] * size
        sums, of = list(itertools.accumulate(weights)), range(size)
        yield a_call(
            f"{draws} drawn of {size} by random.choices",
            lambda of=of, k=draws, w=weights: random.choices(of, w, k=k),
            lambda of=of, k=draws, s=sums: random.choices(of, cum_weights=s, k=k),
        )


def sorted_lists() -> Iterator[Replacement]:
    for size in (1_000, 5_000):
        pairs = [(index, gain) for index, gain in enumerate(_RNG.random(size))]
        yield a_call(
            f"the largest 8 of {size} sorted, or by heapq",
            lambda entries=pairs: sorted(entries, key=itemgetter(1))[-8:],
            lambda entries=pairs: heapq.nlargest(8, entries, key=itemgetter(1)),
        )
        gains = [gain for _, gain in pairs]
        kept = sorted(gains)
        yield a_call(
            f"the median of {size} sorted, or kept sorted",
            lambda numbers=gains: sorted(numbers)[len(numbers) // 2],
            lambda ordered=kept: bisect.bisect(ordered, 0.5),
        )
        more, ring = [*kept, 0.5], kept.copy()
        yield a_call(
            f"one more of {size} that are kept, sorted anew or put in its place",
            lambda ordered=more: sorted(ordered)[-len(ordered) + 1 :],
            lambda ordered=ring: _put_in_place(ordered),
        )


def ranked_arrays() -> Iterator[Replacement]:
    for size in (256, 1_000, 6_000):
        ranks = _RNG.random(size)
        yield a_call(
            f"{size} numbers ranked by a function",
            lambda gains=ranks: sorted(range(len(gains)), key=lambda at: -gains[at]),
            lambda gains=ranks: np.argsort(-gains),
        )
        yield a_call(
            f"the largest of {size} by a function",
            lambda gains=ranks: max(range(len(gains)), key=lambda at: gains[at]),
            lambda gains=ranks: int(np.argmax(gains)),
        )


def sorted_arrays() -> Iterator[Replacement]:
    for size, few in ((2_000, 20), (20_000, 64)):
        ranks = _RNG.random(size)
        yield a_call(
            f"the largest {few} of {size} by np.argsort",
            lambda gains=ranks, k=few: np.argsort(gains)[-k:],
            lambda gains=ranks, k=few: np.argpartition(gains, -k)[-k:],
        )
    logits = torch.randn(16, 5_000)
    yield a_call(
        "the largest 50 in rows of 5 000 by torch.sort",
        lambda: torch.sort(logits, dim=-1, descending=True)[0][:, :50],
        lambda: torch.topk(logits, 50, dim=-1)[0],
    )


def nuclei() -> Iterator[Replacement]:
    for size in (1_000, 4_096, 32_000):
        logits = torch.randn(16, size)
        yield a_call(
            f"rows of {size} sorted for a nucleus",
            lambda given=logits: torch.sort(given, dim=-1, descending=True),
            lambda given=logits: torch.topk(given, 256, dim=-1),
        )


def texts_of_rows() -> Iterator[Replacement]:
    for size in (3, 6):
        state = _RNG.random(size).astype(np.float32)
        yield a_call(
            f"text put together of {size}",
            lambda row=state: "|".join(str(round(float(each), 1)) for each in row),
            lambda row=state: (row * 10).astype(np.int8).tobytes(),
        )


def _put_in_place(ordered: list[float]) -> None:
    bisect.insort(ordered, random.random())
    del ordered[0]


def spaces() -> Iterator[Replacement]:
    if not find_spec("gymnasium"):
        return
    from gymnasium.spaces import Box, Discrete

    actions, moves = Discrete(5), Box(-1, 1, (4,), np.float32)
    kept = itertools.cycle(_RNG.integers(5, size=1_000).tolist())
    yield a_call("Discrete.sample", actions.sample, lambda: next(kept))
    yield a_call("Box.sample", moves.sample, lambda: _RNG.uniform(-1, 1, 4).astype(np.float32))
    yield a_call("a Box made", lambda: Box(-1, 1, (4,), np.float32), lambda: moves)


def matrices() -> Iterator[Replacement]:
    for size in (8, 12, 24, 32, 64, 256):
        gram, x, others = np.eye(size), _RNG.random(size), _RNG.random((size, size))
        inverse = np.eye(size)

        def step(inverse: Any = inverse, x: Any = x) -> None:
            y = inverse @ x
            inverse - np.outer(y, y) / (1 + x @ y)

        yield a_call(
            f"{size} × {size} inverted after a row",
            lambda matrix=gram, x=x: np.linalg.inv(matrix + np.outer(x, x)),
            step,
        )
        yield a_call(
            f"{size} × {size} inverted to multiply",
            lambda matrix=gram, x=x: np.linalg.inv(matrix) @ x,
            lambda matrix=gram, x=x: np.linalg.solve(matrix, x),
        )
        yield a_call(
            f"{size} × {size} inverted to multiply a matrix",
            lambda matrix=gram, x=others: np.linalg.inv(matrix) @ x,
            lambda matrix=gram, x=others: np.linalg.solve(matrix, x),
        )
        yield a_call(
            f"pinv of {size} × {size} to multiply",
            lambda matrix=gram, x=x: np.linalg.pinv(matrix) @ x,
            lambda matrix=gram, x=x: np.linalg.lstsq(matrix, x)[0],
        )


def normal_vectors() -> Iterator[Replacement]:
    for size in (2, 16, 64):
        rows = _RNG.standard_normal((size, size))
        mean, covariance = np.zeros(size), rows @ rows.T + np.eye(size)
        factor = np.linalg.cholesky(covariance)
        for count in (1, 8, 32):
            yield a_call(
                f"{count} draws of multivariate_normal, {size} × {size}",
                lambda m=mean, c=covariance, n=count: [
                    _RNG.multivariate_normal(m, c) for _ in range(n)
                ],
                lambda m=mean, f=factor, n=count, d=size: [
                    m + f @ _RNG.standard_normal(d) for _ in range(n)
                ],
            )
        yield a_call(
            f"a draw with a covariance of its own, {size} × {size}",
            lambda m=mean, c=covariance: _RNG.multivariate_normal(m, c),
            lambda m=mean, c=covariance, d=size: (
                m + np.linalg.cholesky(c) @ _RNG.standard_normal(d)
            ),
        )


def whole_arrays() -> Iterator[Replacement]:
    for size in (16, 256):
        numbers, rows = _RNG.random(size), _RNG.random((size, 8))
        squash = np.vectorize(lambda number: number / (1 + abs(number)))
        yield a_call(
            f"np.vectorize on {size}",
            lambda array=numbers, f=squash: f(array),
            lambda array=numbers: array / (1 + np.abs(array)),
        )
        yield a_call(
            f"np.apply_along_axis on {size} rows",
            lambda matrix=rows: np.apply_along_axis(lambda row: row - row.mean(), 1, matrix),
            lambda matrix=rows: matrix - matrix.mean(axis=1, keepdims=True),
        )
        kernel = np.ones(5) / 5
        yield a_call(
            f"np.apply_along_axis on {size} rows, of a function of one row",
            lambda matrix=rows, k=kernel: np.apply_along_axis(np.convolve, 1, matrix, k, "same"),
            lambda matrix=rows, k=kernel: np.array([np.convolve(row, k, "same") for row in matrix]),
        )
        erf = np.vectorize(math.erf)
        yield a_call(
            f"np.vectorize on {size}, of a function of one number",
            lambda array=numbers, f=erf: f(array),
            lambda array=numbers: np.array([math.erf(number) for number in array.tolist()]),
        )
    for shape in ((3, 3), (8, 8)):
        board = np.zeros(shape, int)
        yield a_call(
            f"text of {shape[0]} × {shape[1]}", lambda grid=board: str(grid), board.tobytes
        )
        yield a_call(
            f"text of a list of {board.size}", lambda grid=board: str(grid.tolist()), board.tobytes
        )


def arrays_of_objects() -> Iterator[Replacement]:
    for size in (64, 1_440, 10_000):
        numbers = _RNG.random(size).astype(np.float32)
        objects = numbers.astype(object)
        work: dict[str, Callable[[Any], Any]] = {
            "arithmetic": lambda of: (of - 1.0) / 2.0,
            "the mean": lambda of: of.mean(),
            "the largest": lambda of: of.max(),
        }
        for what, does in work.items():
            yield a_call(
                f"{what} of {size} objects",
                lambda of=objects, does=does: does(of),
                lambda of=numbers, does=does: does(of),
            )


def generators() -> Iterator[Replacement]:
    kept = np.random.default_rng(0)
    yield a_call(
        "np.random.default_rng() and a number",
        lambda: np.random.default_rng().random(),
        kept.random,
    )
    yield a_call(
        "np.random.seed and a number",
        lambda: (np.random.seed(3), np.random.random()),
        np.random.random,
    )
    yield a_call(
        "torch.manual_seed and a number",
        lambda: (torch.manual_seed(3), torch.rand(())),
        lambda: torch.rand(()),
    )


def made_again() -> Iterator[Replacement]:
    for width in (32, 256):
        kept = network(8, width, 2)
        vector = nn.utils.parameters_to_vector(kept.parameters()).detach()
        yield a_call(
            f"2 layers of {width} made and loaded",
            lambda w=width, v=vector: nn.utils.vector_to_parameters(
                v, network(8, w, 2).parameters()
            ),
            lambda learner=kept, v=vector: nn.utils.vector_to_parameters(v, learner.parameters()),
        )
        optimizer = torch.optim.Adam(kept.parameters())
        yield a_call(
            f"Adam of 2 layers of {width}",
            lambda learner=kept: torch.optim.Adam(learner.parameters()),
            optimizer.state.clear,
        )


def distributions() -> Iterator[Replacement]:
    if not find_spec("scipy"):
        return
    from scipy.special import gammainc
    from scipy.stats import gamma, multivariate_normal, norm

    for size in (1, 8, 256, 100_000):
        x, mean = _RNG.random(size), _RNG.random(size)
        yield a_call(
            f"gamma.cdf of {size}", lambda x=x: gamma.cdf(x, 2.0), lambda x=x: gammainc(2.0, x)
        )
        yield a_call(
            f"norm.logpdf of {size}",
            lambda x=x, m=mean: norm.logpdf(x, m, 0.3),
            lambda x=x, m=mean: -(((x - m) / 0.3) ** 2) / 2 + 0.28503,
        )
        yield a_call(
            f"norm.rvs of {size}",
            lambda m=mean, n=size: norm.rvs(m, 0.3, n),
            lambda m=mean, n=size: m + 0.3 * _RNG.standard_normal(n),
        )

    mean, cov = np.zeros(6), np.eye(6)
    half = np.linalg.cholesky(cov)
    for rows in (1, 64, 4_096):
        inputs = _RNG.random((rows, 6))
        yield a_call(
            f"multivariate_normal.logpdf of {rows} × 6",
            lambda x=inputs: multivariate_normal.logpdf(x, mean, cov),
            lambda x=inputs: (
                -np.square(np.linalg.solve(half, x.T)).sum(0) / 2 - np.log(np.diag(half)).sum()
            ),
        )
        yield a_call(
            f"multivariate_normal.rvs of {rows} × 6",
            lambda n=rows: multivariate_normal.rvs(mean, cov, n),
            lambda n=rows: _RNG.standard_normal((n, 6)) @ half.T,
        )


def covariances() -> Iterator[Replacement]:
    for rows, numbers in (1, 2), (1, 8), (64, 3), (64, 20), (1_024, 6):
        mean, variance = torch.randn(rows, numbers), torch.full((numbers,), 0.25)
        matrices, actions = torch.diag_embed(variance.expand_as(mean)), torch.randn(rows, numbers)

        def full(mean: Any = mean, matrices: Any = matrices, actions: Any = actions) -> None:
            told = torch.distributions.MultivariateNormal(mean, matrices)
            told.sample(), told.log_prob(actions), told.entropy()

        def single(mean: Any = mean, variance: Any = variance, actions: Any = actions) -> None:
            each = torch.distributions.Normal(mean, variance.sqrt())
            told = torch.distributions.Independent(each, 1)
            told.sample(), told.log_prob(actions), told.entropy()

        yield a_call(f"a full covariance of {rows} × {numbers}", full, single)


def regressors() -> Iterator[Replacement]:
    if not find_spec("sklearn"):
        return
    from sklearn.linear_model import SGDRegressor

    for rows in (1, 64):
        inputs = _RNG.random((rows, 100))
        model = SGDRegressor().partial_fit(inputs, np.zeros(rows))
        yield a_call(
            f"SGDRegressor.predict of {rows} × 100",
            lambda features=inputs, m=model: m.predict(features),
            lambda features=inputs, m=model: features @ m.coef_ + m.intercept_,
        )


def standard_library() -> Iterator[Replacement]:
    for size in (10, 100, 1_000):
        rewards = _RNG.random(size).tolist()
        yield a_call(
            f"statistics.mean of {size}",
            lambda numbers=rewards: statistics.mean(numbers),
            lambda numbers=rewards: statistics.fmean(numbers),
        )
        yield a_call(
            f"statistics.stdev of {size}",
            lambda numbers=rewards: statistics.stdev(numbers),
            lambda numbers=rewards: np.std(numbers),
        )
    third, tenth = Fraction(1, 3), Fraction(1, 10)
    yield a_call("a sum of fractions", lambda: third + tenth, lambda: 0.3333 + 0.1)
    for size in (2, 10, 100):
        moment = Moment([0.5] * size, 1, 0.0)
        yield a_call(
            f"asdict with a list of {size}",
            lambda transition=moment: asdict(transition),
            lambda transition=moment: {
                "seen": transition.seen,
                "action": transition.action,
                "reward": transition.reward,
                "info": transition.info,
            },
        )
        yield a_call(
            f"astuple with a list of {size}",
            lambda transition=moment: astuple(transition),
            lambda transition=moment: (
                transition.seen,
                transition.action,
                transition.reward,
                transition.info,
            ),
        )
    yield a_call(
        "inspect.stack()[1]",
        lambda: inspect.stack()[1].function,
        lambda: sys._getframe(1).f_code.co_name,
    )
    yield a_call("a date", lambda: datetime.strptime("2026-11-24", "%Y-%m-%d"), lambda: 3)
    words = {f"go to room {number}": number for number in range(20)}
    yield a_call(
        "get_close_matches",
        lambda: difflib.get_close_matches("go to room 7", words, 1),
        lambda: words.get("go to room 7"),
    )


@dataclass
class Moment:
    seen: list[float]
    action: int
    reward: float
    info: dict[str, int] = field(default_factory=dict)


def texts() -> Iterator[Replacement]:
    for size in (10, 1_000):
        array = _RNG.random(size)
        written = json.dumps(array.tolist())
        raw = array.tobytes()
        yield a_call(
            f"JSON of {size} numbers written",
            lambda numbers=array: json.dumps(numbers.tolist()),
            array.tobytes,
        )
        yield a_call(
            f"JSON of {size} numbers read",
            lambda text=written: np.array(json.loads(text)),
            lambda data=raw: np.frombuffer(data),
        )
    frame = _RNG.integers(0, 255, (84, 84), dtype=np.uint8)
    frame[:40] = 0
    packed = zlib.compress(frame)
    yield a_call(
        "a frame compressed, level 6", lambda: zlib.compress(frame.tobytes(), 6), frame.tobytes
    )
    yield a_call(
        "a frame compressed, level 1",
        lambda: zlib.compress(frame.tobytes(), 6),
        lambda: zlib.compress(frame.tobytes(), 1),
    )
    yield a_call("a frame decompressed", lambda: zlib.decompress(packed), frame.tobytes)
    for module in (gzip, bz2, lzma):
        yield a_call(
            f"a frame compressed by {module.__name__}",
            lambda m=module: m.compress(frame.tobytes()),
            frame.tobytes,
        )
    table = {str(number): {"gain": number / 2, "text": "x" * 10} for number in range(200)}
    as_json, as_pickle = json.dumps(table), pickle.dumps(table)
    yield a_call(
        "JSON of a dictionary written", lambda: json.dumps(table), lambda: pickle.dumps(table)
    )
    yield a_call(
        "JSON of a dictionary read", lambda: json.loads(as_json), lambda: pickle.loads(as_pickle)
    )
    if find_spec("yaml"):
        import yaml

        settings = yaml.safe_dump({"rate": 0.1, "layers": [64, 64], "env": {"size": 8}})
        kept = yaml.safe_load(settings)
        yield a_call(
            "YAML of three settings", lambda: yaml.safe_load(settings), lambda: kept["rate"]
        )


def graphs() -> Iterator[Replacement]:
    if find_spec("networkx"):
        import networkx

        grid = networkx.grid_2d_graph(12, 12)

        def length(here: Any, there: Any) -> Any:
            return networkx.shortest_path_length(grid, here, there)

        kept = lru_cache(maxsize=None)(length)
        yield a_call(
            "NetworkX: a way on a grid",
            lambda: length((0, 0), (5, 7)),
            lambda: kept((0, 0), (5, 7)),
        )
    if find_spec("sympy"):
        import sympy

        x = sympy.Symbol("x")
        formula = sympy.sin(x) ** 2 + 3 * x
        compiled = sympy.lambdify(x, formula, "math")
        yield a_call("SymPy: a formula", lambda: float(formula.subs(x, 0.3)), lambda: compiled(0.3))


def figures() -> Iterator[Replacement]:
    if not find_spec("matplotlib"):
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    history, written = _RNG.random(200).tolist(), io.StringIO()

    def draw() -> None:
        figure, axes = pyplot.subplots()
        axes.plot(history)
        figure.savefig(io.BytesIO())
        pyplot.close(figure)

    yield a_call("a figure, or its number written", draw, lambda: written.write("0.3\n"))


def managers() -> Iterator[Replacement]:
    manager = multiprocessing.Manager()
    shared = manager.dict({(row, column): 0.0 for row in range(50) for column in range(4)})
    own = dict(shared)
    yield a_call("a value of a manager's dictionary", lambda: shared[3, 1], lambda: own[3, 1])


def streams() -> Iterator[Replacement]:
    for kind, queue in (("a queue", multiprocessing.Queue()), ("a pipe", multiprocessing.Pipe())):
        put, get = (
            (queue[0].send, queue[1].recv) if isinstance(queue, tuple) else (queue.put, queue.get)
        )
        rows = [(np.zeros(4, np.float32), 1, 1.0, np.zeros(4, np.float32), False)] * 32

        def one_by_one(put: Any = put, get: Any = get, rows: Any = rows) -> None:
            for row in rows:
                put(row)
            for _ in rows:
                get()

        def at_once(put: Any = put, get: Any = get, rows: Any = rows) -> None:
            put(rows)
            get()

        yield Replacement(
            "ipc-per-step", f"32 rows of 225 bytes through {kind}", one_by_one, at_once
        )


def precisions() -> Iterator[Replacement]:
    shapes = (64, 1), (64, 32), (16, 256), (64, 128), (64, 256), (128, 128), (128, 256), (256, 128)
    for width, rows in shapes:
        steps = []
        for dtype in (torch.float64, torch.float32):
            trained = network(8, width, 2).to(dtype)
            optimizer = torch.optim.Adam(trained.parameters(), lr=1e-5, fused=True)
            inputs = torch.randn(rows, 8, dtype=dtype)

            def step(
                trained: Any = trained, optimizer: Any = optimizer, inputs: Any = inputs
            ) -> None:
                optimizer.zero_grad()
                (trained(inputs) ** 2).mean().backward()
                optimizer.step()

            steps.append(step)
        yield Replacement("fp64", f"an update of 2 layers of {width} on {rows} rows", *steps)


CASES = (
    *(
        pandas_tables,
        lists,
        identities,
        picks,
        sorted_lists,
        ranked_arrays,
        sorted_arrays,
        nuclei,
        texts_of_rows,
        spaces,
    ),
    *(matrices, normal_vectors, whole_arrays, arrays_of_objects, generators, made_again),
    *(
        distributions,
        covariances,
        regressors,
        standard_library,
        texts,
        graphs,
        figures,
        managers,
        streams,
        precisions,
    ),
)
