"""Which paths of a command and of the environment lead to the base, and which stay those of head."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.gate.worktrees.sides import (
    moved,
    moved_command,
    place_below,
    with_own_imports,
)


@pytest.fixture
def trees(tmp_path):
    """Head's tree and that of the base, with the same script in both."""
    head, base = tmp_path / "head", tmp_path / "base"
    for root in (head, base):
        (root / "src").mkdir(parents=True)
        (root / "train.py").touch()
    (head / ".venv" / "bin").mkdir(parents=True)
    (head / ".venv" / "bin" / "python").touch()
    return head, base


def test_absolute_paths_into_head_lead_to_the_base(trees):
    head, base = trees

    command = moved_command(
        ("python", str(head / "train.py"), str(head / "new.yaml"), "--out", "/tmp/x", "src"),
        folder=head,
        root=head,
        side=base,
        there=base,
    )

    assert command == (
        "python",
        str(base / "train.py"),
        str(head / "new.yaml"),
        "--out",
        "/tmp/x",
        "src",
    )


def test_absolute_paths_behind_an_equals_sign_lead_there_too(trees):
    head, base = trees
    (head / "new.yaml").touch()
    (head / "runs=1").touch()
    (base / "runs=1").touch()

    command = moved_command(
        (
            "python",
            "train.py",
            f"--config={head}/src",
            f"+data.path={head}/train.py",
            f"--new={head}/new.yaml",
            "--out=/tmp/x",
            f"{head}/runs=1",
            "--to=src",
            "x=/",
        ),
        folder=head,
        root=head,
        side=base,
        there=base,
    )

    assert command[2:] == (
        f"--config={base}/src",
        f"+data.path={base}/train.py",
        f"--new={head}/new.yaml",
        "--out=/tmp/x",
        f"{base}/runs=1",
        "--to=src",
        "x=/",
    )


@pytest.mark.parametrize("is_absolute", [True, False])
def test_an_interpreter_that_git_does_not_track_is_heads(trees, is_absolute):
    head, base = trees
    python = str(head / ".venv/bin/python") if is_absolute else ".venv/bin/python"

    command = moved_command((python, "train.py"), folder=head, root=head, side=base, there=base)

    assert command == (str(head / ".venv/bin/python"), "train.py")


def test_a_program_of_the_repository_is_the_bases_own(trees):
    head, base = trees

    command = moved_command(("./train.py",), folder=head, root=head, side=base, there=base)

    assert command == ("./train.py",)


def test_only_what_is_below_the_root_moves(trees):
    head, base = trees

    assert moved(f"{head}-other/train.py", head, base) == f"{head}-other/train.py"
    assert moved(f"{head}/src/../train.py", head, base) == str(base / "train.py")


@pytest.fixture
def link(trees, tmp_path):
    """Another way to head's tree."""
    link = tmp_path / "link"
    link.symlink_to(trees[0])
    return link


def test_a_path_through_a_link_leads_to_the_base(trees, link):
    head, base = trees
    (head.parent / "to-sources").symlink_to(link / "src")

    assert moved(f"{link}/train.py", head, base) == str(base / "train.py")
    assert moved(f"{link}/src/../train.py", head, base) == str(base / "train.py")
    assert moved(str(head.parent / "to-sources"), head, base) == str(base / "src")
    assert moved(f"{head}/train.py", link, base) == str(base / "train.py")


def test_what_need_not_move_stays_as_it_is_written(trees, link):
    head, base = trees

    assert moved(f"{link}/new.yaml", head, base) == f"{link}/new.yaml"
    assert moved(f"{link}/src", head, head) == f"{link}/src"
    assert moved("link/train.py", head, base) == "link/train.py"


def test_links_of_the_repository_are_its_own(trees, tmp_path):
    head, _ = trees
    (tmp_path / "data").mkdir()
    (head / "data").symlink_to(tmp_path / "data")

    assert place_below(f"{head}/data/ant.h5", head) == Path("data/ant.h5")
    assert place_below(f"{head}/src/../../data/ant.h5", head) is None
    assert place_below(str(tmp_path), head) is None


def test_folders_of_head_on_the_path_lead_to_the_base(trees, link):
    head, base = trees
    environment = {"PATH": "/bin", "PYTHONPATH": f"{head}/src:/elsewhere::{link}/src:lib"}

    of_base = with_own_imports(environment, root=head, side=base)
    of_head = with_own_imports(environment, root=head, side=head)

    assert of_base["PYTHONPATH"] == f"{base}/src:/elsewhere::{base}/src:lib"
    assert of_head["PYTHONPATH"] == environment["PYTHONPATH"]


def test_without_a_path_none_is_made(trees):
    head, base = trees

    assert "PYTHONPATH" not in with_own_imports({"PATH": "/bin"}, root=head, side=base)


def test_a_variable_that_names_head_names_the_side(trees):
    head, base = trees
    (base / "conf.yaml").touch()
    environment = {
        "CI_PROJECT_DIR": str(head),
        "HOME": str(head),
        "CONF": f"{head}/conf.yaml",
        "VIRTUAL_ENV": f"{head}/.venv",
        "NOTE": f"see {head}/conf.yaml",
    }

    own = with_own_imports(environment, root=head, side=base)

    assert own["CI_PROJECT_DIR"] == str(base)
    assert own["CONF"] == f"{base}/conf.yaml"
    assert own["VIRTUAL_ENV"] == environment["VIRTUAL_ENV"], "git does not track it"
    assert own["HOME"] == str(head), "both have the same caches"
    assert own["NOTE"] == environment["NOTE"]
    assert own["RLPROF_HEAD_ROOT"] == str(head)


def test_the_environments_of_both_sides_are_equally_long(tmp_path):
    head, base = tmp_path / "project", tmp_path / "base---"

    both = [with_own_imports({}, root=head, side=side) for side in (base, head)]

    assert len({sum(map(len, environment.values())) for environment in both}) == 1
