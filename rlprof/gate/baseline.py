"""The baseline file: what a program did on one machine, to be kept in its repository."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

import rlprof
from rlprof.documents.json import DocumentHead, as_json_text, means, one_of, rounded
from rlprof.errors import MeasureError, RlprofError, UsageError
from rlprof.gate.program import ask
from rlprof.inputs import read_input
from rlprof.model.recording import Note
from rlprof.names import printable
from rlprof.recording.gpus.reader import find_gpus
from rlprof.recording.machine.host import host_facts

FORMAT: Final = "rlprof-baseline"
FORMAT_VERSION: Final = 1
"""1: the first."""

Count = Annotated[float, Meta(ge=0)]

_MOST_BYTES: Final = 16 << 20
"""Most bytes of the file: those that are written have a few kB."""

_MOST_COUNTED: Final = 1e24
"""In one run, bytes included: far beyond what can happen, and far below where sums become infinite."""

_SAVING: Final = "with `rlprof check --save-baseline FILE -- COMMAND`"
_AGAIN: Final = f"make it again {_SAVING}"


@dataclass(frozen=True, slots=True)
class Baseline:
    command: tuple[str, ...]
    commit: str
    """``abc1234`` or ``abc1234+changes``; empty outside a repository."""
    saved: str
    """When, as ISO 8601."""
    machine: Mapping[str, str]
    """As ``fingerprint`` gives it."""
    unit: str
    source: str
    """Source of the counted steps."""
    sps: tuple[float, ...]
    """Steady, of each run; empty where only counters were asked for."""
    steps: tuple[float, ...]
    """Steps of each run; 0 where the program printed its rate alone."""
    counters_per_step: Mapping[str, tuple[float, ...]]
    """Totals over steps, of each run. What was counted and did not occur is 0; of what is left out nobody knows."""


class BaselineDocument(Struct, frozen=True):
    """Document that `rlprof check --save-baseline FILE` writes and `--baseline FILE` reads. Within a version keys are only ever added: ignore those you do not know."""

    format: Literal["rlprof-baseline"]
    version: Literal[1]
    rlprof: str
    saved: Annotated[str, means("ISO 8601, UTC.")]
    commit: Annotated[
        str | None,
        means(
            "With +changes when the working tree differed from it; null outside a git repository."
        ),
    ]
    command: Sequence[str]
    machine: Annotated[
        Mapping[str, str],
        Meta(extra_json_schema={"required": sorted(fingerprint({}, {}))}),
        means("What must be the same for speeds to be comparable."),
    ]
    unit: Annotated[str, one_of("steps", "updates", "iterations")]
    source: Annotated[str, means("What counted the steps.")]
    sps: Annotated[
        Sequence[Annotated[float, Meta(gt=0)]],
        means(
            "Steady steps per second, one value a run; empty when it was saved with --counters-only."
        ),
    ]
    steps: Annotated[
        Sequence[Count],
        Meta(min_length=1),
        means("All steps of each run; 0 where the program prints its rate alone."),
    ]
    counters_per_step: Annotated[
        Mapping[str, Count | Annotated[Sequence[Count], Meta(min_length=1)]],
        means(
            "Totals of a run over its steps: one value where all runs agree, else one a run. 0 is what was counted and did not occur; what is left out is not known."
        ),
    ]


def baseline_as_json(baseline: Baseline) -> str:
    """One value a line and everything in order, so that a diff shows what changed."""
    document = BaselineDocument(
        format=FORMAT,
        version=FORMAT_VERSION,
        rlprof=rlprof.__version__,
        saved=baseline.saved,
        commit=baseline.commit or None,
        command=baseline.command,
        machine=dict(sorted(baseline.machine.items())),
        unit=baseline.unit,
        source=baseline.source,
        sps=[rounded(value) for value in baseline.sps],
        steps=[rounded(value) for value in baseline.steps],
        counters_per_step={
            name: _one_or_all(values) for name, values in sorted(baseline.counters_per_step.items())
        },
    )
    return as_json_text(document, is_rounded=True)


def _one_or_all(values: Sequence[float]) -> float | Sequence[float]:
    """Most counters are the same in all runs: then one value is easier to read."""
    # Not rounded further: what is the same must be equal.
    return values[0] if len(set(values)) == 1 else values


def read_baseline(path: Path) -> Baseline:
    """The baseline in ``path``.

    Raises ``UsageError`` when there is no such file, :class:`MeasureError` when it is none, is
    damaged, or was written by a newer rlprof.
    """
    try:
        content = read_input(path, _MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"the baseline {path} cannot be read: {error.strerror}",
            slug="baseline-missing",
            hint=f"make it first {_SAVING}" if isinstance(error, FileNotFoundError) else _AGAIN,
        ) from error
    try:
        _check_head(msgspec.json.decode(content, type=DocumentHead), path)
        return _of_document(msgspec.json.decode(content, type=BaselineDocument), path)
    except msgspec.ValidationError as error:
        raise _no_baseline(path, _with_key_first(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_baseline(path, f"it is not JSON: {error}") from error


def _check_head(head: DocumentHead, path: Path) -> None:
    if head.format != FORMAT:
        raise _no_baseline(path, f'it has no "format": "{FORMAT}"')
    if head.version > FORMAT_VERSION:
        raise MeasureError(
            f"the baseline {path} has format version {head.version}; this rlprof {rlprof.__version__} "
            f"reads up to {FORMAT_VERSION}",
            slug="baseline-newer",
            hint=f"install a newer rlprof, or {_AGAIN}",
        )


def _with_key_first(error: msgspec.ValidationError) -> str:
    """``sps[1]: Expected `float` > 0.0``."""
    what, _, key = str(error).partition(" - at `$.")
    return f"{key.removesuffix('`')}: {what}" if key else what


def _of_document(document: BaselineDocument, path: Path) -> Baseline:
    steps, sps = tuple(document.steps), tuple(document.sps)
    if sps and len(sps) != len(steps):
        raise _no_baseline(path, "it has not as many sps as steps")
    counters = {
        name: tuple(value) if isinstance(value, Sequence) else (value,) * len(steps)
        for name, value in document.counters_per_step.items()
    }
    # Against no steps, or totals that become infinite, nothing that head counts would be too much.
    if counters and not all(0 < made <= _MOST_COUNTED for made in steps):
        raise _no_baseline(
            path, "steps: there are counters per step, and one of these is no number of steps"
        )
    for name, per_step in counters.items():
        if len(per_step) != len(steps):
            raise _no_baseline(path, f"counters_per_step: {name!r} has not as many values as steps")
        if any(count * made > _MOST_COUNTED for count, made in zip(per_step, steps, strict=True)):
            raise _no_baseline(path, f"counters_per_step: so many {name!r} cannot be counted")
    return Baseline(
        command=tuple(document.command),
        commit=document.commit or "",
        saved=document.saved,
        machine=document.machine,
        unit=document.unit,
        source=document.source,
        sps=sps,
        steps=steps,
        counters_per_step=counters,
    )


def _no_baseline(path: Path, why: str) -> RlprofError:
    return MeasureError(
        f"{path} is no baseline, or is damaged: {why}", slug="baseline-damaged", hint=_AGAIN
    )


# --- the machine: what another one must have in common with it for their speeds to be compared ---

_OF_GPU: Final = re.compile(r"gpu:\d+:name")
_HOST: Final = {
    "cpu_model": "cpu_model",
    "cores": "cores",
    "usable_cores": "usable_cores",
    "architecture": "machine",
    "gpu_driver": "gpu_driver",
}
"""Facts of a host, by the names under which they are kept. Usable cores are those that the affinity
and the quota of the control group leave."""

_ASK: Final = """
import importlib.metadata, json, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
print(json.dumps({"python": platform.python_version(), "torch": version("torch")}))
"""
"""Without importing torch, which takes seconds."""

NONE: Final = "none"


def fingerprint_here(python: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprint of this machine and of ``python``, as programs with ``environment`` see them."""
    gpus = find_gpus(environment)
    try:
        facts = host_facts(gpus)
    finally:
        if gpus is not None:
            gpus.close()
    versions = ask(python, _ASK, environment)
    return fingerprint(facts, {name: str(text) for name, text in versions.items()})


