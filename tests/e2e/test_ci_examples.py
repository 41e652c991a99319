"""The examples for CI as they are: the hook with a real ``git push``, the script of the GitLab job with bash."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.composite_action import read_yaml
from tests.git_repository import GitRepository
from tests.live_processes import cli

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"
PAGE = ROOT / "docs" / "ci.md"
HOOK = EXAMPLES / "pre-push"

# It reads its input, which in a hook must not be the list of refs.
LOGGING = """
import logging, sys, time
import rlprof

sys.stdin.read()
logging.basicConfig(level="INFO", stream=sys.stderr)
for number in range(200):
    time.sleep({cost_s})
    rlprof.step()
    if number % {every} == 0:
        logging.info("a record")
"""
QUIET, TALKATIVE = (LOGGING.format(every=every, cost_s=0) for every in (200, 1))

PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


class Pushing:
    """A clone with the hook, and the repository that it pushes to."""

    def __init__(self, folder: Path) -> None:
        self.remote = GitRepository.new(folder / "remote")
        # Bare: git refuses to push to the branch that is checked out.
        self.remote.git("config", "core.bare", "true")
        self.clone = self.remote.clone(folder / "clone")
        hook = self.clone.folder / ".git" / "hooks" / "pre-push"
        self.clone.commit(QUIET)
        self.clone.git("push", "--quiet", "origin", "main")
        self.clone.git("remote", "set-head", "origin", "main")
        shutil.copy(HOOK, hook)

    def push(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.clone.attempt("push", *arguments, environment={"PATH": PROGRAMS})

    def is_there(self, branch: str = "main") -> bool:
        """Whether the remote's branch is where that of the clone is."""
        return self.remote.git("rev-parse", branch) == self.clone.git("rev-parse", branch)


@pytest.fixture
def pushing(tmp_path: Path) -> Pushing:
    return Pushing(tmp_path)


def test_more_log_records_in_a_step_are_refused_unless_asked_for(pushing):
    pushing.clone.commit(TALKATIVE)

    refused = pushing.push("origin", "main")
    was_there = pushing.is_there()
    forced = pushing.push("--no-verify", "origin", "main")

    assert refused.returncode == 1, refused.stderr
    assert "Regression: head counts more per step" in refused.stdout + refused.stderr
    assert "git push --no-verify" in refused.stderr
    assert not was_there
    assert forced.returncode == 0, forced.stderr
    assert pushing.is_there()


def test_a_change_that_does_no_more_is_pushed(pushing):
    was = pushing.clone.git("rev-parse", "main")
    pushing.clone.commit(QUIET + "# changed\n")

    pushed = pushing.push("origin", "main")

    assert pushed.returncode == 0, pushed.stderr
    assert (
        f"comparing the counters of the working tree with those of {was[:10]}, main on origin\n"
        in (pushed.stderr)
    )
    assert pushing.is_there()


@pytest.mark.slow
def test_a_new_branch_is_compared_with_where_it_left_the_default_branch(pushing):
    pushing.clone.git("checkout", "--quiet", "-b", "change")
    left = pushing.clone.git("rev-parse", "main")
    pushing.clone.commit(TALKATIVE)

    refused = pushing.push("origin", "change")

    assert refused.returncode == 1, refused.stderr
    assert f"with those of {left[:10]}, where change left origin/main\n" in refused.stderr
    assert "Regression" in refused.stdout + refused.stderr


@pytest.mark.slow
def test_what_cannot_be_measured_is_pushed_with_a_word(pushing):
    pushing.clone.commit("raise SystemExit(3)\n")

    pushed = pushing.push("origin", "main")

    assert pushed.returncode == 0, pushed.stderr
    assert "not known whether it does more in a step" in pushed.stderr


def test_deletions_tags_and_other_branches_are_let_through(pushing):
    pushing.clone.git("checkout", "--quiet", "-b", "change")
    pushing.clone.commit(TALKATIVE)
    pushing.clone.git("push", "--quiet", "--no-verify", "origin", "change")
    pushing.clone.commit(TALKATIVE + "# more\n")
    pushing.clone.git("tag", "v1")
    pushing.clone.git("checkout", "--quiet", "main")

    deleted = pushing.push("origin", "--delete", "change")
    tag = pushing.push("origin", "v1")
    other = pushing.push("origin", "change")

    for pushed in (deleted, tag, other):
        assert pushed.returncode == 0, pushed.stderr
        assert "comparing" not in pushed.stderr
    assert "change is not checked out" in other.stderr


@pytest.mark.slow
def test_a_branch_that_others_moved_is_left_to_git(pushing, tmp_path):
    theirs = pushing.remote.clone(tmp_path / "theirs")
    theirs.commit(QUIET + "# theirs\n")
    theirs.git("push", "--quiet", "origin", "main")
    pushing.clone.commit(TALKATIVE)

    refused = pushing.push("origin", "main")

    assert refused.returncode == 1
    assert "comparing" not in refused.stderr
    assert "rejected" in refused.stderr


def test_without_rlprof_it_says_so(pushing):
    hook = pushing.clone.folder / ".git" / "hooks" / "pre-push"
    hook.write_text(hook.read_text().replace("rlprof check --base", "no-such-rlprof check --base"))
    pushing.clone.commit(TALKATIVE)

    refused = pushing.push("origin", "main")

    assert refused.returncode == 1
    assert "no-such-rlprof: command not found" in refused.stderr
    assert not pushing.is_there()


# --- the job of GitLab ----------------------------------------------------------------------


def test_the_job_of_gitlab_fails_and_keeps_its_documents(tmp_path):
    job = read_yaml(EXAMPLES / "gitlab-ci.yml")["training-speed"]
    install, *script = job["script"]
    assert install.startswith("pip install ")
    project = GitRepository.new(tmp_path / "project")
    base = project.commit(LOGGING.format(every=200, cost_s=0.006))
    project.commit(LOGGING.format(every=1, cost_s=0.006))

    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(script)],
        cwd=project.folder,
        env={
            **{name: text for name, text in os.environ.items() if not name.startswith("CI_")},
            "PATH": PROGRAMS,
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    assert "Regression: head counts more per step" in done.stdout
    report = project.folder / job["artifacts"]["reports"]["junit"]
    assert 'failures="1"' in report.read_text()
    kept = project.folder / job["artifacts"]["paths"][0]
    assert report.parent == kept
    assert {path.name for path in kept.iterdir()} == {
        *("check.xml", "check.json", "check.md", "profile")
    }
    assert (kept / "profile" / "diff.html").is_file()


# --- the yardstick --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_tells_how_to_run_the_script_of_head_on_both_sides(tmp_path):
    found = re.search(r"`--prepare '(.+?)'`", PAGE.read_text(encoding="utf-8"))
    assert found
    project = GitRepository.new(tmp_path / "project")
    (project.folder / "bench").mkdir()
    project.commit(QUIET, "bench/speed.py")
    project.commit(TALKATIVE, "bench/speed.py")

    done = subprocess.run(
        cli(
            *("check", "--base", "HEAD^", "--counters-only", "--prepare", found[1]),
            "bench/speed.py",
        ),
        cwd=project.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert re.search(r"log_records +per step +1 +1\b", done.stdout)
