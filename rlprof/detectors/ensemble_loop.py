"""Networks of an ensemble that are asked one after the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import SteadySearch, own_time
from rlprof.detectors.recognisers.networks.recorded_graphs import BackwardPass, asks_network
from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.answer_chains import needs_no_other_turn, paths
from rlprof.source.lines import Line, UserLines
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.loop_elements import Turns, turns_at
from rlprof.syntax.module import SourceModule, called_name
from rlprof.syntax.nodes import calls_in, given_to
from rlprof.syntax.numbered_names import numbered_attribute
from rlprof.syntax.own_rows import are_own_rows
from rlprof.syntax.picked_answers import one_is_picked

FEWEST_NETWORKS: Final = 3
"""Networks from which on asking them at once is told: of two, as twin critics are, half of the calls would go at most."""

_CALLS: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\](module|container)\.py$")

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


OF_CONVOLUTIONS: Final = calibrated(
    Range(0.0, 0.51),
    unit="part of the forward passes",
    source="by hand, torch 2.13 on one thread, two convolutions of 16 channels: with groups=networks 0.49 is left of 10 networks with one row, and 0.94 to 1.16 of "
    "4 networks, or of 32 rows",
    date="2026-11-30",
)
"""Part that goes of networks with convolutions, which can be asked at once by groups alone."""

_CONVOLVES: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]conv\.py$")

_RECURS: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]rnn\.py$")

_BY_KEY: Final = ("dict", "torch.nn.modules.container.ModuleDict")

_ASK_AT_ONCE: Final = (
    "Where their layers have the same sizes, hold their weights in one tensor for each layer, and ask all at once: torch.baddbmm(bias, x, weight) with a first axis for the "
    "networks. The optimizer has fewer tensors to go through then, too. (torch.func.stack_module_state and vmap do the same, and "
    "gain less on the CPU.)"
)
_BY_GROUPS: Final = " Convolutions at once are one with groups=networks, which gains for many networks and few rows alone."
_ASK_FOR_OWN_ROWS: Final = (
    "Ask each network for the rows alone whose answer of it is used: keep these side by side, as blocks (x.chunk(networks)) or sorted by the network's number, and join the answers. "
    "Rows that draw their network anew each time can be shuffled into blocks."
)


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    search = NetworkLoops(profile, lines)
    # Torch's recurrent networks take the weights of one.
    loops = [
        loop
        for loop in search.found()
        if loop.ensemble.is_picked or not search.holds(_RECURS, loop.nodes)
    ]
    time = own_time(profile, lines, loops, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(frozenset(loop.nodes), _removable(loop, search)) for loop in loops]
    backward = BackwardPass(profile, lines).saving(savings)
    if backward is not None:
        claimed = frozenset[int]().union(backward.nodes, *(saving.nodes for saving in savings))
        steps = tree.topmost(lambda frame: duty_of(frame) is Duty.MOVES_PARAMETERS)
        nodes = tree.subtrees(steps) - claimed
        savings += [backward, Saving(nodes, Range(0.0, _but_one(time.most)))]
    ensemble = time.most.ensemble
    if ensemble.is_picked:
        title = f"{ensemble.networks} networks answer each row, and one is used ({time.place})"
        fix = _ASK_FOR_OWN_ROWS
    else:
        title = f"{ensemble.networks} networks are asked one after the other ({time.place})"
        fix = _ASK_AT_ONCE + _BY_GROUPS * search.holds(_CONVOLVES, time.most.nodes)
    yield Finding(
        title=title,
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=time.locations,
        evidence=(
            time.share_spent("in their forward passes"),
            f"seen there: {ensemble.container} with {ensemble.networks} networks of one class",
        ),
        fix=fix,
        confidence=Confidence.BOUNDED,
    )


def _removable(loop: NetworkLoop, search: NetworkLoops) -> Range:
    most = _but_one(loop)
    if not loop.ensemble.is_on_cpu or not loop.ensemble.are_alike:
        return Range(0.0, most)
    part = min(1.0, search.of_calls(loop.nodes) / PART_IN_CALLS)
    if search.holds(_CONVOLVES, loop.nodes) and not loop.ensemble.is_picked:
        return OF_CONVOLUTIONS
    if loop.ensemble.is_picked:
        # The calls stay, and what they compute goes.
        return Range(most * max(0.0, 1 - part - PART_UNKNOWN), most)
    return Range(most * max(0.0, part - PART_UNKNOWN), most * min(1.0, part + PART_UNKNOWN))


def _but_one(loop: NetworkLoop) -> float:
    return 1 - 1 / loop.ensemble.networks


class Ensemble(NamedTuple):
    """Networks that a loop goes through."""

    networks: int
    container: str
    """In words."""
    is_on_cpu: bool
    are_alike: bool | None
    """True if their parameters have the same shapes; None where that was not seen."""
    is_picked: bool
    """True if one of their answers is used for each row."""


@dataclass(slots=True)
class NetworkLoop:
    """One line in such a loop."""

    place: Line
    ensemble: Ensemble
    nodes: set[int] = field(default_factory=set)
    """The forward passes of its networks."""


class NetworkLoops(SteadySearch):
    """Looks for them in the steady phase."""

    def found(self) -> list[NetworkLoop]:
        loops: dict[Line, NetworkLoop] = {}
        looked: dict[Line, Ensemble | None] = {}
        for asker, asked in self._asked_by_you():
            line = self.lines.line(asker)
            if line not in looked:
                looked[line] = self._ensemble_at(asker)
            ensemble = looked[line]
            if ensemble is not None:
                loop = loops.setdefault(line, NetworkLoop(line, ensemble))
                loop.nodes.update(self.tree.subtree(asked))
        return list(loops.values())

    def _asked_by_you(self) -> Iterator[tuple[int, int]]:
        """Yield the nodes of the user's that ask a network, each with that of the call; networks may be within others."""
        for node in self.tree.hot_nodes():
            parent = self.tree.nodes[node].parent
            is_yours = parent != NO_PARENT and self.lines.is_yours(self.tree.frame(parent))
            if is_yours and asks_network(self.tree.frame(node)):
                yield parent, node

    def of_calls(self, nodes: Iterable[int]) -> float:
        """Return the part of the networks' time that Python takes to call their layers: the larger it is, the less there is to compute."""
        whole = calls = 0
        for node in nodes:
            us = self.tree.self_cost(node).wall_us
            whole += us
            calls += us if _CALLS.search(self.tree.frame(node).file) else 0
        return calls / whole if whole else 0.0

    def holds(self, layers: re.Pattern[str], nodes: Iterable[int]) -> bool:
        """Tell whether networks hold layers of some kind, by their files in torch."""
        return any(layers.search(self.tree.frame(node).file) for node in nodes)

    def _ensemble_at(self, node: int) -> Ensemble | None:
        frame = self.tree.frame(node)
        module = self.lines.module(frame.file)
        statement = self.lines.statement(frame)
        if module is None or statement is None:
            return None
        known = self.values.of(frame.file, statement)
        for turns in turns_at(module, frame.line):
            seen = {**self.values.between(frame.file, turns.lines), **known}
            if (found := self._asked(turns, seen, module)) is not None:
                return found
        return None

    def _asked(
        self, turns: Turns, known: Mapping[str, Value], module: SourceModule
    ) -> Ensemble | None:
        """Return the ensemble whose networks the turns of a loop ask, each for something that no other one has answered."""
        at_times = {id(call) for call in calls_in(*turns.at_times)}
        for call in calls_in(*turns.body):
            named = numbered_attribute(call.func)
            container = turns.container(call.func) if named is None else named.owner
            if container is None or id(call) in at_times:
                continue
            value, asked = value_of(container, known), value_of(call.func, known)
            if value is None or (asked is not None and not asked.is_network):
                continue
            networks = value.networks if named is None else value.numbered(named.stem)
            if networks < FEWEST_NETWORKS:
                continue
            if not self._asks_all(call.func, container, turns, networks, known):
                continue
            is_picked = one_is_picked(module, turns.lines)
            if value.are_alike is False and not is_picked:
                continue
            given = given_to(call)
            if are_own_rows(given, turns):
                continue
            if needs_no_other_turn(turns.body, call, given, call.func, by_any_call=True):
                seen = [it for path in paths(*given) if (it := known.get(path)) is not None]
                on_cpu = any(each.is_array for each in seen) and all(
                    each.is_on_cpu for each in seen
                )
                return Ensemble(
                    networks, ast.unparse(container), on_cpu, value.are_alike, is_picked
                )
        return None

    def _asks_all(
        self,
        asked: ast.expr,
        container: ast.expr,
        turns: Turns,
        networks: int,
        known: Mapping[str, Value],
    ) -> bool:
        """Tell whether the turns go through all networks of the container, where they take each by its number or its key: REDQ asks two of ten."""
        named = numbered_attribute(asked)
        match asked:
            case ast.Subscript(slice=ast.Name(id=number)):
                pass
            case _ if named is not None:
                number = named.number
            case _:
                return True
        match turns.elements.get(number):
            case ast.Call(func=ast.Attribute(value=of, attr="items" | "keys"), args=[]):
                return _has_a_key_of_each(of, container, networks, known)
            case ast.Name() | ast.Attribute() as of:
                return _has_a_key_of_each(of, container, networks, known)
            case ast.Call(func=ast.Name(id="enumerate"), args=[of, *_]):
                return ast.dump(of) == ast.dump(container)
            case ast.Call(func=ast.Name(id="range"), args=[ast.Call(args=[of]) as length]) if (
                called_name(length) == "len"
            ):
                return ast.dump(of) == ast.dump(container)
            case ast.Call(func=ast.Name(id="range"), args=[most]):
                return self.parameters.value(most) == networks
        return False


def _has_a_key_of_each(
    through: ast.expr, container: ast.expr, networks: int, known: Mapping[str, Value]
) -> bool:
    """Tell whether ``through`` has as many keys as the container has networks, each of which is found in it: the agents of a team."""
    keys, held = value_of(through, known), value_of(container, known)
    if keys is None or held is None or held.type not in _BY_KEY:
        return False
    return keys.length == networks and (keys.type in _BY_KEY or keys.items == "str")


DETECTOR: Final = Detector(
    id="ensemble-loop",
    name="networks of an ensemble that are asked one after the other",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
