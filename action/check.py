"""The action's second step: from inputs to the command line of ``rlprof check``, and from its result to outputs.

It runs with the standard library alone and ends in 0 whatever the check says; a later step fails.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

EXIT_USAGE: Final = 2
_PREFIX: Final = "INPUT_"
_SAVE: Final = "--save-baseline"
_AGAINST: Final = frozenset({"--base", "--base-command", "--baseline", _SAVE})
"""Options that say what to compare with, or that nothing is compared."""

_TITLE: Final = "rlprof check"
_ERRORS: Final = ("rlprof: error: ", "Error: ")
"""How the line begins that says what is wrong: rlprof's own, and that of its parser of options."""

_LAST_WORDS_S: Final = 5.0
"""In which what rlprof wrote last is passed on; a process that outlives it may hold its stderr open."""


class BadInput(Exception):
    """What is asked for cannot be meant; the text says which input."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of ``action.yml``, as text; empty where they were left out."""

    command: str = ""
    base: str = ""
    prepare: str = ""
    min_effect: str = ""
    counters: str = ""
    counters_only: str = ""
    on_inconclusive: str = ""
    timeout: str = ""
    profile: str = ""
    python: str = ""
    options: str = ""
    rlprof: str = ""
    event_base: str = ""
    """What the event says that head is to be compared with."""
    event_head: str = ""
    """Last commit of the pull request."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Inputs:
        return cls(
            **{
                name: environment.get(f"{_PREFIX}{name.upper()}", "").strip()
                for name in cls.__dataclass_fields__
            }
        )


@dataclass(frozen=True)
class Result:
    """How the check ended; paths of documents that were not written are empty."""

    code: int
    verdict: str
    text: str
    ratio: str
    folder: Path

    def outputs(self) -> dict[str, str]:
        return {
            "verdict": self.verdict,
            "exit-code": str(self.code),
            "ratio": self.ratio,
            "folder": str(self.folder),
            **{kind: _if_written(self.folder, ending) for kind, ending in _DOCUMENTS.items()},
        }

    def annotation(self) -> str:
        """A command of the workflow that shows the verdict on the page of the run; empty for a pass."""
        if self.verdict == "pass":
            return ""
        level = "warning" if self.verdict == "inconclusive" else "error"
        return f"::{level} title={_TITLE}::{_escaped(self.text)}"


_DOCUMENTS: Final = {"markdown": "md", "json": "json", "junit": "xml", "sarif": "sarif"}
"""Option and output, and how the file's name ends."""


