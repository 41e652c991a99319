from __future__ import annotations

import pytest

from rlprof.discovery import discover_detectors
from rlprof.errors import EXIT_USAGE
from rlprof.model.counters import COST_COUNTERS
from rlprof.resources import (
    _MESSAGE,
    counters,
    counters_page,
    detector_ids_with_page,
    detector_page,
    messages,
)


@pytest.mark.parametrize("page", detector_ids_with_page())
def test_prints_the_very_page(command_line, page):
    assert command_line("explain", page) == (0, detector_page(page), "")


def test_lists_every_detector_without_an_id(command_line):
    answer = command_line("explain")

    listed = [line.split()[0] for line in answer.stdout.splitlines()]
    assert listed == sorted({detector.id for detector in discover_detectors()})


def test_unknown_id_names_what_was_likely_meant(command_line):
    answer = command_line("explain", "omegaconf-in-lop")

    assert answer.exit_code == EXIT_USAGE
    assert "did you mean omegaconf-in-loop" in answer.stderr


def test_id_unlike_any_other_points_at_the_list(command_line):
    answer = command_line("explain", "zzz")

    assert answer.exit_code == EXIT_USAGE
    assert "`rlprof explain` lists all findings" in answer.stderr


def test_an_error_and_a_remark_are_explained(command_line):
    error = command_line("explain", "base-imports-head")
    remark = command_line("explain", "other-file-system")

    assert error.stdout.startswith(
        "# base-imports-head\n\nA process of base imported files of head"
    )
    assert remark.stdout.startswith("# other-file-system\n")
    assert "###" not in error.stdout + remark.stdout


def test_what_is_explained_has_different_names():
    names = [*messages(), *detector_ids_with_page(), *counters(), "counters"]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", COST_COUNTERS)
def test_a_counter_is_explained_by_itself(command_line, name):
    answer = command_line("explain", name)

    assert answer.stdout.startswith(
        f"# {name}\n\nA counter of `rlprof check`: {COST_COUNTERS[name]}.\n"
    )
    assert (
        f"- More that is let pass where runs agree: {counters()[name].let_pass}." in answer.stdout
    )
    assert f"- Not seen: {counters()[name].unseen}." in answer.stdout
    assert "|" not in answer.stdout


@pytest.mark.parametrize("word", ["the same", "of those", "such", "see below"])
def test_nothing_that_is_said_of_a_counter_is_of_the_row_above(word):
    assert not [
        name
        for name, counter in counters().items()
        if word in f"{counter.counts}; {counter.unseen}"
    ]


def test_all_counters_have_a_page(command_line):
    assert command_line("explain", "counters") == (0, counters_page(), "")


def test_a_counter_is_among_what_was_likely_meant(command_line):
    answer = command_line("explain", "gpu_sync")

    assert "did you mean gpu_syncs or gpu-sync" in answer.stderr


def test_a_message_ends_where_the_next_begins():
    text = "# Messages\n\n## Errors\n\nAll.\n\n### a-b\n\nOne.\n\n### c-d\n\nTwo.\n\n## Remarks\n\nMore.\n"

    sections = [(section["name"], section["text"].strip()) for section in _MESSAGE.finditer(text)]

    assert sections == [(None, "All."), ("# a-b", "One."), ("# c-d", "Two."), (None, "More.")]
