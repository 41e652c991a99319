"""A Python loop over environments that asks the policy, or steps, for one of them at a time."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.networks.env_loops import (
    STEPS,
    EnvLoop,
    asks_a_policy,
    calls_of_turns,
    environments_in,
    find_env_loops,
    find_object_loops,
    is_of_its_own,
    rows_of_each,
)
from rlprof.detectors.recognisers.networks.one_row import OneRow, works_on_tensors
from rlprof.detectors.recognisers.networks.own_networks import OwnNetworks
from rlprof.detectors.recognisers.networks.recorded_graphs import asks_network
from rlprof.libraries.base import EVERYTHING
from rlprof.libraries.known import files_of
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import (
    Line,
    begins_process,
    heaviest_line,
    last_name,
    short_place,
)
from rlprof.source.parameters import Parameters
from rlprof.syntax.imports import NUMPY, TORCH, root_name
from rlprof.syntax.module import called_name
from rlprof.syntax.nodes import calls_in
from rlprof.units import duration, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time. Less is a policy that hardly matters beside its environments."""

BATCH_COSTS: Final = calibrated(
    Range(1.0, 2.0),
    unit="passes of one row",
    source="torch 2.13 on one thread, 4 to 16 environments: 1.0 to 1.3 where actions are drawn "
    "from a Categorical, 1.4 to 2.2 for a bare greedy network of 64 to 256 units",
    date="2026-11-21",
)
"""One forward pass of a batch."""

ROW_COSTS: Final = calibrated(
    Range(0.0, 0.05),
    unit="passes of one row",
    source="64 rows of a network of 256 units: 0.056 of the time was left, where BATCH_COSTS alone "
    "says 0.03",
    date="2026-11-21",
)
"""Cost of each further row."""

UNKNOWN_COUNT: Final = Range(4, 64)
"""Environments in a loop whose length the source does not tell."""

DISPATCH_US: Final = calibrated(
    400.0,
    unit="µs",
    source="a small network with its Categorical takes 230 on a quiet machine",
    date="2026-11-21",
)
"""Most of one pass of one row that is calls and not arithmetic, on a busy machine. What a pass takes beyond
that is the network's arithmetic, which a batch may do no faster on a CPU."""

STEP_COSTS: Final = calibrated(
    Range(30.0, 90.0),
    unit="steps of one in plain Python",
    source="4 to 256 environments: 31 to 92 for a grid world, 37 to 77 for a cart-pole",
    date="2026-11-21",
)
"""One step of all environments written with arrays: a call into numpy costs as much as tens of plain Python
operations."""

MOSTLY_PLAIN: Final = 0.7
"""Part of an environment's time in plain Python from which arrays could take its place."""

_OF_ENVIRONMENTS: Final = (
    "the policy is asked for one environment",
    "the policy",
    "Stack the observations and ask the policy once for all environments: "
    "policy(torch.as_tensor(np.stack(observations))), then .tolist() the actions.",
)
"""Beginning of the title, what it is, and what to do."""
_OF_READS: Final = (
    "the policy's answers are read for one environment",
    "reading them",
    "Take the numbers out before the loop, all at once: actions.tolist(). On a GPU each item() waits for the device, and copies.",
)
_OF_ROWS: Final = (
    "a network is asked for one row",
    "the network",
    "Stack the rows and ask the network once for all of them: network(torch.as_tensor(np.stack(rows))), then "
    "work on the answers as one tensor.",
)

_is_network: Final = files_of(
    lambda library: EVERYTHING if library.is_framework else library.policy
)
_learns: Final = files_of(lambda library: library.learner if library.is_framework else None)
_READS: Final = frozenset({"item", "tolist", "cpu", "numpy", "detach", "squeeze"})
"""Methods that read a tensor, or make it ready for that."""
_ARRAYS: Final = NUMPY | TORCH | {"cv2", "scipy", "jnp"}


@dataclass(slots=True)
class _EnvLoopTime:
    """Time of one kind in all loops over environments."""

    nodes: set[int] = field(default_factory=set)
    weights: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    loops: list[tuple[EnvLoop, str]] = field(default_factory=list)
    """With their file, each once."""
    wall_us: float = 0.0
    asks_networks: bool = False
    """True if a network works in the loop; else its lines only read what the policy has answered before it."""

    def add(self, node: int, us: float, line: Line, loop: tuple[EnvLoop, str]) -> None:
        if node in self.nodes:
            return
        self.nodes.add(node)
        self.wall_us += us
        if us:
            self.weights[line] += us
        if loop not in self.loops:
            self.loops.append(loop)


