from __future__ import annotations

import pytest

from rlprof.errors import RlprofError, UsageError
from rlprof.resources import asset, detector_ids_with_page, detector_page, examples_dir, folder


def test_assets_and_examples_are_found_in_a_checkout() -> None:
    assert "prefers-color-scheme" in asset("flamegraph.css")
    assert (examples_dir() / "bandit").is_dir()


def test_a_page_is_found_by_its_id() -> None:
    for detector in detector_ids_with_page():
        assert detector_page(detector).startswith("# ")


def test_no_path_can_be_smuggled_in_as_an_id() -> None:
    with pytest.raises(UsageError, match="no page about"):
        detector_page("../../README")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(RlprofError, match=r"flamegraph_assets/none\.js is missing"):
        asset("none.js")
    with pytest.raises(RlprofError, match="no-such-folder is missing"):
        folder("no-such-folder")
