"""The order of findings, and what several of them save together."""

from __future__ import annotations

import pytest

from rlprof.pricing.ranking import ranked
from tests.report_factories import a_finding


@pytest.mark.parametrize(
    ("unsure", "first"),
    [((0.0, 0.89), "unsure"), ((0.0, 0.076), "sure"), ((0.02, 0.076), "unsure")],
)
def test_what_may_save_nothing_counts_half(unsure, first):
    entries = [a_finding("unsure", saves=unsure), a_finding("sure", saves=(0.011, 0.052))]

    listed = ranked(entries).listed

    assert listed[0].finding.detector == first
    assert [entry.rank for entry in listed] == [1, 2]
