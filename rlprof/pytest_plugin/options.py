"""Tell what a test asks for: its call of ``assert_sps`` over its markers, checked; and errors in words of a test."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Final

from rlprof.errors import RlprofError, UsageError
from rlprof.gate.floor import Floor
from rlprof.model.counters import COST_COUNTERS

Command = Sequence[str] | Callable[[], object]

OPTIONS: Final = (
    "at_least",
    "counters",
    "command",
    "runs",
    "timeout",
    "cwd",
    "env",
    "steps_from",
    "sps_pattern",
)

DEFAULT_RUNS: Final = 3
DEFAULT_TIMEOUT_S: Final = 600.0
"""Time limit of one run."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One marker of a test, of its class or of its module."""

    words: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    command: Command
    floor: Floor
    timeout_s: float
    folder: Path
    environment: Mapping[str, str | None]
    """Variables that differ from those of pytest; None takes a variable away."""
    steps_from: str | None
    sps_pattern: str | None


def options_of(call: Mapping[str, Any], marks: Iterable[Mark], *, root: Path) -> Options:
    """``call`` wins over ``marks``, the closest of which comes first; None is not given.

    Raises ``UsageError``.
    """
    given = _merged(call, marks)
    if given.get("at_least") is None and given.get("counters") is None:
        raise UsageError(
            "assert_sps was not told what to assert",
            slug="no-floor",
            hint="give a rate, assert_sps(at_least=900), or counters, "
            'assert_sps(counters={"gpu_syncs": 0}), or both',
        )
    return Options(
        command=_command(given.get("command")),
        floor=Floor(
            at_least=_positive("at_least", given.get("at_least")),
            counters=_ceilings(given.get("counters")),
            runs=_count_of_runs(given.get("runs", DEFAULT_RUNS)),
        ),
        timeout_s=_positive("timeout", given.get("timeout")) or DEFAULT_TIMEOUT_S,
        folder=_folder(given.get("cwd"), root),
        environment=_environment(given.get("env")),
        steps_from=_text("steps_from", given.get("steps_from"), "module:function"),
        sps_pattern=_text("sps_pattern", given.get("sps_pattern"), "SPS: (.+)"),
    )


def nothing_measured(*, has_fixture: bool) -> UsageError:
    """Return the error of a test that ended well without a call of ``assert_sps``."""
    if has_fixture:
        message = (
            "the test has the fixture assert_sps and never called it, so that nothing was measured"
        )
        hint = "call it: assert_sps(at_least=900), or assert_sps() where the marker rlprof says what is asked"
    else:
        message = (
            "the marker rlprof of the test asks for at_least or counters, and nothing was measured"
        )
        hint = (
            "give the test the fixture, def test_speed(assert_sps), and call it: assert_sps(); a "
            "marker of a class or a module goes for all tests in it"
        )
    return UsageError(message, slug="nothing-measured", hint=hint)


def _merged(call: Mapping[str, Any], marks: Iterable[Mark]) -> dict[str, Any]:
    given = _without_none(call)
    for mark in marks:
        unknown = [name for name in mark.options if name not in OPTIONS]
        if unknown:
            raise _bad_speed_test(
                f"the marker rlprof has no option {unknown[0]!r}", f"it takes {', '.join(OPTIONS)}"
            )
        options = _without_none(mark.options)
        if mark.words and "command" in options:
            raise _bad_speed_test(
                "the marker rlprof was given a command twice", "give words, or command=, not both"
            )
        words = {"command": mark.words} if mark.words else {}
        given = {**words, **options, **given}
    return given


def _without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _command(command: object) -> Command:
    if callable(command):
        return command
    if isinstance(command, str):
        raise _bad_speed_test(
            f"the command {command!r} is one string",
            "give its words one by one, ['train.py', '--steps', '20000'], as no shell reads them",
        )
    if not command:
        raise UsageError(
            "assert_sps was not told what to run",
            slug="no-target",
            hint='mark the test, @pytest.mark.rlprof("train.py", "--steps", "20000"), or give command=',
        )
    words = command if isinstance(command, Sequence) else (command,)
    strange = [word for word in words if not isinstance(word, (str, int, float, os.PathLike))]
    if strange:
        raise _bad_speed_test(
            f"{strange[0]!r} is no word of a command",
            "give text, paths and numbers, or command= with a function alone",
        )
    return tuple(_without_nul("a word of the command", str(word)) for word in words)


def _positive(name: str, value: object) -> float | None:
    if value is None:
        return None
    number = _number(name, value)
    if number is None or number <= 0:
        raise _bad_speed_test(
            f"{name}={value!r} is no number above zero", f"for example {name}=900"
        )
    return number


