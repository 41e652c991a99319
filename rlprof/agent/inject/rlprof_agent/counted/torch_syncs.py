"""torch: tensors read by the host, and copies between it and a GPU, each by its place in the program.

On a GPU such a read makes the host wait; on the CPU it costs nothing, and is counted as one that
*would*. A read is counted when its method is looked up, by a descriptor that then hands out torch's own:
on the CPU no frame of ours is between the program and torch, where warnings and torch.compile would find
it, and ``torch.Tensor.item`` gives what it always gave.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from sys import _getframe

from .. import current_agent, dynamo, foreign_errors, turns
from ..real import os, time
from ..sync_sites import SyncSites
from .dressing import dressed, put_in_class
from .read_turns import ReadTurns

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any, Optional

READS = (
    "item",
    "tolist",
    "numpy",
    "cpu",
    "__float__",
    "__int__",
    "__bool__",
    "__index__",
)
"""``np.asarray(t)`` goes through ``numpy``."""
COPIES = ("to", "cuda", "copy_")

_PLAIN_TOO = {("torch.nn.parameter", "Parameter"), ("torch.nn.parameter", "Buffer")}
"""Subclasses that behave like tensors; those without data yet do not."""

_counted: list[CountedMethod] = []

stays_here = [False]
"""True if an optimizer makes its step. It reads its step counts, one for each parameter, which are on the
CPU wherever the training is: not worth the counting, which would cost a small network more than all the
rest of it. What other threads read meanwhile is missed."""

_away = [False]
"""True if reads on the CPU go uncounted in this turn: those of a method that the program holds on to, and all once torch.compile was at work."""

_turns: list[ReadTurns] = []

_given_back = [0]
"""``id`` of the tensor that ``cpu`` was asked of, until something else is: ``t.cpu().numpy()`` is one
read, for ``cpu`` gives back what is on the CPU already."""


def count_syncs(module: ModuleType) -> None:
    """``module`` is ``torch._tensor``, which defines the class of all tensors."""
    tensor: Any = module.Tensor
    sites: list[SyncSites] = []
    reads = ReadTurns(_put, sites)
    for name in READS:
        if hasattr(tensor, name):
            read = counted_read(name, tensor, reads)
            sites.append(read.on_cpu)
            _stand_in(name, tensor, read)
    for name in COPIES:
        if hasattr(tensor, name):
            _stand_in(name, tensor, CountedCopy(name, tensor))
    _turns.append(reads)
    renew()
    if os.environ.get("RLPROF_ESTIMATE_READS"):
        turns.enrol(reads)
    dynamo.before_compiling(_stand_in_place)


def _stand_in(name: str, tensor: Any, counted: CountedMethod) -> None:
    _counted.append(counted)
    setattr(tensor, name, counted)


def _put(reads: bool, copies: bool) -> None:
    """Have reads on the CPU counted, and copies, or torch's own methods in their places, which take no time of ours.

    Not once torch.compile may have looked at them: then reads are only let through.
    """
    _away[0] = not reads
    if not dynamo.may_have_compiled():
        for each in _counted:
            each.put(reads if isinstance(each, CountedRead) else copies or _may_use_a_gpu())


def _may_use_a_gpu() -> bool:
    """Tell whether this torch was built for one: another thread may begin to use it, while the main thread sleeps and no turn ends."""
    version = sys.modules.get("torch.version")
    return version is None or any(getattr(version, name, None) for name in ("cuda", "hip"))


def _stand_in_place() -> None:
    for each in _counted:
        each.put(True)


def stay_out_of_graphs(module: ModuleType) -> None:
    """``module`` is ``torch._dynamo.variables.builder``: torch.compile looks at what stands in the class where a
    subclass of tensors is concerned, or the class itself. It is to find torch's own.
    """
    builder: Any = module.VariableBuilder
    build = builder.__call__

    def build_of_torchs_own(self: Any, value: Any) -> Any:
        try:
            return build(self, value.original if isinstance(value, CountedMethod) else value)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    builder.__call__ = dressed(build_of_torchs_own, build)


def renew() -> None:
    """In a forked child: count in its own memory."""
    agent = current_agent()
    for method in _counted:
        for sites in method.sites:
            sites.renew(None if agent is None else agent.mailbox)
    for reads in _turns:
        reads.forget()


class CountedMethod:
    """A method of torch's class of tensors, in its place there.

    It is equal to torch's own: torch.compile compares what a subclass has with that, to see whether the
    subclass has a method of its own.
    """

    def __init__(self, name: str, tensor: Any) -> None:
        self._tensor = tensor
        self._name = name
        self._is_inherited = name not in vars(tensor)
        self.original = getattr(tensor, name)
        # Who goes through what the class has reads these of everything that can be called.
        self.__name__, self.__qualname__ = self.original.__name__, self.original.__qualname__
        self.__doc__ = self.original.__doc__
        self.bind = type(self.original).__get__
        self._torch_c = sys.modules["torch._C"]
        self.modes = self._torch_c._len_torch_function_stack
        self.sites: list[SyncSites] = []

    def put(self, is_counted: bool) -> None:
        """Stand in the class of tensors, or leave torch's own there; not where the program has put something else."""
        now = vars(self._tensor).get(self._name)
        ours = None if self._is_inherited else self.original
        if is_counted and now is ours:
            put_in_class(self._tensor, self._name, self)
        elif not is_counted and now is self:
            if self._is_inherited:
                type.__delattr__(self._tensor, self._name)
            else:
                put_in_class(self._tensor, self._name, self.original)

    def __eq__(self, other: object) -> bool:
        return other is self or bool(other == self.original)

    def __hash__(self) -> int:
        return hash(self.original)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Torch's own. Nobody calls what stands in the class, but ``mock`` looks whether one could."""
        return self.original(*args, **kwargs)

    def _new_sites(self, name: str, device: str) -> SyncSites:
        self.sites.append(SyncSites(name, device))
        return self.sites[-1]

    def _is_plain(self, tensor: Any) -> bool:
        """Tell whether asking for its device runs torch's code alone: subclasses and function modes may
        have code of the program's run for that too.
        """
        kind = type(tensor)
        if kind is not self._tensor and (kind.__module__, kind.__name__) not in _PLAIN_TOO:
            return False
        modes = self.modes()
        if modes == 1:
            # That of ``torch.set_default_device``, which leaves such questions alone.
            mode = self._torch_c._get_function_stack_at(0)
            return type(mode).__name__ == "DeviceContext"
        return bool(modes == 0)


