"""Tell what one must know before believing a comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rlprof.comparison.calltree import ChangeTree
from rlprof.comparison.sides import SideNames, crowding_of
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.report import wording
from rlprof.report.wording.crash import crash_in_short
from rlprof.report.wording.facts import host_name, host_value
from rlprof.units import percent

CROWDED: Final = 0.1
"""Part by which a run's busy time was longer for other programs, from which on it is said."""

LEAST_COMMON: Final = 0.05
"""Change that all functions have in common, from which on it is said."""

_MACHINE: Final = (
    "cpu_model", "usable_cores", "memory_bytes", "machine", "system", "gpu_driver",
)  # fmt: skip
"""Facts of the host that change how fast a program runs."""

_NAME_LIMIT: Final = 200


def remarks(
    base: Report,
    new: Report,
    tree: ChangeTree | None,
    *,
    has_rate: bool,
    sides: SideNames,
    is_one_of_many: bool = False,
) -> tuple[Note, ...]:
    """The gravest first."""
    notes = [
        *_same_run(base, new, sides),
        *_no_rate(base, new, sides, has_rate=has_rate),
        *_no_tree(tree),
        *_ended_badly(base, new, sides),
        *_other_machine(base, new),
        *_other_command(base, new),
        *_crowded(base, new, sides),
        *_all_alike(tree),
        *_other_rlprof(base, new, sides),
        *_own_warnings(base, new, sides),
        *([] if is_one_of_many else [_one_run_a_side(sides)]),
    ]
    return tuple(wording.gravest_first(notes))


def _one_run_a_side(sides: SideNames) -> Note:
    return Note(
        "info",
        "one-run-a-side",
        "One run a side cannot tell a change of the program from one of the machine: noise here is "
        f"what varies within the runs. Record both a few times, in turn ({' '.join((*sides, *reversed(sides)))}), and "
        "believe what comes back.",
    )


def _same_run(base: Report, new: Report, sides: SideNames) -> Iterator[Note]:
    if base.run.id == new.run.id and base.run.started_unix_s == new.run.started_unix_s:
        text = f"{sides.base} and {sides.new} are the same run: nothing can differ."
        yield Note("warning", "same-run", text)


def _no_rate(base: Report, new: Report, sides: SideNames, *, has_rate: bool) -> Iterator[Note]:
    if has_rate:
        return
    reasons = [
        f"{name} has no rate: {wording.unglued(lack)}"
        for name, lack in (
            (sides.base, wording.lack_of_rate(base.throughput)),
            (sides.new, wording.lack_of_rate(new.throughput)),
        )
        if lack
    ]
    if not reasons and base.throughput.unit != new.throughput.unit:
        reasons = [
            f"{sides.base} counted {base.throughput.unit}, {sides.new} {new.throughput.unit}"
        ]
    yield Note(
        "warning",
        "no-common-rate",
        f"The rates cannot be compared: {'; '.join(reasons) or 'one of them is zero'}. Times are per "
        "second of the steady phase instead of per step: shares, which say nothing of speed.",
    )


def _no_tree(tree: ChangeTree | None) -> Iterator[Note]:
    if tree is None:
        yield Note(
            "warning",
            "no-steady-stacks",
            "Where time goes cannot be compared: a run has no steady phase, or nothing was sampled in "
            "it. Let both train for some seconds longer.",
        )


def _ended_badly(base: Report, new: Report, sides: SideNames) -> Iterator[Note]:
    for name, report in zip(sides, (base, new), strict=True):
        if report.run.exit_code:
            yield Note(
                "warning",
                "run-ended-badly",
                f"The program of {name} ended with exit code {report.run.exit_code}.",
            )
        elif report.crash is not None:
            died = wording.unglued(crash_in_short(report.crash))
            yield Note("warning", "run-ended-badly", f"In the run of {name}, {died}.")
        elif report.run.is_live:
            text = f"The run of {name} is still being recorded: what comes later is not in it."
            yield Note("warning", "recording-goes-on", text)
        elif not report.run.complete:
            yield Note("warning", "run-ended-badly", f"The recording of {name} was cut off.")


