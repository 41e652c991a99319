"""The command line of ``rlprof check``: options that do not go together, and what the gate is to do."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlprof.cli.command import Target, TargetKind, program_to_measure
from rlprof.cli.output import check_output, say
from rlprof.cli.target import counted_function, pattern_of
from rlprof.errors import EXIT_INCONCLUSIVE, EXIT_OK, EXIT_REGRESSION, UsageError

if TYPE_CHECKING:
    from rlprof.gate.bases import CheckSettings
    from rlprof.gate.check import CheckPlan, CommandBase, FileBase
    from rlprof.gate.program import Program
    from rlprof.gate.worktrees.sides import CommitBase

ARTIFACTS: Final = ("diff.html", "diff.svg", "base.rlprof", "head.rlprof")
"""What ``--artifacts`` writes with ``--profile``."""


class OnInconclusive(str, Enum):
    """Ways to count runs that vary too much to tell."""

    PASS = "pass"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The command line."""

    target: Target
    base: str | None = None
    base_command: str | None = None
    baseline: Path | None = None
    save_baseline: Path | None = None
    relax_machine: bool = False
    interleave: bool = False
    pairs: int | None = None
    max_pairs: int | None = None
    min_effect: str | None = None
    counters: tuple[str, ...] = ()
    counters_only: bool = False
    on_inconclusive: OnInconclusive | None = None
    timeout_s: float
    prepare: str | None = None
    profile: bool = False
    artifacts: Path | None = None
    outputs: Mapping[str, Path | None] = field(default_factory=dict)
    """Files to write by their options, as far as they are wanted."""
    python: Path | None = None
    sps_pattern: str | None = None
    steps_from: str | None = None
    force: bool = False

    @property
    def inconclusive_code(self) -> int:
        """The exit code of that verdict."""
        if self.on_inconclusive is None:
            return EXIT_INCONCLUSIVE
        return EXIT_OK if self.on_inconclusive is OnInconclusive.PASS else EXIT_REGRESSION


RLPROF_ONLY_OPTIONS: Final = frozenset(
    {
        "--counters-only",
        "--interleave",
        "--max-pairs",
        "--min-effect",
        "--on-inconclusive",
        "--relax-machine",
    }
)
"""Options that a training is not likely to have too."""


def check_options(request: CheckRequest) -> None:
    """Raise ``UsageError`` for options that do not go together, would do nothing or would write over a file."""
    against = {
        "--base": request.base,
        "--base-command": request.base_command,
        "--baseline": request.baseline,
        "--save-baseline": request.save_baseline,
    }
    given = [name for name, value in against.items() if value is not None]
    if len(given) != 1:
        raise UsageError(
            f"{' and '.join(given)} do not go together"
            if given
            else "nothing says what to compare with",
            slug="no-base",
            hint=misplaced_option_hint(request.target.words, against)
            or f"give one of {', '.join(against)}",
        )
    for options, is_useful, why in _conditions(request):
        useless = [] if is_useful else [name for name, value in options.items() if value]
        if useless:
            raise UsageError(
                f"{' and '.join(useless)} would do nothing here: {why}",
                slug="useless-option",
                hint="leave out what does not go with the rest",
            )
    outputs = tuple(_outputs(request))
    reads: list[str | Path] = [*request.target.words, *filter(None, [request.baseline])]
    for file in outputs:
        check_output(file, force=request.force, reads=reads, is_run=file.suffix == ".rlprof")
    for file, times in Counter(Path(os.path.realpath(output)) for output in outputs).items():
        if times > 1 and (file.is_file() or not file.exists()):
            raise UsageError(
                f"two results would go to {file}",
                slug="same-output",
                hint="give each a file of its own",
            )


def _outputs(request: CheckRequest) -> Iterator[Path]:
    yield from filter(None, request.outputs.values())
    if request.save_baseline is not None:
        yield request.save_baseline
    if request.artifacts is not None:
        yield from (request.artifacts / name for name in ARTIFACTS)


def misplaced_option_hint(
    words: Sequence[str], options: Collection[str] = RLPROF_ONLY_OPTIONS
) -> str:
    """Return what to do about options that stand behind the script, and so are its own; empty where none does."""
    found = [word for word in words if word.partition("=")[0] in options]
    if not found:
        return ""
    return f"{found[0]} stands behind what to run, and so belongs to that: options of rlprof come before it"


