from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.factories import a_run
from tests.git_repository import GitRepository
from tests.run_files import write_run
from tests.unit.cli.conftest import Answer

TRAIN = """\
import logging

logger = logging.getLogger(__name__)
KEY = "not a secret"


def train(q):
    for t in range(10):
        # Told.
        logger.debug(f"q {q}")  # quiet
"""
LINE = '        logger.debug(f"q {q}")  # quiet'
NEW = '        logger.debug("q %s", q)  # quiet'
PRINT = "/usr/lib/python3/site-packages/numpy/_core/arrayprint.py:802 array2string"


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.new(tmp_path / "project")
    made.commit(TRAIN)
    return made


@pytest.fixture
def fix_in(command_line, monkeypatch) -> Callable[..., Answer]:
    """Run ``rlprof fix`` in a folder, inside this process."""

    def run(folder: Path, *arguments: str) -> Answer:
        monkeypatch.chdir(folder)
        return command_line("fix", *arguments)

    return run


def record(folder: Path, recorded: str = TRAIN, file: str | None = None) -> Path:
    """A run in which ``train.py`` formats messages for a quiet logger."""
    file = file or str(folder / "train.py")
    line = f"{file}:10 train"
    run = (
        a_run("train.py", steady_s=10)
        .with_run(cwd=str(folder), script="train.py")
        .process("main", steps=1000)
        .spends(4, f"{file}:8 train")
        .spends(6, line, PRINT)
        .sees(line, q="type=numpy.ndarray shape=4 dtype=f8")
        .source(file, recorded)
    )
    path = folder.parent / "run.rlprof"
    write_run(path, run.recording())
    return path


def test_a_diff_is_shown_and_nothing_changed(repository, fix_in):
    run = record(repository.folder)

    answer = fix_in(repository.folder, str(run), "eager-log-format")

    assert answer.exit_code == 0
    assert answer.stdout.startswith("--- a/train.py\n+++ b/train.py\n@@ -7,4 +7,4 @@\n")
    assert f"-{LINE}\n+{NEW}\n" in answer.stdout
    assert (repository.folder / "train.py").read_text() == TRAIN


def test_the_diff_is_one_that_git_applies(repository, fix_in):
    run = record(repository.folder)
    patch = fix_in(repository.folder, str(run), "1").stdout

    (repository.folder / "fix.patch").write_text(patch)
    repository.git("apply", "fix.patch")

    assert (repository.folder / "train.py").read_text() == TRAIN.replace(LINE, NEW)


def test_the_diff_of_files_elsewhere_says_where_to_apply_it(repository, fix_in):
    run = record(repository.folder)
    below = repository.folder / "deep"
    below.mkdir()
    answer = fix_in(below, str(run), "1")

    assert answer.stdout.startswith("--- a/train.py\n")
    assert f"begin in {repository.folder.resolve()}: apply it there" in answer.stderr


def test_it_is_applied_where_git_has_the_file(repository, fix_in):
    run = record(repository.folder)
    file = repository.folder / "train.py"
    file.chmod(0o750)
    repository.git("commit", "--all", "--quiet", "--message", "mode")

    answer = fix_in(repository.folder, str(run), "1", "--apply")

    assert (answer.exit_code, answer.stdout) == (0, "")
    assert "changed train.py" in answer.stderr
    assert file.read_text() == TRAIN.replace(LINE, NEW)
    assert file.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in repository.folder.iterdir() if path.name != ".git"] == [
        "train.py"
    ]


@pytest.mark.parametrize(
    "how",
    ["changed", "untracked", "no repository", "write-protected", "not looked at", "hard link"],
)
def test_it_is_not_applied_where_it_could_not_be_taken_back(how, tmp_path, repository, fix_in):
    folder = repository.folder
    if how == "no repository":
        folder = tmp_path / "plain"
        folder.mkdir()
        (folder / "train.py").write_text(TRAIN)
    elif how == "untracked":
        repository.git("rm", "--quiet", "--cached", "train.py")
    elif how == "write-protected":
        (folder / "train.py").chmod(0o444)
    elif how == "hard link":
        (tmp_path / "other.py").hardlink_to(folder / "train.py")
    elif how == "not looked at":
        repository.git("update-index", "--assume-unchanged", "train.py")
        (folder / "train.py").write_text(TRAIN + "\n# Mine.\n")
    else:
        (folder / "train.py").write_text(TRAIN + "\n# Mine.\n")
    run = record(folder)
    before = (folder / "train.py").read_text()

    refused = fix_in(folder, str(run), "1", "--apply")

    assert (refused.exit_code, "fix-not-clean" in refused.stderr) == (2, True)
    assert (folder / "train.py").read_text() == before

    forced = fix_in(folder, str(run), "1", "--apply", "--force")

    assert forced.exit_code == 0
    assert (folder / "train.py").read_text() == before.replace(LINE, NEW)


