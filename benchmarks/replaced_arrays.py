"""Lines that work on numbers and arrays of numpy, and what takes their place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from replacement import GAMMA, Replacement


def numpy_recursions() -> Iterator[Replacement]:
    for length in (16, 128, 2048):
        gains = np.random.default_rng(0).random(length, dtype=np.float32)
        for how, instead in (("lists", to_go_by_lists), ("np.cumsum", to_go_without_discount)):
            yield Replacement(
                "gae-loop",
                f"{length} numbers of numpy, {how}",
                lambda numbers=gains: to_go(numbers, np.zeros_like(numbers)),
                lambda numbers=gains, instead=instead: instead(numbers),
            )


def to_go(gains: Any, found: Any) -> Any:
    found[-1] = gains[-1]
    for t in reversed(range(len(gains) - 1)):
        found[t] = gains[t] + GAMMA * found[t + 1]
    return found


def to_go_by_lists(gains: Any) -> Any:
    numbers = gains.tolist()
    return np.array(to_go(numbers, [0.0] * len(numbers)), dtype=np.float32)


def to_go_without_discount(gains: Any) -> Any:
    return np.cumsum(gains[::-1])[::-1]


def batches_by_row() -> Iterator[Replacement]:
    for rows, width in ((32, 4), (256, 4), (256, 64), (64, 7056)):
        rng = np.random.default_rng(0)
        kept = rng.random((2_000, width), dtype=np.float32)
        goals = rng.random((2_000, 2), dtype=np.float32)
        yield Replacement(
            "replay-sampling",
            f"{rows} rows of {width} appended",
            lambda args=(kept, goals, rows, rng): row_by_row(*args),
            lambda args=(kept, goals, rows, rng): all_rows(*args),
        )


def row_by_row(kept: Any, goals: Any, count: int, rng: Any) -> Any:
    inputs, gains = [], []
    for _ in range(count):
        place = rng.integers(len(kept))
        goal = goals[place]
        if rng.random() < 0.8:
            goal = goals[rng.integers(place, len(kept))]
        inputs.append(np.concatenate([kept[place], goal]))
        gains.append(-float(np.square(goal - goals[place]).sum() > 0.1))
    return np.array(inputs), np.array(gains, dtype=np.float32)


def all_rows(kept: Any, goals: Any, count: int, rng: Any) -> Any:
    places = rng.integers(len(kept), size=count)
    others = rng.integers(places, len(kept))
    relabelled = (rng.random(count) < 0.8)[:, None]
    goal = np.where(relabelled, goals[others], goals[places])
    gains = -(np.square(goal - goals[places]).sum(1) > 0.1).astype(np.float32)
    return np.concatenate([kept[places], goal], 1), gains


def running_sums() -> Iterator[Replacement]:
    for size in (256, 4096):
        rng = np.random.default_rng(0)
        weights = rng.random(size)
        listed, heaped = weights.tolist(), float(weights.sum())
        for count in (1, 64):
            marks = rng.random(count) * heaped
            yield Replacement(
                "replay-sampling",
                f"{count} places among {size} weights searched",
                lambda priorities=listed, marks=marks: [
                    place_of(priorities, mark) for mark in marks
                ],
                lambda priorities=weights, marks=marks: np.searchsorted(
                    np.cumsum(priorities), marks
                ),
            )


def place_of(weights: Any, mark: float) -> int:
    for place in range(len(weights)):
        mark -= weights[place]
        if mark <= 0:
            return place
    return len(weights) - 1


def sum_trees() -> Iterator[Replacement]:
    rng = np.random.default_rng(0)
    for items, count in itertools.product((1_024, 8_192, 131_072), (32, 64, 256)):
        tree = np.zeros(2 * items)
        tree[items:] = rng.random(items)
        for node in range(items - 1, 0, -1):
            tree[node] = tree[2 * node] + tree[2 * node + 1]
        marks, priorities = rng.random(count) * tree[1], rng.random(count)
        nodes = rng.integers(items, 2 * items, size=count)
        for kind, walked in (("an array", tree.copy()), ("a list", tree.tolist())):
            yield Replacement(
                "replay-sampling",
                f"{count} walks down a tree of {items} items in {kind}",
                lambda tree=walked, marks=marks: [down(tree, mark) for mark in marks.tolist()],
                lambda tree=tree, marks=marks: all_down(tree, marks),
            )
            yield Replacement(
                "replay-sampling",
                f"{count} walks up a tree of {items} items in {kind}",
                lambda tree=walked, nodes=nodes, priorities=priorities: [
                    up(tree, *pair)
                    for pair in zip(nodes.tolist(), priorities.tolist(), strict=True)
                ],
                lambda tree=tree, nodes=nodes, priorities=priorities: all_up(
                    tree, nodes, priorities
                ),
            )


def down(tree: Any, mark: float) -> int:
    node = 1
    while 2 * node < len(tree):
        node *= 2
        if mark > tree[node]:
            mark -= tree[node]
            node += 1
    return node


def all_down(tree: Any, marks: Any) -> Any:
    node = np.ones(len(marks), np.int64)
    for _ in range(len(tree).bit_length() - 2):
        node = 2 * node
        left = tree[node]
        right = marks > left
        marks = marks - right * left
        node = node + right
    return node


def up(tree: Any, node: int, priority: float) -> None:
    change = priority - tree[node]
    while node:
        tree[node] += change
        node //= 2


def all_up(tree: Any, node: Any, priorities: Any) -> None:
    tree[node] = priorities
    for _ in range(len(tree).bit_length() - 2):
        node = node // 2
        tree[node] = tree[2 * node] + tree[2 * node + 1]


def numpy_loops() -> Iterator[Replacement]:
    for turns in (16, 64, 512):
        numbers = np.random.default_rng(0).random(turns)
        points = np.random.default_rng(0).random((turns, 2))
        yield Replacement(
            "python-loop-over-tensor",
            f"{turns} numbers of numpy scaled",
            lambda array=numbers: one_by_one(array),
            lambda array=numbers: np.exp(-0.5 * array) * array,
        )
        yield Replacement(
            "python-loop-over-tensor",
            f"{turns} rows of 2 of numpy measured",
            lambda rows=points: [np.linalg.norm(rows[k] - 0.5) for k in range(len(rows))],
            lambda rows=points: np.sqrt(((rows - 0.5) ** 2).sum(axis=1)),
        )
        yield Replacement(
            "python-loop-over-tensor",
            f"{turns} numbers of numpy taken out of a loop",
            lambda array=numbers: sum(array[k] for k in range(len(array))),
            lambda array=numbers: sum(array.tolist()),
        )


def one_by_one(numbers: Any) -> Any:
    found = np.empty_like(numbers)
    for k in range(len(numbers)):
        found[k] = np.exp(-0.5 * numbers[k]) * numbers[k]
    return found


def number_loops() -> Iterator[Replacement]:
    for count, places in ((64, 512), (128, 1944), (256, 256), (400, 1944), (1000, 8000)):
        weights, sparse = np.zeros(places), dict.fromkeys(range(count), 1.0)
        own, dense = [0.0] * places, np.zeros(places)
        numbers = [float(number) for number in range(count)]
        array = np.array(numbers)

        def of_a_dict(weights: Any = weights, traces: Any = sparse) -> None:
            for key, trace in traces.items():
                weights[key] += 0.1 * trace
                traces[key] = trace * 0.99999

        def of_lists(weights: Any = own, traces: Any = sparse) -> None:
            for key in traces:
                weights[key] += 0.1 * traces[key]
                traces[key] *= 0.99999

        def of_arrays(weights: Any = weights, traces: Any = dense) -> None:
            weights += 0.1 * traces
            traces *= 0.99999

        for what, now in (("an array", of_a_dict), ("a list", of_lists)):
            what = f"{count} traces in a dict, weights of {places} in {what}"
            yield Replacement("number-loop", what, now, of_arrays)
        yield Replacement(
            "number-loop",
            f"{count} numbers of a list less their mean",
            lambda values=numbers: [(each - 3.0) / 2.5 for each in values],
            lambda vector=array: (vector - 3.0) / 2.5,
        )


def suffix_sums() -> Iterator[Replacement]:
    for steps in (16, 64, 512):
        rewards = np.random.default_rng(0).random(steps).tolist()

        def anew(given: list[float] = rewards) -> list[float]:
            return [
                sum(0.99 ** (k - t) * given[k] for k in range(t, len(given)))
                for t in range(len(given))
            ]

        def at_once(given: list[float] = rewards) -> list[float]:
            totals, total = [], 0.0
            for reward in reversed(given):
                total = reward + 0.99 * total
                totals.append(total)
            return totals[::-1]

        yield Replacement("gae-loop", f"returns of {steps} steps, added up anew", anew, at_once)


def sparse_products() -> Iterator[Replacement]:
    rng = np.random.default_rng(0)
    for size, actions in ((600, 4), (2_000, 5), (18_000, 5)):
        weights = rng.random((actions, size))
        active = np.sort(rng.choice(size, 8, replace=False))
        features = np.zeros(size)
        features[active] = 1.0
        yield Replacement(
            "mostly-zeros",
            f"{actions} values by 8 of {size} features",
            lambda table=weights, row=features: table @ row,
            lambda table=weights, at=active: table[:, at].sum(axis=1),
        )
        yield Replacement(
            "mostly-zeros",
            f"weights of 8 of {size} features moved",
            lambda table=weights, row=features: table[1].__iadd__(0.1 * row),
            lambda table=weights, at=active: table[1].__setitem__(at, table[1][at] + 0.1),
        )


def faded_products() -> Iterator[Replacement]:
    rng = np.random.default_rng(0)
    for size in (512, 4_096, 65_000):
        for part in (0.05, 0.3):
            faded = rng.random(size).astype(np.float32)
            is_faded = rng.random(size) < part
            faded[is_faded] = 1e-40
            cut = np.where(is_faded, np.float32(0.0), faded)
            yield Replacement(
                "denormals",
                f"{size} numbers with {part:.0%} denormal",
                lambda row=faded: row * np.float32(0.95),
                lambda row=cut: row * np.float32(0.95),
            )


def table_sweeps() -> Iterator[Replacement]:
    rng = np.random.default_rng(0)
    for states, actions, many in ((16, 4, 3), (64, 4, 3), (100, 4, 100), (500, 6, 1), (1000, 4, 5)):
        after = rng.integers(states, size=(states, actions, many))
        odds = rng.dirichlet(np.ones(many), (states, actions))
        gains = rng.random((states, actions, many))
        rewards = (odds * gains).sum(2)
        table = [
            [
                list(
                    zip(
                        *(field[state, action].tolist() for field in (odds, after, gains)),
                        strict=True,
                    )
                )
                for action in range(actions)
            ]
            for state in range(states)
        ]
        array = np.zeros(states)

        def one_by_one(values: Any, table: Any = table) -> list[float]:
            new = []
            for state in table:
                best = -np.inf
                for outcomes in state:
                    q = 0.0
                    for odd, then, gain in outcomes:
                        q += odd * (gain + GAMMA * values[then])
                    best = max(best, q)
                new.append(best)
            return new

        def at_once(r: Any = rewards, p: Any = odds, n: Any = after, v: Any = array) -> Any:
            return (r + GAMMA * (p * v[n]).sum(2)).max(1)

        for what, values in (("an array", array), ("a list", [0.0] * states)):
            yield Replacement(
                "table-sweep",
                f"{states} states, {actions} actions, {many} transitions, values in {what}",
                lambda f=one_by_one, v=values: f(v),
                at_once,
            )


def history_sums() -> Iterator[Replacement]:
    """One more number, and the mean of all: anew, and from a sum that is kept; the same with the deviation."""
    for count in (200, 1_000, 5_000):
        history = [0.1 * i for i in range(count)]
        kept = {
            "n": count,
            "sum": sum(history),
            "squares": sum(number * number for number in history),
        }

        def running(value: float = 0.5, kept: dict[str, float] = kept) -> float:
            kept["n"] += 1
            kept["sum"] += value
            return kept["sum"] / kept["n"]

        def both(value: float = 0.5, kept: dict[str, float] = kept) -> tuple[float, float]:
            mean = running(value, kept)
            kept["squares"] += value * value
            return mean, abs(kept["squares"] / kept["n"] - mean * mean) ** 0.5

        for what, now, instead in (
            ("np.mean of a list", lambda numbers=history: np.mean(numbers), running),
            ("sum of a list", lambda numbers=history: sum(numbers) / len(numbers), running),
            (
                "np.mean and np.std of a list",
                lambda numbers=history: (np.mean(numbers), np.std(numbers)),
                both,
            ),
        ):
            yield Replacement("history-statistics", f"{what} of {count} numbers", now, instead)
    yield from sums_of_arrays()


def sums_of_arrays() -> Iterator[Replacement]:
    """The same of a replay buffer's array, in which one row takes the place of the oldest."""
    for rows, width in itertools.product((2_000, 20_000, 100_000), (1, 4, 50)):
        array = np.random.rand(rows, width).astype(np.float32)
        row, oldest = array[3].copy(), array[4].copy()
        total, squares = array.sum(0, dtype=float), np.square(array).sum(0, dtype=float)

        def mean(n: int = rows, s: Any = total, x: Any = row, y: Any = oldest) -> Any:
            return (s + x - y) / n

        def both(
            n: int = rows, s: Any = squares, x: Any = row, y: Any = oldest, m: Any = mean
        ) -> Any:
            known = m()
            return known, np.sqrt((s + x * x - y * y) / n - known * known)

        what = f"{rows} rows of {width}"
        yield Replacement("history-statistics", f"mean of {what}", lambda a=array: a.mean(0), mean)
        yield Replacement(
            "history-statistics",
            f"mean and deviation of {what}",
            lambda a=array: (a.mean(0), a.std(0)),
            both,
        )


