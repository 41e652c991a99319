"""A runner of composite actions for tests: the `run` steps with bash, in order; `uses` steps are only noted."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

DEADLINE_S = 100

_PLACE = re.compile(r"\$\{\{ *(.*?) *\}\}")


def read_yaml(path: Path) -> dict[str, Any]:
    document = YAML(typ="safe").load(path)
    assert isinstance(document, dict)
    return document


@dataclass
class Job:
    """What a job is to a step: its environment, its event, and files that steps write into."""

    folder: Path
    """With the checkout in ``work``."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    event: Mapping[str, object] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "work"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.md"


@dataclass
class Ran:
    """How an action ended."""

    code: int
    log: str
    outputs: dict[str, str]
    used: dict[str, dict[str, str]]
    """Inputs of the steps with ``uses``, by what they use."""


class CompositeAction:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.document = read_yaml(path / "action.yml")

    def run(self, job: Job, **inputs: str) -> Ran:
        """The steps up to the end; a failed one leaves those that ask for it, as on a runner."""
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        unknown = given.keys() - self.document["inputs"].keys()
        assert not unknown, f"no such inputs: {unknown}"
        values = {
            name: given.get(name, declaration.get("default", ""))
            for name, declaration in self.document["inputs"].items()
        }
        context: dict[str, Any] = {"inputs": values, "github": {"event": job.event}, "steps": {}}
        ran = Ran(0, "", {}, {})
        for number, step in enumerate(self.document["runs"]["steps"]):
            if not is_to_run(step.get("if", ""), context, has_failed=ran.code != 0):
                continue
            if "uses" in step:
                ran.used[step["uses"]] = {k: filled(v, context) for k, v in step["with"].items()}
                continue
            code, log, outputs = self._run_step(step, number, job, context)
            ran.log += log
            ran.code = ran.code or code
            context["steps"][step.get("id", str(number))] = {"outputs": outputs}
        ran.outputs = {
            name: filled(output["value"], context)
            for name, output in self.document["outputs"].items()
        }
        return ran

    def _run_step(
        self, step: dict[str, Any], number: int, job: Job, context: Mapping[str, Any]
    ) -> tuple[int, str, dict[str, str]]:
        assert step["shell"] == "bash"
        temporary = job.folder / "temp"
        temporary.mkdir(exist_ok=True)
        output = job.folder / f"output-{number}"
        output.touch()
        done = subprocess.run(
            # As the runner starts a step with `shell: bash`.
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=job.workspace / filled(step.get("working-directory", "."), context),
            env={
                **job.environment,
                "GITHUB_ACTION_PATH": str(self.path),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(job.summary),
                "RUNNER_TEMP": str(temporary),
                **{name: filled(text, context) for name, text in step.get("env", {}).items()},
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        lines = output.read_text().splitlines()
        return done.returncode, done.stdout, dict(line.split("=", 1) for line in lines)


# --- expressions, as far as the action uses them ----------------------------------------------


def filled(text: str, context: Mapping[str, Any]) -> str:
    """``text`` with the values of its expressions; what does not exist is empty."""
    return _PLACE.sub(lambda place: str(value(place[1], context)), str(text))


def is_to_run(condition: str, context: Mapping[str, Any], *, has_failed: bool) -> bool:
    """A condition that asks for no status means: and nothing has failed."""
    expression = _PLACE.sub(lambda place: place[1], str(condition))
    asks_status = "cancelled()" in expression or "always()" in expression
    if has_failed and not asks_status:
        return False
    return not expression or bool(value(expression, context))


def value(expression: str, context: Mapping[str, Any]) -> object:
    found: object = ""
    for alternative in expression.split(" || "):
        for term in alternative.split(" && "):
            found = _term(term.strip(), context)
            if not found:
                break
        if found:
            return found
    return found


def _term(term: str, context: Mapping[str, Any]) -> object:
    if term == "!cancelled()":
        return True
    comparison = re.fullmatch(r"(\S+) (==|!=) '([^']*)'", term)
    if comparison:
        is_equal = str(_looked_up(comparison[1], context)) == comparison[3]
        return is_equal is (comparison[2] == "==")
    return _looked_up(term, context)


def _looked_up(path: str, context: Mapping[str, Any]) -> object:
    assert re.fullmatch(r"[a-z_-]+(\.[a-z_-]+)+", path), f"an expression of a new form: {path}"
    found: Any = context
    for name in path.split("."):
        found = found.get(name, "") if isinstance(found, Mapping) else ""
    return found
