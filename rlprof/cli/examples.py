"""``rlprof examples``: training programs with known bottlenecks, to try rlprof on."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from rlprof.errors import OutputError, UsageError


class Action(str, Enum):
    LIST = "list"
    COPY = "copy"


def examples(
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.LIST,
    name: Annotated[
        str | None, typer.Argument(help="The example to copy.", show_default=False)
    ] = None,
    destination: Annotated[
        Path | None,
        typer.Argument(help="The folder to make; the example's name when left out."),
    ] = None,
) -> None:
    """List the example programs, or copy one.

    They are trainings with known bottlenecks, to try rlprof on.
    """
    if action is Action.LIST:
        _list()
    else:
        _copy(name, destination)


def _list() -> None:
    known = _examples()
    width = max((len(name) for name in known), default=0)
    for name, folder in known.items():
        typer.echo(f"{name:{width}}  {_title(folder)}")


def _copy(name: str | None, destination: Path | None) -> None:
    import shutil
    import tempfile

    source = _source(name)
    target = destination or Path(source.name)
    # Without ``..``: the folder before it may not be there yet.
    place = Path(os.path.realpath(target))
    if os.path.lexists(target) or os.path.lexists(place):
        raise OutputError(
            f"{target} exists already, and copying would overwrite it",
            slug="output-exists",
            hint=f"name another folder: rlprof examples copy {source.name} FOLDER",
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Beside it, and moved once it is whole: nothing is removed that was not made here.
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".rlprof-example-") as around:
            copied = shutil.copytree(
                source,
                Path(around, source.name),
                ignore=shutil.ignore_patterns("__pycache__", ".rlprof"),
            )
            copied.rename(place)
    except (OSError, shutil.Error) as error:
        raise OutputError(
            f"the example could not be copied to {target}: {_reason(error)}",
            slug="cannot-write",
            hint="choose a folder you may write to",
        ) from error
    typer.echo(f"{source.name} is now in {target}{os.sep}; its README.md says what to try.")


def _reason(error: Exception) -> object:
    """Return why the last of the files could not be copied, where ``shutil`` tells of each."""
    match error.args:
        case [[*_, (_, _, reason)]]:
            return reason
    return error


def _source(name: str | None) -> Path:
    known = _examples()
    if name is None or name not in known:
        raise UsageError(
            "which example to copy?" if name is None else f"there is no example {name!r}",
            slug="no-such-example",
            hint=f"choose one of: {', '.join(known)}",
        )
    return known[name]


def _examples() -> dict[str, Path]:
    """The folder of each example, by name."""
    from rlprof.resources import examples_dir

    return {
        ladder.parent.name: ladder.parent for ladder in sorted(examples_dir().glob("*/ladder.toml"))
    }


def _title(folder: Path) -> str:
    """The first line of the example's README, without its mark-up and name."""
    with (folder / "README.md").open(encoding="utf-8") as readme:
        return readme.readline().lstrip("# ").strip().partition(": ")[2]
