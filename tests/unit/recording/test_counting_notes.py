"""What could not be counted, why, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.recording.census import AgentTotals
from rlprof.recording.counting_notes import counting_notes
from rlprof.recording.settings import RecordingSettings

SETTINGS = RecordingSettings(
    command=("python", "train.py"),
    script="train.py",
    run_file=Path("run.rlprof"),
    steps_from="envs.maze:Maze.step",
)


def told(*states: int, lacks_counters: bool = False) -> AgentTotals:
    return AgentTotals(custom_states=set(states), lacks_counters=lacks_counters)


@pytest.mark.parametrize(
    ("states", "why"),
    [
        ([layout.CUSTOM_MISSING], "the module envs.maze has no Maze.step"),
        ([layout.CUSTOM_NOT_CALLABLE], "Maze.step of the module envs.maze is not a function"),
        ([layout.CUSTOM_READ_ONLY], "cannot be replaced"),
        ([layout.CUSTOM_NOT_IMPORTED] * 3, "no process imported the module envs.maze"),
        ([layout.CUSTOM_NOT_IMPORTED, layout.CUSTOM_MISSING], "has no Maze.step"),
        ([], "no process imported the module envs.maze"),
    ],
)
def test_a_target_that_nobody_counted_is_noted(states, why):
    (note,) = counting_notes(told(*states), SETTINGS)

    assert (note.level, note.slug) == ("warning", "steps-from-not-counted")
    assert "--steps-from envs.maze:Maze.step" in note.text
    assert why in note.text


def test_a_target_that_one_process_counts_needs_no_note():
    states = [layout.CUSTOM_NOT_IMPORTED, layout.CUSTOM_COUNTED, layout.CUSTOM_MISSING]

    assert counting_notes(told(*states), SETTINGS) == []


def test_a_full_table_of_counters_is_noted():
    settings = RecordingSettings(command=(), script="", run_file=Path("run.rlprof"))

    notes = counting_notes(told(layout.CUSTOM_NOT_WANTED, lacks_counters=True), settings)

    assert [note.slug for note in notes] == ["too-many-counters"]
