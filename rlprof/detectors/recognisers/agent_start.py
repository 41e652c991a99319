"""Tell the start of rlprof's agent in a process from what the program starts."""

from __future__ import annotations

import re
from typing import Final

from rlprof.model.calltree import CallTree, handed_down
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import last_name
from rlprof.syntax.origin import installed_package

AGENT_FILES: Final = re.compile(r"[/\\]rlprof[/\\]agent[/\\]|[/\\]sitecustomize\.py$")
"""Files that rlprof brings along: their time is stated as its overhead, and not the user's to make cheaper."""

_SITE: Final = re.compile(r"^<frozen site>$|[/\\]site\.py$")
_STARTS: Final = "execsitecustomize"
"""The function of ``site`` that looks for ``sitecustomize``, which is the agent's. Stacks that the clock took of it end
there, for frames of the agent are left out of them."""


def agent_start(tree: CallTree) -> frozenset[int]:
    """Nodes in which a process starts the agent. A package that a ``sitecustomize`` of the user's imports is not in it."""
    known: dict[int, bool] = {NO_PARENT: False}
    return frozenset(
        node
        for node, cost in tree.self_costs()
        if cost.wall_us and handed_down(tree.nodes, node, _is_of_the_agent, known)
    )


def _is_of_the_agent(frame: Frame, caller_is: bool) -> bool:
    name = last_name(frame.function)
    if AGENT_FILES.search(frame.file):
        return caller_is or name == "<module>"
    if name == _STARTS and _SITE.search(frame.file):
        return True
    return caller_is and not installed_package(frame.file)
