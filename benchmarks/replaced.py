"""Lines that work with torch, and what takes their place."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from replacement import GAMMA, Replacement, network
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LAMBDA = 0.95
TAU = 0.005


def tensors_of_lists() -> Iterator[Replacement]:
    for rows, width in ((32, 4), (128, 4), (128, 64)):
        items = [np.random.randn(width).astype(np.float32) for _ in range(rows)]
        yield Replacement(
            "tensor-from-list",
            f"{rows} arrays of {width}",
            lambda items=items: torch.tensor(items),
            lambda items=items: torch.as_tensor(np.array(items)),
        )
    for length in (5, 16, 64, 128, 2048):
        numbers = np.random.randn(length).tolist()
        for dtype in (None, torch.float32):
            yield Replacement(
                "tensor-from-list",
                f"{length} floats, {dtype or 'no dtype'}",
                lambda numbers=numbers, dtype=dtype: torch.tensor(numbers, dtype=dtype),
                lambda numbers=numbers: torch.as_tensor(np.array(numbers, dtype=np.float32)),
            )
    for length in (64, 2048):
        tensors = [torch.randn(4) for _ in range(length)]
        whole = torch.stack(tensors)
        yield Replacement(
            "tensor-from-list",
            f"{length} tensors of 4 stacked, or stacked before",
            lambda tensors=tensors: torch.stack(tensors),
            lambda whole=whole: whole.detach(),
        )


def distributions() -> Iterator[Replacement]:
    logits, mean, scale = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16, 4) + 0.1
    for name, made in (
        (
            "Categorical",
            lambda checks: torch.distributions.Categorical(logits=logits, validate_args=checks),
        ),
        ("Normal", lambda checks: torch.distributions.Normal(mean, scale, validate_args=checks)),
    ):
        checked, unchecked = made(True), made(False)
        value = checked.sample()
        yield Replacement(
            "distribution-validation",
            f"{name}, made",
            lambda m=made: m(True),
            lambda m=made: m(False),
        )
        yield Replacement(
            "distribution-validation",
            f"{name}.log_prob",
            lambda d=checked, v=value: d.log_prob(v),
            lambda d=unchecked, v=value: d.log_prob(v),
        )


def stores() -> Iterator[Replacement]:
    capacity, batch = 50_000, 128
    wide = [np.zeros((capacity, 3), dtype=np.float32) for _ in range(2)]
    narrow = [np.zeros((capacity, 1), dtype=np.float32) for _ in range(3)]
    rollout = [((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), 0.3, -1.0, False)] * batch

    def one_by_one() -> None:
        for at, fields in enumerate(rollout):
            for array, field in zip((*wide, *narrow), fields, strict=True):
                array[at] = field

    def at_once() -> None:
        at = np.arange(batch) % capacity
        fields = list(zip(*rollout, strict=True))
        for array, field in zip(wide, fields[:2], strict=True):
            array[at] = field
        for array, field in zip(narrow, fields[2:], strict=True):
            array[at, 0] = field

    yield Replacement(
        "lock-contention", "128 transitions of five fields stored", one_by_one, at_once
    )


def recursions() -> Iterator[Replacement]:
    for length, width in ((128, 1), (128, 16), (128, 64), (2048, 16), (128, 1024)):
        rewards, values = torch.randn(length, width), torch.randn(length + 1, width)
        going_on = (torch.rand(length, width) > 0.05).float()
        rows = (rewards, values, going_on)
        arrays = tuple(row.numpy() for row in rows)
        for how, instead in (("numpy", advantages), ("columns", advantages_by_columns)):
            yield Replacement(
                "gae-loop",
                f"{length} rows of {width}, {how}",
                lambda rows=rows: advantages(*rows, torch.zeros_like(rows[0])),
                lambda arrays=arrays, instead=instead: torch.from_numpy(
                    instead(*arrays, np.zeros_like(arrays[0]))
                ),
            )


def advantages(rewards: Any, values: Any, going_on: Any, found: Any) -> Any:
    """Of tensors or of arrays."""
    last = 0.0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + GAMMA * values[t + 1] * going_on[t] - values[t]
        last = delta + GAMMA * LAMBDA * going_on[t] * last
        found[t] = last
    return found


def advantages_by_columns(rewards: Any, values: Any, going_on: Any, found: Any) -> Any:
    found[:] = rewards + GAMMA * values[1:] * going_on - values[:-1]
    kept = GAMMA * LAMBDA * going_on
    for t in range(len(rewards) - 2, -1, -1):
        found[t] += kept[t] * found[t + 1]
    return found


def loops() -> Iterator[Replacement]:
    for turns in (16, 128, 2048):
        numbers = torch.rand(turns)
        yield Replacement(
            "python-loop-over-tensor",
            f"{turns} numbers read",
            lambda tensor=numbers: [tensor[i].item() for i in range(len(tensor))],
            numbers.tolist,
        )
        yield Replacement(
            "python-loop-over-tensor",
            f"{turns} numbers squared and summed",
            lambda tensor=numbers: sum(tensor[i] ** 2 for i in range(len(tensor))),
            lambda tensor=numbers: (tensor**2).sum(),
        )
    for turns, width in ((16, 64), (128, 64), (128, 1024)):
        rows = torch.rand(turns, width)
        yield Replacement(
            "python-loop-over-tensor",
            f"{turns} rows of {width} centred",
            lambda tensor=rows: torch.stack([row - row.mean() for row in tensor]),
            lambda tensor=rows: tensor - tensor.mean(dim=1, keepdim=True),
        )


def checks_for_nan() -> Iterator[Replacement]:
    """Backward passes in autograd's anomaly mode, and without."""
    picture = [nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU()]
    picture += [nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512)]
    for what, learner, inputs in (
        ("2 layers of 32, 32 rows", network(8, 32, 2), torch.randn(32, 8)),
        ("2 layers of 64, 128 rows", network(8, 64, 2), torch.randn(128, 8)),
        ("2 layers of 256, 256 rows", network(8, 256, 2), torch.randn(256, 8)),
        ("2 layers of 64, 8 192 rows", network(8, 64, 2), torch.randn(8192, 8)),
        ("3 layers of 1 024, 256 rows", network(8, 1024, 3), torch.randn(256, 8)),
        ("3 convolutions, 32 pictures", nn.Sequential(*picture), torch.randn(32, 4, 84, 84)),
    ):
        loss = learner(inputs).square().mean()

        def backward(is_on: bool, loss: Any = loss) -> None:
            with torch.autograd.set_detect_anomaly(is_on):
                loss.backward(retain_graph=True)

        yield Replacement(
            "debug-modes",
            f"backward pass of {what}",
            lambda backward_pass=backward: backward_pass(True),
            lambda backward_pass=backward: backward_pass(False),
        )


