"""Accesses of configuration objects: OmegaConf, which hydra hands out, and ml_collections.

Whatever is read within a call that reads a whole path or tree, it is one access.
"""

from __future__ import annotations

from ..counters import counter
from . import call_marks
from .call_kinds import NOT_AT_ALL
from .outermost import outermost_calls

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

    from .call_kinds import Told


def count_dict_accesses(module: ModuleType) -> None:
    """``module`` is ``omegaconf.dictconfig``."""
    names = vars(module.DictConfig)
    for name in ("__getattr__", "__getitem__", "get"):
        _count(names[name])


def count_list_accesses(module: ModuleType) -> None:
    """``module`` is ``omegaconf.listconfig``, where each item of a loop is an access."""
    names = vars(module.ListConfig)
    for name in ("__getitem__", "get"):
        _count(names[name])
    accesses = counter("config_accesses")
    kind = outermost_calls(accesses)

    def items(frame: FrameType, config: Any) -> Told:
        told = kind(frame, config)
        content = config.__dict__.get("_content")
        if told is NOT_AT_ALL or type(content) is not list:
            return told
        return accesses, len(content)

    call_marks.count(names["__iter__"], accesses, items)


def count_conversions(module: ModuleType) -> None:
    """``module`` is ``omegaconf.omegaconf``."""
    for name in ("select", "to_container"):
        _count(vars(module.OmegaConf)[name].__func__)


def count_config_dicts(module: ModuleType) -> None:
    """``module`` is ``ml_collections.config_dict.config_dict``, where all ways lead through this one."""
    _count(vars(module.ConfigDict)["__getitem__"])


def _count(function: Any) -> None:
    accesses = counter("config_accesses")
    call_marks.count(function, accesses, outermost_calls(accesses))
