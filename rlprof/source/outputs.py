"""Calls by which a program writes, reads files or asks a server; known by the function that was seen there, else by names."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeVar

from rlprof.libraries.base import Access, Library, Sink
from rlprof.libraries.known import files_of
from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import Values, callee, value_of
from rlprof.syntax.bound_inputs import arguments_given, only_value, values_assigned
from rlprof.syntax.imports import NUMPY, full_name, own_name
from rlprof.syntax.module import PARSED_FILES, SourceModule, Statement, called_name, receiver
from rlprof.syntax.nodes import arguments_of, calls_in, defaults_of, given_by_name, given_to
from rlprof.syntax.origin import Origin, origin_of_file

Kind = TypeVar("Kind")

_BUFFERS: Final = frozenset({"BytesIO", "StringIO"})

_READS: Final = frozenset(
    {"read_text", "read_bytes", "loadtxt", "genfromtxt", "fromfile", "imread", "read_csv", "listdir"}
    | {"read_parquet", "read_pickle", "read_feather", "read_json", "read_hdf", "scandir", "rglob"}
)  # fmt: skip
_LOADERS: Final = NUMPY | {"json", "yaml", "pickle", "torch", "joblib", "toml"}
"""Modules whose ``load`` reads a file."""
_LOADS: Final = frozenset({"load", "safe_load"})
_METHODS_OF_FILES: Final = frozenset({"read", "readline", "readlines", "readinto"})
"""Methods that say little by themselves: they count on what was opened, or is named like a file."""

_OPENERS: Final = frozenset({"open", "fdopen", "memmap", "NamedTemporaryFile", "TemporaryFile"})
_FILE: Final = re.compile(r"(^|_)(file|fp|fh)\d?$", re.IGNORECASE)
_WRITING_MODE: Final = re.compile(r"([wax][bt]?\+?|[wax]\+[bt]?|r[bt]?\+|r\+[bt]?)$")
_REQUESTS: Final = frozenset({"requests", "httpx", "urllib3"})
OTHER_ENDS: Final = frozenset({"pipe", "socket", "pair"})
"""Streams at whose other end somebody takes what is written, and answers."""

_FUNCTIONS: Final[Mapping[str, Sink]] = {
    "print": Sink.PRINT,
    "os.write": Sink.FILES,
    "os.fsync": Sink.SYNCS,
    "os.fdatasync": Sink.SYNCS,
    "os.sync": Sink.SYNCS,
    "os.replace": Sink.REPLACING,
    "os.rename": Sink.REPLACING,
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
_OF_A_DATABASE: Final = frozenset({"execute", "executemany"})
_FETCHES: Final = re.compile(r"sqlite3\.Cursor\.fetch(one|many|all)")
_ASKS_A_DATABASE: Final = re.compile(r"\s*(select|values|explain)\b", re.IGNORECASE)
"""Beginnings of statements in SQL that ask, and change nothing: ``WITH`` may."""
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
    if _asks_a_database(call, module):
        return None
    if called_name(call) in _OF_A_DATABASE | {"commit"} and keeps_databases_in_memory(module):
        return None
    if sink := _by_function(called.name, call, known):
        return sink
    if is_record(call, known, module):
        return Sink.FILES
    if called.name.endswith("open") and is_for_writing(call):
        return Sink.OPENING
    return None if called.is_seen else _by_name(call, opened_names(module))


def is_record(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> bool:
    """Tell whether an object is pickled to a file that stays open for more of them, as no model is saved: it was opened outside of the function that
    writes, or at the file's own level before the loop.
    """
    stream = next(iter([*given_by_name(call, "file"), *call.args[1:2]]), None)
    if callee(call, known, module).name != "pickle.dump" or stream is None:
        return False
    function, loops = module.function_at(call.lineno), list(module.loops_around_all(call.lineno))
    again = function.node if function is not None else next(iter(loops), None)
    name, seen = last_name_of(stream), value_of(stream, known)
    if again is None or isinstance(stream, ast.Call) or name in _opened(again):
        return False
    if (
        function is not None
        and isinstance(stream, ast.Name)
        and name in arguments_of(function.node)
    ):
        return False
    return seen.stream == "file" if seen is not None else name in opened_names(module)


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
    return bool(given_by_name(call, "file"))


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


def file_access(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> Access | None:
    """Return what the call waits for; None where that is neither, or it is a function of the user's own."""
    called = callee(call, known, module)
    if called.is_yours or is_conversation(call, known):
        return None
    package, _, function = called.name.partition(".")
    if package in _REQUESTS:
        return Access.REMOTE
    last = function.rpartition(".")[2]
    if last in _READS or (package in _LOADERS and last in _LOADS):
        return Access.READ
    if package == "io" and last in _METHODS_OF_FILES and "StringIO" not in function:
        return Access.READ
    if package == "sqlite3" and keeps_databases_in_memory(module):
        return None
    if package == "sqlite3" and (_FETCHES.fullmatch(called.name) or _asks_a_database(call, module)):
        return Access.READ
    return None if called.is_seen else _opened_by_name(call, module)


