"""The gain that pairs show, and the run that promised it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlprof.errors import MeasureError, UsageError
from rlprof.gate.decision import DecisionSettings
from rlprof.gate.gain import (
    check_has_change,
    measured_gain,
    notes_on_named_run,
    promising_run,
    verified_fix,
)
from rlprof.gate.worktrees.worktree import find_repository
from rlprof.model.recording import RunInfo
from rlprof.verification.verified import Standing, VerifiedPair
from tests.check_factory import Runs, checked, failing_in, rates
from tests.factories import a_run
from tests.git_repository import GitRepository
from tests.run_files import write_run
from tests.verification_factory import a_promise

FIVE = DecisionSettings(min_pairs=5, max_pairs=5)


def verified(runs: Runs):
    promise = a_promise(promised=(0.6, 0.8))
    return verified_fix(checked(runs, decision=FIVE), promise, script="train.py", in_turns=False)


def test_the_gain_is_the_share_of_the_time_that_head_saves():
    fix = verified(rates(1000, 4000))

    assert fix.got.median == pytest.approx(0.75, abs=0.01)
    assert fix.got.low < fix.got.median < fix.got.high
    assert len(fix.pairs) == 5
    assert fix.standing is Standing.HELD
    assert fix.base.sps.median == pytest.approx(1000, rel=0.01)
    assert fix.head.name == "project (def1234567)"


def test_a_head_that_is_slower_has_a_gain_below_zero():
    """A check runs as many pairs again, to confirm it, and they count too."""
    fix = verified(rates(1000, 500))

    assert fix.got.median == pytest.approx(-1, abs=0.05)
    assert len(fix.pairs) == 10
    assert fix.standing is Standing.BELOW


def test_what_could_not_be_measured_is_an_error():
    with pytest.raises(MeasureError, match="failed with exit code 1"):
        verified(failing_in(2, rates(1000, 4000)))


def test_five_pairs_are_enough_for_an_interval():
    pairs = [VerifiedPair(100.0, head) for head in (190.0, 195.0, 200.0, 205.0, 210.0)]

    got = measured_gain(pairs)

    assert got.low == pytest.approx(1 - 100 / 190)
    assert got.high == pytest.approx(1 - 100 / 210)
    assert got.median == pytest.approx(0.5, abs=0.01)


# --- the run that promised it ---------------------------------------------------------------------


class Project:
    """A repository with two commits and runs in ``.rlprof``."""

    def __init__(self, root: Path) -> None:
        self.git = GitRepository.new(root / "project")
        self.first = self.git.commit("1")
        self.second = self.git.commit("2")
        self.runs = self.git.folder / ".rlprof"
        self.runs.mkdir()
        self.git.write("3")

    def run(self, name: str, git: str | None, *, at: float, script: str = "train.py") -> Path:
        path = self.runs / f"{name}.rlprof"
        run = a_run(script).process("main", steps=100)
        write_run(path, run.with_run(git=git, started_unix_s=1e9 + at).recording())
        return path

    def chosen(self, base: str = "HEAD", script: str = "train.py"):
        repository = find_repository(self.git.folder, base)
        path, notes = promising_run(self.runs, script, repository)
        return path.stem, [note.slug for note in notes]


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


def test_the_latest_run_at_base_or_before_is_taken(project):
    project.run("old", project.first[:7], at=1)
    project.run("new", project.second[:7], at=2)
    project.run("other", project.second[:7], at=3, script="evaluate.py")

    assert project.chosen() == ("new", [])
    assert project.chosen("HEAD~1") == ("old", [])


def test_a_run_of_a_changed_tree_may_be_of_the_fix_itself(project):
    project.run("before", project.second[:7], at=1)
    project.run("fixed", f"{project.second[:7]}+changes", at=2)

    assert project.chosen() == ("before", ["newer-run-passed-over"])


def test_it_is_taken_with_a_warning_where_there_is_no_other(project):
    project.run("old", f"{project.second[:7]}+changes", at=1)
    project.run("new", f"{project.second[:7]}+changes", at=2)

    assert project.chosen() == ("new", ["promise-of-changed-code"])


@pytest.mark.parametrize("git", [None, "abcdef0", "--help", "+changes"])
def test_a_run_of_no_known_commit_is_taken_with_a_warning(project, git):
    project.run("unknown", git, at=1)

    assert project.chosen() == ("unknown", ["promise-of-other-code"])


def test_without_a_run_of_the_script_nothing_was_promised(project):
    project.run("other", project.second[:7], at=1, script="evaluate.py")
    (project.runs / "junk.rlprof").write_text("junk")

    with pytest.raises(UsageError) as refused:
        project.chosen()

    assert refused.value.slug == "no-run"


def test_a_run_that_was_named_is_looked_at_too(project):
    repository = find_repository(project.git.folder, "HEAD~1")
    run = a_run("train.py").with_run(git=project.first[:7]).recording().run

    def slugs(run: RunInfo) -> list[str]:
        notes = notes_on_named_run(run, Path("x.rlprof"), "train.py", repository)
        return [note.slug for note in notes]

    assert slugs(run) == []
    assert slugs(replace(run, git=project.second[:7])) == ["promise-of-other-code"]
    assert slugs(replace(run, git=f"{project.first[:7]}+changes")) == ["promise-of-changed-code"]
    assert slugs(replace(run, script="evaluate.py")) == ["promise-of-other-code"]


def test_a_tree_without_a_change_has_no_fix_to_verify(project):
    def check(base: str) -> None:
        check_has_change(find_repository(project.git.folder, base), base)

    check("HEAD")
    project.git.git("checkout", "--quiet", "train.py")
    check("HEAD~1")
    with pytest.raises(UsageError) as refused:
        check("HEAD")
    assert refused.value.slug == "nothing-to-verify"
