"""Accesses of configuration objects: OmegaConf, which hydra hands out, and ml_collections.

An access takes some microseconds, and to tell in which thread it is would add half again to what counting
costs. So an access within another counts too (a resolver that reads the configuration makes some),
but none within a call that reads a whole path or tree. torch.compile traces what these functions stand in for.
"""

from __future__ import annotations

from _thread import get_ident

from .. import dynamo
from ..counters import counter
from .dressing import dressed, take_names, takes_self_and_one_more

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import EventCounter

_within: set[int] = set()
"""Threads that are in a call which reads a whole path or tree."""

_GET = ("self", "key", "default_value")
"""Arguments of ``DictConfig.get``, the last of which may be left out."""


def count_dict_accesses(module: ModuleType) -> None:
    """``module`` is ``omegaconf.dictconfig``."""
    accesses = counter("config_accesses")
    config: Any = module.DictConfig
    for name in ("__getattr__", "__getitem__"):
        setattr(config, name, _looked_up(config.__dict__[name], accesses))
    get = config.__dict__["get"]
    is_usual = get.__code__.co_varnames[:3] == _GET and get.__defaults__ == (None,)
    config.get = (_got if is_usual else _called)(get, accesses)


def count_list_accesses(module: ModuleType) -> None:
    """``module`` is ``omegaconf.listconfig``."""
    accesses = counter("config_accesses")
    config: Any = module.ListConfig
    config.__getitem__ = _looked_up(config.__dict__["__getitem__"], accesses)
    config.__iter__ = _gone_through(config.__dict__["__iter__"], accesses)
    config.get = _called(config.__dict__["get"], accesses)


def count_conversions(module: ModuleType) -> None:
    """``module`` is ``omegaconf.omegaconf``. Whatever is read within such a call, it is one access."""
    accesses = counter("config_accesses")
    functions: Any = module.OmegaConf
    for name in ("select", "to_container"):
        original = functions.__dict__[name].__func__
        setattr(functions, name, staticmethod(_called(original, accesses)))


def count_config_dicts(module: ModuleType) -> None:
    """``module`` is ``ml_collections.config_dict.config_dict``, where all ways lead through this one."""
    config: Any = module.ConfigDict
    original = config.__dict__["__getitem__"]
    config.__getitem__ = _looked_up(original, counter("config_accesses"))


def _looked_up(original: Any, counter: EventCounter) -> Any:
    """For Python's own look-ups."""
    thread, within = get_ident, _within

    def counted(self: Any, key: Any) -> Any:
        try:
            result = original(self, key)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if not within or thread() not in within:
            counter.cell[0] += 1
        return result

    if takes_self_and_one_more(original):
        take_names(counted, original)
    return _dressed(counted, original)


def _got(original: Any, counter: EventCounter) -> Any:
    thread, within = get_ident, _within

    def counted(self: Any, key: Any, default_value: Any = None) -> Any:
        try:
            result = original(self, key, default_value)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if not within or thread() not in within:
            counter.cell[0] += 1
        return result

    return _dressed(counted, original)


def _gone_through(original: Any, counter: EventCounter) -> Any:
    """Each item that it will yield is one."""
    thread, within = get_ident, _within

    def counted(self: Any) -> Any:
        try:
            iterator = original(self)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if not within or thread() not in within:
            content = self.__dict__.get("_content")
            accesses = len(content) if isinstance(content, list) else 1
            counter.cell[0] += accesses
        return iterator

    return _dressed(counted, original)


def _called(original: Any, counter: EventCounter) -> Any:
    """For any call; what is read within it does not count."""
    thread, within = get_ident, _within

    def counted(*args: Any, **kwargs: Any) -> Any:
        me = thread()
        is_outermost = me not in within
        try:
            within.add(me)
            result = original(*args, **kwargs)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        finally:
            if is_outermost:
                within.discard(me)
        if is_outermost:
            counter.cell[0] += 1
        return result

    return _dressed(counted, original)


def _dressed(wrapper: Any, original: Any) -> Any:
    wrapper = dressed(wrapper, original)
    dynamo.replace_in_graphs(wrapper, original)
    return wrapper
