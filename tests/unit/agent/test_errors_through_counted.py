"""Errors and warnings of a counted function name the lines that they name without counting."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType, SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import aside, counters, stand_ins
from rlprof.agent.inject.rlprof_agent.counted import (
    WATCHED,
    class_methods,
    custom,
    torch_syncs,
    torch_training,
)

FOLDER = "rlprof.agent.inject.rlprof_agent.counted."

IN_A_STEP = """
class Base:
    def step(self, action): raise LookupError("no such action")
    def step_wait(self, *anything, more=0): raise LookupError("no such action")
    async def walk(self): raise LookupError("no such way")
    send = _step = step_and_maybe_reset = __next__ = step
    recv = None
Env = VectorEnv = VecEnv = PufferEnv = BatchedEnvBase = EnvBase = AsyncEnvPool = Base
Environment = ParallelEnv = AECEnv = Base
_BaseDataLoaderIter = Base
def inherit():
    class Wrong(Base, name="unexpected"):
        pass
def calls():
    env = Base()
    yield lambda: env.step(1)
    yield lambda: env.step()
    yield lambda: env.step_wait()
    yield lambda: env.send(1)
    yield lambda: env._step(1)
    yield lambda: env.step_and_maybe_reset(1)
    yield lambda: env.__next__(1)
    yield lambda: env.walk().send(None)
    yield inherit
"""

IN_AN_OWN_HOOK = """
class Base:
    def __init_subclass__(cls): raise LookupError("not to be inherited from")
Env = VectorEnv = VecEnv = PufferEnv = BatchedEnvBase = EnvBase = AsyncEnvPool = Base
Environment = ParallelEnv = AECEnv = Base
_BaseDataLoaderIter = Base
def inherit():
    class Heir(Base):
        pass
def calls():
    yield inherit
"""

IN_A_WORKER = """
class Serial:
    num_agents = 1
    def send(self, actions): raise LookupError("no such action")
    def recv(self): pass
def _worker_process(): raise LookupError("no such environment")
def calls():
    yield _worker_process
    yield lambda: Serial().send(1)
"""

IN_AN_EVALUATION = """
def evaluate_policy(model, env, n_eval_episodes=10): raise LookupError("no such environment")
def calls():
    yield lambda: evaluate_policy(1, env=2)
    yield lambda: evaluate_policy()
"""

IN_A_CONFIGURATION = """
class Config:
    def __getattr__(self, name): raise AttributeError(name)
    def __getitem__(self, key): raise LookupError(key)
    def __iter__(self): raise LookupError("not a list")
    def get(self, key, default_value=None): raise LookupError(key)
DictConfig = ListConfig = ConfigDict = Config
class OmegaConf:
    @staticmethod
    def select(config, path): return config[path]
    @staticmethod
    def to_container(config): return OmegaConf.select(config, "all")
def calls():
    config = Config()
    yield lambda: config.lr
    yield lambda: config["lr"]
    yield lambda: iter(config)
    yield lambda: config.get("lr")
    yield lambda: OmegaConf.select(config, "lr")
    yield lambda: OmegaConf.to_container(config)
"""

IN_THE_STANDARD_LIBRARY = """
import sys
from _posixsubprocess import fork_exec as _fork_exec
class Logger:
    def handle(self, record): raise LookupError("no handler")
class Connection:
    def _send_bytes(self, buf): raise BrokenPipeError
def register_at_fork(after_in_parent): pass
def spawnv_passfds(path, arguments, descriptors): raise FileNotFoundError(path)
def system(command): raise TypeError("embedded null")
def posix_spawn(path): raise FileNotFoundError(path)
def posix_spawnp(path): raise FileNotFoundError(path)
def calls():
    yield lambda: Logger().handle("record")
    yield lambda: Connection()._send_bytes(b"x")
    yield lambda: spawnv_passfds("none", [], ())
    yield lambda: system("true")
    yield lambda: posix_spawn("none")
    yield lambda: posix_spawnp("none")
    yield lambda: _fork_exec("no arguments")
"""

IN_A_LOADER = """
class _BaseDataLoaderIter:
    def __next__(self): raise LookupError("no such batch")
def calls():
    yield lambda: _BaseDataLoaderIter().__next__()
    yield lambda: _BaseDataLoaderIter().__next__(1)
"""

ON_A_GPU = """
class Tensor:
    is_cuda, device = True, "cuda"
    def item(self): raise RuntimeError("device-side assert triggered")
    def to(self, device): raise RuntimeError("out of memory")
    tolist = numpy = cpu = __float__ = __int__ = __bool__ = __index__ = item
    cuda = copy_ = to
