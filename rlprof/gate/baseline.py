"""The baseline file: what a program did on one machine, to be kept in its repository."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

import rlprof
from rlprof.errors import MeasureError, RlprofError, UsageError
from rlprof.gate.fingerprint import fingerprint
from rlprof.inputs import read_input
from rlprof.renderers.json_report.values import as_json_text, means, one_of, rounded

FORMAT: Final = "rlprof-baseline"
FORMAT_VERSION: Final = 1
"""1: the first."""

Count = Annotated[float, Meta(ge=0)]

_MOST_BYTES: Final = 16 << 20
"""Of the file: those that are written have a few kB."""

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
    """What counted the steps."""
    sps: tuple[float, ...]
    """Steady, of each run; empty where only counters were asked for."""
    steps: tuple[float, ...]
    """Of each run; 0 where the program printed its rate alone."""
    counters_per_step: Mapping[str, tuple[float, ...]]
    """Totals over steps, of each run. What was counted and did not occur is 0; of what is left out nobody knows."""


class BaselineDocument(Struct, frozen=True):
    """What `rlprof check --save-baseline FILE` writes and `--baseline FILE` reads. Within a version keys are only ever added: ignore those you do not know."""

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
    unit: Annotated[str, one_of("steps", "updates")]
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
        text = read_input(path, _MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        raise _no_baseline(path, "it is not text") from error
    except OSError as error:
        raise UsageError(
            f"the baseline {path} cannot be read: {error.strerror}",
            slug="baseline-missing",
            hint=f"make it first {_SAVING}" if isinstance(error, FileNotFoundError) else _AGAIN,
        ) from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_baseline(path, f"it is not JSON: {error}") from error
    return _of_document(document, path)


def _of_document(document: object, path: Path) -> Baseline:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _no_baseline(path, f'it has no "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int:  # True is 1, and no version.
        raise _no_baseline(path, f"version {version!r} was never written")
    if version > FORMAT_VERSION:
        raise MeasureError(
            f"the baseline {path} has format version {version}; this rlprof {rlprof.__version__} "
            f"reads up to {FORMAT_VERSION}",
            slug="baseline-newer",
            hint=f"install a newer rlprof, or {_AGAIN}",
        )
    if version != FORMAT_VERSION:
        raise _no_baseline(path, f"version {version!r} was never written")
    fields = _Fields(document, path)
    baseline = Baseline(
        command=fields.texts("command"),
        commit=fields.text("commit", is_optional=True),
        saved=fields.text("saved"),
        machine=fields.named_texts("machine"),
        unit=fields.text("unit"),
        source=fields.text("source"),
        sps=fields.rates("sps"),
        steps=fields.counts("steps"),
        counters_per_step=fields.counters("counters_per_step"),
    )
    if baseline.sps and len(baseline.sps) != len(baseline.steps):
        raise _no_baseline(path, "it has not as many sps as steps")
    return baseline


class _Fields:
    """Values of a document that may hold anything."""

    def __init__(self, document: dict[str, Any], path: Path) -> None:
        self._document = document
        self._path = path

    def text(self, name: str, *, is_optional: bool = False) -> str:
        value = self._document.get(name)
        if value is None and is_optional:
            return ""
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._document.get(name)
        if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
            raise self._wrong(name, "a list of texts")
        return tuple(value)

    def rates(self, name: str) -> tuple[float, ...]:
        value = self._document.get(name)
        if not isinstance(value, list) or not all(map(_is_rate, value)):
            raise self._wrong(name, "a list of numbers above 0")
        return tuple(map(float, value))

    def counts(self, name: str) -> tuple[float, ...]:
        value = self._document.get(name)
        if not isinstance(value, list) or not value or not all(map(_is_count, value)):
            raise self._wrong(name, "a list of numbers, one for each run")
        return tuple(map(float, value))

    def named_texts(self, name: str) -> dict[str, str]:
        value = self._document.get(name)
        if not isinstance(value, dict) or not all(isinstance(it, str) for it in value.values()):
            raise self._wrong(name, "an object of texts")
        return dict(value)

    def counters(self, name: str) -> dict[str, tuple[float, ...]]:
        value = self._document.get(name)
        steps = self.counts("steps")
        if isinstance(value, dict):
            each = {
                key: it if isinstance(it, list) else [it] * len(steps) for key, it in value.items()
            }
            if all(len(it) == len(steps) and all(map(_is_count, it)) for it in each.values()):
                counters = {key: tuple(map(float, it)) for key, it in each.items()}
                self._check_totals(counters, steps)
                return counters
        raise self._wrong(name, "an object of counts, or of one for each run")

    def _check_totals(
        self, counters: Mapping[str, Sequence[float]], steps: Sequence[float]
    ) -> None:
        """Against no steps, or totals that become infinite, nothing that head counts would be too much."""
        if counters and not all(0 < it <= _MOST_COUNTED for it in steps):
            raise self._wrong(
                "steps", "a list of numbers of steps, though there are counters per step"
            )
        for name, per_step in counters.items():
            if any(it * of > _MOST_COUNTED for it, of in zip(per_step, steps, strict=True)):
                raise self._wrong("counters_per_step", f"what can be counted: too many {name!r}")

    def _wrong(self, name: str, wanted: str) -> RlprofError:
        return _no_baseline(self._path, f'"{name}" is not {wanted}')


def _is_number(value: Any) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # A whole number beyond every float.
        return False


def _is_count(value: Any) -> bool:
    return _is_number(value) and bool(value >= 0)


def _is_rate(value: Any) -> bool:
    return _is_number(value) and bool(value > 0)


def _no_baseline(path: Path, why: str) -> RlprofError:
    return MeasureError(
        f"{path} is no baseline, or is damaged: {why}", slug="baseline-damaged", hint=_AGAIN
    )
