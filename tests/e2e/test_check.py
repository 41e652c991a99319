"""``rlprof check`` on real repositories and programs: its verdicts, and what runs on each side."""

from __future__ import annotations

import json
import os
import shlex
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.checked_repository import (
    NOT_MEASURED,
    PASS,
    REGRESSION,
    CheckedRepository,
    waiting,
)
from tests.git_repository import GitRepository

# --- verdicts -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_slower_head_fails_and_every_document_says_why(repository, tmp_path):
    repository.commit(waiting(cost_s=0.004))
    repository.write(waiting(cost_s=0.008))
    out = tmp_path / "out"
    documents = {
        f"--{kind}": out / f"check.{kind}" for kind in ("json", "junit", "markdown", "sarif")
    }

    answer = repository.check(
        *("--base", "main", "--profile", "--artifacts", out),
        *(word for pair in documents.items() for word in pair),
        "train.py",
    )

    assert answer.code == REGRESSION, answer.err
    assert answer.out.startswith("Regression: head makes 0.5")
    found = json.loads(documents["--json"].read_text())
    assert (found["verdict"], found["exit_code"]) == ("regression", REGRESSION)
    assert 0.4 < found["decision"]["ratio"]["median"] < 0.7
    assert found["decision"]["confirmed"]
    assert {note["slug"] for note in found["notes"]} >= {"dirty-tree"}
    sides = [run["side"] for run in found["runs"][:8]]
    assert sides == ["base", "head", "head", "base", "base", "head", "head", "base"]
    slower = found["recorded_pair"]["slower_functions"]
    assert ("train.py", True) in {(function["file"], function["waits"]) for function in slower}
    suite = ElementTree.parse(documents["--junit"]).getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    assert "**Regression: head makes 0" in documents["--markdown"].read_text()
    assert repository.summary.read_text() == documents["--markdown"].read_text()
    results = json.loads(documents["--sarif"].read_text())["runs"][0]["results"]
    assert results[0]["ruleId"] == "slower-than-base"
    for name in ("diff.html", "diff.svg", "base.rlprof", "head.rlprof"):
        assert (out / name).stat().st_size > 0
    repository.assert_tidy()


@pytest.mark.alone
def test_the_same_program_passes(repository):
    repository.commit(waiting())

    answer = repository.check("--base", "HEAD", "--min-effect", "50%", "train.py")

    assert answer.code == PASS, answer.err
    assert answer.out.startswith("Pass: ")
    assert "pair 5 of 5" in answer.err
    repository.assert_tidy()


LOGGING = """
import logging, sys, time
import rlprof

logging.basicConfig(level="INFO", stream=sys.stderr)
for number in range(300):
    time.sleep(0.004)
    rlprof.step()
    if number % {every} == 0:
        logging.info("a record")
"""


def test_a_counter_that_grew_fails_at_the_first_pair(repository):
    repository.commit(LOGGING.format(every=300))
    repository.write(LOGGING.format(every=1))

    answer = repository.check("--base", "main", "train.py")

    assert answer.code == REGRESSION, answer.err
    assert "log_records" in answer.out.splitlines()[0]
    assert "pair 2" not in answer.err
    repository.assert_tidy()


def test_counters_alone_need_no_steady_rate(repository):
    repository.commit("import rlprof\nrlprof.step(10)\n")

    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    repository.assert_tidy()


# --- base and head as they are --------------------------------------------------------------


REPORTING = """
import sys
import rlprof
{imported}
with open(sys.argv[1], "a") as file:
    print({text}, file=file)
rlprof.step(10)
"""


def test_each_side_imports_its_own_modules(repository, tmp_path, monkeypatch):
    program = REPORTING.format(imported="import model", text="model.__file__, model.NAME")
    repository.commit("NAME = 'old'\n", "src/model.py")
    repository.commit(program, "scripts/train.py")
    repository.write("NAME = 'new'\n", "src/model.py")
    # As an editable install does: an absolute path into head's tree.
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{repository.folder / 'src'}{os.pathsep}{path}")
    seen = tmp_path / "seen"

    answer = repository.check(
        *("--base", "main", "--counters-only", "train.py", seen),
        folder=repository.folder / "scripts",
    )

    assert answer.code == PASS, answer.err
    base, head = seen.read_text().splitlines()[:2]
    assert base.split() == [base.split()[0], "old"]
    assert head == f"{repository.folder / 'src' / 'model.py'} new"
    repository.assert_tidy()


@pytest.mark.slow
def test_a_repository_behind_a_link_is_moved_too(repository, tmp_path, monkeypatch):
    program = REPORTING.format(imported="import model", text="model.NAME, {version!r}")
    repository.commit("NAME = 'old'\n", "src/model.py")
    repository.commit(program.format(version="old"), "scripts/train.py")
    repository.write("NAME = 'new'\n", "src/model.py")
    repository.write(program.format(version="new"), "scripts/train.py")
    link = tmp_path / "link"
    link.symlink_to(repository.folder)
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{link / 'src'}{os.pathsep}{path}")
    seen = tmp_path / "seen"

    answer = repository.check(
        *("--base", "main", "--counters-only", link / "scripts" / "train.py", seen),
        folder=link / "scripts",
    )

    assert answer.code == PASS, answer.err
    assert seen.read_text().splitlines()[:2] == ["old old", "new new"]
    repository.assert_tidy()


