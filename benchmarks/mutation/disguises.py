"""The forms in which the same code can stand in a program."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .code import Code, Socket
from .names import PLACEHOLDER, Names


@dataclass(frozen=True, slots=True)
class Dressed:
    """Code in a form: what stands at module level, what in the socket, what in a second module."""

    above: str
    call: str
    beside: str = ""
    imports: str = ""
    joins: bool = False
    """Whether the call shares its line with what follows."""


def with_roles(text: str, roles: Mapping[str, str], names: Names, kept: str) -> str:
    """``text`` with the roles as given, and the program's names for all else."""
    given = {**roles, "kept": kept}
    return names.fill(PLACEHOLDER.sub(lambda found: given.get(found[1], found[0]), text))


def plain(code: Code, socket: Socket, names: Names) -> Dressed:
    """Right where it is used."""
    kept = names["kept"] if code.kept else ""
    body = with_roles(code.body, socket.roles, names, kept)
    if code.result:
        result = with_roles(code.result, socket.roles, names, kept)
        target = names.fill(socket.target)
        if not socket.target:
            body += f"\n{result}"
        elif result != target:
            body += f"\n{target} = {result}"
    return Dressed(_above(code, names, kept), body.strip("\n"))


def one_line(code: Code, socket: Socket, names: Names) -> Dressed:
    """Several statements on a line; of compound ones their call, with what comes after it."""
    dressed = plain(code, socket, names)
    lines = dressed.call.splitlines()
    if any(line.startswith((" ", "@")) or line.endswith(":") for line in lines):
        dressed = helper(code, socket, names)
        lines = dressed.call.splitlines()
    return Dressed(dressed.above, "; ".join(lines), imports=dressed.imports, joins=True)


def helper(code: Code, socket: Socket, names: Names) -> Dressed:
    """A function."""
    kept = names["kept"] if code.kept else ""
    text = _function(code, socket, names, names["function"], kept)
    above = _joined(_above(code, names, kept), text)
    return Dressed(above, _assigned(socket, names, _call(code, socket, names, names["function"])))


def module(code: Code, socket: Socket, names: Names) -> Dressed:
    """A function in a second module."""
    kept = names["kept"] if code.kept else ""
    text = _function(code, socket, names, names["function"], kept)
    call = _call(code, socket, names, names["function"])
    return Dressed(
        "",
        _assigned(socket, names, call),
        beside=_joined(code.imports, _above(code, names, kept), text),
        imports=f"from {names['beside']} import {names['function']}",
    )


def method(code: Code, socket: Socket, names: Names, name: str = "") -> Dressed:
    """A method of an object made for it."""
    own = name or names["function"]
    text = _function(code, socket, names, own, "self." + names["kept"], first="self")
    inside = _made_in(code, names, "self." + names["kept"])
    above = _joined(
        names.fill(code.definitions),
        f"class {names['Holder']}:\n{_indented(_joined_methods(inside, text))}",
        f"{names['object']} = {names['Holder']}()",
    )
    called = names["object"] if name else f"{names['object']}.{own}"
    return Dressed(above, _assigned(socket, names, _call(code, socket, names, called)))


def callable_object(code: Code, socket: Socket, names: Names) -> Dressed:
    """An object that is called."""
    return method(code, socket, names, "__call__")


def closure(code: Code, socket: Socket, names: Names) -> Dressed:
    """A function made by another, with what it keeps around it."""
    text = _function(code, socket, names, names["function"], names["kept"])
    kept = f"{names['kept']} = {names.fill(code.kept)}\n" if code.kept else ""
    inside = f"{kept}\n{text}\n\nreturn {names['function']}"
    above = _joined(
        names.fill(code.definitions),
        f"def {names['maker']}():\n{_indented(inside.lstrip())}",
        f"{names['function']} = {names['maker']}()",
    )
    return Dressed(above, _assigned(socket, names, _call(code, socket, names, names["function"])))


def partial(code: Code, socket: Socket, names: Names) -> Dressed:
    """``functools.partial`` of a function and what it keeps."""
    first = names["kept"] if code.kept else ""
    text = _function(code, socket, names, names["maker"], first, first=first)
    made = f", {names.fill(code.kept)}" if code.kept else ""
    above = _joined(
        names.fill(code.definitions),
        text,
        f"{names['function']} = functools.partial({names['maker']}{made})",
    )
    call = _call(code, socket, names, names["function"])
    return Dressed(above, _assigned(socket, names, call), imports="import functools")