def _asks_a_database(call: ast.Call, module: SourceModule) -> bool:
    """Tell whether a call has a database answer a question: ``db.execute(f"SELECT data FROM steps WHERE id IN ({marks})", ids)``."""
    if called_name(call) not in _OF_A_DATABASE or not call.args:
        return False
    match _text_of(call.args[0], module):
        case (
            ast.Constant(value=str(text))
            | ast.JoinedStr(values=[ast.Constant(value=str(text)), *_])
        ):
            return _ASKS_A_DATABASE.match(text) is not None
    return False


@lru_cache(maxsize=PARSED_FILES)
def keeps_databases_in_memory(module: SourceModule) -> bool:
    """Tell whether all databases of sqlite's that a file opens are in memory: ``sqlite3.connect(":memory:")``."""
    opened = [
        call.args[0] if call.args else call
        for call in calls_in(module.tree)
        if full_name(call.func, module.imports) == "sqlite3.connect"
    ]
    return bool(opened) and all(_is_memory(path, module) for path in opened)


def _is_memory(path: ast.expr, module: SourceModule) -> bool:
    """Tell whether a path is ``:memory:`` as written, or the default of an argument that nobody in the file gives."""
    function = module.function_at(path.lineno)
    if isinstance(path, ast.Name) and function is not None:
        default = defaults_of(function.node.args).get(path.id)
        calls = (call for call in calls_in(module.tree) if called_name(call) == function.node.name)
        is_given = any(path.id in (arguments_given(module, call, function) or ()) for call in calls)
        path = path if default is None or is_given else default
    text = _text_of(path, module)
    return isinstance(text, ast.Constant) and text.value == ":memory:"


def _text_of(expression: ast.expr, module: SourceModule) -> ast.expr | None:
    """Return what a variable is bound to, once, in its function or by the file itself; anything else as it is."""
    if not isinstance(expression, ast.Name):
        return expression
    function = module.function_at(expression.lineno)
    own = only_value(function, expression.id) if function is not None else None
    if own is not None:
        return own
    values = values_assigned(module, None, expression.id)
    return values[0] if len(values) == 1 else None


def is_conversation(call: ast.Call, known: Mapping[str, Value]) -> bool:
    """Tell whether a call writes to, or reads from, a pipe or a socket: a stream of those, or one that it is given.

    What the program prints may go to a pipe, too, at whose end somebody only reads.
    """
    asked = (call.func, receiver(call), *given_to(call))
    seen = (value_of(part, known) for part in asked if part is not None)
    return any(
        value is not None
        and value.stream in OTHER_ENDS
        and not value.is_standard
        and value.function != "print"
        for value in seen
    )


@lru_cache(maxsize=PARSED_FILES)
def reads_standard_input(module: SourceModule) -> bool:
    """Tell whether a file asks for what its program is told on its standard input, as one that answers there does."""
    return any(
        (isinstance(node, ast.Call) and called_name(node) == "input")
        or (
            isinstance(node, ast.Attribute | ast.Name)
            and full_name(node, module.imports) == "sys.stdin"
        )
        for node in ast.walk(module.tree)
    )


