"""Keep torch.compile away from the agent's functions.

Compiled code that calls a function has that compiled as well. Of ours it would make graphs that are not
the program's, and warnings about what it cannot trace.
"""

from __future__ import annotations

import sys

from .counters import counter

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType
    from typing import Any

_dynamo: list[ModuleType] = []
_is_compiling = False
_may_have_compiled = False
_before_compiling: list[Callable[[], None]] = []


def stay_out(module: ModuleType) -> None:
    """``module`` is ``torch._dynamo.eval_frame``."""
    _dynamo.append(module)
    for name, own in list(sys.modules.items()):
        if name.startswith(__package__):
            skip(own)


def read_own_code(module: ModuleType) -> None:
    """``module`` is ``torch._dynamo.bytecode_transformation``: have functions compiled as they are without the marks that count their calls."""
    own: Any = module
    read = own.cleaned_instructions

    def cleaned_instructions(code: CodeType, *args: Any, **kwargs: Any) -> Any:
        call_marks: Any = sys.modules.get("rlprof_agent.counted.call_marks")
        return read(code if call_marks is None else call_marks.own_code(code), *args, **kwargs)

    own.cleaned_instructions = cleaned_instructions


def count_compiles(_eval_frame: ModuleType) -> None:
    """By dynamo's own callbacks, which there are not in every version of torch."""
    compiles = counter("torch_compiles")

    # Called with one argument, or with none by older versions.
    def begins(*_: Any) -> None:
        global _is_compiling
        _is_compiling = True
        _stands_still()

    def ends(*_: Any) -> None:
        global _is_compiling
        _is_compiling = False
        compiles.cell[0] += 1

    try:
        from torch._dynamo.callback import on_compile_end, on_compile_start
    except ImportError:
        _stands_still()
        return  # A version of torch that does not tell.
    on_compile_start(begins)
    on_compile_end(ends)


def is_compiling() -> bool:
    """Tell whether a thread of this process compiles now, as far as torch tells."""
    return _is_compiling


def before_compiling(act: Callable[[], None]) -> None:
    """Have ``act`` called once, before torch.compile compiles anything in this process: from then on what it looks at must not change."""
    _before_compiling.append(act)


def may_have_compiled() -> bool:
    """Tell whether torch.compile may have compiled something in this process, as far as torch tells."""
    return _may_have_compiled


def _stands_still() -> None:
    global _may_have_compiled
    if not _may_have_compiled:
        _may_have_compiled = True
        for act in _before_compiling:
            act()


def skip(own: ModuleType) -> None:
    """Have dynamo skip the functions of a module of ours; to be called by those imported late."""
    if not _dynamo:
        return
    skip_code: Any = _dynamo[0].skip_code
    for defined in list(vars(own).values()):
        if getattr(defined, "__module__", None) != own.__name__:
            continue
        functions = vars(defined).values() if isinstance(defined, type) else (defined,)
        for function in functions:
            accessors = (function, getattr(function, "fget", None))
            for code in (getattr(accessor, "__code__", None) for accessor in accessors):
                for each in _codes_in(code):
                    skip_code(each)


def switch_off() -> Any:
    """Have nothing compiled in this thread: what we call of torch's would be, where compiled code calls us.

    Returns what :func:`switch_back` takes.
    """
    setter = getattr(_dynamo[0], "set_eval_frame", None) if _dynamo else None
    return None if setter is None else (setter, setter(None))


def switch_back(before: Any) -> None:
    if before is not None:
        setter, callback = before
        setter(callback)


def replace_in_graphs(function: Any, stand_in: Any) -> None:
    """Have torch.compile trace ``stand_in`` where it would trace ``function``: a graph has no place for
    counting, and with ``fullgraph=True`` it would be an error of the program's.
    """
    function._torchdynamo_inline = stand_in


def _codes_in(code: Any) -> Iterator[CodeType]:
    """Yield ``code``, unless it is none, and those of the functions that it defines."""
    if hasattr(code, "co_consts"):
        yield code
        for const in code.co_consts:
            yield from _codes_in(const)
