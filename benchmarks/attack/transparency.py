"""Programs that would notice: each runs bare and recorded, and must say and leave the same."""

from __future__ import annotations

import ast
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.attack.arena import PROGRAMS, Arena, Ended, Failed
from benchmarks.attack.row import Row

FOLDER = PROGRAMS / "transparent"

TARGET_S = 30.0
"""For a program that takes a second at most; far above it, since machines are shared."""


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a program other than by its name alone."""

    shell: str = 'exec "$@"'
    """What a shell does before, and how it starts the program."""
    stdin: bytes | None = None
    target: tuple[str, ...] = ()
    """The command instead of the program: ``rlprof run -- TARGET``."""
    told: str = ""


IGNORING = "trap '' PIPE XFSZ CHLD HUP INT; exec \"$@\""
IGNORING_PARENT = "trap '' PIPE XFSZ CHLD HUP INT; \"$@\"; exit $?"
"""The shell stays the parent: Python forgets SIGPIPE and SIGXFSZ, and only a parent can still tell of them."""

BLOCKING = (
    f"exec '{sys.executable}' -c 'import os, signal, sys; "
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGURG, signal.SIGALRM]); "
    'os.execvp(sys.argv[1], sys.argv[1:])\' "$@"'
)

STARTS: Mapping[str, Start] = {
    "stdin_lines": Start(stdin=b"first\nsecond\nthird \xc3\xa9"),
    "streams_closed": Start('exec "$@" <&- >&- 2>&-'),
    "stream_order": Start('exec "$@" 2>&1'),
    "inherited_ignores": Start(IGNORING),
    "inherited_descriptor": Start('echo handed down >data; exec "$@" 7<data'),
    "own_group_signals": Start('exec setsid "$@"'),
    "process_facts": Start('umask 027; ulimit -c 0; ulimit -s 4096; exec "$@"'),
}
"""For programs that make sense only so."""

VARIANTS: Mapping[str, tuple[str, Start]] = {
    "stdin-closed": ("streams_closed", Start('exec "$@" <&-', told="Have no stdin.")),
    "stdout-closed": ("streams_closed", Start('exec "$@" >&-', told="Have no stdout.")),
    "stderr-closed": ("streams_closed", Start('exec "$@" 2>&-', told="Have no stderr.")),
    "output-to-a-file": (
        "stream_order",
        Start('exec "$@" >written 2>&1', told="Write both streams to one file."),
    ),
    "streams-are-one-pipe": ("isatty", Start('exec "$@" 2>&1 | cat', told="Stand in a pipeline.")),
    "masked-by-the-parent": (
        "mask_as_found",
        Start(BLOCKING, told="Inherit blocked signals, SIGURG among them."),
    ),
    "kernel-masks-ignored": (
        "masks_in_the_kernel",
        Start(IGNORING, told="Inherit ignored signals, as the kernel keeps them."),
    ),
    "shell-with-ignored-signals": (
        "",
        Start(
            IGNORING_PARENT,
            target=("bash", "-c", "grep SigIgn /proc/self/status; trap; exit 3"),
            told="Be a shell that inherits ignored signals.",
        ),
    ),
    "shell-with-blocked-signals": (
        "",
        Start(
            BLOCKING,
            target=("grep", "SigBlk", "/proc/self/status"),
            told="Be no Python and inherit blocked signals.",
        ),
    ),
    "module-path-hides": (
        "exit_code",
        Start(
            'mkdir hidden; for name in pydantic typing_extensions email sqlite3 rich; do echo "raise SystemExit(3)" '
            '>hidden/$name.py; done; export PYTHONPATH=hidden; exec "$@"',
            told="Have modules on PYTHONPATH that rlprof itself would import.",
        ),
    ),
    "sitecustomize-chain": (
        "",
        Start(
            f"export PYTHONPATH='{PROGRAMS / 'chain'}'; exec \"$@\"",
            target=(sys.executable, "-c", "import builtins; print(builtins.RAN)"),
            told="Have a sitecustomize that runs the one which it hides.",
        ),
    ),
    "shell-pipeline": (
        "",
        Start(
            target=(
                "bash",
                "-c",
                "set -o pipefail; yes | head -1; echo $? ${PIPESTATUS[0]}; kill -9 $$",
            ),
            told="Be a shell with a pipeline that ends by SIGPIPE and kills itself.",
        ),
    ),
    "shell-without-descriptors": (
        "",
        Start(
            target=("bash", "-c", "ls /proc/self/fd; ls -l /proc/self/fd | wc -l"),
            told="Be no Python and count descriptors.",
        ),
    ),
    "no-locale": (
        "",
        Start(
            'unset LC_ALL LC_CTYPE LANG; exec "$@"',
            target=("sh", "-c", r"env | grep ^LC_; printf '\303\251' | wc -m"),
            told="Have no locale, as under cron: Python sets one for itself.",
        ),
    ),
    "optimised-python": (
        "",
        Start(
            target=(sys.executable, "-OO", "-c", "assert 0, 'never'; print(__debug__)"),
            told="Run with -OO and -c.",
        ),
    ),
    "isolated-python": (
        "",
        Start(
            target=(sys.executable, "-I", "-S", "-c", "import sys; print(sys.path, sys.flags)"),
            told="Run with -I and -S.",
        ),
    ),
    "python-from-stdin": (
        "",
        Start(
            stdin=b"import sys\nprint(sys.argv, __name__)\nsys.exit(12)\n",
            target=(sys.executable, "-"),
            told="Read the program from stdin.",
        ),
    ),
}
"""Further ways to start a program, or commands that are none of the programs."""

SLOW = {
    "aborted",
    "broken_pipe",
    "child_signals",
    "command_line",
    "cprofile_functions",
    "cpu_limit",
    "daemonising",
    "descriptor_numbers",
    "environment_of_a_child",
    "exception_hooks",
    "exit_at_once",
    "exit_code",
    "exit_with_text",
    "file_size_limit",
    "forked_pool",
    "generators_and_frames",
    "hang_up",
    "interrupted_calls",
    "interval_timers",
    "isatty",
    "isolated-python",
    "isolated_child",
    "kernel-masks-ignored",
    "killed_by_a_fault",
    "killed_by_itself",
    "many_descriptors",
    "memory_limit",
    "module-path-hides",
    "monitoring_events",
    "optimised-python",
    "output-to-a-file",
    "own_sigurg",
    "pause",
    "pickled_functions",
    "python-from-stdin",
    "random_state",
    "recursion",
    "replaced_by_exec",
    "search_path",
    "setprofile_events",
    "settrace_events",
    "shared_memory",
    "shell-pipeline",
    "shell-without-descriptors",
    "signalfd",
    "sigpending",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sitecustomize-chain",
    "source_of_functions",
    "stderr-closed",
    "stdin-closed",
    "stdin_lines",
    "subprocess_streams",
    "traced_by_a_debugger",
    "tracemalloc_counts",
    "uncaught_exception",
    "waits_for_any_child",
    "wakeup_descriptor",
    "warnings_shown",
}
"""Left out of the fast half: they take longer, other rows are near them, or tests in tests/e2e try the same."""


def compare(arena: Arena, program: str, start: Start) -> str:
    """Run bare and recorded, and compare streams, code and files."""
    bare, bare_files = _run(arena, program, start, recorded=False)
    seen, seen_files = _run(arena, program, start, recorded=True)
    if bare.code != seen.code:
        raise Failed(f"exit code {seen.code} instead of {bare.code}: {seen.complaint}")
    for name, own, other in (("stdout", bare.out, seen.out), ("stderr", bare.err, seen.err)):
        if own != other:
            raise Failed(f"{name} differs: {_first_difference(own, other)}")
    if bare_files != seen_files:
        names = sorted(
            name
            for name in {*bare_files, *seen_files}
            if bare_files.get(name) != seen_files.get(name)
        )
        own, other = bare_files.get(names[0], b""), seen_files.get(names[0], b"")
        raise Failed(f"files differ: {', '.join(names)}: {_first_difference(own, other)}")
    if not arena.run_file.exists():
        raise Failed("there is no run file")
    arena.expect_nothing_left()
    return f"the same: exit {bare.code}, {len(bare.out) + len(bare.err)} bytes"


def _run(
    arena: Arena, program: str, start: Start, *, recorded: bool
) -> tuple[Ended, dict[str, bytes]]:
    shutil.rmtree(arena.work)
    arena.work.mkdir()
    if program:
        shutil.copy(FOLDER / f"{program}.py", arena.work / "program.py")
        shutil.copy(PROGRAMS / "busy.py", arena.work)
        command = ["program.py"] if recorded else [sys.executable, "program.py"]
    else:
        command = ["--", *start.target] if recorded else [*start.target]
    if recorded:
        command = arena.recorded(*command)
    # The shell's own name for the program says nothing of what is started.
    ended = arena.run(
        ["bash", "-c", start.shell, "sh", *command], TARGET_S, input_bytes=start.stdin
    )
    # A daemon outlives its parent.
    arena.wait_for("the end of the program's daemons", lambda: not arena.members())
    return ended, {
        f"{path.relative_to(arena.work)} {path.stat().st_mode:o}": path.read_bytes()
        for path in sorted(arena.work.rglob("*"))
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }


def _first_difference(own: bytes, other: bytes) -> str:
    own_lines, other_lines = own.splitlines(), other.splitlines()
    for number, line in enumerate(own_lines):
        if number >= len(other_lines):
            return f"line {number + 1} is missing: {line[:100]!r}"
        if line != other_lines[number]:
            return f"line {number + 1}: {other_lines[number][:100]!r} instead of {line[:100]!r}"
    added = other_lines[len(own_lines) :]
    return f"{len(added)} lines more: {added[0][:100]!r}" if added else "the end of the last line"


def _docstring(program: Path) -> str:
    return (ast.get_docstring(ast.parse(program.read_text())) or "").splitlines()[0]


def _rows() -> list[Row]:
    rows = [
        Row(
            program.stem.replace("_", "-"),
            "transparency",
            _docstring(program),
            partial(compare, program=program.stem, start=STARTS.get(program.stem, Start())),
            is_fast=program.stem not in SLOW,
        )
        for program in sorted(FOLDER.glob("*.py"))
    ]
    rows += [
        Row(
            name,
            "transparency",
            start.told,
            partial(compare, program=program, start=start),
            is_fast=name not in SLOW,
        )
        for name, (program, start) in VARIANTS.items()
    ]
    return rows


ROWS: tuple[Row, ...] = tuple(_rows())
