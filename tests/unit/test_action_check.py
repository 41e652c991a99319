"""The action's script: which command line inputs become, what is compared with what, and what is handed out."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from action.check import BadInput, Inputs, Result, command_line, find_base, result_of
from rlprof.gate.json_document import outcome_as_json
from tests.check_factory import checked, rates
from tests.git_repository import GitRepository

OUT = Path("/tmp/out")
DOCUMENTS = [
    *("--markdown", "/tmp/out/check.md", "--json", "/tmp/out/check.json"),
    *("--junit", "/tmp/out/check.xml", "--sarif", "/tmp/out/check.sarif"),
]
ACTIVE = {"VIRTUAL_ENV": "/venv", "PATH": ""}


def command_for(environment: dict[str, str] | None = None, **inputs: str) -> list[str]:
    given = Inputs(**{"rlprof": "rlprof", "options": "--base-command x", **inputs})
    return command_line(given, OUT, ACTIVE if environment is None else environment)


# --- the command line -----------------------------------------------------------------------


def test_what_is_left_out_leaves_the_defaults_of_rlprof():
    command = command_for(command="train.py --steps 9")

    assert command == [
        *("rlprof", "check", *DOCUMENTS, "--base-command", "x", "train.py", "--steps", "9")
    ]


def test_every_input_is_an_option():
    command = command_for(
        command="-m pkg.train 'a b'",
        prepare="make && true",
        min_effect="3%",
        counters="gpu_syncs=0\n\n  h2d_bytes=5%  \n",
        counters_only="true",
        on_inconclusive="pass",
        timeout="60",
        profile="true",
        python="/env/bin/python",
        options="--base-command 'a b' --force",
    )

    assert command == [
        *("rlprof", "check", "--prepare", "make && true", "--min-effect", "3%"),
        *("--on-inconclusive", "pass", "--timeout", "60"),
        *("--counter", "gpu_syncs=0", "--counter", "h2d_bytes=5%", "--counters-only"),
        *("--profile", "--artifacts", "/tmp/out/profile", *DOCUMENTS),
        *("--python", "/env/bin/python", "--base-command", "a b", "--force"),
        *("-m", "pkg.train", "a b"),
    ]


def test_the_training_runs_with_the_python_of_the_job(tmp_path):
    python = tmp_path / "python"
    python.touch(mode=0o755)
    job = {"PATH": str(tmp_path)}

    script = command_for(job, command="train.py")
    command = command_for(job, command="-- bash train.sh")
    active = command_for({**job, "VIRTUAL_ENV": "/venv"}, command="train.py")

    assert script[script.index("--python") + 1] == str(python)
    assert "--python" not in command
    assert "--python" not in active


def test_against_a_file_there_is_no_base_to_record():
    command = command_for(command="train.py", options="--baseline=perf.json", profile="true")

    assert "--profile" not in command
    assert "--base" not in command


@pytest.mark.parametrize("option", ["--save-baseline perf.json", "--save-baseline=perf.json"])
def test_what_is_saved_is_compared_with_nothing(option):
    inputs = {"profile": "true", "on_inconclusive": "pass", "timeout": "60"}

    command = command_for(command="train.py", options=option, **inputs)

    assert command == ["rlprof", "check", "--timeout", "60", *option.split(), "train.py"]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"options": "--base-command x --markdown mine.md"}, "has --markdown, which the action"),
        ({"options": "--json=mine.json"}, "has --json, which the action gives itself"),
        ({"command": "train.py 'x"}, "command is no command line: no closing quotation"),
        ({"options": '"'}, "options is no command line"),
        ({"profile": "True"}, "profile is neither true nor false, but 'True'"),
    ],
)
def test_inputs_that_cannot_be_meant(inputs, said):
    with pytest.raises(BadInput, match=said):
        command_for(**{"command": "train.py", **inputs})


def test_inputs_come_from_the_environment_without_the_blanks_of_yaml():
    inputs = Inputs.of({"INPUT_COUNTERS_ONLY": "true\n", "INPUT_BASE": " main ", "BASE": "x"})

    assert (inputs.counters_only, inputs.base, inputs.command) == ("true", "main", "")


# --- the base -------------------------------------------------------------------------------


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A repository with a pull request of one commit, and one commit more on main."""
    origin = GitRepository.new(tmp_path / "origin")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    forked = origin.commit("1")
    origin.git("checkout", "--quiet", "-b", "change")
    own = origin.commit("2", "own.py")
    origin.git("checkout", "--quiet", "main")
    main = origin.commit("3")
    origin.git("checkout", "--quiet", "-b", "merged")
    origin.git("merge", "--quiet", "--no-ff", "--message", "Merge", "change")
    commits = {"forked": forked, "own": own, "main": main}
    return origin, commits


@pytest.mark.parametrize("depth", [(), ("--depth=1",)], ids=["whole", "shallow"])
def test_a_merge_is_compared_with_what_was_merged_into(history, tmp_path, monkeypatch, depth):
    origin, commits = history
    work = origin.clone(tmp_path / "work", *depth, "--branch=merged")
    monkeypatch.chdir(work.folder)

    # The event may name an older base.
    base = find_base(Inputs(event_base=commits["forked"], event_head=commits["own"]))

    assert base == commits["main"]
    assert work.git("cat-file", "-t", base) == "commit"


