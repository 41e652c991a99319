"""An update of a small actor-critic on a GPU: op by op, compiled, or as one CUDA graph.

    python benchmarks/captured_update.py [--as eager|fused|compiled|graph] [--seconds 6]

Prints the median of its updates per second, and those of each second. To see what rlprof costs, run it under ``rlprof run``, in turns with bare runs.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from statistics import median

import torch
from torch import nn

BATCH, OBSERVED, ACTIONS = 256, 32, 6
WARM_UP = 50
AT_ONCE = 200
"""Updates between two looks at the clock."""


class ActorCritic(nn.Module):
    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(OBSERVED, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.policy = nn.Linear(hidden, ACTIONS)
        self.value = nn.Linear(hidden, 1)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(observations)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


def make_update(way: str) -> Callable[[], None]:
    plain = ActorCritic().cuda()
    parameters = list(plain.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=3e-4, capturable=way == "graph", fused=True if way == "fused" else None
    )
    network = torch.compile(plain, mode="reduce-overhead") if way == "compiled" else plain
    observations = torch.randn(BATCH, OBSERVED, device="cuda")
    actions = torch.randint(0, ACTIONS, (BATCH, 1), device="cuda")
    advantages, returns, before = torch.randn(3, BATCH, device="cuda")

    def update() -> None:
        logits, values = network(observations)
        likely = torch.log_softmax(logits, -1).gather(1, actions).squeeze(1)
        ratio = (likely - before).exp()
        gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        loss = 0.5 * (values - returns).square().mean() - gain
        optimizer.zero_grad(set_to_none=way != "graph")
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()

    return captured(update) if way == "graph" else update


def captured(update: Callable[[], None]) -> Callable[[], None]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            update()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    return graph.replay


def rates(update: Callable[[], None], seconds: float) -> dict[int, list[float]]:
    """Updates per second, by the second of the run."""
    found: dict[int, list[float]] = defaultdict(list)
    begun = now = time.perf_counter()
    while now - begun < seconds:
        for _ in range(AT_ONCE):
            update()
        torch.cuda.synchronize()
        before, now = now, time.perf_counter()
        found[int(now - begun)].append(AT_ONCE / (now - before))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--as", dest="way", default="eager", choices=("eager", "fused", "compiled", "graph")
    )
    parser.add_argument("--seconds", type=float, default=6.0)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("needs a GPU that torch can use (torch.cuda.is_available())")
    update = make_update(arguments.way)
    for _ in range(WARM_UP):
        update()
    torch.cuda.synchronize()
    by_second = rates(update, arguments.seconds)
    whole = median(rate for second in by_second.values() for rate in second)
    print(
        f"{arguments.way}: {whole:.0f} updates/s; each second",
        *(f"{median(of):.0f}" for of in by_second.values()),
    )


if __name__ == "__main__":
    main()
