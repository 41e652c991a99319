"""A training that was tried, and whether it failed by itself."""

from __future__ import annotations

import pytest

from rlprof.experiments.tried_training import has_failed
from rlprof.recording.recorder import RunEnd


@pytest.mark.parametrize(
    ("exit_code", "has_ended_it", "was_stopped", "it_has"),
    [
        (0, False, False, False),
        (1, False, False, True),
        (1, True, False, False),
        (1, False, True, False),
    ],
)
def test_a_training_has_failed_where_nobody_has_ended_it(
    exit_code, has_ended_it, was_stopped, it_has
):
    ended = RunEnd(exit_code, None, None, None, was_stopped)

    assert has_failed(ended, has_ended_it=has_ended_it) == it_has