def test_an_installed_script_imports_the_modules_of_each_side(repository, tmp_path, monkeypatch):
    """Of an environment that is not active, in which the repository is installed editable."""
    repository.commit("NAME = 'old'\n", "src/model.py")
    repository.write("NAME = 'new'\n", "src/model.py")
    environment = tmp_path / "venv"
    venv.create(environment, symlinks=True)
    [site] = environment.glob("lib/python*/site-packages")
    (site / "project.pth").write_text(f"{repository.folder / 'src'}\n")
    program = REPORTING.format(imported="import model", text="model.NAME")
    script = environment / "bin" / "mytrain"
    script.write_text(f"#!{environment}/bin/python\n{program}")
    script.chmod(0o755)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    seen = tmp_path / "seen"

    answer = repository.check("--base", "main", "--counters-only", "--", script, seen)

    assert answer.code == PASS, answer.err
    assert seen.read_text().split()[:2] == ["old", "new"]
    repository.assert_tidy()


def test_a_repository_whose_name_is_not_utf8(tmp_path):
    folder = tmp_path / os.fsdecode(b"na\xefve ")
    folder.mkdir()
    repository = CheckedRepository.below(folder, temporary=tmp_path / "t")
    repository.commit(REPORTING.format(imported="", text="'old'"))
    repository.write(REPORTING.format(imported="", text="'new'"))
    documents = {f"--{kind}": tmp_path / kind for kind in ("json", "junit", "markdown", "sarif")}
    words = [word for pair in documents.items() for word in pair]

    answer = repository.check(
        *("--base", "main", "--counters-only", *words, "train.py", tmp_path / "seen")
    )

    assert answer.code == PASS, answer.err
    assert (tmp_path / "seen").read_text().split()[:2] == ["old", "new"]
    assert all(document.read_text() for document in documents.values())
    repository.assert_tidy()


def test_each_side_knows_its_own_folder_and_their_paths_are_equally_long(tmp_path, monkeypatch):
    deep = tmp_path / "a-folder-with-a-long-name" / "and-one-more-below-that"
    deep.mkdir(parents=True)
    repository = CheckedRepository.below(deep, temporary=tmp_path / "t")
    seen = tmp_path / "seen"
    told = "os.environ['PWD'] == os.getcwd(), 'OLDPWD' in os.environ, os.getcwd()"
    repository.commit(REPORTING.format(imported="import os", text=told))
    monkeypatch.setenv("PWD", str(repository.folder))
    monkeypatch.setenv("OLDPWD", str(tmp_path))

    answer = repository.check("--base", "main", "--counters-only", "train.py", seen)

    assert answer.code == PASS, answer.err
    lines = [line.split() for line in seen.read_text().splitlines()]
    assert all(line[:2] == ["True", "False"] for line in lines)
    folders = {line[2] for line in lines}
    assert len(folders) == 2
    assert len({len(folder) for folder in folders}) == 1


def test_it_works_from_a_hook_of_git(repository, monkeypatch):
    repository.commit("import rlprof\nrlprof.step(10)\n")
    # As git sets them for pre-push, and as would lead it to the wrong repository in the worktree.
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")

    answer = repository.check("--base", "main", "--counters-only", "train.py")
    monkeypatch.undo()

    assert answer.code == PASS, answer.err
    repository.assert_tidy()


def test_submodules_of_the_base_are_there(tmp_path, repository):
    library = GitRepository.new(tmp_path / "library")
    library.commit("WIDTH = 64\n", "layers.py")
    repository.git("submodule", "--quiet", "add", str(library.folder), "library")
    repository.commit("import library.layers, rlprof\nrlprof.step(10)\n")

    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    repository.assert_tidy()


