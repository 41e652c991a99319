"""Tell by what a call returns whether it was a step of an environment, and of how many."""

from __future__ import annotations

from ..counters import stated
from ..plain_reads import (
    beside_torch_modes,
    classes_of,
    is_made_by_a_program,
    module_of,
    plain,
    qualname_of,
)

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_MOST_PARTS = 6
"""Most parts of a result: observation, reward, terminated, truncated, information, and one more."""
_NUMBERS = ("int", "float")
_NUMPY_NUMBERS = ("float", "int", "uint")
_BOOLS = ("bool", "bool_")
_ONE_END = ("bool", "numpy.bool", "numpy.bool_")
_NESTED = ("list", "tuple", "dict")
_ARRAYS = ("numpy.ndarray", "torch.Tensor")


def steps_of(stepped: Any, result: Any) -> int:
    """The steps that a call which returned ``result`` has made; 0 for what is no observation, reward and end.

    Numbers and truths of several copies come in arrays, or in lists, of one length.
    """
    if not any(each is tuple for each in classes_of(type(result))):
        return 0
    if not 3 <= tuple.__len__(result) <= _MOST_PARTS:
        return 0
    observation, reward, over = tuple.__getitem__(result, slice(3))
    copies = _count(reward, _NUMBERS, _NUMPY_NUMBERS)
    ends = _count(over, _BOOLS, _BOOLS) or _ends_as_numbers(over)
    # Rewards by name, or a row of observations each, are of agents that act together, and may have one end.
    are_together = _name(reward) == "dict" or (
        copies > 1
        and _name(over) in _ONE_END
        and _name(reward) == _name(observation) == "numpy.ndarray"
        and len(observation.shape) > 1
        and observation.shape[0] == copies
    )
    if not copies or not _is_observation(observation):
        return 0
    if copies != ends and not (are_together and ends == 1):
        return 0
    return copies_stated(stepped) or (1 if are_together else copies)


def copies_stated(stepped: Any) -> int:
    """The number of environments that an object says it is; 0 where it says nothing."""
    number = stated(stepped, "num_envs")
    return number if type(number) is int and number > 0 else 0


def rows_of(action: Any) -> int:
    """The number of actions in one for several copies; 0 for a single one."""
    kind = _name(action)
    if kind in ("list", "tuple"):
        return len(action)
    return int((*_shape(action), 0)[0]) if kind in _ARRAYS else 0


def comes_in_rows(result: Any) -> bool:
    """Tell whether the reward of a step is one for each of several copies, be there one copy alone."""
    reward = tuple.__getitem__(result, 1)
    kind = _name(reward)
    return kind in ("list", "tuple") or (kind in _ARRAYS and len(_shape(reward)) == 1)


def _shape(array: Any) -> tuple[int, ...]:
    """Return that of an array or tensor; of a tensor without asking a mode of the program's, and none where that cannot be."""
    if _name(array) != "torch.Tensor":
        return tuple(array.shape)
    beside = beside_torch_modes()
    if beside is None:
        return ()
    with beside:
        return tuple(array.shape)


def _count(value: Any, plain: tuple[str, ...], of_numpy: tuple[str, ...]) -> int:
    """Count the numbers, or truths, that it holds; 0 where it holds anything else."""
    kind = _name(value)
    if kind in _NESTED:
        each = list(value.values()) if kind == "dict" else value
        return len(each) if each and all(_count(one, plain, of_numpy) == 1 for one in each) else 0
    if kind == "numpy.ndarray":
        return _rows(value.shape) if value.dtype.name.startswith(of_numpy) else 0
    if kind == "torch.Tensor" and (beside := beside_torch_modes()) is not None:
        with beside:
            return _rows(value.shape) if str(value.dtype)[6:].startswith(of_numpy) else 0
    package, _, name = kind.rpartition(".")
    return int(package == "numpy" and name.startswith(of_numpy)) or int(kind in plain)


def _ends_as_numbers(value: Any) -> int:
    """Count the ends of episodes in an array that has 0 and 1 for them; 0 for any other array."""
    if _name(value) != "numpy.ndarray" or len(value.shape) != 1 or value.dtype.kind not in "iuf":
        return 0
    return len(value) if {0, 1}.issuperset(value.tolist()) else 0


def _rows(shape: Any) -> int:
    return int(shape[0]) if len(shape) == 1 else int(not len(shape))


def _is_observation(value: Any) -> bool:
    kind = _name(value)
    return kind in ("str", *_NUMBERS, *_NESTED, *_ARRAYS) or kind.startswith("numpy.")


def _name(value: Any) -> str:
    """That of its type, with the module but for built-in ones; of a class that only says that it is of Python or numpy its name alone."""
    kind = type(value)
    module, name = module_of(kind), plain(qualname_of(kind))
    if type(module) is not str or (is_made_by_a_program(kind) and module in ("builtins", "numpy")):
        return "?.%s" % name
    return name if module == "builtins" else str("%s.%s" % (module, name))
