"""Messages formatted for logging calls whose level is off."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.outputs.log_messages import (
    BEHIND,
    QUIET_LEVELS,
    UNREAD,
    EagerMessage,
    eager_messages,
    unread_messages,
    working_calls,
)
from rlprof.detectors.recognisers.outputs.logging_calls import find_wrappers
from rlprof.detectors.recognisers.outputs.output import emitting_nodes, find_output, is_logging_file
from rlprof.detectors.recognisers.outputs.text_takers import KEPT
from rlprof.detectors.recognisers.outputs.unread_text import FORMATTERS
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, added_up, heaviest_line, last_name, short_place
from rlprof.source.values import Values
from rlprof.units import percent

_MAKE_TEXT = FORMATTERS | {"__str__", "__repr__", "__format__"}
_TEXT_FILES = ("/arrayprint.py", "/torch/_tensor_str.py")

MIN_SHARE: Final = 0.005
"""Least share of the critical time. Half of what a report lists: below it a sample or two decide."""

KEPT_SHARE: Final = 0.05
"""The same of text that is perhaps wanted."""

SAMPLES_TO_MISS_EMISSION: Final = calibrated(
    60,
    unit="samples",
    source="emitting takes 25 µs where formatting an array takes 120",
    date="2026-11-21",
)
"""Samples that a call of level info or above needs before "no handler was seen" means "off": a record that
is emitted takes at least a twentieth of formatting, and 0.95 ** 60 = 5 %."""

ZERO_SEEN: Final = 3.0
"""Samples that there may truly be where none came (95 %, the rule of three)."""

SAMPLES_TO_MEASURE: Final = 20
"""Samples that a message needs, of a level that is mostly off, before "no handler was seen" counts as
evidence: none in 20 leaves emitting at most a seventh of its time (95 %, 0.86 ** 20 = 5 %)."""

CALLS_TOLD: Final = 3
"""Names of calls in a message that may do more than compute: the advice is one sentence."""


class _MessageSite(NamedTuple):
    """A message and the file it is built in."""

    file: str
    message: EagerMessage
    working: frozenset[str] = frozenset()
    """Calls for it that may do more than compute, as they are written."""


@dataclass(slots=True)
class _MessageCost:
    """Cost of one message, gathered over the call tree."""

    formatting: set[int] = field(default_factory=set)
    """Nodes below the line that the message called."""
    working: set[int] = field(default_factory=set)
    """The same of calls that may do more than make text."""
    own: set[int] = field(default_factory=set)
    """Nodes of the line itself, and the first line of what it calls to log.

    CPython looks for signals when a function starts, so that a probe finds the formatting of
    lists and numbers, which is C, on the first line of the logger's method.
    """
    logging_us: int = 0
    """Time that the logging calls themselves take, message aside: it stays."""
    emits: bool = False
    weights: dict[Line, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def total_us(self) -> int:
        return sum(self.weights.values())


class _Collector:
    """Gathers the cost of each message from the nodes of its lines."""

    def __init__(
        self, lines: UserLines, values: Values, sites: dict[tuple[str, int], list[_MessageSite]]
    ) -> None:
        self._lines = lines
        self._tree = lines.tree
        self._sites = sites
        self._callees = {site.message.callee_name for found in sites.values() for site in found}
        self._first_lines = self._find_first_lines()
        self._emitting = _telling_nodes(lines, values) if sites else frozenset()
        self._claimed: set[int] = set()
        self._claimed_below: set[int] = set()
        self.costs: dict[_MessageSite, _MessageCost] = defaultdict(_MessageCost)

    def collect(self) -> dict[_MessageSite, _MessageCost]:
        for node in self._tree.hot_nodes() if self._sites else ():
            frame = self._tree.frame(node)
            for site in self._sites.get((frame.file, frame.line), ()):
                self._add(site, self.costs[site], node)
        return self.costs

    def _add(self, site: _MessageSite, cost: _MessageCost, node: int) -> None:
        message, line = site.message, self._lines.line(node)
        builds = self._tree.frame(node).line in message.lines
        if builds:
            cost.weights[line] += self._claim(cost.own, [node])
        elif node in self._emitting:
            cost.emits = True
        for child in self._tree.children(node):
            frame = self._tree.frame(child)
            if is_logging_file(frame.file) or last_name(frame.function) == message.callee_name:
                self._add_logging(cost, child, line)
            elif builds and last_name(frame.function) not in message.other_calls:
                only_text = not site.working or makes_text(frame)
                nodes = cost.formatting if only_text else cost.working
                cost.weights[line] += self._claim_below(nodes, child)

    def _add_logging(self, cost: _MessageCost, entry: int, line: Line) -> None:
        """``entry`` is the frame that the line calls to log."""
        cost.emits = cost.emits or entry in self._emitting
        cost.logging_us += self._tree.total_cost(entry).wall_us
        frame = self._tree.frame(entry)
        if frame.line == self._first_lines.get((frame.file, frame.function)):
            moved = self._claim(cost.own, [entry])
            cost.logging_us -= moved
            cost.weights[line] += moved

    def _claim(self, nodes: set[int], more: Iterable[int]) -> int:
        """Add those of ``more`` that no message has yet; returns their self time (µs)."""
        new = set(more) - self._claimed
        self._claimed |= new
        nodes |= new
        return self._tree.cost_of(new).wall_us

    def _claim_below(self, nodes: set[int], top: int) -> int:
        """Claim ``top`` and all it called, unless that was done from further up."""
        if top in self._claimed_below:
            return 0
        subtree = set(self._tree.subtree(top))
        self._claimed_below |= subtree
        return self._claim(nodes, subtree)

    def _find_first_lines(self) -> dict[tuple[str, str], int]:
        first: dict[tuple[str, str], int] = {}
        for node in self._tree.hot_nodes() if self._callees else ():
            frame = self._tree.frame(node)
            if last_name(frame.function) in self._callees:
                key = (frame.file, frame.function)
                first[key] = min(frame.line, first.get(key, frame.line))
        return first


def _telling_nodes(lines: UserLines, values: Values) -> frozenset[int]:
    """The nodes with a record being emitted, or text printed or written, in or below them."""
    found = set(emitting_nodes(lines.tree))
    for node in find_output(lines, values).sinks:
        found.add(node)
        found.update(lines.tree.ancestors(node))
    return frozenset(found)


def detect(profile: Profile) -> Iterable[Finding]:
    interval = max(1, profile.critical.sample_interval_us)
    lines = UserLines.of(profile)
    costs = _Collector(lines, Values(profile.values), _sites(profile, lines)).collect()
    told = {site: cost for site, cost in costs.items() if _is_wasted(site.message, cost, interval)}
    kept = {site: cost for site, cost in told.items() if site.message.level == KEPT}
    wasted = {site: cost for site, cost in told.items() if site not in kept}
    yield from _of_nobody(profile, lines, wasted, interval)
    yield from _on_a_condition(profile, lines, kept)


def _of_nobody(
    profile: Profile, lines: UserLines, wasted: Mapping[_MessageSite, _MessageCost], interval: int
) -> Iterator[Finding]:
    """Yield what is told of messages that nobody wants."""
    whole = profile.critical.wall_us
    weights = added_up(cost.weights for cost in wasted.values())
    total = sum(weights.values())
    if not whole or total / whole < MIN_SHARE:
        return
    heaviest = max(wasted, key=lambda site: (wasted[site].total_us, site.message.callee)).message
    share = percent(total / whole)
    confidence = _confidence(wasted, interval)
    if heaviest.level == UNREAD:
        title = "text is made that nothing reads"
        evidence = (
            f"{share} of the steady time makes text",
            f"it goes into {heaviest.callee}, which nothing in the files of the run reads",
        )
        fix = "Leave it out, or make the text where somebody reads it: keep the array itself until then."
        confidence = Confidence.BOUNDED
    elif heaviest.level == BEHIND:
        title = "text is made also when nothing prints it"
        evidence = (
            f"{share} of the steady time makes text",
            f"it is printed only behind a test, {heaviest.condition}, and was not seen to be",
        )
        fix = (
            "Keep the values, with copies of arrays that are changed in place, and make the text of them behind that test."
            if heaviest.is_replaced
            else "Make the text behind the same test."
        )
    else:
        title = f"messages for {heaviest.callee} are formatted with its level off"
        evidence = (
            f"{share} of the steady time builds messages for logging calls",
            "under these calls no record, handler or formatter was seen: nothing is emitted",
        )
        fix = (
            'Leave the formatting to the logger, logger.debug("q = %s", q): it formats only what '
            "it emits. Put costly arguments behind logger.isEnabledFor(logging.DEBUG)."
        )
    yield Finding(
        title=f"{title} ({_place(weights)})",
        savings=_savings(profile.steady, wasted, interval),
        locations=lines.locations(weights, whole),
        evidence=evidence,
        fix=f"{fix}{_to_be_kept(wasted)}",
        confidence=confidence,
    )


def _on_a_condition(
    profile: Profile, lines: UserLines, kept: Mapping[_MessageSite, _MessageCost]
) -> Iterator[Finding]:
    """Yield what is told of text for functions that store it where a condition holds: samples do not show if it does."""
    whole = profile.critical.wall_us
    weights = added_up(cost.weights for cost in kept.values())
    total = sum(weights.values())
    if not whole or total / whole < KEPT_SHARE:
        return
    message = max(kept, key=lambda site: (kept[site].total_us, site.message.callee)).message
    nodes = frozenset[int]().union(
        *(cost.formatting | cost.working | cost.own for cost in kept.values())
    )
    yield Finding(
        title=f"text for {message.callee} may be made for nothing ({_place(weights)})",
        savings=(Saving(nodes, Range(0.0, 1.0)),),
        locations=lines.locations(weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time makes text for it",
            f"it does something with the text only depending on: {message.condition}",
        ),
        fix="Hand over the values, and make the text where it is used; or make it behind the same test.",
        confidence=Confidence.SUSPECTED,
    )


def _place(weights: Mapping[Line, float]) -> str:
    more = f" and {len(weights) - 1} more" if len(weights) > 1 else ""
    return f"{short_place(heaviest_line(weights))}{more}"


def _sites(profile: Profile, lines: UserLines) -> dict[tuple[str, int], list[_MessageSite]]:
    """The eager messages of all sources, by the lines that build or log them."""
    modules = lines.modules(file for file in sorted(profile.sources) if not is_logging_file(file))
    wrappers = find_wrappers(modules)
    values = Values(profile.values)
    sites: dict[tuple[str, int], list[_MessageSite]] = defaultdict(list)
    for file, module in modules.items():
        for message in eager_messages(file, module, wrappers, values):
            site = _MessageSite(file, message, working_calls(file, module, message, values))
            for line in message.lines | message.call_lines:
                sites[file, line].append(site)
    for file, message in unread_messages(modules):
        site = _MessageSite(file, message, working_calls(file, modules[file], message, values))
        for line in message.lines:
            sites[file, line].append(site)
    return sites


def _is_wasted(message: EagerMessage, cost: _MessageCost, interval_us: int) -> bool:
    """Tell whether the level is off, as far as the samples can tell."""
    if cost.emits:
        return False
    if message.level in QUIET_LEVELS or message.level == UNREAD:
        return True
    return _samples(cost, interval_us) >= SAMPLES_TO_MISS_EMISSION


def _samples(cost: _MessageCost, interval_us: int) -> float:
    return (cost.total_us + cost.logging_us) / interval_us


def _to_be_kept(wasted: Mapping[_MessageSite, _MessageCost]) -> str:
    """A sentence on what is called for the messages and may do more; empty where nothing is."""
    calls = sorted({f"{call}()" for site in wasted for call in site.working})
    if not calls:
        return ""
    told = ", ".join(calls[:CALLS_TOLD]) + (" and others" if calls[CALLS_TOLD:] else "")
    return f" Before that, take {told} out of the message: what is done there besides the text has to go on."


def _confidence(costs: Mapping[_MessageSite, _MessageCost], interval_us: int) -> Confidence:
    """Measured where the heaviest message has samples enough to have shown a record, and all that is called only makes text."""
    most = max(_samples(cost, interval_us) for cost in costs.values())
    is_text = not any(site.working for site in costs)
    return Confidence.MEASURED if is_text and most >= SAMPLES_TO_MEASURE else Confidence.BOUNDED


def _savings(
    tree: CallTree, costs: Mapping[_MessageSite, _MessageCost], interval_us: int
) -> tuple[Saving, ...]:
    """All that the messages called goes; of the lines themselves, what is not the logging call.

    What a line keeps (looking up the logger, calling it) is of the order of what the logging call
    takes inside, which was sampled beside it. What a message called that may do more than make text has to stay, as far as it does.
    """
    formatting = frozenset[int]().union(*(cost.formatting for cost in costs.values()))
    working = frozenset[int]().union(*(cost.working for cost in costs.values()))
    savings = [Saving(formatting, Range(1.0, 1.0))] if formatting else []
    savings += [Saving(working, Range(0.0, 1.0))] if working else []
    for site, cost in costs.items():
        own_us = tree.cost_of(cost.own).wall_us
        if own_us:
            kept = min(1.0, (cost.logging_us + ZERO_SEEN * interval_us) / own_us)
            kept = 1.0 if site.working else kept  # C may have done it.
            savings.append(Saving(frozenset(cost.own), Range(1.0 - kept, 1.0)))
    return tuple(savings)


def makes_text(frame: Frame) -> bool:
    """Tell whether a function that a line calls is known to make text alone."""
    return last_name(frame.function) in _MAKE_TEXT or frame.file.endswith(_TEXT_FILES)


DETECTOR: Final = Detector(
    id="eager-log-format",
    name="messages formatted for logging calls whose level is off",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