def small_arrays_in_a_loop() -> Iterator[Replacement]:
    for items in (32, 200, 1_000):
        for numbers in (2, 10, 256):
            rows = np.random.default_rng(0).random((items, numbers))
            listed, x = list(rows), rows[0].copy()
            yield Replacement(
                "numpy-tiny-ops",
                f"distances to {items} arrays of {numbers}, in a list",
                lambda arrays=listed, x=x: [np.linalg.norm(x - row) for row in arrays],
                lambda arrays=listed, x=x: np.linalg.norm(np.array(arrays) - x, axis=1),
            )
            yield Replacement(
                "numpy-tiny-ops",
                f"distances to {items} arrays of {numbers}, rows of one",
                lambda arrays=listed, x=x: [np.linalg.norm(x - row) for row in arrays],
                lambda matrix=rows, x=x: np.linalg.norm(matrix - x, axis=1),
            )
            yield Replacement(
                "numpy-tiny-ops",
                f"largest of {items} arrays of {numbers}, in a list",
                lambda arrays=listed: [row.max() for row in arrays],
                lambda arrays=listed: np.array(arrays).max(axis=1),
            )
            yield Replacement(
                "numpy-tiny-ops",
                f"nearest of {items} arrays of {numbers} by a key, in a list",
                lambda arrays=listed, x=x: min(arrays, key=lambda row: np.linalg.norm(row - x)),
                lambda arrays=listed, x=x: arrays[
                    np.linalg.norm(np.array(arrays) - x, axis=1).argmin()
                ],
            )
        for numbers in (2, 10, 64, 256):
            listed = list(np.random.default_rng(0).random((items, numbers)))
            x = listed[0].copy()
            for what, now, instead in (
                ("differences", lambda row, x: row - x, lambda rows, x: rows - x),
                ("products", lambda row, x: np.dot(row, x), lambda rows, x: rows @ x),
                ("tanh", lambda row, _: np.tanh(row), lambda rows, _: np.tanh(rows)),
            ):
                yield Replacement(
                    "numpy-tiny-ops",
                    f"{what} of {items} arrays of {numbers}, in a list",
                    lambda arrays=listed, x=x, now=now: [now(row, x) for row in arrays],
                    lambda arrays=listed, x=x, instead=instead: instead(np.array(arrays), x),
                )


