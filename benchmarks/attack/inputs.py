"""Bad files, to every command that reads one: a documented exit code, no traceback, bounded memory and time."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.attack.arena import Arena, Failed
from benchmarks.attack.row import Row
from benchmarks.attack.training import start_training

MOST_BYTES = 3 << 30
"""Address space of a command: enough for any report of a small run."""

LONGEST_S = 20.0
"""For a command on a bad file."""

CODES = {0, 1, 2}
CHECK_CODES = {1, 2, 4}
"""docs/messages.md, docs/check.md. A bad baseline is no pass, and no regression of the program."""

GIVE_AWAYS = (b"Traceback (most recent call last)", b"bug in rlprof", b"MemoryError")

_recorded: list[bytes] = []
"""A run file, recorded once."""


def run_file_bytes(arena: Arena) -> bytes:
    """A good run file of a short training."""
    if not _recorded:
        start_training(arena, steps=3_000, workers=2).finish()
        _recorded.append(arena.run_file.read_bytes())
    return _recorded[0]


def commands(arena: Arena, bad: Path, good: Path) -> list[list[str | Path]]:
    """Every command that reads files, on ``bad``."""
    out = arena.folder / "out"
    out.mkdir(exist_ok=True)
    return [
        ["report", bad],
        ["report", bad, "--format", "json", "-o", out / "report.json", "--force"],
        ["report", bad, "--html", "-o", out / "report.html", "--force"],
        ["flame", bad, "-o", out / "flame.svg", "--force"],
        ["export", bad, "--format", "speedscope", "-o", out / "scopes", "--force"],
        ["export", bad, "--format", "pprof", "-o", out / "pprof", "--force"],
        ["diff", good, bad],
        ["diff", bad, good],
        ["history", bad],
        ["trace", bad],
        ["check", "--baseline", bad, "quick.py"],
    ]


def try_commands(arena: Arena, bad: Path, *, few: bool = False) -> str:
    """Give ``bad`` to all commands, or to a few that stand for all."""
    good = arena.folder / "good.rlprof"
    good.write_bytes(run_file_bytes(arena))
    (arena.work / "quick.py").write_text("print('sps 100')\n")
    tried = commands(arena, bad, good)
    codes = []
    for words in [tried[0], tried[4], tried[-1]] if few else tried:
        codes.append(_try_command(arena, words))
    return f"exit codes {' '.join(map(str, codes))}"


def _try_command(arena: Arena, words: Sequence[str | Path]) -> int:
    bad = next(word for word in words if isinstance(word, Path))
    what = f"rlprof {words[0]} of {ascii(bad.name)[:40]}"
    ended = arena.run(
        arena.rlprof(*words),
        LONGEST_S,
        doing=what,
        limits={resource.RLIMIT_AS: MOST_BYTES, resource.RLIMIT_FSIZE: MOST_BYTES},
        # A BLAS reserves address space for each of its threads.
        env=arena.environment(OPENBLAS_NUM_THREADS="1"),
    )
    shown = ended.out + ended.err
    for give_away in GIVE_AWAYS:
        if give_away in shown:
            raise Failed(f"{what}: {ended.complaint}")
    allowed = CHECK_CODES if words[0] == "check" else CODES
    if ended.code not in allowed:
        raise Failed(f"{what} ended with {ended.code}: {ended.complaint}")
    return ended.code


def truncated(arena: Arena) -> str:
    data = run_file_bytes(arena)
    said = []
    for number in range(6):
        bad = arena.folder / f"cut-{number}.rlprof"
        bad.write_bytes(data[: arena.random.randrange(1, len(data))])
        said.append(try_commands(arena, bad, few=number > 0))
    return said[0]


def flipped(arena: Arena) -> str:
    """Single bits, and whole stretches."""
    data = run_file_bytes(arena)
    said = []
    for number in range(10):
        damaged = bytearray(data)
        for _ in range(arena.random.choice([1, 5, 50, 500])):
            damaged[arena.random.randrange(len(damaged))] ^= 1 << arena.random.randrange(8)
        bad = arena.folder / f"flipped-{number}.rlprof"
        bad.write_bytes(damaged)
        said.append(try_commands(arena, bad, few=number > 0))
    return said[0]


def flipped_once(arena: Arena) -> str:
    data = bytearray(run_file_bytes(arena))
    for _ in range(50):
        data[arena.random.randrange(len(data))] ^= 1 << arena.random.randrange(8)
    bad = arena.folder / "flipped.rlprof"
    bad.write_bytes(data)
    return try_commands(arena, bad, few=True)


def zeroed_pages(arena: Arena) -> str:
    data = bytearray(run_file_bytes(arena))
    for _ in range(4):
        page = arena.random.randrange(1, len(data) // 4096) * 4096
        data[page : page + 4096] = bytes(4096)
    bad = arena.folder / "zeroed.rlprof"
    bad.write_bytes(data)
    return try_commands(arena, bad)


def damaged_journal(arena: Arena) -> str:
    """A WAL and its index of a killed recording, both full of noise."""
    bad = arena.folder / "killed.rlprof"
    bad.write_bytes(run_file_bytes(arena))
    connection = sqlite3.connect(bad)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("UPDATE run SET label = 'x'" if _has_label(connection) else "ANALYZE")
    connection.commit()
    wal = Path(f"{bad}-wal")
    kept = wal.read_bytes()
    for number in range(4):
        damaged = bytearray(kept)
        for _ in range(20):
            damaged[arena.random.randrange(len(damaged))] ^= 1 << arena.random.randrange(8)
        place = arena.folder / f"damaged-{number}.rlprof"
        shutil.copy(bad, place)
        Path(f"{place}-wal").write_bytes(damaged[: arena.random.randrange(32, len(damaged))])
        Path(f"{place}-shm").write_bytes(arena.random.randbytes(32768))
        said = try_commands(arena, place, few=number > 0)
    connection.close()
    return said


def _has_label(connection: sqlite3.Connection) -> bool:
    columns = connection.execute("PRAGMA table_info(run)").fetchall()
    return any(column[1] == "label" for column in columns)


def hostile_views(arena: Arena) -> str:
    """Views and triggers where tables are expected; reading may neither run nor write anything."""
    bad = arena.folder / "hostile.rlprof"
    bad.write_bytes(run_file_bytes(arena))
    connection = sqlite3.connect(bad)
    connection.executescript(
        "ALTER TABLE window RENAME TO window_of_old;"
        "CREATE VIEW window AS WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n)"
        " SELECT id, id * 250000 AS start_us, (id + 1) * 250000 AS end_us FROM n;"
        "CREATE TABLE touched (at TEXT);"
        "CREATE TRIGGER touching AFTER UPDATE ON process BEGIN INSERT INTO touched VALUES ('x'); END;"
        "ALTER TABLE note RENAME TO note_of_old;"
        "CREATE VIEW note AS SELECT 'info' AS level, 'x' AS slug, hex(randomblob(900000000)) AS text;"
    )
    connection.close()
    before = bad.read_bytes()
    said = try_commands(arena, bad)
    if bad.read_bytes() != before:
        raise Failed("reading has changed the file")
    return said


def huge_values(arena: Arena) -> str:
    """Numbers and names out of every bound."""
    bad = arena.folder / "huge.rlprof"
    bad.write_bytes(run_file_bytes(arena))
    connection = sqlite3.connect(bad)
    for (table,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall():
        columns = [
            column[1]
            for column in connection.execute(f"PRAGMA table_info({table})").fetchall()
            if not column[5]
        ]
        if columns:
            column = arena.random.choice(columns)
            value = arena.random.choice(
                [2**62, -(2**62), 1e308, "x" * 1_000_000, b"\xff\xfe", None]
            )
            try:
                connection.execute(
                    f'UPDATE {table} SET "{column}" = ? WHERE rowid % 3 = 0', [value]
                )
            except sqlite3.Error:
                pass  # A constraint has kept it out.
    connection.commit()
    connection.close()
    return try_commands(arena, bad)


def deep_tree(arena: Arena) -> str:
    """A calling-context tree of 200 000 levels."""
    bad = arena.folder / "deep.rlprof"
    bad.write_bytes(run_file_bytes(arena))
    connection = sqlite3.connect(bad)
    columns = [column[1] for column in connection.execute("PRAGMA table_info(node)")]
    (last,) = connection.execute("SELECT max(id) FROM node").fetchone()
    connection.executemany(
        f"INSERT INTO node ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
        (
            [{"id": number, "parent": number - 1}.get(column, 0) for column in columns]
            for number in range(last + 1, last + 200_000)
        ),
    )
    connection.commit()
    connection.close()
    return try_commands(arena, bad)


def huge_names(arena: Arena) -> str:
    """Paths of the longest name, of bytes that are no text, of control characters and of markup."""
    data = run_file_bytes(arena)
    said = []
    names = ["x" * 246, "\udcff\udcfe", "new\nline\x1b[31m", "<script>alert(1)</script>"[:20], "-o"]
    for name in names:
        bad = arena.folder / f"{name}.rlprof".replace("/", "_")
        bad.write_bytes(data)
        said.append(try_commands(arena, bad, few=True))
    missing = Path("y" * 5000)
    said.append(try_commands(arena, missing, few=True))
    return said[-1]


def json_bombs(arena: Arena) -> str:
    """Traces and baselines that are JSON of other shapes."""
    said = ""
    texts = {
        "nested": "[" * 200_000,
        "objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
        "number": "1" * 500_000,
        "names": json.dumps({"traceEvents": [{"ph": "X", "name": "x" * 1000, "ts": "no"}] * 1000}),
        "surrogates": '{"traceEvents": [{"name": "\\ud800"}], "schemaVersion": 1}',
        "infinite": '{"traceEvents": [{"ph": "X", "ts": 1e999, "dur": -1e999, "name": "aten::add"}]}',
        "null": "null",
    }
    for name, text in texts.items():
        bad = arena.folder / f"{name}.json"
        bad.write_text(text)
        for words in (["trace", bad], ["check", "--baseline", bad, "quick.py"], ["report", bad]):
            (arena.work / "quick.py").write_text("print('sps 100')\n")
            said = f"{said} {_try_command(arena, words)}"
    return f"exit codes{said}"


def gzip_bomb(arena: Arena) -> str:
    """Twenty gigabytes of spaces in a few megabytes, as a trace."""
    import gzip

    bad = arena.folder / "bomb.json.gz"
    block = gzip.compress(b" " * (64 << 20))
    with bad.open("wb") as file:
        for _ in range(320):
            file.write(block)
    return f"exit code {_try_command(arena, ['trace', bad])}"


def _special(path: Callable[[Arena], Path]) -> Callable[[Arena], str]:
    return lambda arena: try_commands(arena, path(arena))


def _device(name: str) -> Callable[[Arena], Path]:
    return lambda _: Path(name)


def _fifo(arena: Arena) -> Path:
    path = arena.folder / "fifo.rlprof"
    os.mkfifo(path)
    return path


def _empty(arena: Arena) -> Path:
    path = arena.folder / "empty.rlprof"
    path.touch()
    return path


def _directory(arena: Arena) -> Path:
    path = arena.folder / "folder.rlprof"
    path.mkdir()
    return path


def _sparse(arena: Arena) -> Path:
    """A file as large as a disk, and empty."""
    path = arena.folder / "sparse.rlprof"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    return path


def _loop(arena: Arena) -> Path:
    path = arena.folder / "loop.rlprof"
    path.symlink_to(path.name)
    return path


def _row(name: str, told: str, attempt: Callable[[Arena], str], *, is_fast: bool = False) -> Row:
    return Row(name, "inputs", told, attempt, is_fast)


ROWS: tuple[Row, ...] = (
    _row("fifo", "A FIFO that nobody writes to.", _special(_fifo)),
    _row("zeros-without-end", "/dev/zero.", _special(_device("/dev/zero"))),
    _row("nothing", "/dev/null.", _special(_device("/dev/null"))),
    _row("terminal-device", "/dev/tty, without a terminal.", _special(_device("/dev/tty"))),
    _row("empty-file", "An empty file.", _special(_empty)),
    _row("directory", "A folder that is called like a run file.", _special(_directory)),
    _row("sparse-file", "A file of a terabyte of zeros.", _special(_sparse)),
    _row("symlink-loop", "A link to itself.", _special(_loop)),
    _row("truncated-run-file", "A run file cut at six random places.", truncated),
    _row("flipped-bits", "A run file with random bits flipped, ten times.", flipped),
    _row("flipped-bits-in-brief", "The same, once.", flipped_once, is_fast=True),
    _row("zeroed-pages", "A run file with pages of zeros.", zeroed_pages),
    _row("damaged-journal", "A run file whose WAL and index are damaged.", damaged_journal),
    _row("views-and-triggers", "A run file with endless views and triggers.", hostile_views),
    _row("huge-values", "A run file with numbers and texts out of every bound.", huge_values),
    _row("deep-tree", "A run file with a stack of 200 000 levels.", deep_tree),
    _row("huge-names", "Run files with long, undecodable and hostile names.", huge_names),
    _row("json-bombs", "Deep, huge and odd JSON as trace, baseline and profile.", json_bombs),
    _row("gzip-bomb", "A trace of 20 GiB in 20 MB.", gzip_bomb),
)
