"""The base in a git worktree of its own, in a temporary folder; removed whatever happens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.errors import MeasureError, UsageError
from rlprof.gate.interruption import shielded
from rlprof.gate.processes import ProcessSession, last_lines
from rlprof.gate.worktrees.check_folder import is_check_folder_name, remove_tree
from rlprof.gate.worktrees.git import git
from rlprof.recording.redaction.arguments import redact_line

_LINK_TO_A_COMMIT: Final = "160000 "
"""The mode of submodules in an index."""

_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""Beginning of a file of git-lfs that was not fetched."""

_FEW: Final = 100
"""Files of git-lfs that are looked at: they are fetched all, or none."""

_NAME: Final = "base"
_SHORTEST: Final = len(_NAME)
_LONGEST: Final = 120
"""Longest length of the folder's name; file systems allow 255."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The one that head lies in."""

    root: Path
    """Root of the working tree."""
    git_folder: Path
    """The one that all worktrees share."""
    inside: Path
    """From there to where the program is started; ``.`` at the root."""
    base: str
    """Commit of the base."""
    head: str
    """Commit that the working tree is based on."""
    is_dirty: bool
    """True if the working tree differs from that commit, untracked files aside."""


@dataclass(frozen=True, slots=True)
class Worktree:
    root: Path
    folder: Path
    """Where the base is started."""


def find_repository(folder: Path, base: str) -> Repository:
    """The repository around ``folder`` and its commit ``base``.

    Raises ``UsageError`` when ``folder`` is in none, or it has no such commit.
    """
    root = git(folder, "rev-parse", "--show-toplevel")
    if not root.is_good:
        if "safe.directory" in root.error:
            raise UsageError(
                f"git does not trust the repository around {folder}, which belongs to another user",
                slug="not-a-repository",
                hint=f"as in containers of CI: git config --global --add safe.directory {folder}",
            )
        raise UsageError(
            f"{folder} is not in the working tree of a git repository: {_why(root.error)}",
            slug="not-a-repository",
            hint="--base checks out another commit; for any two programs give --base-command, or "
            "keep a file with --save-baseline",
        )
    commit = _commit_named(base, folder)
    if not commit:
        is_shallow = git(folder, "rev-parse", "--is-shallow-repository").out == "true"
        raise UsageError(
            f"git knows no commit {base!r} in {root.out}",
            slug="base-unknown",
            hint="this clone is shallow: fetch the base too (actions/checkout: fetch-depth: 0)"
            if is_shallow
            else "see `git branch --all` for what there is; fetch it first if it is on a remote",
        )
    head = git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    changes = git(folder, "status", "--porcelain", "--untracked-files=no")
    top = Path(root.out)
    return Repository(
        root=top,
        git_folder=top / git(top, "rev-parse", "--git-common-dir").out,
        inside=folder.resolve().relative_to(top.resolve()),
        base=commit,
        head=head.out,
        is_dirty=bool(changes.out),
    )


def _commit_named(name: str, folder: Path) -> str:
    """Its hash; empty where git knows none of that name."""
    verify = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    named = git(folder, *verify, name).out
    # In two steps: what follows ``:/`` is text to look for, to its end. ``^HEAD`` is all but that commit.
    return "" if named.startswith("^") else git(folder, *verify, f"{named}^{{commit}}").out


@contextmanager
def worktree_of(repository: Repository, parent: Path) -> Iterator[Worktree]:
    """Check the base out in a folder below ``parent``, with its submodules.

    Raises :class:`MeasureError` when git cannot.
    """
    place = parent / _name(parent, repository.root)
    forget_left_ones(repository.git_folder)
    try:
        made = git(
            repository.root,
            *("-c", "core.hooksPath=/dev/null"),
            # It would mark the whole repository as one that older gits cannot read.
            *("-c", "worktree.useRelativePaths=false", "worktree", "add"),
            *("--detach", "--force", str(place), repository.base),
            **({"GIT_LFS_SKIP_SMUDGE": "1"} if _has_pointers(repository.root) else {}),
        )
        if not made.is_good:
            raise MeasureError(
                f"git could not make a worktree of {repository.base[:10]}: {_why(made.error)}",
                slug="worktree-failed",
                hint="try `git worktree add --detach FOLDER COMMIT` there: is the disk full, the repository read-only, "
                "a filter missing (git lfs)?",
            )
        _fetch_submodules(place, repository)
        yield Worktree(place, _folder(place, repository))
    finally:
        _remove(repository, place)


def _has_pointers(root: Path) -> bool:
    """Tell whether large files of head were left on their server: then base must not have them either."""
    listed = git(root, "ls-files", "-z", "--", ":(attr:filter=lfs)").out.split("\0")
    return any(_start_of(root / path) == _POINTER for path in listed[:_FEW] if path)


