"""Treatments that are applied where a run starts, for what nobody can switch while it runs: right after a library's import."""

from __future__ import annotations

from ..real import os
from . import workers

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

_OF_BOTH = ("copy", "observation_mode", "autoreset_mode")
"""Options that environments in workers and those in this process have."""

_MOST_WORKERS = 4


def watched(name: str) -> dict[str, Callable[[ModuleType], None]]:
    """Return what is to be done after the import of which module, for the treatment of that name."""
    return _RESTARTS.get(name, {})


def _reached() -> None:
    """Tell whoever compares two runs that there was something to treat: without that they are alike, and say nothing of its worth."""
    path = os.environ.get("RLPROF_RESTART_TOLD")
    if path:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _gymnasium_in_process(module: ModuleType) -> None:
    """Have ``AsyncVectorEnv`` step its environments in this process."""
    names: Any = vars(module)
    in_process: Any = names["SyncVectorEnv"]

    class AsyncVectorEnv(in_process):  # type: ignore[misc]  # the program's own class
        def __init__(
            self,
            env_fns: Any,
            shared_memory: bool = True,  # noqa: ARG002 - of workers alone
            copy: bool = True,
            *_of_workers: Any,
            **options: Any,
        ) -> None:
            _reached()
            given = {"copy": copy, **options}
            taken = {key: given[key] for key in _OF_BOTH if key in given}
            super().__init__(env_fns, **taken)

    names["AsyncVectorEnv"] = AsyncVectorEnv


def _sb3_in_process(module: ModuleType) -> None:
    """Have ``SubprocVecEnv`` step its environments in this process."""
    names: Any = vars(module)
    in_process: Any = names["DummyVecEnv"]

    class SubprocVecEnv(in_process):  # type: ignore[misc]  # the program's own class
        def __init__(self, env_fns: Any, start_method: Any = None) -> None:  # noqa: ARG002 - of workers alone
            _reached()
            super().__init__(env_fns)

    names["SubprocVecEnv"] = SubprocVecEnv


def _torchrl_in_process(module: ModuleType) -> None:
    """Have ``ParallelEnv`` step its environments in this process."""
    names: Any = vars(module)
    in_process: Any = names["SerialEnv"]

    class ParallelEnv(in_process):  # type: ignore[misc]  # the program's own class
        def __init__(self, *given: Any, **options: Any) -> None:
            _reached()
            super().__init__(*given, **options)

    names["ParallelEnv"] = ParallelEnv


def _loaders_with_workers(module: ModuleType) -> None:
    """Have loaders whose items are made in this process make them in workers, as many as there are cores, four at most."""
    names: Any = vars(module)
    kind, of_a_stream = names["DataLoader"], names["IterableDataset"]
    workers = min(_MOST_WORKERS, len(os.sched_getaffinity(0)))
    init: Any = kind.__init__
    num_workers_at = 6

    def made(self: Any, *given: Any, **options: Any) -> None:
        dataset = given[0] if given else options.get("dataset")
        is_made_here = len(given) < num_workers_at and not options.get("num_workers")
        # Each worker would make the whole of a stream.
        if is_made_here and not isinstance(dataset, of_a_stream):
            _reached()
            options = {**options, "num_workers": workers, "persistent_workers": True}
        init(self, *given, **options)

    kind.__init__ = made


def _keep_pools(module: ModuleType) -> None:
    workers.fork_from_server(module)
    workers.keep_pools(module, _reached)


def _fuse_optimizers(module: ModuleType) -> None:
    """Have optimizers update all parameters of a group in one operation, from their first update on."""
    kind: Any = vars(module)["Optimizer"]
    add: Any = kind.add_param_group

    def add_param_group(self: Any, param_group: Any) -> None:
        add(self, param_group)
        added = self.param_groups[-1]
        is_one = "fused" in added and added["fused"] is None
        if is_one and not (added.get("foreach") or added.get("differentiable")):
            added["fused"] = all(each.is_floating_point() for each in added["params"]) or None
            if added["fused"]:
                _reached()

    kind.add_param_group = add_param_group


_RESTARTS: dict[str, dict[str, Callable[[ModuleType], None]]] = {
    "environments-in-process": {
        "gymnasium.vector": _gymnasium_in_process,
        "stable_baselines3.common.vec_env": _sb3_in_process,
        "torchrl.envs.batched_envs": _torchrl_in_process,
    },
    "fused-optimizers": {"torch.optim.optimizer": _fuse_optimizers},
    "loaders-with-workers": {"torch.utils.data.dataloader": _loaders_with_workers},
    "kept-workers": {
        "multiprocessing.context": _keep_pools,
        "concurrent.futures.process": lambda module: workers.keep_executors(module, _reached),
        "multiprocessing.forkserver": lambda module: workers.preload(module, _reached),
    },
}
"""By name and by module."""
