"""Evaluations that a library makes by itself: the steps in them are no training's, and count apart."""

from __future__ import annotations

from _thread import allocate_lock, get_ident

from ..counters import counter, counters_of
from .dressing import in_place_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import EventCounter

_threads: set[int] = set()
"""Those that evaluate."""

_changing = allocate_lock()
_MOST_WAIT_S = 0.1
"""A child that was forked while another thread changed cells has a lock that nobody lets go."""

_STEPS, _NAMED = "steps:", "steps:custom"
"""Counter of ``--steps-from``, which counts wherever that is called."""


def count_apart(module: ModuleType) -> None:
    """``module`` has Stable-Baselines3's ``evaluate_policy``, or that of its contributions."""
    original: Any = vars(module)["evaluate_policy"]
    evaluation = _Evaluation()
    __class__ = None

    def counted(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        begun = False
        try:
            begun = evaluation.begin()
            return original(*args, **kwargs)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        finally:
            evaluation.end(begun)

    # It stays there while an instrument is on: who has imported it by name may pickle it, and pickle looks it up here.
    vars(module)["evaluate_policy"] = in_place_of(original, counted)


class _Evaluation:
    """An evaluation by the current thread. Steps of such threads count apart, as long as there are any."""

    def begin(self) -> bool:
        """Tell whether it is the outermost of its thread."""
        me = get_ident()
        if me in _threads:
            return False
        with _Changing():
            _threads.add(me)
            evaluated = counter("evaluation_steps")
            for each in counters_of(_STEPS):
                if each.name != _NAMED and type(each.cell) is not _Divided:
                    each.cell = _Divided(each.cell, evaluated)
        return True

    def end(self, begun: bool) -> None:
        if not begun:
            return
        with _Changing():
            _threads.discard(get_ident())
            if _threads:
                return
            for each in counters_of(_STEPS):
                # A child that was forked meanwhile has a cell of its own.
                if type(each.cell) is _Divided:
                    each.cell = each.cell.whole

    def __reduce__(self) -> Any:
        """A function that is pickled by value takes this along: there it counts for nobody."""
        from types import SimpleNamespace

        return SimpleNamespace, (), {"begin": bool, "end": callable}


class _Changing:
    """One thread at a time changes which cells are divided."""

    def __enter__(self) -> None:
        self._is_mine = _changing.acquire(True, _MOST_WAIT_S)

    def __exit__(self, *_error: object) -> None:
        if self._is_mine:
            _changing.release()


class _Divided:
    """The cell of a counter while a thread evaluates: what others add is the counter's, what it adds goes apart."""

    __slots__ = ("_apart", "_evaluated", "whole")

    def __init__(self, whole: Any, evaluated: EventCounter) -> None:
        self.whole = whole
        self._evaluated = evaluated
        self._apart = 0

    def __getitem__(self, index: int) -> int:
        """0, so that ``cell[0] += n`` puts n, whatever other threads add meanwhile; see ``so_far``."""
        return 0

    def __setitem__(self, index: int, more: int) -> None:
        if get_ident() in _threads:
            self._apart += more
            self._evaluated.cell[0] += more
        else:
            self.whole[index] += more

    def so_far(self) -> int:
        return int(self.whole[0]) + self._apart