def decorator(code: Code, socket: Socket, names: Names) -> Dressed:
    """A function under a decorator that counts its calls."""
    kept = names["kept"] if code.kept else ""
    wrapper = (
        f"def {names['deco']}(function):\n"
        "    @functools.wraps(function)\n"
        "    def wrapped(*given):\n"
        "        wrapped.calls += 1\n"
        "        return function(*given)\n\n"
        "    wrapped.calls = 0\n"
        "    return wrapped"
    )
    text = _function(code, socket, names, names["function"], kept)
    above = _joined(_above(code, names, kept), wrapper, f"@{names['deco']}\n{text}")
    call = _call(code, socket, names, names["function"])
    return Dressed(above, _assigned(socket, names, call), imports="import functools")


def as_property(code: Code, socket: Socket, names: Names) -> Dressed:
    """A property of an object that was given the values."""
    used = code.used(socket.roles)
    roles = {role: f"self.{names.parameter(role)}" for role in used}
    kept = "self." + names["kept"]
    body = with_roles(code.body, roles, names, kept)
    if code.result:
        body += f"\nreturn {with_roles(code.result, roles, names, kept)}"
    text = f"@property\ndef {names['outcome']}(self):\n{_indented(body.strip() or 'return None')}"
    above = _joined(
        names.fill(code.definitions),
        f"class {names['Holder']}:\n{_indented(_joined_methods(_made_in(code, names, kept), text))}",
        f"{names['object']} = {names['Holder']}()",
    )
    given = [
        f"{names['object']}.{names.parameter(role)} = {names.fill(socket.roles[role])}"
        for role in used
    ]
    answer = f"{names['object']}.{names['outcome']}"
    target = names.fill(socket.target) if code.result and socket.target else "_"
    return Dressed(above, "\n".join([*given, f"{target} = {answer}"]))


def comprehension(code: Code, socket: Socket, names: Names) -> Dressed:
    """One of a list of functions that a comprehension calls."""
    kept = names["kept"] if code.kept else ""
    text = _function(code, socket, names, names["function"], kept)
    above = _joined(_above(code, names, kept), text, f"{names['hooks']} = [{names['function']}]")
    called = f"[{_call(code, socket, names, 'each')} for each in {names['hooks']}]"
    if code.result:
        called += "[-1]"
    return Dressed(above, _assigned(socket, names, called))


DISGUISES: dict[str, Callable[[Code, Socket, Names], Dressed]] = {
    "plain": plain,
    "one-line": one_line,
    "helper": helper,
    "module": module,
    "method": method,
    "callable": callable_object,
    "closure": closure,
    "partial": partial,
    "decorator": decorator,
    "property": as_property,
    "comprehension": comprehension,
    # The whole training runs in processes of its own; the code stands in a helper.
    "process": helper,
}


def _function(
    code: Code, socket: Socket, names: Names, name: str, kept: str, *, first: str = ""
) -> str:
    used = code.used(socket.roles)
    roles = {role: names.parameter(role) for role in used}
    body = with_roles(code.body, roles, names, kept)
    if code.result:
        body += f"\nreturn {with_roles(code.result, roles, names, kept)}"
    parameters = ", ".join([*([first] if first else []), *roles.values()])
    return f"def {name}({parameters}):\n{_indented(body.strip() or 'pass')}"


def _call(code: Code, socket: Socket, names: Names, function: str) -> str:
    given = ", ".join(names.fill(socket.roles[role]) for role in code.used(socket.roles))
    return f"{function}({given})"


def _assigned(socket: Socket, names: Names, call: str) -> str:
    return f"{names.fill(socket.target)} = {call}" if socket.target else call


def _above(code: Code, names: Names, kept: str) -> str:
    made = f"{kept} = {names.fill(code.kept)}" if code.kept else ""
    return _joined(names.fill(code.definitions), made)


def _made_in(code: Code, names: Names, kept: str) -> str:
    made = f"{kept} = {names.fill(code.kept)}" if code.kept else "self.calls = 0"
    return f"def __init__(self):\n    {made}"


def _joined(*texts: str) -> str:
    return "\n\n\n".join(text.strip("\n") for text in texts if text.strip())


def _joined_methods(*texts: str) -> str:
    return "\n\n".join(text.strip("\n") for text in texts if text.strip())


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
