"""Tell what to do about an error, in the words of a test where the command line has options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlprof.errors import RlprofError, UsageError

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
