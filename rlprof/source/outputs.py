"""Tell what a call writes, and where to: text, rows, files. Known by the function that was seen there, else by names."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Final

from rlprof.libraries.base import Sink
from rlprof.source.callees import callee
from rlprof.source.file_access import (
    OTHER_ENDS,
    is_called_a_file,
    is_conversation,
    is_for_writing,
    last_name_of,
    opened_names,
    reads_standard_input,
)
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import SourceModule, called_name, receiver

_FUNCTIONS: Final[Mapping[str, Sink]] = {
    "print": Sink.PRINT,
    "os.write": Sink.FILES,
    "os.fsync": Sink.SYNCS,
    "os.fdatasync": Sink.SYNCS,
    "os.sync": Sink.SYNCS,
    "numpy.savetxt": Sink.FILES,
}
METHODS: Final[Mapping[str, Sink]] = {
    "write": Sink.FILES,
    "writelines": Sink.FILES,
    "flush": Sink.SYNCS,
    "writerow": Sink.ROWS,
    "writerows": Sink.ROWS,
    "commit": Sink.SYNCS,
    "execute": Sink.SYNCS,
    "executemany": Sink.SYNCS,
    "tofile": Sink.FILES,
}
"""Methods of the classes below."""
_CLASSES: Final = frozenset(
    {"TextIOWrapper", "BufferedWriter", "BufferedRandom", "BufferedRWPair", "FileIO", "_IOBase"}
    | {"_TemporaryFileWrapper", "GzipFile", "BZ2File", "LZMAFile", "StreamWriter", "StreamReaderWriter"}
    | {"writer", "DictWriter", "Connection", "Cursor", "ndarray"}
)  # fmt: skip
"""Classes of ``io``, ``tempfile``, ``gzip``, ``bz2``, ``lzma``, ``codecs``, ``csv``, ``sqlite3`` and ``numpy``."""
_IN_MEMORY: Final = ("io.StringIO", "io.BytesIO")

_PRINTS: Final = frozenset({"print", "pprint", "pp"})
_ROW_WRITERS: Final = frozenset({"writerow", "writerows"})
_SYNCS: Final = frozenset({"fsync", "fdatasync", "sync"})
_WRITES: Final = frozenset(
    {"write_text", "write_bytes", "tofile", "savetxt", "imwrite", "imsave", "savefig", "to_csv"}
    | {"to_parquet", "to_pickle", "to_feather", "to_hdf"}
)
_ON_FILES: Final = frozenset({"write", "writelines", "flush"})
"""Methods that say little by themselves: they count on what was opened, or is named like a file."""
_TEXT_OUTPUT: Final = re.compile(r"^std(out|err)$|(^|_)log(s|ger|file|_file)?$", re.IGNORECASE)
_DATABASE: Final = re.compile(r"(^|_)(conn(ection)?|cur(sor)?|db|database|session)$", re.IGNORECASE)


def output(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> Sink | None:
    """Return what takes what the call writes; None where it writes nothing, or is a function of the user's own."""
    called = callee(call, known, module)
    if called.is_yours or is_conversation(call, known) or _answers(call, known, module):
        return None
    if sink := _by_function(called.name, call, known):
        return sink
    if called.name.endswith("open") and is_for_writing(call):
        return Sink.OPENING
    return None if called.is_seen else _by_name(call, opened_names(module))


def _answers(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> bool:
    """Tell whether a program that is asked on its standard input answers by the call: on its standard output, which is a pipe then."""
    seen = (value_of(part, known) for part in (call.func, receiver(call)) if part is not None)
    return any(
        value is not None
        and value.stream in OTHER_ENDS
        and (value.is_standard or not _goes_elsewhere(call))
        for value in seen
    ) and reads_standard_input(module)


def _goes_elsewhere(call: ast.Call) -> bool:
    """Tell whether ``print`` is given a stream."""
    return any(keyword.arg == "file" for keyword in call.keywords)


def _by_function(name: str, call: ast.Call, known: Mapping[str, Value]) -> Sink | None:
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    path = name.split(".")
    if len(path) < 2 or path[-2] not in _CLASSES or path[-1] not in METHODS:
        return None
    if path[0] == "asyncio":
        return None  # Its ``StreamWriter`` writes to a socket or a pipe.
    on = value_of(receiver(call) or call.func, known)
    if on is not None and on.is_standard:
        return Sink.PRINT
    return None if on is not None and on.type.endswith(_IN_MEMORY) else METHODS[path[-1]]


def _by_name(call: ast.Call, files: Collection[str]) -> Sink | None:
    name = called_name(call)
    on = last_name_of(receiver(call))
    if name in _PRINTS:
        return Sink.PRINT
    if name in _ROW_WRITERS:
        return Sink.ROWS
    if name in _ON_FILES and _TEXT_OUTPUT.search(on):
        return Sink.PRINT
    if name in _ON_FILES and (on in files or is_called_a_file(on)):
        return METHODS[name]
    if (name in _SYNCS and on == "os") or name == "commit":
        return Sink.SYNCS
    if name == "execute" and _DATABASE.search(on):
        return Sink.SYNCS
    if name == "open" and is_for_writing(call):
        return Sink.OPENING
    return Sink.FILES if name in _WRITES else None