class _Search(SteadySearch):
    """Finds the time of policies and of environments in loops over environments."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.policy = _EnvLoopTime()
        self.steps = _EnvLoopTime()
        self.steps_us = 0.0
        """All time of the environments that are stepped in the loops."""
        self._loops = {
            file: tuple(loop for loop in find_env_loops(text) if not loop.trains)
            for file, text in profile.sources.items()
        }
        self._loops = {file: loops for file, loops in self._loops.items() if loops}
        self._torch: dict[int, bool] = {}
        self._rows = OneRow(self.tree, self.lines, self.values)
        self._own = OwnNetworks(self.lines, self.values, profile.sources, self._calls_framework)
        for file in profile.sources:
            seen = self._loops_seen(file)
            if seen:
                self._loops[file] = (*seen, *self._loops.get(file, ()))

    def _loops_seen(self, file: str) -> tuple[EnvLoop, ...]:
        """Loops through containers of objects, which are such loops where a network is asked row by row in them."""
        module = self.lines.module(file) if self.values.has(file) else None
        known = {(loop.first_line, loop.last_line) for loop in self._loops.get(file, ())}
        found = find_object_loops(module, file, self.values) if module else ()
        return tuple(
            loop
            for loop in found
            if not loop.trains and (loop.first_line, loop.last_line) not in known
        )

    def run(self) -> None:
        if not self._loops:
            return
        for node in self.tree.hot_nodes():
            frame = self.tree.frame(node)
            loops = self._loops.get(frame.file)
            if loops is None or not self.lines.is_yours(frame):
                continue
            # The innermost of several: its variables are the ones that change.
            around = [loop for loop in loops if loop.first_line <= frame.line <= loop.last_line]
            if around:
                self._look(node, (around[-1], frame.file))

    def _look(self, node: int, loop: tuple[EnvLoop, str]) -> None:
        statement = self.lines.statement(self.tree.frame(node))
        calls = [
            call
            for call in calls_of_turns(statement.walk() if statement else ())
            if (call.lineno, call.col_offset) in loop[0].calls
        ]
        targets = loop[0].targets
        if any(is_of_its_own(call, targets) for call in calls):
            return
        if self._own.are_asked(node, targets):
            return
        if loop[0].length is not None:
            if self._rows.is_asked(node):
                self.policy.asks_networks = True
                self._claim_rows(node, loop)
            return
        asking = [call for call in calls if asks_a_policy(call)]
        asks = bool(asking)
        if not all(map(_is_read, asking)):
            self.policy.asks_networks = True
        if asks and not any(called_name(call) in STEPS for call in calls):
            self.policy.add(node, self._own_us(node), self.lines.line(node), loop)
        for child in self.tree.children(node):
            self._claim(child, self.lines.line(node), loop, asks=asks)

    def _claim_rows(self, node: int, loop: tuple[EnvLoop, str]) -> None:
        """Claim the network's own time below ``node``, and the lines that ask it."""
        line = self.lines.line(node)
        self.policy.add(node, self._own_us(node), line, loop)
        for child in self.tree.children(node):
            if not self.lines.is_yours(self.tree.frame(child)) or self._rows.is_asked(child):
                self._claim_all(child, line, loop)

    def _claim(self, top: int, line: Line, loop: tuple[EnvLoop, str], *, asks: bool) -> None:
        """Claim what is called in the loop for the policy or for the environment, as it is either."""
        frame = self.tree.frame(top)
        if last_name(frame.function) in STEPS:
            self._claim_steps(top, line, loop)
        elif self._is_policy(top, asks=asks):
            self._claim_all(top, line, loop)

    def _is_policy(self, top: int, *, asks: bool) -> bool:
        """``asks``: whether the line that calls ``top`` names a policy."""
        frame = self.tree.frame(top)
        if not asks or _learns(frame.file):
            return False
        return not self.lines.is_yours(frame) or self._calls_framework(top)

    def _claim_all(self, top: int, line: Line, loop: tuple[EnvLoop, str]) -> None:
        for node in self._without_steps(top):
            self.policy.add(node, self._own_us(node), line, loop)
            if asks_network(self.tree.frame(node)):
                self.policy.asks_networks = True

    def _without_steps(self, top: int) -> Iterator[int]:
        pending = [top]
        while pending:
            node = pending.pop()
            frame = self.tree.frame(node)
            if last_name(frame.function) in STEPS or _learns(frame.file) or begins_process(frame):
                continue
            yield node
            pending += self.tree.children(node)

    def _calls_framework(self, top: int) -> bool:
        """Tell whether a network is asked below ``top``, by its stacks or by the user's own lines."""
        if top not in self._torch:
            self._torch[top] = any(
                _is_network(self.tree.frame(node).file) or works_on_tensors(self.lines, node)
                for node in self._without_steps(top)
            )
        return self._torch[top]

    def _claim_steps(self, top: int, line: Line, loop: tuple[EnvLoop, str]) -> None:
        """Claim the lines of an environment of the user's that arrays could take the place of."""
        for node in self.tree.subtree(top):
            us = self._own_us(node)
            self.steps_us += us
            if us and self._is_plain(self.tree.frame(node)):
                self.steps.add(node, us, line, loop)

    def _is_plain(self, frame: Frame) -> bool:
        if not self.lines.is_yours(frame):
            return frame.file.endswith(("random.py", "enum.py"))
        statement = self.lines.statement(frame)
        # A loop inside of a step is work of another kind: search, simulation, a world of objects.
        return (
            statement is not None
            and not statement.in_loop
            and not any(root_name(call.func) in _ARRAYS for call in statement.calls())
        )

    def _own_us(self, node: int) -> float:
        return self.tree.self_cost(node).wall_us