def loaded_batches() -> Iterator[Replacement]:
    """An epoch of a DataLoader without workers over tensors in memory, and the same rows indexed."""
    for size in (32, 256):
        for width in (4, 64, 1_024, 2_048, 4_096, 12_288):
            rows = 4 * size
            fields = [torch.randn(rows, width), torch.randn(rows, 2), torch.randn(rows)]
            loader = DataLoader(TensorDataset(*fields), batch_size=size, shuffle=True)

            def indexed(fields: Any = fields, rows: int = rows, size: int = size) -> None:
                for some in torch.randperm(rows).split(size):
                    [field[some] for field in fields]

            yield Replacement(
                "replay-sampling",
                f"a DataLoader, batches of {size} rows of {width}",
                lambda batches=loader: list(batches),
                indexed,
            )


def acting() -> Iterator[Replacement]:
    picture = [nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU()]
    picture += [nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512)]
    for what, policy, observation in (
        ("2 layers of 64, 1 observation", network(8, 64, 2), torch.randn(1, 8)),
        ("2 layers of 64, 16 observations", network(8, 64, 2), torch.randn(16, 8)),
        ("2 layers of 256, 1 observation", network(8, 256, 2), torch.randn(1, 8)),
        ("2 layers of 256, 64 observations", network(8, 256, 2), torch.randn(64, 8)),
        ("3 convolutions, 1 picture", nn.Sequential(*picture), torch.randn(1, 4, 84, 84)),
    ):
        for how, off in (("no_grad", torch.no_grad), ("inference_mode", torch.inference_mode)):
            yield Replacement(
                "grads-in-rollout",
                f"{what}, {how}",
                lambda policy=policy, observations=observation: policy(observations),
                off()(lambda policy=policy, observations=observation: policy(observations)),
            )


def optimizer_steps() -> Iterator[Replacement]:
    for what, trained in (
        ("2 layers of 64", network(8, 64, 2)),
        ("2 layers of 256", network(8, 256, 2)),
        ("9 layers of 64", network(8, 64, 9)),
        ("3 layers of 1024", network(376, 1024, 3)),
    ):
        for name, make, options in (
            ("Adam", torch.optim.Adam, {}),
            ("AdamW", torch.optim.AdamW, {}),
            ("SGD, momentum", torch.optim.SGD, {"momentum": 0.9}),
            ("SGD", torch.optim.SGD, {}),
            ("Adagrad", torch.optim.Adagrad, {}),
            ("RMSprop", torch.optim.RMSprop, {}),
            (
                "RMSprop, centered, momentum",
                torch.optim.RMSprop,
                {"centered": True, "momentum": 0.9},
            ),
        ):
            steps = []
            # torch has no fused RMSprop.
            option = "foreach" if make is torch.optim.RMSprop else "fused"
            for is_one in (None, True):
                own = copy.deepcopy(trained)
                for parameter in own.parameters():
                    parameter.grad = 0.01 * torch.randn_like(parameter)
                steps.append(make(own.parameters(), lr=1e-5, **{option: is_one}, **options).step)
            yield Replacement("optimizer-not-fused", f"{name}, {what}", *steps)


