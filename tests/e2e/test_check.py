"""``rlprof check`` on real repositories and programs: what it finds, what it refuses, what it leaves behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rlprof.gate.check_folder import SETTLED_S
from tests.live_processes import cli, processes_with, wait_until

DEADLINE_S = 110

PASS, REGRESSION, USAGE, NOT_MEASURED = 0, 1, 2, 4

# Each step waits, so that its rate hardly depends on what else the machine does.
WAITING = """
import sys, time
import rlprof

for _ in range({steps}):
    time.sleep({cost_s})
    rlprof.step()
"""


class Repository:
    """A git repository with one program, and a folder for temporary files that must be left empty."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.temporary = root / "temporary"
        self.summary = root / "summary.md"
        self.root.mkdir()
        self.temporary.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        answer = subprocess.run(
            ["git", *arguments],
            cwd=folder or self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    @property
    def environment(self) -> dict[str, str]:
        configured = {
            "user.name": "A Researcher",
            "user.email": "researcher@example.org",
            "protocol.file.allow": "always",
        }
        numbered = {
            f"GIT_CONFIG_{kind}_{number}": text
            for number, pair in enumerate(configured.items())
            for kind, text in zip(("KEY", "VALUE"), pair, strict=True)
        }
        return {
            **os.environ,
            **numbered,
            "GIT_CONFIG_COUNT": str(len(configured)),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "TMPDIR": str(self.temporary),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def write(self, text: str, name: str = "train.py") -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def commit(self, text: str, name: str = "train.py") -> None:
        self.write(text, name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"write {name}")

    def start(self, *options: str | Path, folder: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            cli("check", *options),
            cwd=folder or self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def check(self, *options: str | Path, folder: Path | None = None) -> Checked:
        running = self.start(*options, folder=folder)
        try:
            out, err = running.communicate(timeout=DEADLINE_S)
        finally:
            running.kill()
            running.wait()
        return Checked(running.returncode, out, err)

    def assert_tidy(self) -> None:
        """No worktree and no temporary file is left."""
        assert len(self.git("worktree", "list").splitlines()) == 1
        left = [*self.temporary.iterdir(), *self.root.glob(".git/worktrees/*")]
        assert left == []


class Checked:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def fails_with(self, code: int, slug: str) -> bool:
        assert (self.code, f"docs/messages.md#{slug}" in self.err) == (code, True), self.err
        return True


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def waiting(*, steps: int = 300, cost_s: float = 0.004) -> str:
    return WAITING.format(steps=steps, cost_s=cost_s)


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
    monkeypatch.setenv("PYTHONPATH", f"{repository.root / 'src'}{os.pathsep}{path}")
    seen = tmp_path / "seen"

    answer = repository.check(
        *("--base", "main", "--counters-only", "train.py", seen),
        folder=repository.root / "scripts",
    )

    assert answer.code == PASS, answer.err
    base, head = seen.read_text().splitlines()[:2]
    assert base.split() == [base.split()[0], "old"]
    assert head == f"{repository.root / 'src' / 'model.py'} new"
    repository.assert_tidy()


def test_paths_of_both_sides_are_equally_long(tmp_path):
    deep = tmp_path / "a-folder-with-a-long-name" / "and-one-more-below-that"
    deep.mkdir(parents=True)
    repository = Repository(deep)
    repository.temporary = tmp_path / "t"
    repository.temporary.mkdir()
    seen = tmp_path / "seen"
    repository.commit(REPORTING.format(imported="import os", text="os.getcwd()"))

    answer = repository.check("--base", "main", "--counters-only", "train.py", seen)

    assert answer.code == PASS, answer.err
    folders = set(seen.read_text().splitlines())
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
    library = tmp_path / "library"
    library.mkdir()
    repository.git("init", "--quiet", folder=library)
    (library / "layers.py").write_text("WIDTH = 64\n")
    repository.git("add", "--all", folder=library)
    repository.git("commit", "--quiet", "--message", "layers", folder=library)
    repository.git("submodule", "--quiet", "add", str(library), "library")
    repository.commit("import library.layers, rlprof\nrlprof.step(10)\n")

    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
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


# --- what cannot be measured ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        (["train.py"], "no-base"),
        (["--base", "main", "--baseline", "perf.json", "train.py"], "no-base"),
        (["--base", "main"], "no-target"),
        (["--base", "main", "missing.py"], "script-missing"),
        (["--base-command", "python a.py", "--prepare", "make", "train.py"], "useless-option"),
        (["--baseline", "perf.json", "--profile", "train.py"], "useless-option"),
        (["--base", "main", "--artifacts", "made", "train.py"], "useless-option"),
        (["--base", "main", "--counters-only", "--pairs", "9", "train.py"], "useless-option"),
        (["--save-baseline", "perf.json", "--json", "check.json", "train.py"], "useless-option"),
        (["--base", "no-such-branch", "train.py"], "base-unknown"),
        (["--base", "--output=/tmp/x", "train.py"], "base-unknown"),
        (["--base-command", "'", "train.py"], "bad-base-command"),
        (["--base", "main", "--min-effect", "much", "train.py"], "bad-min-effect"),
        (["--base", "main", "--pairs", "2", "train.py"], "bad-pairs"),
        (["--base", "main", "--counter", "gpu_syncs", "train.py"], "bad-counter"),
        (["--baseline", "perf.json", "train.py"], "baseline-missing"),
    ],
)
def test_command_lines_that_cannot_be_meant(repository, options, slug):
    repository.commit(waiting())

    answer = repository.check(*options)

    assert answer.fails_with(USAGE, slug)
    repository.assert_tidy()


def test_a_folder_without_a_repository(repository, tmp_path):
    (tmp_path / "train.py").write_text(waiting())

    answer = repository.check("--base", "main", "train.py", folder=tmp_path)

    assert answer.fails_with(USAGE, "not-a-repository")


@pytest.mark.parametrize(
    ("base", "head", "slug", "said"),
    [
        ("raise ValueError('an old bug')", "", "program-failed", "an old bug"),
        ("import rlprof; rlprof.step(9)", "raise SystemExit(3)", "program-failed", "exit code 3"),
        ("print('hello')", "", "no-steps", "base (main"),
        ("import rlprof; rlprof.step(9)", "", "no-steady-rate", "9 steps"),
    ],
)
def test_programs_that_cannot_be_measured(repository, tmp_path, base, head, slug, said):
    repository.commit(base)
    repository.write(head or base)
    result = tmp_path / "check.json"

    only = ["--counters-only"] if "exit code" in said else []
    answer = repository.check("--base", "main", *only, "--json", result, "train.py")

    assert answer.fails_with(NOT_MEASURED, slug)
    assert said in answer.err
    found = json.loads(result.read_text())
    assert (found["verdict"], found["failure"]["slug"]) == ("could-not-measure", slug)
    repository.assert_tidy()


def test_a_script_that_the_base_does_not_have(repository):
    repository.commit("A project.\n", "README")
    repository.write(waiting())

    answer = repository.check("--base", "main", "train.py")

    assert answer.fails_with(NOT_MEASURED, "base-lacks-script")
    repository.assert_tidy()


CRASHING = """
import pathlib, sys, time
import rlprof

runs = pathlib.Path(sys.argv[1])
with runs.open("a") as file:
    file.write("x")
for _ in range(250):
    time.sleep(0.004)
    rlprof.step()
if runs.stat().st_size == 5:
    raise OSError("the disk is full")
"""


def test_a_crash_in_the_third_pair_keeps_what_was_measured(repository, tmp_path):
    repository.commit(CRASHING)
    result = tmp_path / "check.json"

    answer = repository.check("--base", "main", "--json", result, "train.py", tmp_path / "runs")

    assert answer.fails_with(NOT_MEASURED, "program-failed")
    assert "in pair 3" in answer.err
    assert "the disk is full" in answer.err
    assert len(json.loads(result.read_text())["runs"]) == 4
    repository.assert_tidy()


def test_different_numbers_of_steps_are_different_work(repository):
    repository.commit(waiting(steps=300))
    repository.write(waiting(steps=400))

    answer = repository.check("--base", "main", "train.py")

    assert answer.fails_with(NOT_MEASURED, "different-steps")
    assert "pair 4" not in answer.err
    repository.assert_tidy()


# --- what is left behind --------------------------------------------------------------------


def hanging(mark: str, ready: Path) -> str:
    """A program with a child that has fled into a session of its own; neither ends, nor cares for SIGTERM."""
    return f"""
        import os, pathlib, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"],
                         start_new_session=True)
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(600)
    """


def test_a_run_that_takes_too_long_is_ended_whole(repository, tmp_path):
    mark = f"hangs-{os.getpid()}-{tmp_path.name}"
    repository.commit(hanging(mark, tmp_path / "ready"))

    answer = repository.check("--base", "main", "--timeout", "3", "train.py", mark)

    assert answer.fails_with(NOT_MEASURED, "program-timed-out")
    assert processes_with(mark) == []
    repository.assert_tidy()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(repository, tmp_path, signum):
    mark = f"stopped-{os.getpid()}-{tmp_path.name}"
    ready = tmp_path / "ready"
    repository.commit(hanging(mark, ready))

    running = repository.start("--base", "main", "train.py", mark)
    try:
        wait_until(ready.exists, "the program runs")
        running.send_signal(signum)
        _, err = running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
        running.wait()

    assert running.returncode == 128 + signum
    assert "stopped" in err
    assert processes_with(mark) == []
    repository.assert_tidy()


def test_a_check_that_is_killed_leaves_no_training_behind(repository, tmp_path):
    mark = f"killed-{os.getpid()}-{tmp_path.name}"
    ready = tmp_path / "ready"
    repository.commit(f"""
        import pathlib, time
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(600)
    """)

    running = repository.start("--base", "main", "train.py", mark)
    wait_until(ready.exists, "the program runs")
    running.kill()
    running.communicate(timeout=DEADLINE_S)

    wait_until(lambda: processes_with(mark) == [], "the training has ended")
    temporary = str(repository.temporary)
    wait_until(lambda: processes_with(temporary) == [], "its recorder has ended")

    [left] = repository.temporary.iterdir()
    long_ago = time.time() - 2 * SETTLED_S
    os.utime(left, (long_ago, long_ago))
    repository.commit("import rlprof\nrlprof.step(10)\n")
    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    repository.assert_tidy()


def test_what_a_good_run_leaves_behind_is_ended(repository, tmp_path):
    mark = f"left-{os.getpid()}-{tmp_path.name}"
    repository.commit(f"""
        import subprocess, sys
        import rlprof
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)", "{mark}"],
                         start_new_session=True)
        rlprof.step(10)
    """)

    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    assert "left 4 processes behind" in answer.out
    assert processes_with(mark) == []


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


def test_any_two_commands(repository: Repository, tmp_path: Path):
    seen = tmp_path / "seen"
    program = REPORTING.format(imported="", text="__file__.rpartition('/')[2]")
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text(program)

    command: Sequence[str] = ("--base-command", python_command("old.py", seen))
    answer = repository.check(*command, "--counters-only", "new.py", seen, folder=tmp_path)

    assert answer.code == PASS, answer.err
    assert seen.read_text().split() == ["old.py", "new.py", "new.py", "old.py"]
