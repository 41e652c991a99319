"""Questions to other processes that are asked between steps: whether they live, are ready, have sent something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rlprof.model.activity import WaitKind
from rlprof.model.calltree import CallTree
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import given_to, is_off
from rlprof.syntax.origin import Origin, origin

MIN_QUESTIONS: Final = 0.005
"""Least share of the critical time, for questions outside of such loops: half of what a report lists."""

MIN_OWN_TEST: Final = 0.02
"""The same of questions that are the test of a loop that works, ``while not stop.is_set()``: each turn has to ask."""

_QUESTIONS: Final[Mapping[str, frozenset[str]]] = {
    "process.py": frozenset({"is_alive", "exitcode"}),
    "synchronize.py": frozenset({"is_set"}),
    "queues.py": frozenset({"empty", "full", "qsize"}),
    "connection.py": frozenset({"poll"}),
}
"""Methods of ``multiprocessing`` that ask, by file; those with a system call in each."""


def worth_naming(profile: Profile, questions: set[int]) -> set[int]:
    """Leave out questions that loops ask at each turn to go on, as long as they cost little, and all where they cost nothing."""
    questions = questions - set(_of_timed_waits(profile, questions))
    own = set(_of_own_tests(profile, questions))
    if asked_share(profile, own) < MIN_OWN_TEST:
        questions = questions - own
    return questions if asked_share(profile, questions) >= MIN_QUESTIONS else set()


def _of_own_tests(profile: Profile, questions: Iterable[int]) -> Iterator[int]:
    for node, statements in _with_statements(profile, questions):
        if any(isinstance(statement.node, ast.While) for statement in statements):
            yield node


def _of_timed_waits(profile: Profile, questions: Iterable[int]) -> Iterator[int]:
    """Yield those of ``connection.poll(timeout)``, which waits for a message for as long as that."""
    for node, statements in _with_statements(profile, questions):
        calls = [call for statement in statements for call in statement.calls()]
        asked = [call for call in calls if called_name(call) == "poll"]
        if asked and all(map(_may_wait, asked)):
            yield node


def _may_wait(asking: ast.Call) -> bool:
    given = given_to(asking)
    return bool(given) and not any(map(is_off, given))


def _with_statements(
    profile: Profile, questions: Iterable[int]
) -> Iterator[tuple[int, Sequence[Statement]]]:
    lines = UserLines.of(profile)
    for node in questions:
        owner = lines.owner(node)
        if owner != NO_PARENT:
            yield node, lines.statements(profile.steady.frame(owner))


def asked_share(profile: Profile, questions: Iterable[int]) -> float:
    """Their part of the critical time."""
    return profile.steady.cost_of(questions).wall_us / profile.critical.wall_us


def questions_between_steps(tree: CallTree, kinds: Mapping[int, WaitKind]) -> set[int]:
    """Nodes in and below questions that no waiting loop asks."""
    inside: set[int] = set()
    for node in tree.hot_nodes():
        parent = tree.nodes[node].parent
        if parent in inside or (
            kinds.get(node) is not WaitKind.POLL
            and asks(tree.frame(node))
            and (parent == NO_PARENT or origin(tree.frame(parent)) is not Origin.STDLIB)
        ):
            inside.add(node)
    return inside


def asks(frame: Frame) -> bool:
    """Tell a method that asks another process."""
    package, _, file = frame.file.replace("\\", "/").rpartition("/")
    asked = _QUESTIONS.get(file)
    return (
        asked is not None
        and package.endswith("multiprocessing")
        and last_name(frame.function) in asked
    )
