"""The command line of ``rlprof check``: percentages, and options that cannot do anything."""

from __future__ import annotations

import pytest

from rlprof.cli.check_request import share_of
from rlprof.errors import UsageError


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), (" 0.5 % ", 0.005), ("12.5%", 0.125)])
def test_percentages(text, share):
    assert share_of(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["5", "0.05", "%", "5%%", "much", "nan%", "0%", "-3%", "100%"])
def test_what_is_no_percentage_is_refused(text):
    with pytest.raises(UsageError) as error:
        share_of(text)

    assert error.value.slug == "bad-min-effect"
