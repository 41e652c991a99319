"""Python loops over the rows or numbers of a tensor or an array, where one operation would do for all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.line_time import MIN_SHARE, loop_time
from rlprof.detectors.recognisers.networks.recurrent_loops import RecurrentLoops
from rlprof.device.places import places_of_repeats
from rlprof.device.repeats import loops_over_tensors
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import short_place
from rlprof.source.tensor_loops import ARRAYS, TENSORS, TensorLoop
from rlprof.units import count, duration, of_each_step, percent

NUMBERS_REMOVABLE: Final = calibrated(
    Range(0.93, 0.99),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13: a turn takes 1 to 5 µs, and of 16 turns 0.02 "
    "to 0.05 is left, of 128 0.01",
    date="2026-11-21",
)
"""Part that one operation on the whole tensor saves, or ``tolist`` before the loop."""

ROWS_REMOVABLE: Final = calibrated(
    Range(0.3, 0.98),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13: of 16 rows of 64 0.06 is left, of 128 0.01, of "
    "128 rows of 1 024 0.03",
    date="2026-11-21",
)
"""The same of rows. How long they are the samples do not tell, and long ones, or few, save less."""

MAY_BE_LITTLE: Final = 0.0
"""Least part of a loop through the rows for which something holds, such as ended episodes, for of a single row nothing goes; and of one that copies
parts of images, of which large ones take as long in one operation."""

ARRAY_COSTS: Final = calibrated(
    4.0,
    unit="turns",
    source="benchmarks/replacements.py, numpy 2.4: 16 turns leave 0.08 to 0.17, 64 0.03 to 0.05, 512 0.01",
    date="2026-11-23",
)
"""Turns of a loop over an array of numpy that take as long as the same for the whole array, at most."""

ARRAY_REMOVABLE: Final = calibrated(
    Range(0.8, 0.99),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: with numbers that are taken out by tolist() 0.17 to 0.18 are left, of "
    "one operation for 512 0.01",
    date="2026-11-23",
)
"""Part of a loop over many items of an array of numpy that goes."""

FEWEST_TURNS: Final = 10
"""As torch's own pattern matcher has it (ForLoopIndexingPattern)."""

MIN_TRACE_SHARE: Final = 0.01
"""Least share of the wall time, spent in such loops."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    yield from _over_tensors(profile)
    yield from _over_arrays(profile)
    yield from _over_steps(profile)


def _over_tensors(profile: Profile) -> Iterable[Finding]:
    found = loop_time(profile, TENSORS, _is_one_by_one)
    if found is None:
        return
    loop = found.heaviest
    of_rows = Range(MAY_BE_LITTLE, ROWS_REMOVABLE.high) if loop.may_be_little else ROWS_REMOVABLE
    savings = (
        Saving(found.nodes(of_numbers=True), NUMBERS_REMOVABLE),
        Saving(found.nodes(of_numbers=False), of_rows),
    )
    yield Finding(
        title=f"a Python loop goes through {loop.tensor} one by one ({found.place})",
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=found.time.locations,
        evidence=(
            found.time.share_spent("in that loop"),
            "the source shows that no turn needs the one before, and nothing but torch is called on them",
        ),
        fix="Do it for all at once: (a * b).sum(), torch.where(condition, x, y), x[index]. Where the numbers "
        "are needed in Python, take them out before the loop with tolist().",
        confidence=Confidence.MEASURED if loop.of_numbers else Confidence.BOUNDED,
    )


def _over_arrays(profile: Profile) -> Iterable[Finding]:
    found = loop_time(profile, ARRAYS, _is_one_by_one)
    if found is None:
        return
    loop = found.heaviest
    yield Finding(
        title=f"a Python loop goes through {loop.tensor} one by one ({found.place})",
        savings=(Saving(found.time.nodes, _removable_of_array(loop.turns)),),
        locations=found.time.locations,
        evidence=(
            found.time.share_spent("in that loop"),
            f"{loop.tensor} is an array of numpy with {count(loop.turns)} rows, and no turn needs the one before",
        ),
        fix="Do it for all at once: np.exp(-(x - y) ** 2), np.where(condition, x, y), x[index]. Where the numbers are "
        "needed in Python, take them out before the loop with tolist(): an item of an array costs several of a list.",
        confidence=Confidence.MEASURED,
    )


def _over_steps(profile: Profile) -> Iterable[Finding]:
    """Yield loops that ask a recurrent network for one step after the other, in updates."""
    loops, whole = RecurrentLoops(profile), profile.critical.wall_us
    forward = loops.tree.cost_of(loops.nodes).wall_us
    if not whole or forward < MIN_SHARE * whole:
        return
    heaviest = max(loops.found, key=lambda loop: loops.tree.cost_of(loop.nodes).wall_us)
    backward = loops.backward()
    spent = f"{percent(forward / whole)} of the steady time is spent in that loop" + of_each_step(
        forward, profile.steady_steps
    )
    if backward is not None:
        spent += f", and {percent(loops.tree.cost_of(backward.nodes).wall_us / whole)} in backward passes, which go through its steps as well"
    yield Finding(
        title=f"a recurrent network is asked for one time step after the other ({short_place(heaviest.place)})",
        savings=(
            *(saving for loop in loops.found for saving in loop.savings),
            *((backward,) if backward is not None else ()),
        ),
        locations=loops.lines.shown_locations(loops.weights, whole),
        evidence=(
            spent,
            f"all steps are there when it begins: {heaviest.sequence}",
            f"the state: {heaviest.state}"
            + (", which is reset within the sequence" if heaviest.is_reset else ""),
            "the source shows that no step's input needs the answer to the one before",
        ),
        fix="Give nn.LSTM or nn.GRU the whole sequence in one call, (time, batch, features), and the layers before and after it all steps at once. "
        "Where episodes end within the sequence, cut it there, and set the state to zero between two calls.",
        confidence=Confidence.BOUNDED,
    )


def _removable_of_array(turns: int) -> Range:
    return Range(min(ARRAY_REMOVABLE.low, 1 - ARRAY_COSTS / turns), ARRAY_REMOVABLE.high)


def _is_one_by_one(loop: TensorLoop) -> bool:
    return not loop.goes_backwards


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    loops = list(loops_over_tensors(view.outermost_ops, FEWEST_TURNS))
    held = sum(loop.span.length for loop in loops)
    if not loops or held < MIN_TRACE_SHARE * view.wall.length:
        return
    turns = sum(loop.turns for loop in loops)
    ops = sum(loop.ops for loop in loops)
    # What one turn takes is left: the same ops over all items at once.
    idle = view.idle_in(loop.span for loop in loops) * (1 - len(loops) / turns)
    yield DeviceFinding(
        title="a Python loop takes a tensor apart, item by item",
        saved_us=Range(0.0, idle),
        evidence=(
            f"{count(ops)} ops in {count(turns)} turns hold the host for {duration(held)}, "
            f"{percent(held / view.wall.length)} of the trace; the GPU has nothing to do for {duration(idle)} of it",
        ),
        fix="One op over all items. A recursion over time, as in GAE: on the CPU with NumPy, over all environments "
        "at once, or torch.compile.",
        causes=(IdleCause.LAUNCH_BOUND, IdleCause.OTHER, IdleCause.SYNC),
        places=places_of_repeats(view, loops),
    )


DETECTOR: Final = Detector(
    id="python-loop-over-tensor",
    name="Python loops over the rows or numbers of a tensor or an array",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect_in_trace),
)