def a_few_numbers() -> Iterator[Replacement]:
    """Arrays of a few numbers, or lists that are gone through item by item."""
    for numbers in (1, 2, 3, 4, 8):
        x, y = np.random.default_rng(0).random((2, numbers))
        xs, ys = x.tolist(), y.tolist()
        for what, now, instead in (
            ("0.9 * x + 0.1 * y", lambda x, y: 0.9 * x + 0.1 * y, lambda x, y: [0.9 * a + 0.1 * b for a, b in zip(x, y, strict=True)]),
            ("np.sin", lambda x, _: np.sin(x), lambda x, _: [math.sin(a) for a in x]),
            ("np.clip", lambda x, _: np.clip(x, -1, 1), lambda x, _: [min(max(a, -1), 1) for a in x]),
            ("np.mean", lambda x, _: np.mean(x), lambda x, _: sum(x) / len(x)),
            ("np.linalg.norm", lambda x, _: np.linalg.norm(x), lambda x, _: math.hypot(*x)),
        ):  # fmt: skip
            yield Replacement(
                "numpy-tiny-ops",
                f"{what} of {numbers}, plain Python",
                lambda x=x, y=y, now=now: now(x, y),
                lambda x=xs, y=ys, instead=instead: instead(x, y),
            )


def dense_traces() -> Iterator[Replacement]:
    """Traces of a whole table, and of the last hundred entries that were visited."""
    for numbers in (10_000, 50_000, 200_000):
        table, traces = np.zeros((numbers // 4, 4)), np.zeros((numbers // 4, 4))
        visited = np.random.default_rng(0).integers(0, numbers, 100)
        flat, short = table.reshape(-1), np.zeros(100)

        def now(table: np.ndarray = table, traces: np.ndarray = traces) -> None:
            traces *= 0.9
            traces[7, 1] += 1.0
            table += 0.1 * 0.5 * traces

        def instead(
            flat: np.ndarray = flat, short: np.ndarray = short, visited: np.ndarray = visited
        ) -> None:
            short *= 0.9
            visited[3], short[3] = 29, 1.0
            flat[visited] += 0.1 * 0.5 * short

        yield Replacement(
            "dense-traces", f"traces of {numbers} numbers, faded and added", now, instead
        )


CASES = (
    *(numpy_recursions, batches_by_row, running_sums, sum_trees, numpy_loops),
    *(a_few_numbers, small_arrays_in_a_loop, number_loops, suffix_sums),
    *(sparse_products, faded_products, table_sweeps, history_sums, dense_traces),
)
