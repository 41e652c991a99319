"""Lines of a source file that read, write or sync files, or ask a server."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.syntax.module import PARSED_FILES, called_name, parse


class Access(Enum):
    """What is done to a file, by what would take its place; the first of several on a line counts."""

    SYNC = "syncs and flushes"
    """The caller waits until the bytes have left the process, or are on the disk."""
    REMOTE = "requests to servers"
    """HTTP and databases over a network."""
    OPEN = "files opened to be written"
    READ = "reads of files"
    WRITE = "writes to files"


_SYNCS: Final = frozenset({"fsync", "fdatasync", "sync"})
_READS: Final = frozenset(
    {
        "read_text",
        "read_bytes",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "imread",
        "read_csv",
        "listdir",
    }
    | {"read_parquet", "read_pickle", "read_feather", "read_json", "read_hdf", "scandir", "rglob"}
)
_LOADERS: Final = frozenset({"np", "numpy", "json", "yaml", "pickle", "torch", "joblib", "toml"})
"""Modules whose ``load`` reads a file."""

_WRITES: Final = frozenset(
    {"write_text", "write_bytes", "tofile", "savetxt", "imwrite", "imsave", "savefig", "to_csv"}
    | {"to_parquet", "to_pickle", "to_feather", "to_hdf"}
)
_ON_FILES: Final[Mapping[str, Access]] = {
    "flush": Access.SYNC,
    "read": Access.READ,
    "readline": Access.READ,
    "readlines": Access.READ,
    "readinto": Access.READ,
    "write": Access.WRITE,
    "writelines": Access.WRITE,
}
"""Methods that say little by themselves: they count on what was opened, or is named like a file."""

_OPENERS: Final = frozenset({"open", "fdopen", "memmap", "NamedTemporaryFile", "TemporaryFile"})
_FILE: Final = re.compile(r"(^|_)(file|fp|fh)\d?$", re.IGNORECASE)
_OUTPUT: Final = re.compile(r"^std(in|out|err)$|(^|_)log(s|ger|_?file)?$", re.IGNORECASE)
_DATABASE: Final = re.compile(r"(^|_)(conn(ection)?|cur(sor)?|db|database|session)$", re.IGNORECASE)
_WRITING_MODE: Final = re.compile(r"([wax][bt]?\+?|[wax]\+[bt]?|r[bt]?\+|r\+[bt]?)$")
_REQUESTS: Final = frozenset({"requests", "httpx", "urllib3"})


@lru_cache(maxsize=PARSED_FILES)
def file_accesses(text: str) -> Mapping[int, Access]:
    """What the lines of ``text`` do to files; lines that do nothing are left out."""
    module = parse(text)
    if module is None:
        return {}
    files = frozenset(_opened(module.tree))
    lines: dict[int, Access] = {}
    for statement in module.statements:
        kinds = {
            kind
            for node in statement.walk()
            if isinstance(node, ast.Call) and (kind := _access(node, files)) is not None
        }
        for kind in Access:
            if kind in kinds:
                lines.update(
                    dict.fromkeys(range(statement.first_line, statement.last_line + 1), kind)
                )
                break
    return lines


def _opened(tree: ast.Module) -> Iterator[str]:
    """Yield the names that are bound to opened files."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _opens(node.value):
            yield from (_last_name(target) for target in node.targets)
        elif isinstance(node, ast.withitem) and _opens(node.context_expr) and node.optional_vars:
            yield _last_name(node.optional_vars)


def _opens(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called_name(value) in _OPENERS


def _access(call: ast.Call, files: frozenset[str]) -> Access | None:
    name = called_name(call)
    on = _last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in _SYNCS and on == "os":
        return Access.SYNC
    if name == "commit" or (name == "execute" and _DATABASE.search(on)):
        return Access.SYNC
    if on in _REQUESTS or name == "urlopen":
        return Access.REMOTE
    if name in _ON_FILES:
        is_file = (on in files or _FILE.search(on)) and not _OUTPUT.search(on)
        return _ON_FILES[name] if is_file else None
    if name == "open":
        return Access.OPEN if _is_for_writing(call) else Access.READ
    if name in _READS or (name in ("load", "safe_load") and on in _LOADERS):
        return Access.READ
    return Access.WRITE if name in _WRITES else None


def _is_for_writing(call: ast.Call) -> bool:
    """Whether ``open(path, mode)`` or ``path.open(mode)`` is given a mode that writes."""
    positional = call.args[:1] if len(call.args) == 1 else call.args[1:2]
    given = [*positional, *(it.value for it in call.keywords if it.arg == "mode")]
    return any(
        isinstance(it, ast.Constant) and isinstance(it.value, str) and _WRITING_MODE.match(it.value)
        for it in given
    )


def _last_name(node: ast.expr) -> str:
    """``self.out.file`` -> ``file``; ``Path(folder)`` and other calls -> the name called."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return called_name(node)
    return node.id if isinstance(node, ast.Name) else ""