@lru_cache(maxsize=PARSED_FILES)
def reads_programs(module: SourceModule) -> bool:
    """Tell whether a file starts a program with a pipe for what it prints, and reads that: ``for line in actor.stdout``."""
    is_piped = any(
        part.arg == "stdout" and own_name(part.value) == "PIPE"
        for call in calls_in(module.tree)
        for part in call.keywords
    )
    return is_piped and any(
        isinstance(node, ast.Attribute)
        and node.attr == "stdout"
        and full_name(node, module.imports) != "sys.stdout"
        for node in ast.walk(module.tree)
    )


def _opened_by_name(call: ast.Call, module: SourceModule) -> Access | None:
    name = called_name(call)
    on = last_name_of(receiver(call))
    if on in _REQUESTS or name == "urlopen":
        return Access.REMOTE
    if name in _METHODS_OF_FILES:
        is_file = on in opened_names(module) or is_called_a_file(on)
        return Access.READ if is_file else None
    if name == "open" and not is_for_writing(call):
        return Access.READ
    if name in _READS or (name in _LOADS and on in _LOADERS):
        return Access.READ
    return None


@lru_cache(maxsize=PARSED_FILES)
def opened_names(module: SourceModule) -> frozenset[str]:
    """The names that a file binds to opened files."""
    return frozenset(_opened(module.tree))


def _opened(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _opens(node.value):
            yield from (last_name_of(target) for target in node.targets)
        elif isinstance(node, ast.withitem) and _opens(node.context_expr) and node.optional_vars:
            yield last_name_of(node.optional_vars)


def _opens(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called_name(value) in _OPENERS


def is_called_a_file(name: str) -> bool:
    """Tell whether a name says that it holds an opened file: ``log_file``, ``fp``."""
    return _FILE.search(name) is not None


def is_for_writing(call: ast.Call) -> bool:
    """Tell whether ``open(path, mode)`` or ``path.open(mode)`` is given a mode that writes."""
    is_of_path = isinstance(call.func, ast.Attribute) and len(call.args) == 1
    positional = call.args[:1] if is_of_path else call.args[1:2]
    given = [*positional, *given_by_name(call, "mode")]
    return any(
        isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and _WRITING_MODE.match(argument.value)
        for argument in given
    )


def last_name_of(node: ast.expr | None) -> str:
    """``self.out.file`` -> ``file``; ``Path(folder)`` and other calls -> the name called."""
    return called_name(node) if isinstance(node, ast.Call) else own_name(node)


def works_in_memory(frame: Frame, lines: UserLines, values: Values) -> bool:
    """Tell whether a call on the line of ``frame`` is given such a file."""
    return any(
        _is_in_memory(argument, statement, values.of(frame.file, statement))
        for statement in lines.statements(frame)
        for call in statement.calls()
        for argument in given_to(call)
    )


def _is_in_memory(argument: ast.expr, statement: Statement, known: Mapping[str, Value]) -> bool:
    seen = value_of(argument, known)
    if seen is not None:
        return seen.type.rpartition(".")[2] in _BUFFERS
    made: ast.expr | None = argument
    if isinstance(argument, ast.Name) and statement.function is not None:
        made = only_value(statement.function, argument.id)
    return isinstance(made, ast.Call) and called_name(made) in _BUFFERS


def kind_of(
    functions: Mapping[Kind, str], told: Callable[[Library], Mapping[Kind, str]]
) -> Callable[[Frame], Kind | None]:
    """A look-up of the first kind whose files, as libraries have them under ``told``, and whose functions a frame is of.

    ``functions`` has a regular expression for each kind, in the order in which they count. Files of the user's are of none.
    """
    known = [(kind, _files(kind, told), re.compile(pattern)) for kind, pattern in functions.items()]

    @lru_cache(maxsize=4096)
    def kinds_in(file: str) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
        if origin_of_file(file) not in (Origin.LIBRARY, Origin.STDLIB):
            return ()
        return tuple((kind, names) for kind, is_one, names in known if is_one(file))

    @lru_cache(maxsize=65536)
    def look_up(frame: Frame) -> Kind | None:
        name = last_name(frame.function)
        return next((kind for kind, names in kinds_in(frame.file) if names.search(name)), None)

    return look_up


def _files(kind: Kind, told: Callable[[Library], Mapping[Kind, str]]) -> Callable[[str], bool]:
    return files_of(lambda library: told(library).get(kind))
