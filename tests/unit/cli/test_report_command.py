from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.cli.flame import PhaseName
from rlprof.cli.report import choose_renderer, parse_options
from rlprof.errors import UsageError
from rlprof.model.profile import PhaseKind


def test_the_terminal_is_the_default() -> None:
    assert choose_renderer(None, None).name == "terminal"


def test_the_ending_of_the_output_decides_the_format() -> None:
    assert choose_renderer(None, Path("out/report.json")).name == "json"
    assert choose_renderer(None, Path("flame.svg")).name == "svg"


def test_the_format_given_beats_the_ending() -> None:
    assert choose_renderer("json", Path("report.txt")).name == "json"


@pytest.mark.parametrize(("name", "output"), [("xml", None), (None, Path("report.docx"))])
def test_no_such_format_lists_those_there_are(name: str | None, output: Path | None) -> None:
    with pytest.raises(UsageError) as caught:
        choose_renderer(name, output)

    assert "json" in caught.value.hint


def test_options_go_to_the_renderer() -> None:
    assert parse_options(["width=120", "color=never"], choose_renderer(None, None)) == {
        "width": "120",
        "color": "never",
    }


@pytest.mark.parametrize("text", ["width", "depth=3"])
def test_an_option_that_the_format_lacks_lists_its_own(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options([text], choose_renderer(None, None))

    assert "width" in caught.value.hint


def test_every_phase_can_be_drawn() -> None:
    assert [name.value for name in PhaseName] == [kind.value for kind in PhaseKind]