def target_updates() -> Iterator[Replacement]:
    for what, fast in (
        ("2 layers of 64", network(8, 64, 2)),
        ("2 layers of 256", network(8, 256, 2)),
        ("3 layers of 1024", network(376, 1024, 3)),
        ("3 layers of 2048", network(376, 2048, 3)),
    ):
        slow = copy.deepcopy(fast)
        pairs = list(zip(slow.parameters(), fast.parameters(), strict=True))
        lists = [[parameter.data for parameter in column] for column in zip(*pairs, strict=True)]
        for how, move in (
            ("copy_ of a sum", lambda s, f: s.copy_(TAU * f + (1 - TAU) * s)),
            ("mul_ and add_", lambda s, f: s.mul_(1 - TAU).add_(TAU * f)),
            ("mul_ and add_ with alpha", lambda s, f: s.mul_(1 - TAU).add_(f, alpha=TAU)),
            ("lerp_", lambda s, f: s.lerp_(f, TAU)),
        ):
            yield Replacement(
                "target-update-per-parameter",
                f"{how}, {what}",
                lambda s=slow, f=fast, move=move: [
                    move(a.data, b.data)
                    for a, b in zip(s.parameters(), f.parameters(), strict=True)
                ],
                lambda lists=lists: torch._foreach_lerp_(*lists, TAU),
            )


class Game:
    """A position of a game: numbers, two arrays, and rows of lists of which a part is never written."""

    def __init__(self, rows: int) -> None:
        self.walls = [[0] * rows for _ in range(rows)]
        self.board = np.zeros((rows, rows))
        self.velocity = np.zeros(rows)
        self.pieces = [[row, row] for row in range(rows)]
        self.score = 0.0

    def clone(self) -> Game:
        other = Game.__new__(Game)
        other.walls = self.walls
        other.board = self.board.copy()
        other.velocity = self.velocity.copy()
        other.pieces = [[*piece] for piece in self.pieces]
        other.score = self.score
        return other


def copies() -> Iterator[Replacement]:
    for rows in (4, 12, 40):
        game = Game(rows)
        yield Replacement(
            "deepcopy-in-loop",
            f"a game of {rows} rows, its own copy",
            lambda game=game: copy.deepcopy(game),
            game.clone,
        )


def joins() -> Iterator[Replacement]:
    for rows, width in ((100, 4), (1000, 8), (4000, 64)):
        kept, row = np.zeros((rows, width)), np.zeros(width)
        yield Replacement(
            "growing-array",
            f"{rows} rows of {width}, a row written",
            lambda kept=kept, row=row: np.concatenate([kept, row[None]]),
            lambda kept=kept, row=row: kept.__setitem__(7, row),
        )


def ensembles() -> Iterator[Replacement]:
    for count, width, rows in itertools.product((3, 10), (32, 64, 128, 256), (32, 128, 256)):
        networks = [network(8, width, 2) for _ in range(count)]
        layers = [
            tuple(
                torch.stack(parts).requires_grad_()
                for parts in (
                    [member[at].weight.detach().T.contiguous() for member in networks],
                    [member[at].bias.detach()[None] for member in networks],
                )
            )
            for at in range(0, len(networks[0]), 2)
        ]
        x = torch.randn(rows, 8)
        calls = count * (1 + len(networks[0]))

        def by_network(networks: Any = networks, x: Any = x) -> Any:
            return torch.stack([member(x) for member in networks])

        def at_once(layers: Any = layers, x: Any = x, count: int = count) -> Any:
            h = x.expand(count, *x.shape)
            for weight, bias in layers[:-1]:
                h = torch.baddbmm(bias, h, weight).tanh()
            return torch.baddbmm(layers[-1][1], h, layers[-1][0])

        what = f"{count} networks of two layers of {width}, {rows} rows"
        # The first of them is no replacement: it tells what calling the modules alone takes.
        yield Replacement(
            "ensemble-loop", f"{what}: calls of {calls} modules", by_network, of_nothing(calls)
        )
        yield Replacement("ensemble-loop", what, by_network, at_once)
        yield Replacement(
            "ensemble-loop",
            f"{what}, with the backward pass",
            lambda forward=by_network: forward().sum().backward(),
            lambda forward=at_once: forward().sum().backward(),
        )


def of_nothing(calls: int) -> Callable[[], None]:
    module = nn.Identity()

    def call() -> None:
        for _ in range(calls):
            module(None)

    return call


CASES = (
    *(tensors_of_lists, distributions, stores, recursions, loops),
    *(acting, optimizer_steps, target_updates, copies, joins),
    *(checks_for_nan, loaded_batches, ensembles),
)
