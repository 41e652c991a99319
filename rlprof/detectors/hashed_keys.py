"""Keys whose hash code in Python computes at each look-up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LineTime, SteadySearch
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import last_name
from rlprof.units import percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in the functions that hash and compare."""

OF_HASHES: Final = Range(0.3, 1.0)
"""Part of their time that goes: some of it where the key becomes a tuple or ``bytes``, all where nothing is looked up. By reason."""

OF_LOOK_UPS: Final = Range(0.0, 1.0)
"""The same of what the lines that look up do themselves: an object that is at hand needs no look-up."""

LEAST_OF_LINE: Final = 0.2
"""Part of such a line's time that hashing takes at least, for the rest to count as that of look-ups."""

_HASH, _EQUAL = "__hash__", "__eq__"
_GENERATED: Final = ("<string>", "<attrs generated")
"""Files of the methods that dataclasses and attrs make."""


class _LookUps(SteadySearch):
    """The calls of hashes, by the lines that look something up by them."""

    def time(self) -> tuple[LineTime, set[int]]:
        """Return the time in them, and the nodes of lines that do little else."""
        time = LineTime(self.profile, self.lines)
        by_owner: dict[int, list[int]] = {}
        for top in self.tree.topmost(self._hashes):
            owner = self.lines.owner(self.tree.nodes[top].parent)
            if owner != NO_PARENT and self.lines.is_repeated(owner):
                by_owner.setdefault(owner, []).append(top)
        looking_up: set[int] = set()
        for owner, tops in by_owner.items():
            names = {last_name(self.tree.frame(top).function) for top in tops}
            if _HASH not in names:
                continue  # Objects are compared there.
            for top in tops:
                time.add_calls(top, self.lines.line(owner))
            hashing_us = sum(self.tree.total_cost(top).wall_us for top in tops)
            own_us = self.tree.self_cost(owner).wall_us
            if hashing_us >= LEAST_OF_LINE * (hashing_us + own_us):
                looking_up.add(owner)
        return time, looking_up

    def _hashes(self, frame: Frame) -> bool:
        if last_name(frame.function) not in (_HASH, _EQUAL):
            return False
        return frame.file.startswith(_GENERATED) or self.lines.is_yours(frame)


def detect(profile: Profile) -> Iterable[Finding]:
    search = _LookUps(profile)
    time, looking_up = search.time()
    if not time.is_worth(MIN_SHARE):
        return
    own_us = search.tree.cost_of(looking_up).wall_us
    savings = (Saving(time.nodes, OF_HASHES), Saving(frozenset(looking_up), OF_LOOK_UPS))
    yield Finding(
        title=f"keys are hashed by Python code each time ({time.place})",
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=time.locations,
        evidence=(
            time.share_spent("in __hash__ and __eq__, which look-ups call"),
            f"the lines that look up take {percent(own_us / profile.critical.wall_us)} themselves",
        ),
        fix="Look an object up once, keep all that belongs to it in one value, a node with its counts in a list, and hand that on. Or compute the hash once, "
        "where the object is made, and have __hash__ return it; a tuple of a few numbers, or bytes, is hashed without any code of Python's.",
        confidence=Confidence.BOUNDED,
    )


DETECTOR: Final = Detector(
    id="hashed-keys",
    name="keys that Python code hashes at each look-up",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES})),
)
