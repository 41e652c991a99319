"""Which of the files that a side imported are its own, in real repositories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib.util import LazyLoader, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from rlprof.agent.inject.rlprof_agent import imported_files as agent
from rlprof.gate.program import Checkout, Side
from rlprof.gate.worktrees.imported_files import ImportedFiles, imported_files
from tests.git_repository import ENVIRONMENT, GitRepository

FILES = ("src/agent/__init__.py", "src/agent/policy.py", "train.py")
TOLD = ImportedFiles(is_told=True, own=0, of_other=(), copies=(), not_run=())


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, text in ENVIRONMENT.items():
        monkeypatch.setenv(name, text)


def written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return file


@pytest.fixture
def head(tmp_path):
    made = GitRepository.new(tmp_path / "project")
    for name in FILES:
        made.write("", name)
    made.commit("", ".gitignore")
    return made


@pytest.fixture
def checkout(tmp_path, head):
    base = tmp_path / "temporary" / "base"
    head.git("worktree", "add", "--quiet", "--detach", str(base))
    return Checkout(base, head.folder)


@pytest.fixture
def told(tmp_path, checkout):
    """What is made of the paths that processes told."""

    def _told(
        *processes: list[Path], named: Sequence[Path] = (), checkout: Checkout = checkout
    ) -> ImportedFiles:
        folder = tmp_path / "told"
        folder.mkdir()
        for pid, paths in enumerate(processes):
            text = b"".join(os.fsencode(path) + b"\0" for path in paths)
            (folder / str(pid)).write_bytes(text)
        return imported_files(folder, checkout, named)

    return _told


@pytest.mark.parametrize("processes", [(), ([],)])
def test_nothing_is_known_where_no_process_told(told, processes):
    assert told(*processes) == TOLD._replace(is_told=False)


def test_a_folder_that_the_program_removed_tells_nothing(tmp_path, checkout):
    assert not imported_files(tmp_path / "gone", checkout, ()).is_told


def test_its_own_files_and_the_standard_library(told, checkout):
    own = checkout.own / "train.py", checkout.own / "src/agent/policy.py"

    assert told([own[0], Path(os.__file__)], [*own]) == TOLD._replace(own=2)


def test_a_script_that_is_no_module_is_its_own(told, checkout):
    """As of ``python -m cProfile train.py``."""
    found = told([Path(os.__file__)], named=[checkout.own / "train.py"])

    assert found == TOLD._replace(own=1)


def test_files_of_the_other_side(told, checkout):
    found = told([checkout.own / "train.py"], [checkout.other / "src/agent/policy.py"])

    assert found == TOLD._replace(own=1, of_other=(Path("src/agent/policy.py"),))


def test_head_may_import_files_of_base_too(told, checkout):
    of_head = Checkout(own=checkout.other, other=checkout.own)

    found = told([checkout.own / "src/agent/policy.py"], checkout=of_head)

    assert found.of_other == (Path("src/agent/policy.py"),)


def test_links_lead_to_files_of_head(told, checkout):
    """As in a strict editable installation of setuptools."""
    link = checkout.other / "build/__editable__.agent/agent/policy.py"
    link.parent.mkdir(parents=True)
    link.symlink_to(checkout.other / "src/agent/policy.py")

    assert told([link]).of_other == (Path("src/agent/policy.py"),)


def test_a_package_that_has_moved_is_no_shared_one(told, checkout, head):
    head.git("mv", "src", "python")
    moved = head.folder / "python/agent/policy.py"

    assert told([moved]).of_other == (Path("python/agent/policy.py"),)


def test_however_many_files_are_shared_one_of_head_is_found(told, checkout, head):
    shared = [written(head.folder / f".deps/a{number}.py") for number in range(600)]

    found = told([*shared, head.folder / "src/agent/policy.py"])

    assert found.of_other == (Path("src/agent/policy.py"),)


def test_files_of_a_submodule_of_head(told, checkout, head, tmp_path):
    library = GitRepository.new(tmp_path / "library")
    library.commit("", "layers.py")
    head.git("submodule", "--quiet", "add", str(library.folder), "library")

    assert told([head.folder / "library/layers.py"]).of_other == (Path("library/layers.py"),)


@pytest.mark.parametrize(
    "name",
    [
        "env/lib/python3.11/json/decoder.py",
        ".venv/lib/python3.11/site-packages/six.py",
    ],
)
def test_what_git_does_not_track_is_shared(told, head, name):
    assert told([written(head.folder / name)]) == TOLD


def test_a_new_file_that_the_command_names_is_shared(told, checkout, head):
    head.commit("", "configs/new.py")
    new = head.folder / "configs/new.py"

    assert told([new]).of_other == (Path("configs/new.py"),)
    shutil.rmtree(new.parents[2] / "told")
    assert told([new], named=[new]) == TOLD


def test_what_was_built_in_the_worktree_is_not_shared(told, checkout, head):
    for root in checkout:
        written(root / "built.py")

    assert told([head.folder / "built.py"]).of_other == (Path("built.py"),)


def test_a_worktree_inside_of_head_is_its_own(told, head):
    inside = head.folder / "tmp/base"
    head.git("worktree", "add", "--quiet", "--detach", str(inside))

    found = told([inside / "train.py"], checkout=Checkout(inside, head.folder))

    assert found == TOLD._replace(own=1)


POLICY = "def act(observation): return 0\n"
CHANGED = "def act(observation): return 1\n"


@pytest.fixture
def project(head, tmp_path, checkout):
    """Its package, committed at ``place``, in base and in head; both sides of a check."""

    def _project(place: str, *, changed: bool, of: Side = Side.BASE) -> Checkout:
        head.commit(POLICY, f"{place}/policy.py")
        head.commit("", f"{place}/__init__.py")
        head.git("worktree", "remove", "--force", str(checkout.own))
        head.git("worktree", "add", "--quiet", "--detach", str(checkout.own))
        if changed:
            head.write(CHANGED, f"{place}/policy.py")
        return checkout if of is Side.BASE else Checkout(checkout.other, checkout.own)

    return _project


def a_copy(folder: Path, text: str = POLICY) -> Path:
    written(folder / "lab/__init__.py")
    file = written(folder / "lab/policy.py")
    file.write_text(text)
    return file


@pytest.mark.parametrize("place", ["lab", "src/lab", "python/lab", "libs/a/src/lab"])
@pytest.mark.parametrize("where", ["env/lib/python3.11/site-packages", "another/clone/src"])
def test_a_copy_of_what_is_the_same_in_both(told, project, head, tmp_path, place, where):
    head.write("", "libs/a/pyproject.toml")
    both = project(place, changed=False)

    found = told([both.own / "train.py", a_copy(tmp_path / where)], checkout=both)

    copied = Path(place, "policy.py")
    assert found == TOLD._replace(own=1, copies=(copied,))


@pytest.mark.parametrize(
    ("side", "copy", "is_run"),
    [
        (Side.BASE, POLICY, True),
        (Side.BASE, CHANGED, False),
        (Side.HEAD, POLICY, False),
        (Side.HEAD, CHANGED, True),
    ],
)
def test_a_copy_that_is_the_sides_own_is_as_good(told, project, tmp_path, side, copy, is_run):
    """As of a program that starts from a snapshot of its code."""
    both = project("src/lab", changed=True, of=side)

    found = told([a_copy(tmp_path / "snapshot", copy)], checkout=both)

    assert found.not_run == (() if is_run else (Path("src/lab/policy.py"),))


@pytest.mark.parametrize("where", ["build/lib", ".worktrees/feature/src"])
def test_a_copy_that_lies_in_heads_tree_is_one_too(told, project, head, where):
    both = project("src/lab", changed=True, of=Side.HEAD)

    found = told([a_copy(head.folder / where)], checkout=both)

    assert found.not_run == (Path("src/lab/policy.py"),)


@pytest.mark.parametrize("place", ["agents/lab", "tests/stubs/lab", "third_party/lab"])
def test_a_package_that_no_installation_brings_has_no_copies(told, project, tmp_path, place):
    both = project(place, changed=True)

    assert told([a_copy(tmp_path / "site-packages")], checkout=both) == TOLD


def test_another_projects_package_of_the_same_name_is_no_copy(told, project, tmp_path):
    both = project("src/lab", changed=True)

    assert told([a_copy(tmp_path / "site-packages", "import jax\n")], checkout=both) == TOLD


def test_what_head_lacks_has_not_changed(told, project, head, tmp_path):
    """As in a sparse checkout, or where a submodule is not there."""
    both = project("src/lab", changed=False)
    (head.folder / "src/lab/policy.py").unlink()

    found = told([a_copy(tmp_path / "site-packages")], checkout=both)

    assert found.not_run == ()


def test_what_has_only_moved_has_not_changed(told, project, head, tmp_path):
    both = project("src/lab", changed=False)
    head.git("mv", "src/lab", "lab")

    found = told([a_copy(tmp_path / "site-packages")], checkout=both)

    assert found.not_run == ()


def test_a_module_within_another_package_is_no_copy(told, project, tmp_path):
    both = project("src/lab", changed=True)
    within = a_copy(tmp_path / "torch", CHANGED)
    written(tmp_path / "torch/__init__.py")

    assert told([within], checkout=both) == TOLD


def test_what_is_installed_in_the_worktree_itself_is_its_own(told, checkout):
    """As by ``--prepare``, in an environment that it has made there."""
    own = written(checkout.own / ".venv/lib/python3.11/site-packages/agent/policy.py")

    assert told([own]) == TOLD._replace(own=1)


def test_what_a_killed_process_left_is_read_up_to_there(tmp_path, checkout):
    folder = tmp_path / "told"
    folder.mkdir()
    (folder / "1").write_bytes(os.fsencode(checkout.own / "train.py") + b"\0/half/a/pa")
    (folder / "2").write_bytes(os.fsencode(checkout.own / "src/agent/policy.py") + b"\0")

    assert imported_files(folder, checkout, ()) == TOLD._replace(own=2)


# --- the agent's part -----------------------------------------------------------------------

ASKED: list[str] = []
"""What odd modules were asked for."""


class Late(ModuleType):
    """Loads itself at any look at it, and ends the program."""

    def __getattribute__(self, name: str) -> object:
        ASKED.append(name)
        raise SystemExit(name)


class ByProperty(ModuleType):
    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]  # as apipkg does
        ASKED.append("__dict__")
        return {}


class Closed:
    __slots__ = ()


@pytest.mark.parametrize("kind", [Late, ByProperty, Closed, int])
def test_odd_modules_are_not_looked_at(monkeypatch, tmp_path, kind):
    odd = kind("1") if issubclass(kind, ModuleType) else kind()
    ASKED.clear()

    # Put back before anything is asserted: pytest could not tell of a failure.
    with monkeypatch.context() as patch:
        patch.setattr(agent.sys, "modules", {"odd": odd, "forgotten": None, "os": os})
        agent._tell(str(tmp_path))
    del odd  # A failure would show it.

    assert (tmp_path / str(os.getpid())).read_bytes() == os.fsencode(os.__file__) + b"\0"
    assert ASKED == []


def test_a_lazy_module_stays_unloaded(monkeypatch, tmp_path):
    (tmp_path / "heavy.py").write_text("raise SystemExit('loaded')")
    spec = spec_from_file_location("heavy", tmp_path / "heavy.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = LazyLoader(spec.loader)
    heavy = module_from_spec(spec)
    spec.loader.exec_module(heavy)

    with monkeypatch.context() as patch:
        patch.setattr(agent.sys, "modules", {"heavy": heavy})
        agent._tell(str(tmp_path))

    assert (tmp_path / str(os.getpid())).read_bytes() == os.fsencode(tmp_path / "heavy.py") + b"\0"
    assert object.__getattribute__(heavy, "__class__") is not ModuleType, "it still waits"


def test_the_agent_does_not_tell_of_itself(monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr(agent.sys, "modules", {"rlprof_agent.imported_files": agent})
        agent._tell(str(tmp_path))

    assert (tmp_path / str(os.getpid())).read_bytes() == b""


def test_a_folder_that_is_gone_is_no_matter(tmp_path):
    agent._tell(str(tmp_path / "gone"))
