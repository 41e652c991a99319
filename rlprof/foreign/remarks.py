"""Tell what foreign profiles lack, in words."""

from __future__ import annotations

from rlprof.model.recording import Note
from rlprof.units import count, duration


def lacks(by: str) -> Note:
    """Return what no profile of another program has."""
    return Note(
        "info",
        "foreign-profile",
        f"Read from a profile by {by}. It has no steps, so no steps per second and no price in them; no "
        "time axis, so start-up and training are told apart by their imports alone; and neither the "
        "machine's load nor how the processes ended. `rlprof run` records all that.",
    )


def made_up_times(assumed_interval_us: int) -> Note:
    return Note(
        "warning",
        "foreign-counts",
        "The profile counts samples and does not tell how often they were taken: shares are its own, "
        f"but every duration supposes one sample each {duration(assumed_interval_us)}.",
    )


def waits_unknown(why: str) -> Note:
    return Note(
        "warning",
        "foreign-waits",
        f"{why}: what its stacks waited for counts as work.",
    )


def waits_left_out(why: str) -> Note:
    return Note(
        "info",
        "foreign-waits",
        f"{why}: shares are those of the working time.",
    )


def bad_lines(bad: int) -> Note:
    return Note(
        "warning",
        "foreign-lines",
        f"{count(bad)} {'line' if bad == 1 else 'lines'} of the profile could not be understood, and "
        f"{'is' if bad == 1 else 'are'} left out.",
    )


def no_places() -> Note:
    return Note(
        "warning",
        "foreign-no-places",
        "Its frames name functions but no files: the flamegraph shows them, but no finding can name a "
        "line of yours.",
    )


def short_names() -> Note:
    return Note(
        "info",
        "foreign-short-names",
        "Its file names are cut at the front, so which of them are yours is told from their first "
        "folder. `py-spy record --full-filenames` keeps them whole.",
    )