def test_a_commit_of_its_own_is_compared_with_where_it_forked(history, tmp_path, monkeypatch):
    origin, commits = history
    monkeypatch.chdir(origin.clone(tmp_path / "work", "--branch=change").folder)

    base = find_base(Inputs(event_base=commits["main"], event_head=commits["own"]))

    assert base == commits["forked"]


def test_a_merge_that_a_pull_request_ends_in_is_its_own_commit(history, tmp_path, monkeypatch):
    origin, commits = history
    work = origin.clone(tmp_path / "work", "--branch=merged")
    monkeypatch.chdir(work.folder)
    head = work.git("rev-parse", "HEAD")

    base = find_base(Inputs(event_base=commits["forked"], event_head=head))

    assert base == commits["forked"]


def test_a_push_is_compared_with_what_it_replaced(history, tmp_path, monkeypatch):
    origin, commits = history
    monkeypatch.chdir(origin.clone(tmp_path / "work", "--depth=1", "--branch=main").folder)

    assert find_base(Inputs(event_base=commits["own"])) == commits["own"]
    assert find_base(Inputs(event_base="0" * 40)) == commits["forked"]
    assert find_base(Inputs(event_base="1" * 40)) == commits["forked"]
    assert find_base(Inputs()) == commits["forked"]


def test_a_branch_is_fetched_by_either_name(history, tmp_path, monkeypatch):
    origin, commits = history
    monkeypatch.chdir(origin.clone(tmp_path / "work", "--depth=1", "--branch=main").folder)

    assert find_base(Inputs(base="change")) == commits["own"]
    assert find_base(Inputs(base="origin/change")) == commits["own"]
    assert find_base(Inputs(base="HEAD")) == "HEAD"
    assert find_base(Inputs(base="no-such-branch")) == "no-such-branch"


def test_outside_a_repository_git_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    with pytest.raises(BadInput, match="not a git repository"):
        find_base(Inputs())


# --- the result -----------------------------------------------------------------------------


def test_a_result_is_what_the_document_says(tmp_path):
    outcome = checked(rates(1000, 900, wobble=0))
    (tmp_path / "check.json").write_text(outcome_as_json(outcome))

    result = result_of(1, tmp_path)

    assert (result.verdict, result.ratio) == ("regression", "0.900")
    outputs = result.outputs()
    assert outputs["json"] == str(tmp_path / "check.json")
    assert (outputs["markdown"], outputs["sarif"], outputs["exit-code"]) == ("", "", "1")


@pytest.mark.parametrize(
    ("verdict", "level"),
    [("regression", "error"), ("inconclusive", "warning"), ("could-not-measure", "error")],
)
def test_a_verdict_that_is_no_pass_is_shown_in_one_line(tmp_path, verdict, level):
    document = {"decision": None, "verdict": verdict, "text": "5 % slower\n::error::not\rthis"}
    (tmp_path / "check.json").write_text(json.dumps(document))

    result = result_of(1, tmp_path)

    assert result.annotation() == (
        f"::{level} title=rlprof check::5 %25 slower%0A::error::not%0Dthis"
    )


@pytest.mark.parametrize(
    ("verdict", "told"), [("could-not-measure", "interrupted"), ("regression", "regression")]
)
def test_a_check_that_was_stopped_tells_the_verdict_it_had(tmp_path, verdict, told):
    document = {"decision": None, "verdict": verdict, "text": "SIGTERM ended the check"}
    (tmp_path / "check.json").write_text(json.dumps(document))

    assert result_of(143, tmp_path).verdict == told


def test_a_pass_is_not_shown():
    assert Result(0, "pass", "Pass: …", "1.000", OUT).annotation() == ""


@pytest.mark.parametrize(
    ("code", "verdict"),
    [(2, "bad-usage"), (4, "could-not-measure"), (127, "could-not-measure"), (143, "interrupted")],
)
def test_without_a_document_the_exit_code_speaks(tmp_path, code, verdict):
    result = result_of(code, tmp_path)

    assert (result.code, result.verdict, result.ratio) == (code, verdict, "")
    assert f"exit code {code}" in result.annotation()


def test_what_rlprof_said_is_in_the_annotation(tmp_path):
    result = result_of(2, tmp_path, said="the script x.py does not exist")

    assert result.annotation() == (
        "::error title=rlprof check::It ended with exit code 2: the script x.py does not exist "
        "(the log of this step says more)"
    )


def test_a_saved_baseline_has_no_document_and_passes(tmp_path):
    assert result_of(0, tmp_path, saves=True).verdict == "pass"
    assert result_of(0, tmp_path).verdict == "could-not-measure"
    assert result_of(4, tmp_path, saves=True).verdict == "could-not-measure"


def test_the_script_needs_the_standard_library_alone():
    script = Path(__file__).parents[2] / "action" / "check.py"
    tree = ast.parse(script.read_text())

    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }

    assert len(imported) > 5
    assert {str(name).partition(".")[0] for name in imported} <= sys.stdlib_module_names