def test_submodules_that_are_not_there_in_head_are_not_in_the_base(tmp_path):
    """As runners check out; a program may well do with fewer."""
    library = GitRepository.new(tmp_path / "library")
    library.commit("WIDTH = 64\n", "layers.py")
    original = GitRepository.new(tmp_path / "original")
    original.git("submodule", "--quiet", "add", str(library.folder), "library")
    original.commit(
        "import os, rlprof\nassert not os.path.exists('library/layers.py')\nrlprof.step(10)\n"
    )
    cloned = CheckedRepository(original.clone(tmp_path / "project").folder)
    configuration = (cloned.folder / ".git" / "config").read_text()

    answer = cloned.check("--base", "HEAD", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    assert (cloned.folder / ".git" / "config").read_text() == configuration
    cloned.assert_tidy()


def test_submodules_that_only_the_base_has_leave_nothing_in_the_configuration(tmp_path, repository):
    library = GitRepository.new(tmp_path / "library")
    library.commit("WIDTH = 64\n", "layers.py")
    repository.git("submodule", "--quiet", "add", str(library.folder), "library")
    repository.commit("import rlprof\nrlprof.step(10)\n")
    repository.git("rm", "--quiet", "-f", "library")
    repository.git("config", "--remove-section", "submodule.library")
    repository.commit("import rlprof\nrlprof.step(11)\n")
    configuration = (repository.folder / ".git" / "config").read_text()

    repository.check("--base", "HEAD~1", "--counters-only", "train.py")

    assert (repository.folder / ".git" / "config").read_text() == configuration
    repository.assert_tidy()


def test_a_folder_that_prepare_removes_is_told(repository):
    repository.commit("import rlprof\nrlprof.step(10)\n")

    answer = repository.check(
        "--base", "main", "--counters-only", "--prepare", 'rm -rf "$PWD"', "train.py"
    )

    assert answer.fails_with(NOT_MEASURED, "base-not-prepared")
    repository.assert_tidy()


def test_the_base_is_built_by_prepare(repository, tmp_path):
    repository.commit("/built.py\n", ".gitignore")
    repository.commit("import built, rlprof\nrlprof.step(10)\n")
    repository.write("\n", "built.py")

    without = repository.check("--base", "main", "--counters-only", "train.py")
    built = repository.check(
        "--base", "main", "--counters-only", "--prepare", "touch built.py", "train.py"
    )
    broken = repository.check(
        "--base", "main", "--counters-only", "--prepare", "echo no compiler; exit 3", "train.py"
    )

    assert without.fails_with(NOT_MEASURED, "program-failed")
    assert "No module named 'built'" in without.err
    assert built.code == PASS, built.err
    assert broken.fails_with(NOT_MEASURED, "base-not-prepared")
    assert "no compiler" in broken.err
    repository.assert_tidy()


@pytest.mark.slow
def test_what_is_built_replaces_that_of_head(repository, tmp_path):
    """Also where the command names it by the path that it has in head."""
    program = REPORTING.format(imported="", text="{!r}")
    repository.commit("/train.py\n", ".gitignore")
    repository.commit(program.format("old"), "template.py")
    repository.write(program.format("new"))
    seen = tmp_path / "seen"

    answer = repository.check(
        *("--base", "main", "--counters-only", "--prepare", "cp template.py train.py"),
        *(repository.folder / "train.py", seen),
    )

    assert answer.code == PASS, answer.err
    assert seen.read_text().split()[:2] == ["old", "new"]


# --- what is told ---------------------------------------------------------------------------


def test_secrets_of_the_command_line_are_told_nowhere(repository, tmp_path):
    repository.commit("import rlprof\nrlprof.step(10)\n")
    names = ("check.json", "check.xml", "check.md", "check.sarif")
    documents = [tmp_path / name for name in names]
    options = ("--json", "--junit", "--markdown", "--sarif")

    answer = repository.check(
        *("--base", "main", "--counters-only", "--prepare", "API_KEY=hunter2 true"),
        *(word for pair in zip(options, documents, strict=True) for word in pair),
        *("train.py", "--wandb-key=hunter2", "--password", "hunter2"),
    )

    assert answer.code == PASS, answer.err
    assert "--wandb-key=[redacted]" in documents[0].read_text()
    texts = [document.read_text() for document in (*documents, repository.summary)]
    assert [text for text in (*texts, answer.out, answer.err) if "hunter2" in text] == []


# --- baselines ------------------------------------------------------------------------------


def edited(file: Path, **changes: object) -> None:
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, **changes}))


@pytest.mark.slow
def test_a_baseline_is_kept_and_compared_with(repository, tmp_path):
    repository.commit(waiting(steps=250))
    baseline = tmp_path / "perf.json"
    target = ("train.py",)

    saved = repository.check("--save-baseline", baseline, "--pairs", "5", *target)
    same = repository.check("--baseline", baseline, "--min-effect", "50%", *target)
    machine = {**json.loads(baseline.read_text())["machine"], "cpu_model": "Another 9000"}
    edited(baseline, machine=machine)
    elsewhere = repository.check("--baseline", baseline, *target)
    relaxed = repository.check(
        "--baseline", baseline, "--relax-machine", "--min-effect", "50%", *target
    )

    assert saved.code == PASS, saved.err
    assert same.code == PASS, same.err
    assert elsewhere.fails_with(NOT_MEASURED, "baseline-other-machine")
    assert "cpu_model: Another 9000 then" in elsewhere.err
    assert relaxed.code == PASS, relaxed.err
    assert "another machine" in relaxed.out
    repository.assert_tidy()


def python_command(script: str, *arguments: str | Path) -> str:
    return shlex.join([sys.executable, script, *map(str, arguments)])


def test_any_two_commands(repository: CheckedRepository, tmp_path: Path):
    seen = tmp_path / "seen"
    program = REPORTING.format(imported="", text="__file__.rpartition('/')[2]")
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text(program)

    command: Sequence[str] = ("--base-command", python_command("old.py", seen))
    answer = repository.check(*command, "--counters-only", "new.py", seen, folder=tmp_path)

    assert answer.code == PASS, answer.err
    assert seen.read_text().split() == ["old.py", "new.py", "new.py", "old.py"]
