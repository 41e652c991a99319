from __future__ import annotations

import pytest

from rlprof.device_pricing import discover_device_detectors
from rlprof.discovery import discover_detectors
from rlprof.errors import EXIT_USAGE
from rlprof.resources import _MESSAGE, detector_ids_with_page, detector_page, messages


@pytest.mark.parametrize("page", detector_ids_with_page())
def test_prints_the_very_page(command_line, page):
    assert command_line("explain", page) == (0, detector_page(page), "")


def test_lists_every_detector_without_an_id(command_line):
    answer = command_line("explain")

    listed = [line.split()[0] for line in answer.stdout.splitlines()]
    detectors = (*discover_detectors(), *discover_device_detectors())
    # One that is found in runs and in traces has one page.
    assert listed == sorted({detector.id for detector in detectors})


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


def test_findings_and_messages_have_different_names():
    assert set(messages()).isdisjoint(detector_ids_with_page())


def test_a_message_ends_where_the_next_begins():
    text = "# Messages\n\n## Errors\n\nAll.\n\n### a-b\n\nOne.\n\n### c-d\n\nTwo.\n\n## Remarks\n\nMore.\n"

    sections = [(it["name"], it["text"].strip()) for it in _MESSAGE.finditer(text)]

    assert sections == [(None, "All."), ("# a-b", "One."), ("# c-d", "Two."), (None, "More.")]
