"""The action, the examples for CI and the page on them: valid, without code made of inputs, and agreeing."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import rlprof
from tests.composite_action import CompositeAction, filled, is_to_run, read_yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"
PAGE = ROOT / "docs" / "ci.md"
SCRIPTS = [ROOT / "action" / "install.sh", EXAMPLES / "pre-push"]
ACTION = CompositeAction(ROOT)
STEPS = ACTION.document["runs"]["steps"]


def schema_errors(schema: str, file: Path) -> str:
    """What the schema that comes with check-jsonschema finds; empty where all is well."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is missing (pip install it)")
    answer = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", file],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout if answer.returncode else ""


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", ROOT / "action.yml"),
        ("github-workflows", EXAMPLES / "github-workflow.yml"),
        ("gitlab-ci", EXAMPLES / "gitlab-ci.yml"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_files_for_services_are_what_the_services_read(schema, file, tmp_path):
    broken = tmp_path / file.name
    broken.write_text(re.sub(r"(?m)^( *)(steps|script):", r"\1\2-of-ours:", file.read_text()))

    assert schema_errors(schema, file) == ""
    assert schema_errors(schema, broken) != ""


# --- the action -----------------------------------------------------------------------------


def test_no_input_becomes_code():
    for step in STEPS:
        assert "${{" not in step.get("run", ""), step["name"]
        assert "${{" not in step.get("shell", "")


def test_every_input_is_described_and_used():
    text = (ROOT / "action.yml").read_text()
    steps = text[text.index("runs:") :]

    for name, described in ACTION.document["inputs"].items():
        assert len(described["description"]) > 15, name
        assert re.search(rf"inputs\.{name}\b(?!-)", steps), name
    assert set(re.findall(r"inputs\.([a-z-]+)", steps)) == ACTION.document["inputs"].keys()


def test_every_variable_of_a_step_is_read_by_what_it_runs():
    for step in STEPS:
        for name in step.get("env", {}):
            command = step["run"]
            scripts = "".join(
                (ROOT / path).read_text() for path in re.findall(r"action/[\w.]+", command)
            )
            field = name.removeprefix("INPUT_").lower()
            assert name in command + scripts or f"{field}: str" in scripts, name


def test_every_output_comes_from_a_step_that_there_is():
    ids = {step["id"] for step in STEPS if "id" in step}
    script = (ROOT / "action" / "check.py").read_text()

    for name, output in ACTION.document["outputs"].items():
        found = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.([a-z-]+) \}\}", output["value"])
        assert found, name
        assert found[1] in ids
        assert f'"{found[2]}"' in script


def test_used_actions_are_pinned_to_a_major_version():
    used = [step["uses"] for step in STEPS if "uses" in step]

    assert len(used) == 2
    for name in used:
        assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", name)


def test_after_a_failed_check_only_what_uploads_and_the_verdict_still_run():
    outputs = {"exit-code": "1", "folder": "/out", "sarif": "/out/check.sarif"}
    inputs = {"artifact-name": "results", "sarif": "true"}
    context = {"inputs": inputs, "steps": {"check": {"outputs": outputs}}}

    left = [
        step["name"] for step in STEPS if is_to_run(step.get("if", ""), context, has_failed=True)
    ]

    assert left == ["Upload the results", "Upload to code scanning", "Verdict"]


@pytest.mark.parametrize(
    ("event", "base"),
    [
        ({"pull_request": {"base": {"sha": "a1"}}, "before": "c3"}, "a1"),
        ({"merge_group": {"base_sha": "b2"}}, "b2"),
        ({"before": "c3"}, "c3"),
        ({}, ""),
    ],
)
def test_each_event_names_its_base(event, base):
    (text,) = [step["env"]["INPUT_EVENT_BASE"] for step in STEPS if step.get("id") == "check"]

    assert filled(text, {"github": {"event": event}}) == base


# --- scripts --------------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_bash_and_can_be_started(script):
    answer = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)

    assert answer.stderr == ""
    assert "bash" in script.read_text().splitlines()[0]
    assert script.stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_shellcheck_finds_nothing(script):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is missing (sudo apt-get install shellcheck)")
    answer = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)

    assert answer.stdout == ""


def test_shellcheck_finds_nothing_in_the_steps_of_the_action(tmp_path):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is missing (sudo apt-get install shellcheck)")
    for step in (candidate for candidate in STEPS if "run" in candidate):
        script = tmp_path / "step.sh"
        script.write_text(f"#!/bin/bash\n{step['run']}\n")
        answer = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
        assert answer.stdout == "", step["name"]


# --- the page and the examples --------------------------------------------------------------


def test_the_page_shows_the_example_files_as_they_are():
    shown = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

    assert shown == [
        (EXAMPLES / name).read_text(encoding="utf-8")
        for name in ("github-workflow.yml", "gitlab-ci.yml")
    ]


def test_the_examples_take_this_version():
    job = read_yaml(EXAMPLES / "github-workflow.yml")["jobs"]["check"]
    install = read_yaml(EXAMPLES / "gitlab-ci.yml")["training-speed"]["script"][0]

    assert job["steps"][-1]["uses"] == f"rlprof/rlprof@v{rlprof.__version__}"
    assert f"rlprof=={rlprof.__version__}" in install.split()


def test_the_workflow_gives_the_action_inputs_that_it_has():
    job = read_yaml(EXAMPLES / "github-workflow.yml")["jobs"]["check"]

    assert job["steps"][-1]["with"].keys() <= ACTION.document["inputs"].keys()
