"""Code objects that are known by their ``id``, held so that it is not given to another one meanwhile."""

from __future__ import annotations

from sys import getsizeof

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType

MOST_CODES = 10_000
MOST_BYTES = 16 << 20
"""Most bytes of their constants. A program may make ever new code, and put its data there."""
_MOST_CONSTANTS = 500
"""Most constants of one code that are looked at: some 50 µs. Modules of torch have several thousand; those beyond count as these do."""


class HeldCodes:
    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}
        self._bytes = 0

    def __contains__(self, number: int) -> bool:
        return number in self._codes

    @property
    def are_too_many(self) -> bool:
        """True if to :meth:`clear` them, and with them all that is known by their numbers."""
        return len(self._codes) >= MOST_CODES or self._bytes >= MOST_BYTES

    def hold(self, code: CodeType) -> None:
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self._bytes += _bytes_of(code)

    def clear(self) -> None:
        self._codes.clear()
        self._bytes = 0


def _bytes_of(code: CodeType) -> int:
    """Return the bytes of all constants, also in those that hold others: tuples, sets, and the code of functions within."""
    held, total = [code.co_consts], 0
    constants, of_all = 0, len(code.co_consts)
    for each in held:
        for constant in each:
            if constants >= _MOST_CONSTANTS:
                return total * of_all // constants
            constants += 1
            total += getsizeof(constant)
            kind = type(constant)
            if kind is type(code):
                constant = constant.co_consts
            elif kind is not tuple and kind is not frozenset:
                continue
            held.append(constant)
            of_all += len(constant)
    return total