class CountedRead(CountedMethod):
    """One that reads a tensor on the host; made by :func:`counted_read`, which gives it its ``__get__``."""

    def __init__(self, name: str, tensor: Any) -> None:
        super().__init__(name, tensor)
        self.on_cpu = self._new_sites(name, "cpu")
        self._on_device = self._new_sites(name, "gpu")

    def of_a_rarer_kind(self, tensor: Any, owner: Any) -> Any:
        """Return what ``__get__`` gives for all but plain tensors on the CPU."""
        bound = self.bind(self.original, tensor, owner)
        if tensor is None or not self._is_plain(tensor):
            return bound
        if not tensor.is_cuda:
            self.on_cpu.cells[self.on_cpu.find(_above(2))] += 1
            return bound
        sites = self._on_device

        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter_ns()
            try:
                result = bound(*args, **kwargs)
            except BaseException as error:
                BaseException.with_traceback(
                    error, error.__traceback__ and error.__traceback__.tb_next
                )
                raise
            sites.add(sites.find(_above(1)), time.perf_counter_ns() - begun, tensor)
            return result

        return timed


def counted_read(name: str, tensor: Any, all_reads: ReadTurns) -> CountedRead:
    """The method ``name`` of the class ``tensor``, counted.

    A small network reads more than ten tensors in an update, so each has to be cheap: ``__get__`` is made for its
    one method, with all that it needs in variables of this function: attributes of the object take longer to find.
    ``benchmarks/torch_cost.py`` times a read.
    """
    away, stays, given_back, frame_above = _away, stays_here, _given_back, _getframe
    left, thread = all_reads.left, get_ident
    is_foreign = foreign_errors.trim

    class ReadOfOneMethod(CountedRead):
        def __get__(self, read: Any, owner: Any = None) -> Any:
            if away[0] or stays[0]:
                return bind(original, read, owner)
            if type(read) is not tensor or modes() or read.is_cuda:
                return rarer(read, owner)
            left[0] -= 1
            if left[0] < 0:
                all_reads.read_in(thread())
            if gives_back or given_back[0] != id(read):
                try:
                    frame = frame_above(1)
                    first = slots[id(frame.f_code), frame.f_lasti]
                except KeyError as error:
                    if is_foreign(error):
                        raise
                    first = on_cpu.find(frame)
                except ValueError as error:
                    if is_foreign(error):
                        raise
                    first = on_cpu.find(None)
                on_cpu.cells[first] += 1
            given_back[0] = id(read) if gives_back else 0
            return bind(original, read, owner)

    counted = ReadOfOneMethod(name, tensor)
    bind, original, modes = counted.bind, counted.original, counted.modes
    rarer, on_cpu, slots = counted.of_a_rarer_kind, counted.on_cpu, counted.on_cpu.slots
    gives_back = name == "cpu"
    return counted


class CountedCopy(CountedMethod):
    """One that may copy a tensor from one device to another."""

    def __init__(self, name: str, tensor: Any) -> None:
        super().__init__(name, tensor)
        self._takes_source = name == "copy_"
        self._cuda: Any = None
        self._to_host = self._new_sites(name, "gpu")
        self._pinned = self._new_sites(name + " (to the GPU)", "gpu")
        self._pageable = self._new_sites(name + " (to the GPU, pageable)", "gpu")

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        bound = self.bind(self.original, tensor, owner)
        cuda = self._cuda
        if cuda is None:
            cuda = self._cuda = sys.modules.get("torch.cuda")
        # Before the program's first use of a GPU there is nowhere to copy to, but by this very call.
        if tensor is None or not getattr(cuda, "_initialized", False) or not self._is_plain(tensor):
            return bound

        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter_ns()
            try:
                result = bound(*args, **kwargs)
            except BaseException as error:
                BaseException.with_traceback(
                    error, error.__traceback__ and error.__traceback__.tb_next
                )
                raise
            waited = time.perf_counter_ns() - begun
            source = args[0] if self._takes_source and args else tensor
            try:
                sites = self._sites_of(source, result, kwargs.get("non_blocking", False))
            except Exception as error:
                # A tensor of a kind that does not say where its memory is.
                foreign_errors.pass_on(error)
                return result
            if sites is not None:
                sites.add(sites.find(_above(1)), waited, source)
            return result

        return timed

    def _sites_of(self, source: Any, result: Any, non_blocking: bool) -> Optional[SyncSites]:
        """Those of this kind of copy; None where nothing was copied that is counted."""
        if not self._is_plain(source) or source.is_cuda is result.is_cuda:
            return None
        if not source.is_cuda:
            return self._pinned if source.is_pinned() else self._pageable
        return None if non_blocking else self._to_host


def _above(levels: int) -> Optional[FrameType]:
    """The frame so many above the one that calls this; None where no Python called what reads there: a thread or a
    function of ``atexit`` may be C code.
    """
    try:
        return _getframe(levels + 1)
    except ValueError as error:
        if foreign_errors.trim(error):
            raise
        return None