def _count_of_runs(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _bad_speed_test(f"runs={value!r} is no number of runs", "give 1 or more")
    return value


def _ceilings(counters: object) -> Mapping[str, float]:
    if counters is None:
        return {}
    if not isinstance(counters, Mapping):
        raise _bad_speed_test(
            f"counters={counters!r} does not say how many are fine",
            'give the most per step, counters={"gpu_syncs": 0}',
        )
    ceilings: dict[str, float] = {}
    for name, most in counters.items():
        if name not in COST_COUNTERS:
            raise UsageError(
                f"nothing counts {name!r}",
                slug="bad-counter",
                hint=f"there are {', '.join(COST_COUNTERS)}",
            )
        number = _number(f"that of the counter {name}", most)
        if number is None or number < 0:
            raise _bad_speed_test(
                f"{most!r} of the counter {name} is no number of events per step",
                "0 is none at all, 0.01 one in a hundred steps",
            )
        ceilings[name] = number
    return ceilings


def _environment(env: object) -> Mapping[str, str | None]:
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise _bad_speed_test(f"env={env!r} sets no variables", 'for example env={"SEED": "1"}')
    for name in map(str, env):
        if not name or "=" in name:
            raise _bad_speed_test(
                f"{name!r} in env is no name of a variable", 'for example env={"SEED": "1"}'
            )
    return {
        _without_nul("a name in env", str(name)): (
            None if value is None else _without_nul(f"the variable {name!r} in env", str(value))
        )
        for name, value in env.items()
    }


def _without_nul(what: str, text: str) -> str:
    """Raises ``UsageError``, without ``text``, which may be a secret: no process can be given a NUL."""
    if "\0" in text:
        raise _bad_speed_test(f"{what} has a NUL character", "no program can be started with one")
    return text


def _text(name: str, value: object, example: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _bad_speed_test(f"{name}={value!r} is no text", f"for example {name}={example!r}")


def _folder(cwd: object, root: Path) -> Path:
    if cwd is None:
        return root
    if not isinstance(cwd, (str, os.PathLike)):
        raise _bad_speed_test(
            f"cwd={cwd!r} is no folder", "give its path, for example cwd='project'"
        )
    folder = root / cwd
    if not folder.is_dir():
        raise _bad_speed_test(
            f"there is no folder {folder} to start the training in",
            "cwd is taken from the root folder of pytest",
        )
    return folder


def _number(name: str, value: object) -> float | None:
    """None where it is none: those of numpy are numbers too, True and infinity are not."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError as error:
        # Not shown: it may have more digits than Python is willing to write.
        raise _bad_speed_test(f"{name} is too large a number", "give less than 1e308") from error
    return number if math.isfinite(number) else None


def _bad_speed_test(message: str, hint: str) -> UsageError:
    return UsageError(message, slug="bad-speed-test", hint=hint)


# --- what to do about an error, in the words of a test where the command line has options -------

_HINTS: Final[Mapping[str, str]] = {
    "no-steps": "count them with rlprof.step(n) in the loop, or say where they are: "
    "steps_from='module:function', sps_pattern='REGEX'",
    "no-steady-rate": "let it train for longer, ten seconds or more after its warm-up; counters "
    "need no rate: leave at_least out",
    "counters-unseen": "start Python without -E, -I and -S, and leave PYTHONPATH in its environment; what "
    "prints its rate alone must count its steps: rlprof.step(n) in the loop, "
    "steps_from='module:function', or an sps_pattern that finds (?P<steps>...)",
    "launches-unseen": "they are told from torch's profiler over the first updates on a GPU; leave "
    "kernel_launches out where there is none",
    "program-timed-out": "let it train for fewer steps, or allow each run more time: timeout=SECONDS",
    "not-python": "begin with '--' where no interpreter is to run it: "
    '@pytest.mark.rlprof("--", "./train.sh")',
}
"""By slug, where those of the command line name its options."""

_NO_MODULE: Final = "ModuleNotFoundError"
_OF_A_MISSING_MODULE: Final = (
    "the training's interpreter has no such module: it is that of pytest unless the command begins with '--': "
    '@pytest.mark.rlprof("--", "path/to/python", "train.py")'
)


def in_python(error: RlprofError) -> str:
    """As the command line tells it, but for the names of its options."""
    hint = _HINTS.get(error.slug, error.hint)
    if error.slug == "program-failed" and _NO_MODULE in error.message:
        hint = _OF_A_MISSING_MODULE
    text = f"{error.message}\n  {hint}\n  {error.see}"
    if isinstance(error, UsageError):
        for option in ("sps_pattern", "steps_from"):
            text = text.replace(f"--{option.replace('_', '-')} ", f"{option}=")
    return text
