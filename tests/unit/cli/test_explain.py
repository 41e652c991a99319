from __future__ import annotations

import pytest

from rlprof.device_pricing import discover_device_detectors
from rlprof.discovery import discover_detectors
from rlprof.errors import EXIT_USAGE
from rlprof.resources import detector_ids_with_page, detector_page


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
    assert "`rlprof explain` lists all pages" in answer.stderr
