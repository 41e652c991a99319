"""ES modules of ``flamegraph_assets`` as one script, since a file opened from disk cannot import another; and the texts
that scripts are given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rlprof.names import printable
from rlprof.resources import asset

_IMPORT: Final = re.compile(
    r'^import \{(?P<names>[\w$,\s]*)\} from "\./(?P<module>[\w-]+\.js)";[ \t]*$', re.MULTILINE
)
_EXPORT: Final = re.compile(
    r"^export (?=(?:async function\*?|function\*?|const|class) (?P<name>[\w$]+))", re.MULTILINE
)
_NOT_KNOWN: Final = (
    re.compile(r"^[ \t]*(?:import|export)\b.*", re.MULTILINE),
    re.compile(r"\bimport(?:\s*\(|\.meta).*"),
    re.compile(r"^(?:await|for await)\b.*", re.MULTILINE),
)
"""Remains of module syntax once the known forms are gone."""
_RENAMED: Final = re.compile(r"([\w$]+)\s+as\s+([\w$]+)")
_ENDS_A_SCRIPT: Final = ("</script", "<!--", "]]>")
"""In HTML, and in the CDATA section of an SVG."""


@dataclass(frozen=True, slots=True)
class _Module:
    name: str
    imported: tuple[tuple[str, str], ...]
    """(names as a destructuring pattern, module)."""
    exported: tuple[str, ...]
    body: str


class TextTable:
    """Every text once, fit to show; the rest of what a script gets refers to it by number."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._number.setdefault(printable(text), len(self._number))

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)


def bundle(entry: str, read: Callable[[str], str] = asset) -> str:
    """``entry`` and all that it imports as one classic script, each module in a scope of its own.

    Raises ``ValueError`` for modules that import each other in a circle, and for syntax beyond
    ``import { a, b as c } from "./x.js";`` and ``export`` of a function, class or constant.
    """
    modules = _in_order(entry, read)
    script = "\n".join(["(() => {", '"use strict";', *map(_scope, modules), "})();\n"])
    for end in _ENDS_A_SCRIPT:
        if end in script.lower():
            raise ValueError(f"{entry}: {end} would end the script; write it in two parts")
    return script


def _in_order(entry: str, read: Callable[[str], str]) -> list[_Module]:
    """Every module after those that it imports."""
    done: dict[str, _Module] = {}
    under_way: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in under_way:
            raise ValueError(f"modules import each other: {' -> '.join([*under_way, name])}")
        under_way.append(name)
        module = _parsed(name, read(name))
        for _, imported in module.imported:
            visit(imported)
        under_way.pop()
        _check_names(module, done)
        done[name] = module

    visit(entry)
    return list(done.values())


def _parsed(name: str, text: str) -> _Module:
    imported = tuple(
        (_pattern(found["names"]), found["module"]) for found in _IMPORT.finditer(text)
    )
    exported = tuple(found["name"] for found in _EXPORT.finditer(text))
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    for not_known in _NOT_KNOWN:
        if found := not_known.search(_without_comments(body)):
            raise ValueError(f"{name}: cannot be put into one script: {found[0].strip()}")
    return _Module(name, imported, exported, body.strip())


def _without_comments(body: str) -> str:
    return re.sub(r"^[ \t]*//.*", "", body, flags=re.MULTILINE)


def _pattern(names: str) -> str:
    return ", ".join(_RENAMED.sub(r"\1: \2", part) for part in _split(names))


def _split(names: str) -> Iterator[str]:
    return (part.strip() for part in names.split(",") if part.strip())


def _check_names(module: _Module, done: dict[str, _Module]) -> None:
    """A name that is not exported would be ``undefined`` in the script, and fail far from here."""
    for pattern, name in module.imported:
        for part in _split(pattern):
            wanted = part.partition(":")[0]
            if wanted not in done[name].exported:
                raise ValueError(f"{module.name}: {name} exports no {wanted}")


def _scope(module: _Module) -> str:
    imports = [f"const {{ {names} }} = {_variable(name)};" for names, name in module.imported]
    result = [f"return {{ {', '.join(module.exported)} }};"] if module.exported else []
    return "\n".join(
        [f"const {_variable(module.name)} = (() => {{", *imports, module.body, *result, "})();"]
    )


def _variable(name: str) -> str:
    """Return what the script calls a module. No name of ours has ``$`` in it: it hides none."""
    return "$" + name.removesuffix(".js").replace("-", "$")
