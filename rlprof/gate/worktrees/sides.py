"""Base and head as programs: the same command in the base's worktree and here, each with its own files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from rlprof.errors import MeasureError
from rlprof.gate.program import Checkout, Program, Side, ask, interpreter_of
from rlprof.gate.worktrees.worktree import (
    Repository,
    Worktree,
    find_repository,
    prepare,
    worktree_of,
)
from rlprof.model.recording import Note
from rlprof.recording.redaction.arguments import redact_line


class ComparedPrograms(NamedTuple):
    base: Program
    head: Program
    notes: tuple[Note, ...]


class CommitBase(NamedTuple):
    """The same program at another commit."""

    name: str
    """As git takes it: ``origin/main``."""
    prepare: str | None = None
    """Command of the shell that builds it in its worktree."""
    script: str | None = None
    """Word of the command that must be a file there too."""


@contextmanager
def in_worktree(
    head: Program,
    commit: CommitBase,
    parent: Path,
    *,
    timeout_s: float,
    tell: Callable[[str], None],
) -> Iterator[ComparedPrograms]:
    """Both sides, while a worktree of ``commit`` lies below ``parent``; ``timeout_s`` is what building it may take.

    Raises ``UsageError`` and :class:`MeasureError` as ``find_repository``, ``worktree_of`` and ``prepare`` do.
    """
    repository = find_repository(head.folder, commit.name)
    with worktree_of(repository, parent) as tree:
        base, same_head = _sides(head, commit.name, repository, tree)
        if commit.prepare is not None:
            tell(f"preparing the base: {redact_line(commit.prepare)}")
            prepare(
                commit.prepare,
                tree,
                environment={**base.environment, "RLPROF_HEAD": str(head.folder)},
                log=parent / "prepare.log",
                timeout_s=timeout_s,
            )
            if not tree.folder.is_dir():
                raise MeasureError(
                    f"--prepare has removed or moved the folder of the base, {tree.folder}",
                    slug="base-not-prepared",
                    hint="it runs in that folder, and must leave it there",
                )
            refuse_installed_base(head, tree.root)
            # What was built is there only now: its paths no longer lead to head's.
            base, same_head = _sides(head, commit.name, repository, tree)
        if commit.script is not None:
            _check_script(base, commit.script, repository, tree)
        yield ComparedPrograms(base, same_head, tuple(_notes(repository, tree)))


def _sides(
    head: Program, ref: str, repository: Repository, tree: Worktree
) -> tuple[Program, Program]:
    root = repository.root
    environments = [
        with_own_imports(head.environment, root=root, side=side) for side in (tree.root, root)
    ]
    command = moved_command(
        head.command, folder=head.folder, root=root, side=tree.root, there=tree.folder
    )
    base = Program(
        Side.BASE,
        command,
        head.script,
        tree.folder,
        environments[0],
        _base_name(ref, repository.base),
        checkout=Checkout(own=tree.root, other=root),
    )
    changes = "+changes" if repository.is_dirty else ""
    name = f"{root.name} ({repository.head[:10]}{changes})"
    checkout = Checkout(own=root, other=tree.root)
    return base, replace(head, environment=environments[1], name=name, checkout=checkout)


def _base_name(ref: str, commit: str) -> str:
    """``origin/main (2937f3d595)``; of a hash only so much as names it."""
    short = commit[:10]
    return short if commit.startswith(ref.lower()) else f"{ref} ({short})"


def _check_script(base: Program, script: str, repository: Repository, tree: Worktree) -> None:
    """An absolute path into head's tree exists in any case, and must not run as the base."""
    place = place_below(script, repository.root) if script.startswith("/") else None
    own = base.folder / script if place is None else tree.root / place
    if not own.exists():
        raise MeasureError(
            f"the base {base.name} has no script {script}",
            slug="base-lacks-script",
            hint="was it added or renamed since? Give a later base, or --base-command",
        )


def _notes(repository: Repository, tree: Worktree) -> Iterator[Note]:
    if repository.is_dirty:
        yield Note(
            "info",
            "dirty-tree",
            "Head is the working tree as it is, with changes that are not committed.",
        )
    if _file_system(repository.root) != _file_system(tree.root):
        yield Note(
            "warning",
            "other-file-system",
            "Base and head lie on different file systems: what they read and write there may "
            "differ in speed. Let TMPDIR name a folder on that of the repository.",
        )


