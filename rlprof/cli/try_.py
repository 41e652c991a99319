"""``rlprof try``: measure what findings are worth, by switching their fixes on and off while the training runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlprof.cli.command import command_of, script_name
from rlprof.cli.explain import names_like
from rlprof.cli.last_resort import say_in_time
from rlprof.cli.loading import load_report
from rlprof.cli.output import show_in_time
from rlprof.cli.target import Interpreter, ReplaceRunFile, StepsFrom, counted_function, target_of
from rlprof.errors import UsageError
from rlprof.recording.settings import RecordingSettings, TorchWindowPolicy

if TYPE_CHECKING:
    from rlprof.experiments.plan import PlannedFinding

_OWN: Final = re.compile(r"(?P<module>[\w.]+):(?P<qualname>[\w.]+)(?:=(?P<value>.+))?")
_NUMBER: Final = re.compile(r"[1-9][0-9]*")
_EVERY: Final = 50


def complete_tried(incomplete: str) -> Iterator[str]:
    """Yield the ids of the findings that can be tried."""
    from rlprof.experiments.discovered import treatments

    known = {finding for treatment in treatments() for finding in treatment.findings}
    return (id_ for id_ in sorted(known) if id_.startswith(incomplete))


def try_(
    ctx: typer.Context,
    finding: Annotated[
        str | None,
        typer.Option(
            metavar="ID|RANK",
            help="Try this finding alone, by its id or its rank.",
            autocompletion=complete_tried,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help="Time for all treatments together, such as 120s or 5m (default: 120s, and 180s more where some take runs "
            "of their own).",
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:FUNCTION[=N]",
            help=f"Make calls of this every N-th time only (default {_EVERY}): what it costs at most.",
        ),
    ] = None,
    memo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Answer this from memory, by the shapes of what it is given: what it costs at most.",
        ),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="MODULE:FUNCTION=FILE:FUNCTION",
            help="Call a function of a file of yours in its place: what your own fix saves.",
        ),
    ] = None,
    list_: Annotated[
        bool,
        typer.Option("--list", help="List the treatments, with the findings that each tries."),
    ] = False,
    ceilings: Annotated[
        bool,
        typer.Option(
            "--ceilings",
            help="Free the training of each of its parts in turn (environment, inference, learning, ...): how fast it "
            "would be without.",
        ),
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Let it train on, untreated, once all is measured."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="RUN", help="Run file to write, as in rlprof run."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="A name for this run.")] = None,
    python: Interpreter = None,
    steps_from: StepsFrom = None,
    force: ReplaceRunFile = False,
) -> None:
    """Measure what findings are worth while the training runs.

    Records the training until it is steady, then tries its findings one after the other, the dearest first, hot spots last: the
    treatment is on for some time and off for some time, in turns, in all processes at once, and steps per second are
    compared. A gain leaves the program's results as they are; a ceiling does not (calls left out, answers from
    memory), and says what the best imaginable fix would save. At the end the training is interrupted, as Ctrl-C does.
    """
    if list_:
        _list()
        return
    target = target_of(ctx, "give a script (rlprof try train.py) or a module (-m package.train)")
    from rlprof.cli.run_files import new_run_file, other_name, point_latest_at
    from rlprof.experiments.conductor import BUDGET_S, RUNS_S, TryPlan
    from rlprof.experiments.tried_training import try_training
    from rlprof.report.build import is_worth_keeping

    if finding is not None:
        _require_known(finding)
    own = _own(skip or [], memo or [], with_ or [])
    budget_s, runs_s = (BUDGET_S, RUNS_S) if budget is None else (_seconds(budget), 0.0)
    name = script_name(target)
    command = command_of(target, python)
    counted = counted_function(steps_from)
    run_file = new_run_file(output, name, force=force)
    plan = TryPlan(
        run_file,
        budget_s,
        runs_s,
        finding=finding,
        own=own,
        only_own=bool(own) and finding is None,
        ceilings=ceilings,
        keeps_going=keep_going,
        # They would write over what a training that was let end has made.
        makes_runs=not keep_going,
    )
    settings = RecordingSettings(
        command=command,
        script=name,
        run_file=run_file,
        label=label,
        steps_from=counted,
        torch=TorchWindowPolicy.OFF,
        is_try=True,
    )
    if other := other_name(output, run_file):
        _tell(other)
    _tell(f"records into {run_file} until the training is steady, then tries its findings")
    failure = try_training(settings, plan, _tell)
    report = load_report(run_file)
    if output is None and is_worth_keeping(report):
        point_latest_at(run_file)
    show_in_time(report)
    if failure is not None:
        raise failure


def _require_known(finding: str) -> None:
    """Raise UsageError for what no training will ever have: it would train until it is steady only to be told so."""
    from rlprof.resources import detector_ids_with_page

    ids = detector_ids_with_page()
    if finding not in ids and _NUMBER.fullmatch(finding) is None:
        raise UsageError(
            f"{finding} is neither the id of a finding nor a rank",
            slug="no-such-finding",
            hint=names_like(finding, ids),
        )


def _tell(line: str) -> None:
    say_in_time(f"rlprof: {line}\n")


def _list() -> None:
    from rlprof.experiments.discovered import treatments

    for treatment in treatments():
        typer.echo(f"{treatment.id} ({treatment.kind.value}): {treatment.does}")
        typer.echo(f"    tries {', '.join(sorted(treatment.findings))}")


def _own(skip: list[str], memo: list[str], with_: list[str]) -> list[PlannedFinding]:
    """The treatments that the user gave."""
    planned = []
    for text in skip:
        module, qualname, value = _parts(text, "--skip")
        if value is not None and _NUMBER.fullmatch(value) is None:
            raise _bad(text, "--skip", "my_pkg.mod:Learner.publish=50")
        every = int(value or _EVERY)
        planned.append(_planned("skip", module, qualname, {"what": "every", "every": every}))
    for text in memo:
        module, qualname, value = _parts(text, "--memo")
        if value:
            raise _bad(text, "--memo", "train:Env.step")
        planned.append(_planned("memo", module, qualname, {"what": "from-memory"}))
    for text in with_:
        module, qualname, value = _parts(text, "--with")
        file, colon, function = (value or "").rpartition(":")
        path = Path(file)
        if not file or not colon or not function.isidentifier():
            raise _bad(text, "--with", "train:compute_gae=faster.py:compute_gae")
        if not path.is_file():
            missing = "is no file" if path.exists() else "does not exist"
            raise UsageError(
                f"--with {text} takes {function} from {file}, which {missing}",
                slug="bad-treatment",
                hint=f"looked for at {path.absolute()}",
            )
        part: dict[str, str | int] = {
            "what": "replaced",
            "with_file": str(path.resolve()),
            "with_name": function,
        }
        planned.append(_planned("with", module, qualname, part))
    return planned


def _planned(
    treatment: str, module: str, qualname: str, part: dict[str, str | int]
) -> PlannedFinding:
    from rlprof.experiments.plan import PlannedFinding, PlannedOption

    does = {
        "skip": f"makes every {part.get('every')}th call of {module}:{qualname} only",
        "memo": f"answers {module}:{qualname} from memory",
        "with": f"calls {part.get('with_file')}:{part.get('with_name')} in place of {module}:{qualname}",
    }[treatment]
    kind = "gain" if treatment == "with" else "ceiling"
    whole = {"way": "call", "module": module, "qualname": qualname, **part}
    option = PlannedOption(treatment, does, kind, [whole])
    return PlannedFinding("", 0, does, module, 0, qualname, 0.0, 0.0, [option])


def _parts(text: str, option: str) -> tuple[str, str, str | None]:
    match = _OWN.fullmatch(text)
    if match is None:
        raise _bad(text, option, "my_pkg.mod:Learner.publish")
    return match["module"], match["qualname"], match["value"]


def _bad(text: str, option: str, example: str) -> UsageError:
    return UsageError(
        f"{option} {text} does not name what it is to change",
        slug="bad-treatment",
        hint=f"for example {option} {example}",
    )


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<unit>s|m|min|)", text.strip())
    if match is None or not float(match["number"]):
        raise UsageError(
            f"--budget {text} is not a time",
            slug="bad-budget",
            hint="for example --budget 120s or 5m",
        )
    return float(match["number"]) * (60 if match["unit"] in ("m", "min") else 1)
