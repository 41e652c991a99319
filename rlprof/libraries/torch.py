"""PyTorch."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, Access, Duty, Library, Sink, SlowCall, Transport
from rlprof.model.finding import Range

_NETWORK: Final = SlowCall(
    "networks are made again and again",
    "Make the network once and load weights into it (load_state_dict, torch.nn.utils.vector_to_parameters), or hand them over at the call "
    "(torch.func.functional_call).",
    Range(0.8, 1.0),
)
_OPTIMIZER: Final = SlowCall(
    "optimizers are made again and again",
    "Make the optimizer once, with the network; to begin anew, clear its state (optimizer.state.clear()).",
    Range(0.8, 1.0),
)
_SEEDED: Final = SlowCall(
    "random generators are seeded again and again",
    "Seed once, at the start.",
    Range(0.9, 1.0),
    of_its_seed=True,
)

_FULL_COVARIANCE: Final = SlowCall(
    "a diagonal covariance is used as a full one",
    "Take Independent(Normal(mean, deviation), 1): the same distribution, with the square roots of the diagonal as deviations. "
    "MultivariateNormal factorises the matrix and solves with it at each call.",
    Range(0.45, 0.9),
    through=r"torch/distributions/distribution\.py$",
    of_diagonals="MultivariateNormal",
)

_SERIALIZATION: Final = r"serialization\.py$"

LIBRARY: Final = Library(
    name="PyTorch",
    packages=("torch",),
    samples=(
        "_tensor.py",
        "_tensor_str.py",
        "autograd/__init__.py",
        "autograd/graph.py",
        "distributions/multivariate_normal.py",
        "multiprocessing/reductions.py",
        "nn/modules/linear.py",
        "nn/modules/module.py",
        "nn/init.py",
        "optim/adam.py",
        "random.py",
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
        r"optim/(?!lr_scheduler)\w+\.py$": {"step": Duty.MOVES_PARAMETERS},
        r"autograd/graph\.py$": {"_engine_run_backward": Duty.COMPUTES_GRADIENTS},
    },
    slow_calls={
        "nn/modules/": {"__init__": _NETWORK},
        r"nn/init\.py$": {ANY: _NETWORK},
        "optim/": {"__init__": _OPTIMIZER},
        r"(?<=/torch/)random\.py$": {"manual_seed": _SEEDED},
        r"distributions/multivariate_normal\.py$": {ANY: _FULL_COVARIANCE},
    },
    sinks={Sink.METRICS: "utils/tensorboard/"},
    accesses={Access.READ: _SERIALIZATION},
    saving=_SERIALIZATION,
    makes_text=r"_tensor_str\.py$",
    is_launcher=True,
    is_framework=True,
    does_callers_work=True,
    has_thread_teams=True,
)