def main() -> int:
    environment = os.environ
    inputs = Inputs.of(environment)
    folder = Path(tempfile.mkdtemp(prefix="rlprof-results-", dir=environment.get("RUNNER_TEMP")))
    try:
        command = command_line(inputs, folder, environment)
    except BadInput as error:
        result = Result(EXIT_USAGE, "bad-usage", str(error), "", folder)
    else:
        print(f"+ {shlex.join(command)}", flush=True)
        code, said = _run(command, environment)
        result = result_of(code, folder, said=said, saves=_SAVE in _given(inputs))
    if result.annotation():
        print(result.annotation())
    with Path(environment["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in result.outputs().items())
    return 0


def command_line(inputs: Inputs, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """The whole command; raises :class:`BadInput`. The base is fetched when it is not there."""
    target = _words("command", inputs.command)
    options = _words("options", inputs.options)
    given = _given(inputs)
    saves = _SAVE in given
    line: list[str] = []
    for name, value in (
        ("--prepare", inputs.prepare),
        ("--min-effect", inputs.min_effect),
        # rlprof refuses what can do nothing: here, with no verdict to come.
        ("--on-inconclusive", "" if saves else inputs.on_inconclusive),
        ("--timeout", inputs.timeout),
    ):
        if value:
            line += [name, value]
    for counter in filter(None, map(str.strip, inputs.counters.splitlines())):
        line += ["--counter", counter]
    if _is_true("counters-only", inputs.counters_only):
        line.append("--counters-only")
    for kind in _DOCUMENTS:
        if f"--{kind}" in given:
            raise BadInput(
                f"The input options has --{kind}, which the action gives itself: the outputs "
                "markdown and json are paths, and the artifact has all results."
            )
    # With a file there is no base to record.
    if _is_true("profile", inputs.profile) and not saves and "--baseline" not in given:
        line += ["--profile", "--artifacts", str(folder / "profile")]
    if not saves:
        for kind, ending in _DOCUMENTS.items():
            line += [f"--{kind}", str(folder / f"check.{ending}")]
    if not given & _AGAINST:
        line += ["--base", find_base(inputs)]
    python = _interpreter(inputs, target, environment)
    return [inputs.rlprof, "check", *line, *python, *options, *target]


def _given(inputs: Inputs) -> frozenset[str]:
    """Names of the input ``options``."""
    return frozenset(word.split("=")[0] for word in _words("options", inputs.options))


def _words(name: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise BadInput(f"The input {name} is no command line: {str(error).lower()}.") from error


def _is_true(name: str, text: str) -> bool:
    if text not in ("true", "false", ""):
        raise BadInput(f"The input {name} is neither true nor false, but {text!r}.")
    return text == "true"


def _interpreter(
    inputs: Inputs, target: Sequence[str], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The job's, for rlprof's own has none of the training's packages."""
    if inputs.python:
        return ("--python", inputs.python)
    # What follows -- names its own, and rlprof finds that of an active virtual environment.
    if target[:1] == ["--"] or environment.get("VIRTUAL_ENV"):
        return ()
    path = environment.get("PATH")
    found = shutil.which("python", path=path) or shutil.which("python3", path=path)
    return ("--python", found) if found else ()


# --- the base -------------------------------------------------------------------------------


def find_base(inputs: Inputs) -> str:
    """What to compare with, fetched if need be; raises :class:`BadInput` where there is nothing."""
    if inputs.base:
        # What cannot be had goes to rlprof as it is: its message tells what to do.
        return _obtained(inputs.base) or inputs.base
    head = _git("rev-parse", "--verify", "HEAD")
    if not head.out:
        raise BadInput(f"git finds no commit here ({head.error}): add actions/checkout before.")
    parents = _parents()
    if inputs.event_head and head.out != inputs.event_head and len(parents) == 2:
        # The merge that GitHub makes for a pull request. The base in the event may be older, and
        # then what others did meanwhile would count as the pull request's.
        return _obtained(parents[0]) or parents[0]
    found = _obtained(inputs.event_base) if inputs.event_base.strip("0") else ""
    if found and inputs.event_head:
        # The pull request's own commit is checked out, which lacks what the base got since.
        return _git("merge-base", found, "HEAD").out or found
    if not found and not parents:
        raise BadInput("There is no commit before this one to compare with: give the input base.")
    return found or _obtained(parents[0]) or parents[0]


def _parents() -> list[str]:
    """Of the commit that is checked out, as it names them: git hides them where a clone is shallow."""
    header = _git("cat-file", "-p", "HEAD").out.partition("\n\n")[0]
    lines = (line.split() for line in header.splitlines())
    return [words[1] for words in lines if words[0] == "parent"]


def _obtained(ref: str) -> str:
    """``ref`` if the clone has it, else the commit that was fetched for it; empty where it cannot be had."""
    if _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").out:
        return ref
    # One commit is enough for a worktree. In a whole clone --depth would cut the history off.
    is_shallow = _git("rev-parse", "--is-shallow-repository").out == "true"
    depth = ("--depth=1",) if is_shallow else ()
    wanted = ref.removeprefix("origin/")
    fetched = _git("fetch", "--no-tags", "--no-recurse-submodules", *depth, "--", "origin", wanted)
    if fetched.code != 0:
        print(f"{ref} could not be fetched: {fetched.error}", flush=True)
        return ""
    return _git("rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").out


class _Answer(NamedTuple):
    code: int
    out: str
    """Empty where git failed."""
    error: str


def _git(*arguments: str) -> _Answer:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    out = "" if done.returncode else done.stdout.strip()
    return _Answer(done.returncode, out, done.stderr.strip())


# --- the run --------------------------------------------------------------------------------


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit code, 128+n for a signal, and the first error that it tells of; empty without one."""
    own = {f"{_PREFIX}{name.upper()}" for name in (*Inputs.__dataclass_fields__, "interpreter")}
    kept = {name: value for name, value in environment.items() if name not in own}
    running = subprocess.Popen(command, env=kept, stderr=subprocess.PIPE)
    assert running.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(running.stderr, errors), daemon=True)
    reader.start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: running.send_signal(got))
    code = running.wait()
    reader.join(_LAST_WORDS_S)
    return code if code >= 0 else 128 - code, errors[0] if errors else ""


def _pass_on(stream: IO[bytes], errors: list[str]) -> None:
    """Write to the log what comes, and put what is told as an error into ``errors``."""
    for line in stream:
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
        text = line.decode(errors="replace").strip()
        errors.extend(text.removeprefix(it) for it in _ERRORS if text.startswith(it))


def result_of(code: int, folder: Path, *, said: str = "", saves: bool = False) -> Result:
    """From the JSON document, or where there is none from the exit code and the error that was ``said``."""
    document = folder / "check.json"
    if not document.is_file():
        return _without_document(code, folder, said, saves=saves)
    found = json.loads(document.read_text(encoding="utf-8"))
    decision = found["decision"]
    ratio = "" if decision is None else f"{decision['ratio']['median']:.3f}"
    is_stopped = code > 128 and found["verdict"] == "could-not-measure"
    return Result(
        code, "interrupted" if is_stopped else found["verdict"], found["text"], ratio, folder
    )


def _without_document(code: int, folder: Path, said: str, *, saves: bool) -> Result:
    verdict = "interrupted" if code > 128 else "could-not-measure"
    if code == EXIT_USAGE:
        verdict = "bad-usage"
    elif code == 0 and saves:
        verdict = "pass"
    why = (
        f": {said} (the log of this step says more)" if said else "; the log of this step says why."
    )
    return Result(code, verdict, f"It ended with exit code {code}{why}", "", folder)


def _if_written(folder: Path, ending: str) -> str:
    file = folder / f"check.{ending}"
    return str(file) if file.is_file() else ""


def _escaped(text: str) -> str:
    """As the runner reads the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


if __name__ == "__main__":
    sys.exit(main())
