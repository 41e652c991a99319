"""cloudpickle: classes of a program are pickled by value as they would be without us, with the program's own functions in them.

What stood in a class would go along else, and be another function in the copy than the one that a decorator knows: ``step.calls`` would no longer be
what the decorator counts in.
"""

from __future__ import annotations

from copy import copy
from types import FunctionType

from .calls import given_back
from .dressing import dressed, is_counting, original_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_BY_VALUE = "_dynamic_function_reduce"
"""The method that tells how a function is made anew, since cloudpickle 1.3."""


def pickle_originals(module: ModuleType) -> None:
    """Have cloudpickle, or the copy of it that a library brings along, find the program's own functions. ``module`` is its."""
    for name in ("Pickler", "CloudPickler"):
        pickler: Any = getattr(module, name, None)
        reduce = vars(pickler).get(_BY_VALUE) if isinstance(pickler, type) else None
        if type(reduce) is FunctionType and not is_counting(reduce):
            setattr(pickler, _BY_VALUE, dressed(_of_originals(reduce), reduce))


def _of_originals(reduce: Any) -> Any:
    original = reduce

    def reduced(self: Any, func: Any) -> Any:
        counted = original_of(func) if is_counting(func) else None
        if type(counted) is FunctionType:
            given_back(func)  # What the program has set on ours goes along.
            # The copy of a function is that function: so the one in the class and the one that others refer to stay the same.
            return copy, (counted,)
        try:
            return original(self, func)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return reduced