def _conditions(request: CheckRequest) -> Iterator[tuple[dict[str, object], bool, str]]:
    """(options as they were given, whether they can do anything, why they cannot)."""
    is_saving = request.save_baseline is not None
    yield (
        {"--prepare": request.prepare},
        request.base is not None,
        "it builds the base in its worktree, and only --base has one",
    )
    yield (
        {"--relax-machine": request.relax_machine},
        request.baseline is not None,
        "it concerns the machine that a --baseline is of",
    )
    yield (
        {"--profile": request.profile},
        request.baseline is None and not is_saving,
        "it records base and head, and with a baseline file there is no base to record",
    )
    yield (
        {"--artifacts": request.artifacts},
        request.profile,
        "what it would keep comes of --profile",
    )
    yield (
        {"--interleave": request.interleave},
        request.baseline is None and not is_saving,
        "base and head take turns, and with a baseline file head runs alone",
    )
    yield (
        {
            "--interleave": request.interleave,
            "--pairs": request.pairs,
            "--max-pairs": request.max_pairs,
            "--min-effect": request.min_effect,
        },
        not request.counters_only,
        "--counters-only measures no rates",
    )
    yield (
        {
            "--max-pairs": request.max_pairs,
            "--min-effect": request.min_effect,
            "--on-inconclusive": request.on_inconclusive,
            **request.outputs,
        },
        not is_saving,
        "--save-baseline judges nothing",
    )


def plan_of(
    request: CheckRequest,
) -> tuple[CheckPlan, CommitBase | CommandBase | FileBase | None]:
    """Return what the gate is to do, and what it holds the program against; None where that is to be saved.

    Raises ``UsageError``.
    """
    from rlprof.gate.check import CheckPlan, CommandBase, FileBase
    from rlprof.gate.program import Counting
    from rlprof.gate.worktrees.sides import CommitBase

    settings = _settings(request)
    lost = misplaced_option_hint(request.target.words)
    if lost:
        say(f"rlprof: {lost}")
    head = _head(request)
    pattern_of(request.sps_pattern)
    counted_function(request.steps_from)
    base: CommitBase | CommandBase | FileBase | None = None
    if request.base is not None:
        is_script = request.target.kind is TargetKind.SCRIPT
        base = CommitBase(
            request.base, request.prepare, request.target.words[0] if is_script else None
        )
    elif request.base_command is not None:
        base = CommandBase(_base_words(request.base_command))
    elif request.baseline is not None:
        base = FileBase(request.baseline, is_machine_relaxed=request.relax_machine)
    plan = CheckPlan(
        head=head,
        settings=settings,
        counting=Counting(request.sps_pattern, request.steps_from, settings.asked),
        timeout_s=request.timeout_s,
        looks_for_causes=request.profile,
    )
    return plan, base


def _head(request: CheckRequest) -> Program:
    from rlprof.gate.program import as_typed
    from rlprof.recording.machine.git_environment import without_repository

    is_of_two = request.base_command is not None
    return program_to_measure(
        request.target,
        request.python,
        without_repository(os.environ),
        name=as_typed(request.target.words) if is_of_two else Path.cwd().name,
        is_alone=request.base is None and not is_of_two,
    )


def _settings(request: CheckRequest) -> CheckSettings:
    from rlprof.gate.bases import CheckSettings
    from rlprof.gate.counters import parse_tolerance
    from rlprof.gate.decision import DecisionSettings

    decision = DecisionSettings()
    first = decision.min_pairs if request.pairs is None else request.pairs
    last = max(first, decision.max_pairs) if request.max_pairs is None else request.max_pairs
    return CheckSettings(
        decision=replace(
            decision,
            min_effect=None if request.min_effect is None else share_of(request.min_effect),
            min_pairs=first,
            max_pairs=last,
        ),
        tolerances=tuple(map(parse_tolerance, request.counters)),
        counters_only=request.counters_only,
        in_turns=request.interleave,
    )


def share_of(text: str) -> float:
    """``5%`` as 0.05; raises ``UsageError``. Half a per cent and a half are too easily taken for each other
    where the sign is missing.
    """
    number, sign, rest = text.partition("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = float("nan")
    if not sign or rest.strip() or not 0 < value < 1:
        raise UsageError(
            f"--min-effect {text} is no percentage of a rate",
            slug="bad-min-effect",
            hint="for example --min-effect 5%",
        )
    return value


def _base_words(text: str) -> tuple[str, ...]:
    """``--base-command`` as words; raises ``UsageError``."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(
            f"--base-command {text!r} is no command: {str(error).lower()}",
            slug="bad-base-command",
            hint="quote it as a shell would: --base-command 'python train.py --old'",
        ) from error
    if not words:
        raise UsageError(
            "--base-command is empty",
            slug="bad-base-command",
            hint="for example --base-command 'python train.py --old'",
        )
    return words