def test_lines_that_have_moved_are_found(repository, fix_in):
    run = record(repository.folder)
    moved = TRAIN.replace("def train", "def other():\n    pass\n\n\ndef train")
    repository.commit(moved)

    assert fix_in(repository.folder, str(run), "1", "--apply").exit_code == 0
    assert (repository.folder / "train.py").read_text() == moved.replace(LINE, NEW)


@pytest.mark.parametrize("text", [TRAIN.replace('{q}")', '{q} ")'), "", "def (", None])
def test_lines_that_have_changed_are_left_alone(text, repository, fix_in):
    run = record(repository.folder)
    file = repository.folder / "train.py"
    file.unlink() if text is None else file.write_text(text)

    answer = fix_in(repository.folder, str(run), "1")

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "train.py:10" in answer.stderr
    assert "fix-source-changed" in answer.stderr


def test_secrets_that_were_hidden_are_no_change(repository, fix_in):
    secret = TRAIN.replace('KEY = "not a secret"', 'API_KEY = "sk-abcdefgh12345678"')
    repository.commit(secret)
    run = record(
        repository.folder, secret.replace("sk-abcdefgh12345678", "x" * len("sk-abcdefgh12345678"))
    )

    answer = fix_in(repository.folder, str(run), "1", "--apply")

    assert answer.exit_code == 0, answer.stderr
    assert (repository.folder / "train.py").read_text() == secret.replace(LINE, NEW)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encoding_and_line_ends_stay(encoding, newline, repository, fix_in):
    said = "# -*- coding: latin-1 -*-" if encoding == "latin-1" else ""
    text = TRAIN.replace("import logging\n\n", f"{said}\nimport logging\n").replace(
        "Told", "Für uns"
    )
    file = repository.folder / "train.py"
    file.write_bytes(text.replace("\n", newline).encode(encoding))
    run = record(repository.folder, file.read_text(encoding="utf-8", errors="backslashreplace"))

    answer = fix_in(repository.folder, str(run), "1", "--apply", "--force")

    assert answer.exit_code == 0, answer.stderr
    new = text.replace(LINE, NEW).replace("\n", newline)
    assert file.read_bytes() == new.encode(encoding)


def test_findings_with_a_fix_are_listed(repository, fix_in):
    run = record(repository.folder)

    answer = fix_in(repository.folder, str(run))

    assert answer.stdout.startswith("1. eager-log-format: ")
    assert len(answer.stdout.splitlines()) == 2


def test_others_are_named_for_a_finding_that_is_not_there(repository, fix_in):
    run = record(repository.folder)

    answer = fix_in(repository.folder, str(run), "gae-loop")

    assert (answer.exit_code, "1 eager-log-format" in answer.stderr) == (2, True)
    assert "not-in-this-run" in answer.stderr


@pytest.mark.parametrize(
    ("words", "slug"),
    [(["a", "b", "c"], "too-many-words"), (["1", "--diff", "--apply"], "two-ways-to-fix")],
)
def test_words_that_say_too_much_are_refused(words, slug, tmp_path, fix_in):
    answer = fix_in(tmp_path, *words)

    assert (answer.exit_code, slug in answer.stderr) == (2, True)


def test_what_is_missing_is_named(tmp_path, fix_in, monkeypatch):
    monkeypatch.setattr("rlprof.fixes.discovered.find_spec", lambda _: None)

    answer = fix_in(tmp_path, "1")

    assert (answer.exit_code, "pip install 'rlprof[fix]'" in answer.stderr) == (2, True)