def _is_read(call: ast.Call) -> bool:
    """Tell whether a call does no more than read what is there: ``actions[i].detach().item()``, not ``net(x[i]).item()``."""
    return all(called_name(inner) in _READS for inner in calls_in(call))


def detect(profile: Profile) -> Iterable[Finding]:
    search = _Search(profile)
    search.run()
    whole = profile.critical.wall_us
    if whole and search.policy.wall_us / whole >= MIN_SHARE:
        yield _of_policy(search, profile)
    plain = search.steps.wall_us >= MOSTLY_PLAIN * search.steps_us
    if whole and plain and search.steps.wall_us / whole >= MIN_SHARE:
        yield from _of_steps(search, profile)


def _of_policy(search: _Search, profile: Profile) -> Finding:
    claim, whole = search.policy, profile.critical.wall_us
    heaviest = heaviest_line(claim.weights)
    count = _environments(claim, profile, search.parameters)
    around = [loop for loop, file in claim.loops if file == heaviest.file]
    within = rows_of_each(
        search.lines.module(heaviest.file), heaviest.line, around, search.parameters
    )
    count = count * within if count else None
    each = claim.wall_us / profile.steady_steps if profile.steady_steps else 0.0
    # A step is one pass where the loop is over environments; of other rows it may be all of them.
    is_of_environments = any(loop.length is None for loop, _ in claim.loops)
    pass_us = each / within if is_of_environments or not count else each / count
    place = short_place(heaviest)
    asked, what, fix = _OF_ENVIRONMENTS if is_of_environments else _OF_ROWS
    if is_of_environments and not claim.asks_networks:
        asked, what, fix = _OF_READS
    return Finding(
        title=f"{asked} at a time ({place})",
        savings=(Saving(frozenset(claim.nodes), _removed_by_a_batch(count, pass_us)),),
        locations=search.lines.locations(claim.weights, whole),
        evidence=tuple(_evidence(claim, what, count, each, whole, within)),
        fix=fix,
        confidence=Confidence.MEASURED if count else Confidence.BOUNDED,
    )


def _of_steps(search: _Search, profile: Profile) -> Iterable[Finding]:
    claim, whole = search.steps, profile.critical.wall_us
    count = _environments(claim, profile, search.parameters)
    if count is None or count <= STEP_COSTS.low:
        return
    each = claim.wall_us / profile.steady_steps if profile.steady_steps else 0.0
    low, high = (1 - min(1.0, costs / count) for costs in reversed(STEP_COSTS))
    yield Finding(
        title=f"environments in plain Python are stepped one by one ({short_place(heaviest_line(claim.weights))})",
        savings=(Saving(frozenset(claim.nodes), Range(low, high)),),
        locations=search.lines.locations(claim.weights, whole),
        evidence=tuple(_evidence(claim, "their steps", count, each, whole)),
        fix="Keep the state of all environments in arrays, one row for each, and step them with "
        "array operations: np.where instead of if, masks for those that are done.",
        confidence=Confidence.BOUNDED,
    )


def _environments(claim: _EnvLoopTime, profile: Profile, parameters: Parameters) -> int | None:
    counts = {
        environments_in(loop, profile.sources[file], parameters) for loop, file in claim.loops
    }
    return counts.pop() if len(counts) == 1 else None


def _removed_by_a_batch(count: int | None, each_us: float) -> Range:
    """The part of the time that goes; a network that computes for long keeps its arithmetic."""
    counts = Range(count, count) if count else UNKNOWN_COUNT
    low = 1 - min(1.0, BATCH_COSTS.high / counts.low + ROW_COSTS.high)
    high = 1 - min(1.0, BATCH_COSTS.low / counts.high + ROW_COSTS.low)
    calls = min(1.0, DISPATCH_US / each_us) if each_us else 1.0
    return Range(low * calls, high)


def _evidence(
    claim: _EnvLoopTime,
    what: str,
    count: int | None,
    each_us: float,
    whole: float,
    rows: int = 1,
) -> Iterable[str]:
    of_each = f", {duration(each_us)} a step" if each_us else ""
    yield f"{percent(claim.wall_us / whole)} of the steady time is in {what}{of_each}"
    names_environments = any(loop.length is None for loop, _ in claim.loops)
    lines = sorted({loop.first_line for loop, _ in claim.loops})
    where = f"in the loop{'s' if len(lines) > 1 else ''} from line {', '.join(map(str, lines))}"
    over = f"{count // rows if count else 'the'} {'environments' if names_environments else 'rows'}"
    yield f"{where}, over {over}{f' with {rows} rows each' if rows > 1 else ''}"


DETECTOR: Final = Detector(
    id="python-env-loop",
    name="the policy or the environments in a Python loop, one at a time",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