def calls():
    yield lambda: Tensor().item()
    yield lambda: bool(Tensor())
    yield lambda: Tensor().to("cpu")
    yield lambda: Tensor().copy_(Tensor())
"""

IN_A_GRAPH = """
_cuda_isCurrentStreamCapturing = len
class CUDAGraph:
    def capture_end(self): raise RuntimeError("operation not permitted when stream is capturing")
    def replay(self): raise RuntimeError("called without a preceding successful capture")
def calls():
    yield lambda: CUDAGraph().capture_end()
    yield lambda: CUDAGraph().replay()
"""

IN_A_BAR = """
class tqdm:
    def update(self, n=1): raise ValueError("no terminal")
def calls():
    yield lambda: tqdm().update(2)
"""

IN_A_COMPILER = """
class VariableBuilder:
    def __call__(self, value): raise RuntimeError("cannot be traced")
def calls():
    yield lambda: VariableBuilder()(1)
"""

IN_A_PICKLER = """
class Pickler:
    def _dynamic_function_reduce(self, func): raise LookupError("no such function")
CloudPickler = Pickler
def _class_setstate(obj, state): raise LookupError("no such attribute")
def calls():
    yield lambda: _class_setstate(int, {})
    yield lambda: _class_setstate(int, state={})
    yield lambda: _class_setstate()
    yield lambda: Pickler()._dynamic_function_reduce(len)
    yield lambda: Pickler()._dynamic_function_reduce(func=calls)
    yield lambda: Pickler()._dynamic_function_reduce()
"""

LIBRARIES = {
    **dict.fromkeys(
        (
            "cloudpickle.cloudpickle",
            "cloudpickle.cloudpickle_fast",
            "joblib.externals.cloudpickle.cloudpickle",
            "joblib.externals.cloudpickle.cloudpickle_fast",
            "ray.cloudpickle.cloudpickle",
            "ray.cloudpickle.cloudpickle_fast",
        ),
        (IN_A_PICKLER,),
    ),
    "dm_env._environment": (IN_A_STEP, IN_AN_OWN_HOOK),
    "gym.core": (IN_A_STEP, IN_AN_OWN_HOOK),
    "gym.vector.vector_env": (IN_A_STEP, IN_AN_OWN_HOOK),
    "gymnasium.core": (IN_A_STEP, IN_AN_OWN_HOOK),
    "gymnasium.vector.vector_env": (IN_A_STEP, IN_AN_OWN_HOOK),
    "logging": (IN_THE_STANDARD_LIBRARY,),
    "ml_collections.config_dict.config_dict": (IN_A_CONFIGURATION,),
    "multiprocessing.connection": (IN_THE_STANDARD_LIBRARY,),
    "multiprocessing.util": (IN_THE_STANDARD_LIBRARY,),
    "omegaconf.dictconfig": (IN_A_CONFIGURATION,),
    "omegaconf.listconfig": (IN_A_CONFIGURATION,),
    "omegaconf.omegaconf": (IN_A_CONFIGURATION,),
    "os": (IN_THE_STANDARD_LIBRARY,),
    "pettingzoo.utils.env": (IN_A_STEP, IN_AN_OWN_HOOK),
    "pufferlib.environment": (IN_A_STEP, IN_AN_OWN_HOOK),
    "pufferlib.pufferlib": (IN_A_STEP, IN_AN_OWN_HOOK),
    "pufferlib.vector": (IN_A_WORKER,),
    "sb3_contrib.common.maskable.evaluation": (IN_AN_EVALUATION,),
    "stable_baselines3.common.evaluation": (IN_AN_EVALUATION,),
    "stable_baselines3.common.vec_env.base_vec_env": (IN_A_STEP, IN_AN_OWN_HOOK),
    "subprocess": (IN_THE_STANDARD_LIBRARY,),
    "torch._dynamo.variables.builder": (IN_A_COMPILER,),
    "torch._tensor": (ON_A_GPU,),
    "torch.cuda.graphs": (IN_A_GRAPH,),
    # Counted by hooks that torch calls between the program's steps.
    "torch.optim.optimizer": (),
    "torch.utils.data.dataloader": (IN_A_LOADER,),
    "torchrl.envs.async_envs": (IN_A_STEP, IN_AN_OWN_HOOK),
    "torchrl.envs.batched_envs": (IN_A_STEP, IN_AN_OWN_HOOK),
    "torchrl.envs.common": (IN_A_STEP, IN_AN_OWN_HOOK),
    "tqdm.std": (IN_A_BAR,),
}
"""Stand-ins that fail, by the module that is watched."""

NAME = "library_that_fails"

needs_trimming = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="docs/reliability.md, Limits"
)

EACH = [
    pytest.param(watched, source, id=f"{watched}-{number}")
    for watched, sources in LIBRARIES.items()
    for number, source in enumerate(sources)
]


@pytest.fixture(autouse=True)
def _counting_begins_anew(monkeypatch):
    monkeypatch.setattr(aside, "_parts", [])
    monkeypatch.setattr(counters, "_counters", {})
    monkeypatch.setattr(torch_syncs, "_counted", [])
    monkeypatch.setattr(torch_training, "_asks_whether_captured", [])
    fork_exec = ModuleType("_posixsubprocess")
    fork_exec.fork_exec = start_nothing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "_posixsubprocess", fork_exec)
    torch_c = SimpleNamespace(_len_torch_function_stack=lambda: 0)
    monkeypatch.setitem(sys.modules, "torch._C", torch_c)
    monkeypatch.setitem(sys.modules, "torch.cuda", SimpleNamespace(_initialized=True))
    yield
    sys.modules.pop(NAME, None)


def start_nothing(*_):
    raise ValueError("no such program")


def made(source: str) -> ModuleType:
    module = sys.modules[NAME] = ModuleType(NAME)
    exec(compile(source, f"<{NAME}>", "exec"), vars(module))
    return module


def errors(module: ModuleType) -> list[str]:
    """The traceback of each of its calls; all of them fail."""
    return [traceback_of(call) for call in module.calls()]


def warnings_of(module: ModuleType) -> list[tuple[str, int]]:
    """The places that the warnings of its calls name."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for call in module.calls():
            # What no longer fails has none of the values that are asked for.
            with suppress(Exception):
                call()
    return [(warning.filename, warning.lineno) for warning in given]


