"""Networks of an ensemble that are asked one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.backward_pass import BackwardPass
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.network_loops import NetworkLoop, NetworkLoops
from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in the networks' forward passes."""

PART_IN_CALLS: Final = calibrated(
    0.15,
    unit="part of a network's forward pass that Python takes to call its layers",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of 3 and 10 networks of two layers of 32 to 256 and 32 to 256 rows that part "
    "is 0.12 to 0.01, and what goes, over all but one, 6 to 8 times as much",
    date="2026-11-26",
)
"""Networks with as large a part compute next to nothing; with a smaller one as much more takes to compute, which stays."""

PART_UNKNOWN: Final = calibrated(
    0.2,
    unit="part of the forward passes",
    source="benchmarks/replacements.py, as above: 0.07 less to 0.2 more goes than that part says",
    date="2026-11-26",
)
"""By which less or more may go."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines(tree, profile.sources, profile.started_package)
    search = NetworkLoops(profile, lines)
    loops = search.found()
    time = own_time(profile, lines, loops, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(frozenset(loop.nodes), _removable(loop, search)) for loop in loops]
    backward = BackwardPass(profile, lines).saving(savings)
    if backward is not None:
        claimed = frozenset[int]().union(backward.nodes, *(saving.nodes for saving in savings))
        steps = tree.topmost(lambda frame: duty_of(frame) is Duty.MOVES_PARAMETERS)
        nodes = frozenset(node for top in steps for node in tree.subtree(top)) - claimed
        savings += [backward, Saving(nodes, Range(0.0, _but_one(time.heaviest)))]
    ensemble = time.heaviest.ensemble
    yield Finding(
        title=f"{ensemble.networks} networks are asked one after the other ({time.place})",
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=time.locations,
        evidence=(
            time.share_spent("in their forward passes"),
            f"seen there: {ensemble.container} with {ensemble.networks} networks of one class",
        ),
        fix="Where their layers have the same sizes, hold their weights in one tensor for each layer, and ask all at once: torch.baddbmm(bias, x, weight) with a first axis for the "
        "networks. The optimizer has fewer tensors to go through then, too. (torch.func.stack_module_state and vmap do the same, and "
        "gain less on the CPU.)",
        confidence=Confidence.BOUNDED,
    )


def _removable(loop: NetworkLoop, search: NetworkLoops) -> Range:
    most = _but_one(loop)
    if not loop.ensemble.is_on_cpu or not loop.ensemble.are_alike:
        return Range(0.0, most)
    part = min(1.0, search.of_calls(loop.nodes) / PART_IN_CALLS)
    return Range(most * max(0.0, part - PART_UNKNOWN), most * min(1.0, part + PART_UNKNOWN))


def _but_one(loop: NetworkLoop) -> float:
    return 1 - 1 / loop.ensemble.networks


DETECTOR: Final = Detector(
    id="ensemble-loop",
    name="networks of an ensemble that are asked one after the other",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
