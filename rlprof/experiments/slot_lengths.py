"""Choose how long slots last for a program, how often its counts are read in them, and how long a treatment may take."""

from __future__ import annotations

from typing import Final, NamedTuple

from rlprof.experiments.rates import Rhythm

SHORTEST_SLOT_S: Final = 0.4
UNITS: Final = 10
"""Units of work in a slot, at least."""

FED_SLOT_S: Final = 2.0
"""Shortest slot that is believed by itself where processes feed each other: what is in their buffers belongs to the slot before. The first slots
last half as long, and count where these agree with them."""

SHORT_CYCLE_S: Final = 1.0
"""A cycle that is shorter goes into a slot several times."""

FINE_POLL: Final = 0.01
"""Part of a slot after which counts are read again: so exactly the ends of its units are known."""

POLL: Final = 0.05
"""The same where units are shorter than that: whenever counts are read, they are right."""

LISTEN_POLL_S: Final = FINE_POLL * SHORTEST_SLOT_S
"""Time between two reads while the rhythm is not known yet."""

LONGEST_TRY_S: Final = 30.0
"""Time for one treatment, where its slots are short enough for that."""

MOST_SLOTS: Final = 12
"""Slots for which there is time in any case."""

MOST_BOTH_SLOTS: Final = 25
"""The same where longer ones are compared with them: five pairs, and three of twice the length."""


class SlotLengths(NamedTuple):
    """Times for the slots of one treatment."""

    slot_s: float
    """Length of its first slots."""
    lengthens: bool
    """True if slots of twice the length are compared with them."""
    trusted_s: float
    """Length from which on slots are believed where they say that nothing is gained."""
    longest_try_s: float
    poll_s: float
    """Time between two reads of the counts."""


def slot_lengths(rhythm: Rhythm, processes: int) -> SlotLengths:
    """Choose them by the rhythm of a program of so many processes."""
    slot_s = _slot_s(rhythm, processes)
    lengthens = slot_s <= FED_SLOT_S and not rhythm.has_cycles
    most = MOST_BOTH_SLOTS if lengthens else MOST_SLOTS
    is_fine = rhythm.has_cycles or rhythm.unit_s > FINE_POLL * slot_s
    return SlotLengths(
        slot_s,
        lengthens,
        trusted_s=max(slot_s, FED_SLOT_S) if lengthens and processes > 1 else slot_s,
        longest_try_s=max(LONGEST_TRY_S, most * slot_s),
        poll_s=(FINE_POLL if is_fine else POLL) * slot_s,
    )


def _slot_s(rhythm: Rhythm, processes: int) -> float:
    if rhythm.has_cycles:
        cycles = max(1, round(SHORT_CYCLE_S / rhythm.unit_s))
        # Less, for a slot ends with the first cycle that ends after it.
        return (cycles - 0.5) * rhythm.unit_s
    return max(FED_SLOT_S / 2 if processes > 1 else SHORTEST_SLOT_S, UNITS * rhythm.unit_s)
