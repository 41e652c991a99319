"""Compile, break graphs and compile anew for some seconds: torch has ranges open wherever one looks."""

from __future__ import annotations

import torch
from torch._dynamo.utils import counters

net = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=torch.tensor(0.1))


def branch(x):
    if x.sum() > 0:
        return x.cpu() * x.sum().item()
    return x.to(torch.float64)


compiled = torch.compile(branch, backend="eager")
whole = torch.compile(lambda x: x.to(torch.float64).cpu() + 1, backend="eager", fullgraph=True)
step = torch.compile(optimizer.step, backend="eager")


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        return super().__torch_function__(function, types, arguments, options or {})


tagged = torch.ones(4).as_subclass(Tagged)
through = torch.compile(lambda x: x.cpu().to(torch.float64) + 1, backend="eager", fullgraph=True)
by_the_class = torch.compile(lambda x: torch.Tensor.cpu(x) + 1, backend="eager", fullgraph=True)

for _ in range(20):
    compiled(torch.ones(4))
    through(tagged)
    by_the_class(torch.ones(4))
    whole(torch.ones(4))
    net(torch.ones(1, 4)).sum().backward()
    step()
    optimizer.zero_grad()
print(dict(counters["stats"]), dict(counters["frames"]), sum(counters["graph_break"].values()))