def _other_machine(base: Report, new: Report) -> Iterator[Note]:
    was, now = base.run.host, new.run.host
    models = sorted(
        key for key in was.keys() | now.keys() if key.startswith("gpu:") and key.endswith(":name")
    )
    parts = [
        f"{host_name(key)}: {_fact(key, was)}, now {_fact(key, now)}"
        for key in (*_MACHINE, *models)
        if was.get(key) != now.get(key)
    ]
    pythons = [report.processes[0].python if report.processes else "" for report in (base, new)]
    if all(pythons) and pythons[0] != pythons[1]:
        parts.append(f"Python: {pythons[0]}, now {pythons[1]}")
    if parts:
        yield Note(
            "warning",
            "other-machine",
            f"The runs were not on the same machine ({'; '.join(parts)}): rates and times say as much "
            "of that as of the program. Counters per step, and what is called, can still be compared.",
        )


def _fact(key: str, host: Mapping[str, str]) -> str:
    return wording.unglued(printable(host_value(key, host[key]))) if key in host else "none"


def _other_command(base: Report, new: Report) -> Iterator[Note]:
    was, now = (wording.command(report) for report in (base, new))
    if was != now:
        shown = [printable(command, _NAME_LIMIT) for command in (was, now)]
        yield Note(
            "warning" if base.run.script != new.run.script else "info",
            "other-command",
            f"The commands differ: {shown[0]} and {shown[1]}.",
        )
    elif base.throughput.source != new.throughput.source:
        yield Note(
            "warning",
            "other-command",
            f"Steps were counted by {base.throughput.source}, then by {new.throughput.source}: they may "
            "not be the same steps.",
        )


def _crowded(base: Report, new: Report, sides: SideNames) -> Iterator[Note]:
    for name, report in zip(sides, (base, new), strict=True):
        crowding = crowding_of(report)
        if crowding >= CROWDED:
            yield Note(
                "warning",
                "run-crowded",
                f"In {name} other programs had cores that the run was ready to use: what it did took "
                f"{_longer(crowding)} for it. Record it again when the machine is quiet.",
            )


def _longer(crowding: float) -> str:
    return f"{percent(crowding)} longer" if crowding < 1 else f"{1 + crowding:.1f} times as long"


def _all_alike(tree: ChangeTree | None) -> Iterator[Note]:
    if tree is None or abs(tree.common_ratio - 1) < LEAST_COMMON:
        return
    yield Note(
        "info",
        "all-alike",
        f"Functions at work cost {tree.common_ratio:.2f} times as much, the one like the other: as on a "
        "machine that is slower or faster. None is named for so much of its change.",
    )


def _other_rlprof(base: Report, new: Report, sides: SideNames) -> Iterator[Note]:
    was, now = base.run.rlprof_version, new.run.rlprof_version
    if was != now:
        yield Note(
            "info",
            "other-rlprof",
            f"{sides.base} was recorded by rlprof {was or 'unknown'}, {sides.new} by {now or 'unknown'}.",
        )
    for name in sorted(base.run.settings.keys() & new.run.settings.keys()):
        if base.run.settings[name] != new.run.settings[name]:
            yield Note(
                "info",
                "other-rlprof",
                f"{sides.base} was recorded with {name} {base.run.settings[name]}, {sides.new} with "
                f"{new.run.settings[name]}.",
            )


def _own_warnings(base: Report, new: Report, sides: SideNames) -> Iterator[Note]:
    for name, report in zip(sides, (base, new), strict=True):
        own = [note for note in report.notes if note.level != "info"]
        if own:
            yield Note(
                "info",
                "remarks-of-a-run",
                f"{name}'s own report warns: {', '.join(dict.fromkeys(note.slug for note in own))}.",
            )