def fingerprint(host: Mapping[str, str], versions: Mapping[str, str]) -> dict[str, str]:
    """``versions`` are those of ``python`` and ``torch``; empty or absent without one."""
    gpus = [host[name] for name in sorted(host) if _OF_GPU.fullmatch(name)]
    return {
        **{name: host.get(fact) or NONE for name, fact in _HOST.items()},
        "gpus": ", ".join(gpus) or NONE,
        "python": versions.get("python") or NONE,
        "torch": versions.get("torch") or NONE,
    }


def differences(saved: Mapping[str, str], here: Mapping[str, str]) -> tuple[str, ...]:
    """``cores: 8 then, 4 now``, for each that differs; whatever ``saved`` holds, each is one line."""
    names = sorted(saved.keys() | here.keys())
    pairs = ((name, saved.get(name, NONE), here.get(name, NONE)) for name in names)
    return tuple(
        f"{printable(name)}: {printable(was)} then, {printable(now)} now"
        for name, was, now in pairs
        if was != now
    )


def check_machine(
    baseline: Baseline, path: Path, here: Mapping[str, str], *, is_relaxed: bool
) -> tuple[Note, ...]:
    """Raise :class:`MeasureError` when the baseline is of another machine than ``here``; if that is fine,
    a note says so.
    """
    found = differences(baseline.machine, here)
    if not found:
        return ()
    if not is_relaxed:
        raise MeasureError(
            f"the baseline {path} is of another machine ({'; '.join(found)})",
            slug="baseline-other-machine",
            hint="save one here with --save-baseline, compare with --base, which runs both here, or "
            "accept what the machines differ by with --relax-machine",
        )
    text = f"The baseline is of another machine, which was accepted: {'; '.join(found)}."
    return (Note("warning", "machine-relaxed", text),)