def _start_of(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(len(_POINTER))
    except OSError:
        return b""


def _name(parent: Path, root: Path) -> str:
    """A name that makes the path as long as that of head, where that is possible.

    Paths reach the stack of a process and the layout of its memory, and with it its speed: by
    several per cent for a whole side, which no number of pairs would tell from the program.
    """
    wanted = len(os.fsencode(root)) - len(os.fsencode(parent)) - 1
    return _NAME.ljust(max(_SHORTEST, min(_LONGEST, wanted)), "-")


def _fetch_submodules(place: Path, repository: Repository) -> None:
    """Those that head has too, or has no more: what is not checked out there must not be here either."""
    if not (place / ".gitmodules").is_file():
        return
    wanted = _submodules(place).keys() - {
        path for path, is_there in _submodules(repository.root).items() if not is_there
    }
    if not wanted:
        return
    update = ("submodule", "update", "--init", "--recursive", "--quiet", "--")
    before = _known_submodules(place)
    try:
        done = git(place, *update, *sorted(wanted))
    finally:
        # Git notes them for the whole repository.
        for name in _known_submodules(place) - before:
            git(place, "config", "--local", "--remove-section", name)
    if not done.is_good:
        raise MeasureError(
            f"the submodules of the base could not be fetched: {_why(done.error)}",
            slug="submodules-missing",
            hint="fetching them needs the access that `git submodule update --init` needs",
        )


def _known_submodules(place: Path) -> set[str]:
    """Sections of the repository's configuration, ``submodule.vendored``."""
    listed = git(
        place, "config", "--local", "--null", "--name-only", "--get-regexp", r"^submodule\."
    )
    return {entry.rpartition(".")[0] for entry in listed.out.split("\0") if entry}


def _submodules(root: Path) -> dict[str, bool]:
    """Tell whether each is checked out, by its path."""
    listed = git(root, "ls-files", "-z", "--stage").out.split("\0")
    paths = [entry.partition("\t")[2] for entry in listed if entry.startswith(_LINK_TO_A_COMMIT)]
    return {path: (root / path / ".git").exists() for path in paths}


def _folder(place: Path, repository: Repository) -> Path:
    folder = place / repository.inside
    if not folder.is_dir():
        raise MeasureError(
            f"the base {repository.base[:10]} has no folder {repository.inside}",
            slug="base-lacks-folder",
            hint="start from a folder that both have, or give a later base",
        )
    return folder


def _remove(repository: Repository, place: Path) -> None:
    """By hand: git refuses what it finds damaged, and takes its time."""
    with shielded():
        remove_tree(place)
        forget(repository.git_folder, place)


def prepare(
    command: str, tree: Worktree, *, environment: Mapping[str, str], log: Path, timeout_s: float
) -> None:
    """Build the base with a command of the shell; raises :class:`MeasureError` when it fails."""
    shell = ("/bin/sh", "-c", command)
    with ProcessSession(shell, environment=environment, folder=tree.folder, log=log) as session:
        code = session.wait(timeout_s)
    if code != 0:
        what = f"took longer than {timeout_s:g} s" if code is None else f"failed ({code})"
        raise MeasureError(
            f"the base could not be prepared: {redact_line(command)!r} {what}\n{last_lines(log)}",
            slug="base-not-prepared",
            hint="the command runs in the folder of the worktree that stands for this one",
        )


def _why(text: str) -> str:
    """Return what git complains of: its own first complaint, and not what follows from it."""
    lines = text.splitlines() or ["git gave no reason"]
    return next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1]
    ).strip()


# --- what git keeps of a worktree, .git/worktrees/ID ------------------------------------------
#
# Ours is removed, and never another: ``git worktree prune`` takes worktrees of the user's too, as those on a
# disk that is not mounted at the moment.


class _Entry(NamedTuple):
    folder: Path
    worktree: Path
    """Where it lies, or lay."""


def forget(git_folder: Path, worktree: Path) -> None:
    """Remove what ``git_folder``, which all worktrees share, keeps of this one."""
    wanted = os.path.realpath(worktree)
    for entry in _entries(git_folder):
        if os.path.realpath(entry.worktree) == wanted:
            _remove_entry(entry)


def forget_left_ones(git_folder: Path) -> None:
    """Those of killed checks, once their folders are gone."""
    for entry in _entries(git_folder):
        with suppress(OSError):
            if _is_left_worktree(entry):
                _remove_entry(entry)


def _is_left_worktree(entry: _Entry) -> bool:
    folder = entry.worktree.parent
    return (
        is_check_folder_name(folder)
        and entry.folder.lstat().st_uid == os.getuid()
        # Without that one a disk may be missing.
        and folder.parent.is_dir()
        and not folder.exists()
    )


def _entries(git_folder: Path) -> Iterator[_Entry]:
    for file in (git_folder / "worktrees").glob("*/gitdir"):
        with suppress(OSError):
            text = os.fsdecode(file.read_bytes()).removesuffix("\n")
            # Newer gits can be told to write them relative to the entry.
            yield _Entry(file.parent, (file.parent / text).parent)


def _remove_entry(entry: _Entry) -> None:
    shutil.rmtree(entry.folder, ignore_errors=True)
    # As git leaves it behind its last worktree.
    with suppress(OSError):
        entry.folder.parent.rmdir()
