"""cloudpickle: classes of a program are pickled by value as they would be without us, and counted where they are loaded.

The program's own functions are in them: a mark would go along else, which counts for nobody where it is loaded, and takes time.
"""

from __future__ import annotations

from types import FunctionType

from .call_marks import mark_of
from .class_methods import count_again
from .dressing import dressed, is_counting, takes_self_and_one_more

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

_OF_FUNCTIONS = (
    "__annotations__",
    "__dict__",
    "__doc__",
    "__kwdefaults__",
    "__module__",
    "__qualname__",
    "__type_params__",
)
_BY_VALUE = "_dynamic_function_reduce"
"""The method that tells how a function is made anew, since cloudpickle 1.3."""
_GIVES_METHODS = "_class_setstate"
"""The function that gives a class its methods where it is loaded, since the same: one class for all that were the same where they come from, and new
methods each time. A worker of joblib's gets it once more with each task.
"""


def take_part(module: ModuleType) -> None:
    """Have cloudpickle, or the copy of it that a library brings along, find the program's own code, and what it loads counted. ``module`` is its."""
    for name in ("Pickler", "CloudPickler"):
        pickler: Any = getattr(module, name, None)
        reduce = vars(pickler).get(_BY_VALUE) if isinstance(pickler, type) else None
        if type(reduce) is FunctionType and not is_counting(reduce):
            setattr(pickler, _BY_VALUE, dressed(_of_originals(reduce), reduce))
    give: Any = vars(module).get(_GIVES_METHODS)
    if takes_self_and_one_more(give) and not is_counting(give):
        setattr(module, _GIVES_METHODS, dressed(_counting_again(give), give))


def _of_originals(reduce: Any) -> Any:
    original = reduce

    def reduced(self: Any, func: Any) -> Any:
        mark = mark_of(func)
        try:
            return original(self, func if mark is None else unmarked(func, mark.own))
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return reduced


def _counting_again(give: Any) -> Any:
    original = give

    def given(obj: type, state: Any) -> Any:
        try:
            result = original(obj, state)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        count_again(obj)
        return result

    return given


def unmarked(function: FunctionType, code: CodeType) -> FunctionType:
    """A function that is as ``function`` but for its code."""
    copy = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    for name in _OF_FUNCTIONS:
        if hasattr(function, name):
            setattr(copy, name, getattr(function, name))
    return copy
