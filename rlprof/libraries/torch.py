"""PyTorch."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, Duty, Library, Sink, Transport

LIBRARY: Final = Library(
    name="PyTorch",
    packages=("torch",),
    samples=(
        "_tensor.py",
        "_tensor_str.py",
        "autograd/__init__.py",
        "multiprocessing/reductions.py",
        "nn/modules/linear.py",
        "nn/modules/module.py",
        "optim/adam.py",
        "serialization.py",
        "utils/data/_utils/worker.py",
        "utils/data/dataloader.py",
        "utils/tensorboard/writer.py",
    ),
    policy="(nn(?!/utils/)|distributions|_inductor|_dynamo)/",
    learner=r"optim/|autograd/(?!grad_mode|profiler)|nn/utils/clip_grad",
    gradients=r"optim/|autograd/(__init__|graph)\.py$",
    data="utils/data/",
    transfer="multiprocessing/",
    logging="utils/tensorboard/",
    transport={r"multiprocessing/reductions\.py$": {ANY: Transport.PICKLING}},
    duties={
        r"nn/modules/module\.py$": dict.fromkeys(
            ("_wrapped_call_impl", "_call_impl"), Duty.ASKS_NETWORK
        ),
        r"utils/data/_utils/worker\.py$": {"_worker_loop": Duty.LOADS_DATA},
        r"(?<!\w)_tensor\.py$": {"backward": Duty.COMPUTES_GRADIENTS},
        r"autograd/__init__\.py$": dict.fromkeys(("backward", "grad"), Duty.COMPUTES_GRADIENTS),
    },
    sinks={Sink.METRICS: "utils/tensorboard/"},
    saving=r"serialization\.py$",
    makes_text=r"_tensor_str\.py$",
    is_launcher=True,
    is_framework=True,
    does_callers_work=True,
    has_thread_teams=True,
)
