"""Reads of OmegaConf's configurations that go straight to what is kept there.

A plain value is handed out as it is found, and so is a configuration within another one. All else goes OmegaConf's own way:
interpolations, custom resolvers, missing values, keys that are not there. Nothing is remembered, so a value that the program
sets is what the next read gives.
"""

from __future__ import annotations

from types import FunctionType

from ..real import time
from . import library
from .calls import frame_ns
from .functions import SwappedCode, calling, named, own_copy

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_NODES = ("AnyNode", "NoneNode", "StringNode", "IntegerNode", "FloatNode", "BooleanNode")
_NOT_PLAIN = object()
_READS = ("DictConfig.__getattr__", "DictConfig.__getitem__")


class Configurations:
    """Reads of ``DictConfig``, by attribute and by key."""

    def __init__(self, asked: AskedPart) -> None:
        dicts = library("omegaconf.dictconfig")
        nodes = library("omegaconf.nodes")
        plain = frozenset(getattr(nodes, name) for name in _NODES if hasattr(nodes, name))
        lists = library("omegaconf.listconfig").ListConfig

        def treated(function: FunctionType) -> Any:
            read = _reading(own_copy(function), dicts.DictConfig, lists, plain, asked)
            return calling(function, read)

        swap = SwappedCode([named("omegaconf.dictconfig", name) for name in _READS], treated)
        self.put_on, self.take_off = swap.put_on, swap.take_off


def _reading(original: Any, dicts: Any, lists: Any, plain: frozenset[Any], asked: AskedPart) -> Any:
    containers = frozenset((dicts, lists))
    asked.frame_ns = frame_ns({})

    def read(self: Any, key: Any) -> Any:
        entered_ns = time.perf_counter_ns()
        asked.reached[0] += 1
        value = kept(self, key)
        if value is _NOT_PLAIN:
            return original(self, key)
        # Once read before the loop it is there for nothing.
        asked.cost_ns[0] += asked.frame_ns + time.perf_counter_ns() - entered_ns
        return value

    def kept(self: Any, key: Any) -> Any:
        content = self.__dict__.get("_content")
        # A class of the program's may read in its own way.
        if type(self) is dicts and type(content) is dict and type(key) is str and key != "__name__":
            node = content.get(key)
            kind = type(node)
            if kind in plain:
                value = node.__dict__.get("_val")
                if value is None or type(value) in (int, float, bool):
                    return value
                if type(value) is str and not ("$" in value or "?" in value or "\\" in value):
                    return value
            # Not one that is None, missing or an interpolation.
            elif kind in containers and type(node.__dict__.get("_content")) in (dict, list):
                return node
        return _NOT_PLAIN

    return read
