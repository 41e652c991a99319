"""Networks that go through sequences, and what takes the place of their steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from replacement import Replacement
from torch import nn
from torch.nn import functional


def recurrent_steps() -> Iterator[Replacement]:
    for kind, cell in ((nn.LSTM, nn.LSTMCell), (nn.GRU, nn.GRUCell), (nn.RNN, nn.RNNCell)):
        for steps, batch, width in ((16, 8, 32), (64, 32, 48), (128, 32, 128), (64, 128, 128)):
            before, network, own = nn.Linear(6, width), kind(width, width), cell(width, width)
            sequence = torch.randn(steps, batch, 6)

            def by_step(before: Any = before, network: Any = network, x: Any = sequence) -> None:
                state, made = None, []
                for each in x:
                    answer, state = network(before(each).unsqueeze(0), state)
                    made.append(answer)
                torch.cat(made).sum().backward()

            def by_cell(before: Any = before, cell: Any = own, x: Any = sequence) -> None:
                state, made = None, []
                for each in x:
                    state = cell(before(each), state)
                    made.append(state[0] if isinstance(state, tuple) else state)
                torch.stack(made).sum().backward()

            for name, steps_of in ((kind.__name__, by_step), (cell.__name__, by_cell)):
                yield Replacement(
                    "python-loop-over-tensor",
                    f"{steps} steps of an {name}, {batch} × {width}, with the backward pass",
                    steps_of,
                    lambda layer=before, net=network, x=sequence: net(layer(x))[0].sum().backward(),
                )


def layers_around_recurrent_steps() -> Iterator[Replacement]:
    for steps, batch, width in ((16, 8, 32), (64, 32, 48), (128, 32, 128), (64, 128, 128)):
        layer, sequence = nn.Linear(width, width), torch.randn(steps, batch, width)

        def by_step(layer: Any = layer, x: Any = sequence) -> None:
            torch.stack([torch.tanh(layer(each)) for each in x]).sum().backward()

        yield Replacement(
            "python-loop-over-tensor",
            f"a layer at {steps} steps, {batch} × {width}, with the backward pass",
            by_step,
            lambda linear=layer, x=sequence: torch.tanh(linear(x)).sum().backward(),
        )


def histories() -> Iterator[Replacement]:
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for steps, batch, width in (
            (8, 1, 64),
            (40, 1, 64),
            (40, 8, 64),
            (40, 1, 256),
            (160, 1, 64),
        ):
            network = kind(8, width, batch_first=True)
            history = torch.randn(batch, steps, 8)

            def asked(x: Any, state: Any = None, network: Any = network) -> None:
                with torch.no_grad():
                    network(x, state)

            kept = network(history)[1]
            state = (
                tuple(tensor.detach() for tensor in kept)
                if isinstance(kept, tuple)
                else kept.detach()
            )
            yield Replacement(
                "history-rerun",
                f"an {kind.__name__} for the last of {steps} steps, {batch} × {width}",
                lambda asked=asked, x=history: asked(x),
                lambda asked=asked, x=history[:, -1:], state=state: asked(x, state),
            )


class Attention(nn.Module):
    """A layer of a transformer that reads from left to right, and may be given the keys and values of what it has read."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.ask, self.answer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.beside = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, kept: Any = None) -> tuple[torch.Tensor, Any]:
        batch, steps, width = x.shape
        asked = self.ask(self.before(x)).view(batch, steps, 3, self.heads, -1)
        query, key, value = asked.permute(2, 0, 3, 1, 4)
        if kept is not None:
            key, value = torch.cat([kept[0], key], 2), torch.cat([kept[1], value], 2)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=kept is None)
        x = x + self.answer(seen.transpose(1, 2).reshape(batch, steps, width))
        return x + self.beside(self.between(x)), (key, value)


class Reader(nn.Module):
    """Embeds tokens and gives a logit for each that may come next."""

    def __init__(self, width: int, layers: int, vocabulary: int = 64) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.layers = nn.ModuleList(Attention(width) for _ in range(layers))

    @torch.no_grad()
    def forward(self, tokens: torch.Tensor, kept: Any = None) -> tuple[torch.Tensor, list[Any]]:
        x, seen = self.embed(tokens), []
        for number, layer in enumerate(self.layers):
            x, each = layer(x, None if kept is None else kept[number])
            seen.append(each)
        return self.head(x), seen


def texts() -> Iterator[Replacement]:
    for steps, batch, width, layers in (
        (16, 1, 64, 2),
        (48, 1, 64, 2),
        (48, 8, 64, 2),
        (48, 32, 64, 2),
        (48, 8, 128, 4),
        (48, 32, 256, 4),
        (128, 1, 128, 2),
        (128, 16, 128, 2),
    ):
        reader, tokens = Reader(width, layers), torch.randint(0, 64, (batch, steps))
        kept = reader(tokens[:, :-1])[1]
        yield Replacement(
            "history-rerun",
            f"a transformer of {layers} layers for the last of {steps} tokens, {batch} × {width}",
            lambda reader=reader, x=tokens: reader(x),
            lambda reader=reader, x=tokens[:, -1:], kept=kept: reader(x, kept),
        )


CASES = (recurrent_steps, layers_around_recurrent_steps, histories, texts)
