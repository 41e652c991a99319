"""Climbing a ladder: which numbers are run, and what ends it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from rlprof.errors import RunFileError, exit_code_of_signal
from rlprof.model.crash import is_stopped_by
from rlprof.recording.recorder import RunEnd
from rlprof.recording.settings import RecordingSettings
from rlprof.scaling import ladder as ladders
from rlprof.scaling.ladder import Climb, Ladder

Ending = Callable[[int], RunEnd]


def an_end(exit_code: int = 0, *, told_by: int | None = None) -> RunEnd:
    was_stopped = told_by is not None or is_stopped_by(exit_code)
    return RunEnd(exit_code, None, None, told_by, was_stopped)


@pytest.fixture
def climbed(monkeypatch) -> Callable[[Ending], tuple[Climb, list[str]]]:
    """Two rounds of 1, 2 and 4 workers; each run ends as it is told, and leaves a file that nobody can read."""

    def nothing(path: Path, **_: object) -> None:
        raise RunFileError(f"{path} has nothing", slug="empty-run-file", hint="run it again")

    def climb_with(ending: Ending) -> tuple[Climb, list[str]]:
        monkeypatch.setattr(ladders, "record", lambda settings: ending(int(settings.label)))
        monkeypatch.setattr(ladders, "read_ladder_run", nothing)
        lines: list[str] = []
        ladder = Ladder(settings_of, recorded=lambda _file: None, tell=lines.append)
        return ladder.climb([1, 2, 4], rounds=2), lines

    return climb_with


def settings_of(workers: int) -> RecordingSettings:
    return RecordingSettings(
        command=("train.py",), script="train.py", run_file=Path("run.rlprof"), label=str(workers)
    )


def workers_of(found: Climb) -> list[int]:
    return [run.workers for run in found.runs]


def test_each_number_is_run_in_each_round_up_and_down(climbed):
    found, lines = climbed(lambda _workers: an_end())

    assert workers_of(found) == [1, 2, 4, 4, 2, 1]
    assert found.stopped_with is None
    assert lines[0] == "1 worker (run 1 of 6)"
    assert lines[1].startswith("no rate: run.rlprof has nothing, ")


def test_a_number_that_failed_is_not_run_again(climbed):
    found, _ = climbed(lambda workers: an_end(exit_code=workers == 2))

    assert workers_of(found) == [1, 2, 4, 4, 1]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGQUIT])
def test_a_run_that_a_signal_ended_ends_the_ladder_with_its_code(climbed, by):
    ended = exit_code_of_signal(by)

    found, _ = climbed(lambda workers: an_end(exit_code=ended if workers == 2 else 0))

    assert (workers_of(found), found.stopped_with) == ([1, 2], ended)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_was_told_to_end_ends_the_ladder_whatever_its_code(climbed, by):
    found, _ = climbed(lambda _workers: an_end(exit_code=1, told_by=by))

    assert (workers_of(found), found.stopped_with) == ([1], exit_code_of_signal(by))


def test_ctrl_c_between_runs_keeps_those_before(climbed):
    def ending(workers: int) -> RunEnd:
        if workers == 4:
            raise KeyboardInterrupt
        return an_end()

    found, _ = climbed(ending)

    assert (workers_of(found), found.stopped_with) == ([1, 2], exit_code_of_signal(signal.SIGINT))
