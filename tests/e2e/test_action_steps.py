"""The steps of the GitHub action, run with bash as a runner does, on real repositories."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.composite_action import CompositeAction, Job, Ran
from tests.git_repository import ENVIRONMENT, GitRepository
from tests.live_processes import processes_with, wait_until

ROOT = Path(__file__).parents[2]
ACTION = CompositeAction(ROOT)
RLPROF = Path(sys.executable).with_name("rlprof")
UPLOAD = "actions/upload-artifact@v6"

PASS, REGRESSION, USAGE, NOT_MEASURED = 0, 1, 2, 4

LOGGING = """
import logging, sys
import rlprof

logging.basicConfig(level="INFO", stream=sys.stderr)
for number in range(200):
    rlprof.step()
    if number % {every} == 0:
        logging.info("a record")
"""
QUIET, TALKATIVE = LOGGING.format(every=200), LOGGING.format(every=1)


@pytest.fixture
def origin(tmp_path: Path) -> GitRepository:
    return GitRepository.new(tmp_path / "origin")


def a_job(tmp_path: Path, event: dict[str, object] | None = None) -> Job:
    programs = f"{RLPROF.parent}{os.pathsep}{os.environ['PATH']}"
    return Job(tmp_path, {**os.environ, **ENVIRONMENT, "PATH": programs}, event or {})


def counted(job: Job, **inputs: str) -> Ran:
    given = {"command": "train.py", "counters_only": "true", "rlprof": str(RLPROF), **inputs}
    return ACTION.run(job, **given)


def a_pull_request(origin: GitRepository, tmp_path: Path, *, base: str, head: str) -> Job:
    """As actions/checkout leaves it: the last commit alone, of GitHub's merge.

    What the event calls the base is older than what was merged into, and logs in every step.
    """
    stale = origin.commit(TALKATIVE)
    merged_into = origin.commit(base)
    origin.git("checkout", "--quiet", "-b", "change")
    own = origin.commit(head + "# changed\n")
    merge = origin.git(
        *("commit-tree", "-p", merged_into, "-p", own, "-m", "Merge"), f"{own}^{{tree}}"
    )
    origin.git("update-ref", "refs/heads/merge", merge)
    origin.clone(tmp_path / "work", "--depth=1", "--branch=merge")
    return a_job(tmp_path, {"pull_request": {"base": {"sha": stale}, "head": {"sha": own}}})


# --- verdicts and what is handed out --------------------------------------------------------


def test_a_pull_request_that_logs_in_each_step_fails(origin, tmp_path):
    job = a_pull_request(origin, tmp_path, base=QUIET, head=TALKATIVE)

    ran = counted(job)

    assert ran.code == REGRESSION, ran.log
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("regression", "1")
    assert ran.outputs["ratio"] == ""
    assert "::error title=rlprof check::Regression: " in ran.log
    assert "**Regression: head counts more per step" in job.summary.read_text()
    assert Path(ran.outputs["markdown"]).read_text() == job.summary.read_text()
    base = json.loads(Path(ran.outputs["json"]).read_text())["base"]["name"]
    assert base == origin.git("rev-parse", "main")[:10]
    uploaded = ran.used[UPLOAD]
    assert uploaded["name"] == "rlprof-check"
    assert {path.name for path in Path(uploaded["path"]).iterdir()} == {
        *("check.md", "check.json", "check.xml", "check.sarif", "profile")
    }


def test_a_pull_request_that_does_not_passes(origin, tmp_path):
    job = a_pull_request(origin, tmp_path, base=QUIET, head=QUIET)

    ran = counted(job, counters="gpu_syncs=0\nlog_records=0\n")

    assert ran.code == PASS, ran.log
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("pass", "0")
    assert "--on-inconclusive pass" in ran.log
    assert "::error" not in ran.log
    assert UPLOAD in ran.used


@pytest.mark.slow
def test_a_push_is_compared_with_what_was_there_before_it(origin, tmp_path):
    before = origin.commit(QUIET)
    origin.commit(TALKATIVE)
    origin.commit(TALKATIVE + "# again\n")
    origin.clone(tmp_path / "work", "--depth=1")

    ran = counted(a_job(tmp_path, {"before": before}), profile="false", artifact_name="")

    assert ran.code == REGRESSION, ran.log
    assert ran.used == {}


@pytest.mark.slow
def test_a_new_branch_is_compared_with_its_parent_and_the_clone_stays_whole(origin, tmp_path):
    origin.commit(TALKATIVE)
    origin.commit(QUIET)
    origin.commit(QUIET + "# again\n")
    work = origin.clone(tmp_path / "work")

    ran = counted(a_job(tmp_path, {"before": "0" * 40}))

    assert ran.code == PASS, ran.log
    assert work.git("rev-list", "--count", "HEAD") == "3"


@pytest.mark.slow
def test_a_branch_that_the_clone_lacks_is_fetched(origin, tmp_path):
    origin.commit(QUIET)
    origin.git("checkout", "--quiet", "-b", "change")
    origin.commit(TALKATIVE)
    origin.clone(tmp_path / "work", "--depth=1", "--branch=change")

    ran = counted(a_job(tmp_path), base="origin/main", sarif="true", counters="log_records=off\n")

    assert ran.code == PASS, ran.log
    sarif = ran.used["github/codeql-action/upload-sarif@v4"]["sarif_file"]
    assert json.loads(Path(sarif).read_text())["version"] == "2.1.0"


# --- what cannot be meant -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"command": "train.py 'x"}, "The input command is no command line"),
        ({"counters_only": "yes"}, "The input counters-only is neither true nor false"),
        ({"base": "no-such-branch"}, "no-such-branch could not be fetched"),
        ({"base": "--upload-pack=touch ran"}, "rlprof explain base-unknown"),
        (
            {"base": "HEAD", "counters_only": "false", "options": "--pairs 2"},
            "rlprof explain bad-pairs",
        ),
        ({}, "There is no commit before this one"),
    ],
)
def test_bad_usage_fails_as_such(origin, tmp_path, inputs, said):
    origin.commit(QUIET)
    origin.clone(tmp_path / "work")

    ran = counted(a_job(tmp_path), **inputs)

    assert ran.code == USAGE, ran.log
    assert said in ran.log
    assert ran.outputs["verdict"] == "bad-usage"
    assert not (tmp_path / "work" / "ran").exists()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"command": "evaluate.py"}, "the script evaluate.py does not exist (the log"),
        ({"options": "--no-such-option"}, "No such option: --no-such-option"),
    ],
)
def test_the_first_error_is_in_the_annotation_and_all_of_it_in_the_log(
    origin, tmp_path, inputs, said
):
    origin.commit(QUIET)
    origin.clone(tmp_path / "work")

    ran = counted(a_job(tmp_path), base="HEAD", **inputs)

    assert ran.code == USAGE, ran.log
    [annotation] = [
        splitline for splitline in ran.log.splitlines() if splitline.startswith("::error")
    ]
    assert said in annotation
    assert "rlprof explain script-missing" in ran.log or "Usage: rlprof check" in ran.log


def test_a_baseline_can_be_saved(origin, tmp_path):
    origin.commit(QUIET)
    work = origin.clone(tmp_path / "work")

    ran = counted(a_job(tmp_path), options="--save-baseline perf.json")

    assert ran.code == PASS, ran.log
    assert (ran.outputs["verdict"], ran.outputs["markdown"]) == ("pass", "")
    assert "::error" not in ran.log
    assert json.loads((work.folder / "perf.json").read_text())["format"] == "rlprof-baseline"


def test_a_training_that_fails_is_not_a_regression(origin, tmp_path):
    origin.commit(QUIET)
    origin.commit("raise SystemExit(1)\n")
    origin.clone(tmp_path / "work")

    ran = counted(a_job(tmp_path))

    assert ran.code == NOT_MEASURED, ran.log
    assert ran.outputs["verdict"] == "could-not-measure"


def test_inputs_are_words_and_never_code(origin, tmp_path):
    program = "import sys, rlprof\nrlprof.step(9)\nopen(sys.argv[1], 'a').write(repr(sys.argv[2:]))"
    origin.commit(program)
    origin.clone(tmp_path / "work")
    words = tmp_path / "words"
    hostile = "$(touch ran) `touch ran` ; touch ran & touch ran > ran '$HOME a' ${{ github.token }}"

    ran = counted(a_job(tmp_path), command=f"train.py {words} {hostile}", base="HEAD")

    assert ran.code == PASS, ran.log
    assert "['$(touch', 'ran)', '`touch', 'ran`', ';', 'touch'," in words.read_text()
    assert "'$HOME a'" in words.read_text()
    assert not [*tmp_path.rglob("ran")]


# --- its environment, its end ---------------------------------------------------------------


@pytest.mark.slow
def test_rlprof_is_installed_beside_the_packages_of_the_job(tmp_path):
    pytest.importorskip("hatchling", reason="the build backend is missing (pip install hatchling)")
    (tmp_path / "work").mkdir()
    job = a_job(tmp_path)
    # Without a network: what it needs to be built and to run is taken from this environment.
    from_here = {
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say that there is to be none.
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if "site-packages" in path),
    }
    job.environment = {**job.environment, **from_here}
    output = tmp_path / "output"

    done = subprocess.run(
        ["bash", str(ROOT / "action" / "install.sh")],
        env={
            **job.environment,
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    found = dict(line.split("=") for line in output.read_text().splitlines())
    environment = tmp_path / "rlprof-environment"
    assert found["rlprof"] == str(environment / "bin" / "rlprof")
    assert [*environment.glob("lib/python3*/site-packages/rlprof/gate/check.schema.json")]


def test_a_cancelled_step_leaves_nothing_behind(origin, mark, tmp_path):
    ready = tmp_path / "ready"
    origin.commit(f"import time\nopen({str(ready)!r}, 'w')\ntime.sleep(600)\n")
    work = origin.clone(tmp_path / "work")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (step,) = [entry for entry in ACTION.document["runs"]["steps"] if entry.get("id") == "check"]
    running = subprocess.Popen(
        ["bash", "-e", "-c", step["run"]],
        cwd=work.folder,
        env={
            **a_job(tmp_path).environment,
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "TMPDIR": str(temporary),
            "INPUT_INTERPRETER": sys.executable,
            "INPUT_RLPROF": str(RLPROF),
            "INPUT_COMMAND": f"train.py {mark}",
            "INPUT_BASE": "HEAD",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(ready.exists, "the training runs")
        running.send_signal(signal.SIGINT)
        log, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()

    assert "nothing that it started is left running" in log
    assert processes_with(mark) == []
    [left] = temporary.iterdir()
    assert left.match("rlprof-results-*")
    assert len(work.git("worktree", "list").splitlines()) == 1
    assert "verdict=interrupted" in (tmp_path / "output").read_text()
