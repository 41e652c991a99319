"""A piece of a program that has a place: what it does, what it is given, what it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .names import PLACEHOLDER

SOCKET = re.compile(r"^(?P<indent> *)@(?P<kind>\w+)\((?P<roles>.*?)\)(?: -> (?P<target>.+))?$")

NEXT_ROLE = re.compile(r", (?=\w+=)")


@dataclass(frozen=True, slots=True)
class Code:
    """Statements with ``$role`` for what they are given, ``$kept`` for what they keep between
    calls, and ``$other`` for names of their own.
    """

    body: str = ""
    result: str = ""
    """The expression that it answers; nothing for what only does something."""
    imports: str = ""
    definitions: str = ""
    """At module level, before ``kept``."""
    kept: str = ""
    """The expression of an object that is made once."""

    def sized(self, **figures: int) -> Code:
        """This code with figures in the places of ``$size`` and ``$every``."""
        filled = {}
        for field in ("body", "result", "definitions", "kept"):
            text = getattr(self, field)
            for name, figure in figures.items():
                text = re.sub(rf"\${name}\b", str(figure), text)
            filled[field] = text
        return replace(self, **filled)

    def used(self, roles: Mapping[str, str]) -> tuple[str, ...]:
        """The roles that it needs, in the order of the socket."""
        named = set(PLACEHOLDER.findall(f"{self.body}\n{self.result}"))
        return tuple(role for role in roles if role in named)


@dataclass(frozen=True, slots=True)
class Socket:
    """A place in a host where code is put."""

    kind: str
    indent: str
    roles: dict[str, str]
    """Role to the host's expression."""
    target: str
    """What the answer is assigned to; nothing where there is none."""
    default: Code
    """The host's own healthy code; empty where it does nothing there."""


def parts_of(template: str) -> list[str | Socket]:
    """Lines and sockets of a host's text, in their order."""
    parts: list[str | Socket] = []
    lines = template.splitlines()
    while lines:
        line = lines.pop(0)
        found = SOCKET.match(line)
        if found is None:
            parts.append(line)
            continue
        body, result = [], ""
        while lines and lines[0].lstrip().startswith("|"):
            text = lines.pop(0).lstrip()[1:]
            if text.startswith("="):
                result = text[1:].strip()
            else:
                body.append(text)
        roles = dict(
            (word.strip() for word in pair.split("=", 1))
            for pair in NEXT_ROLE.split(found["roles"])
            if pair
        )
        parts.append(
            Socket(
                kind=found["kind"],
                indent=found["indent"],
                roles=roles,
                target=found["target"] or "",
                default=Code("\n".join(body), result),
            )
        )
    return parts