def traceback_of(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception:
        return traceback.format_exc()
    raise AssertionError("it did not fail")


def test_every_library_is_here():
    missing = WATCHED.keys() - LIBRARIES.keys()
    assert not missing, f"name a stand-in that fails in LIBRARIES, here, for {sorted(missing)}"
    assert not LIBRARIES.keys() - WATCHED.keys()


@needs_trimming
@pytest.mark.parametrize(("watched", "source"), EACH)
def test_its_errors_are_told_as_without_counting(watched, source):
    file, function = WATCHED[watched]
    bare = errors(made(source))
    counted = made(source)
    getattr(importlib.import_module(FOLDER + file), function)(counted)

    assert errors(counted) == bare


# A warning that torch gives in C code names our line: docs/reliability.md, Limits.
@pytest.mark.parametrize(
    ("watched", "source"), [each for each in EACH if each.values[1] != ON_A_GPU]
)
def test_its_warnings_are_told_as_without_counting(watched, source):
    file, function = WATCHED[watched]
    warning = re.sub(r"raise .*", 'warn("old", stacklevel=2)', source)
    warning = "from warnings import warn\n" + warning
    bare = warnings_of(made(warning))
    counted = made(warning)
    getattr(importlib.import_module(FOLDER + file), function)(counted)

    assert warnings_of(counted) == bare
    assert bare


@needs_trimming
@pytest.mark.parametrize("name", ["step", "step_wait", "walk"])
def test_errors_of_the_target_of_steps_from_are_told_as_without_counting(name):
    bare = errors(made(IN_A_STEP))
    counted = made(IN_A_STEP)
    custom.count_target(counted, f"Base.{name}")

    assert errors(counted) == bare


@needs_trimming
def test_a_stand_in_for_a_method_fails_like_it():
    class Logger:
        def handle(self, record):
            raise LookupError(record)

    bare = traceback_of(lambda: Logger().handle(1)).splitlines()
    Logger.handle = stand_ins.MethodStandIn(Logger.handle, lambda _: None)

    assert len(traceback_of(lambda: Logger().handle(1)).splitlines()) == len(bare)


def test_a_call_with_wrong_arguments_of_what_cython_has_compiled_is_told_in_its_words():
    def go(self, way):
        return self, way

    class cython_function_or_method:  # noqa: N801 - Cython's own name
        """As Cython's: with a code object, which is not what is run."""

        __code__ = go.__code__
        __name__ = "go"

        def __call__(self, *args):
            if len(args) != 2:
                raise TypeError(f"go() takes exactly 2 positional arguments ({len(args)} given)")
            return args

    passed = class_methods.passing(cython_function_or_method())

    assert passed(3, 4) == (3, 4)
    with pytest.raises(TypeError, match=r"go\(\) takes exactly 2 positional arguments"):
        passed(3)