def _file_system(folder: Path) -> int:
    return folder.stat().st_dev


# --- a base that was installed where head is: it would run in its place, and later nothing would ---

_ASK: Final = """
import importlib.metadata, json
found = {}
for it in importlib.metadata.distributions():
    told = json.loads(it.read_text("direct_url.json") or "{}")
    if told.get("dir_info", {}).get("editable"):
        found[it.metadata["Name"]] = told["url"]
print(json.dumps(found))
"""
"""Program that prints what is installed editable, and from where: https://packaging.python.org/en/latest/specifications/direct-url/"""


def refuse_installed_base(head: Program, worktree: Path) -> None:
    """Raise :class:`MeasureError` if the environment that ``head`` uses now leads to ``worktree``."""
    python = interpreter_of(head.command, head.environment)
    there = _installed_from(worktree, ask(python, _ASK, head.environment))
    if there:
        raise MeasureError(
            f"--prepare has installed {', '.join(there)} of base into the environment that head uses ({python})",
            slug="head-imports-base",
            hint="that now leads to the worktree, which is gone when the check ends: install head there again, and have "
            "--prepare make an environment of its own in the worktree",
        )


def _installed_from(folder: Path, urls: Mapping[str, str]) -> list[str]:
    """Names of packages."""
    root = folder.resolve()
    return sorted(
        name
        for name, url in urls.items()
        if Path(unquote(urlsplit(url).path)).resolve().is_relative_to(root)
    )


# --- where the program's modules come from: an editable install leads the base back to head's files ---

_OF_THE_USER: Final = frozenset({"HOME", "TMPDIR"})
"""Where both sides have the same caches, though it may be the folder of the repository."""


def with_own_imports(environment: Mapping[str, str], *, root: Path, side: Path) -> dict[str, str]:
    """``environment`` in which ``side`` stands for ``root``: on ``PYTHONPATH``, in what is a path below it
    (``CI_PROJECT_DIR``), and for the agent, which leads what is installed editable there.
    """
    own = {
        name: value if name in _OF_THE_USER else moved(value, root, side)
        for name, value in environment.items()
    }
    theirs = environment.get("PYTHONPATH")
    if theirs:
        words = [moved(word, root, side) for word in theirs.split(os.pathsep)]
        own["PYTHONPATH"] = os.pathsep.join(words)
    return {**own, "RLPROF_HEAD_ROOT": str(root), "RLPROF_SIDE_ROOT": str(side)}


def moved(word: str, root: Path, side: Path) -> str:
    """``word`` as ``side`` has it, if it is the absolute path of something below ``root``.

    As it is written where ``side`` lacks it, or has the same file.
    """
    place = place_below(word, root) if word.startswith("/") else None
    if place is None:
        return word
    there = side / place
    is_another = os.path.realpath(there) != os.path.realpath(word)
    return str(there) if is_another and os.access(there, os.F_OK) else word


def place_below(path: str, root: Path) -> Path | None:
    """Return where below ``root`` the absolute ``path`` leads, through links too, from there; None elsewhere.

    Links inside of ``root`` are not followed: each side has its own.
    """
    top = os.path.realpath(root)
    # Behind a link ".." is the parent of where that leads.
    whole = Path(os.path.realpath(path) if ".." in Path(path).parts else path)
    for part in (*reversed(whole.parents), whole):
        inside = Path(os.path.realpath(part))
        if inside.is_relative_to(top):
            return inside.relative_to(top) / whole.relative_to(part)
    return None


def moved_command(
    command: Sequence[str], *, folder: Path, root: Path, side: Path, there: Path
) -> tuple[str, ...]:
    """``command`` as it is started in ``there``, the place below ``side`` that stands for ``folder``.

    A program that git does not track, as that of a virtual environment, is head's own.
    """
    first, *rest = (_moved_word(word, root, side) for word in command)
    is_relative = "/" in first and not first.startswith("/")
    if is_relative and not (there / first).exists() and (folder / first).exists():
        first = str(folder / first)
    return (first, *rest)


def _moved_word(word: str, root: Path, side: Path) -> str:
    """``word``, or what stands behind its ``=``, as :func:`moved` has it: ``--config=/path``."""
    name, is_assigned, path = word.partition("=/")
    if not is_assigned or name.startswith("/"):
        return moved(word, root, side)
    return f"{name}={moved(f'/{path}', root, side)}"
