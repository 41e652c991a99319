"""Reads of OmegaConf's configurations that go straight to what is kept there.

A plain value is handed out as it is found, and so are a configuration within another one, and the plain value that an
interpolation names by its whole path (``${agent.rate}``). All else goes OmegaConf's own way: other interpolations, resolvers, missing
values, keys that are not there. No value is remembered, so one that the program sets is what the next read gives.
"""

from __future__ import annotations

from types import FunctionType

from ..real import time
from . import AskedPart, library
from .functions import SwappedCode, call_ns, calling, named, own_copy

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_NODES = ("AnyNode", "NoneNode", "StringNode", "IntegerNode", "FloatNode", "BooleanNode")
_NOT_PLAIN = object()
_PATHS = 1_000
"""Texts of interpolations that are known as paths."""
_MOST_PASSED_ON = 1_000
_NOT_ANSWERED = (
    "most of the values that are read are interpolations with more than a path, or missing"
)
_READS = ("DictConfig.__getattr__", "DictConfig.__getitem__")


class Configurations:
    """Reads of ``DictConfig``, by attribute and by key."""

    def __init__(self, asked: AskedPart) -> None:
        dicts = library("omegaconf.dictconfig")
        nodes = library("omegaconf.nodes")
        plain = frozenset(getattr(nodes, name) for name in _NODES if hasattr(nodes, name))
        lists = library("omegaconf.listconfig").ListConfig

        reads = [named("omegaconf.dictconfig", name) for name in _READS]

        def swapped(asked: AskedPart) -> SwappedCode:
            def treated(function: FunctionType) -> Any:
                original = own_copy(function)
                read = _reading(original, dicts.DictConfig, lists, plain, nodes.AnyNode, asked)
                return calling(function, read)

            return SwappedCode(reads, treated)

        told = [0]
        asked.frame_ns = _untold_ns(swapped(AskedPart({}, [0], asked.failed, told)), told)
        swap = swapped(asked)
        self.put_on, self.take_off = swap.put_on, swap.take_off


def _untold_ns(swap: SwappedCode, told: list[int]) -> int:
    """Time of a treated read that it does not tell of itself: Python looks for an attribute everywhere else before it asks ours."""
    config: Any = library("omegaconf").OmegaConf.create({"value": 1})
    plain = {"value": 1}
    swap.put_on()
    try:
        read_ns = call_ns(lambda: config.value, told=told)
    finally:
        swap.take_off()
    return max(0, read_ns - call_ns(lambda: plain["value"]))


def _is_name(key: str) -> bool:
    return key.isascii() and key.isidentifier()


def _reading(
    original: Any, dicts: Any, lists: Any, plain: frozenset[Any], anything: Any, asked: AskedPart
) -> Any:
    containers = frozenset((dicts, lists))
    paths: dict[str, Any] = {}

    def read(self: Any, key: Any) -> Any:
        entered_ns = time.perf_counter_ns()
        value = kept(self, key)
        if value is _NOT_PLAIN:
            asked.passes_on(_MOST_PASSED_ON, _NOT_ANSWERED)
            return original(self, key)
        if type(value) in containers:
            # On the way to a value, which may be one of those that are passed on.
            asked.reached[0] += 1
        else:
            asked.treats()
        # Once read before the loop it is there for nothing.
        asked.costs(time.perf_counter_ns() - entered_ns)
        return value

    def kept(self: Any, key: Any) -> Any:
        content = self.__dict__.get("_content")
        # A class of the program's may read in its own way.
        if (
            type(self) is not dicts
            or type(content) is not dict
            or type(key) is not str
            or key == "__name__"
        ):
            return _NOT_PLAIN
        node = content.get(key)
        value = plain_value(node)
        # A node with a type would make it one of its own.
        if value is _NOT_PLAIN and type(node) is anything:
            path = path_of(node.__dict__.get("_val"))
            return _NOT_PLAIN if path is None else at_path(self, path)
        # Not one that is None, missing or an interpolation.
        if type(node) in containers and type(node.__dict__.get("_content")) in (dict, list):
            return node
        return value

    def plain_value(node: Any) -> Any:
        if type(node) not in plain:
            return _NOT_PLAIN
        value = node.__dict__.get("_val")
        if value is None or type(value) in (int, float, bool):
            return value
        is_text = type(value) is str and not ("$" in value or "?" in value or "\\" in value)
        return value if is_text else _NOT_PLAIN

    def path_of(text: Any) -> Any:
        """The keys of an interpolation that is a whole path and nothing else; None of all others."""
        if type(text) is not str:
            return None
        if text not in paths:
            if len(paths) >= _PATHS:
                paths.clear()
            keys = text[2:-1].split(".") if text[:2] == "${" and text[-1] == "}" else []
            paths[text] = keys if all(map(_is_name, keys)) and keys else None
        return paths[text]

    def at_path(config: Any, path: list[str]) -> Any:
        """The plain value there by now; what is an interpolation on the way is left to OmegaConf."""
        node, around = config, config.__dict__.get("_parent", _NOT_PLAIN)
        while around is not None:
            if around is _NOT_PLAIN:
                return _NOT_PLAIN  # Of a version that keeps it elsewhere.
            node, around = around, around.__dict__.get("_parent", _NOT_PLAIN)
        for key in path:
            content = node.__dict__.get("_content") if type(node) is dicts else None
            if type(content) is not dict:
                return _NOT_PLAIN
            node = content.get(key)
        return plain_value(node)

    return read
