"""What each format makes of a block."""

from __future__ import annotations

import pytest

from rlprof.documents.blocks import (
    Block,
    Column,
    Item,
    Items,
    Paragraph,
    Printed,
    RangeBar,
    Remarks,
    Section,
    StyledText,
    Table,
    TerminalOnly,
    fact_table,
    figures,
)
from rlprof.documents.markdown import as_markdown
from rlprof.documents.terminal import as_text
from rlprof.model.recording import Note
from rlprof.report.wording import GLUE

STAGES = Table(
    [
        Column(name="stage"),
        Column(name="command", under="stage"),
        *figures("sps"),
        Column(is_drawn=True, from_width=60),
        Column(under="stage", style="yellow"),
    ],
    [("a|b", "train.py", StyledText(f"1{GLUE}200", "bold"), RangeBar(0.5, 1.0), "")],
)


def text_of(*blocks: Block, width: int = 50) -> str:
    return as_text(blocks, width=width, colored=False)


def test_a_terminal_shows_a_column_under_another_and_markdown_beside_it():
    assert text_of(STAGES).splitlines()[2:] == ["a|b        1 200", "train.py"]
    assert as_markdown([STAGES]).splitlines() == [
        "| stage | command | sps |",
        "| --- | --- | ---: |",
        r"| a\|b | train.py | **1 200** |",
    ]


def test_bars_stand_where_a_terminal_is_wide_enough():
    assert "█" in text_of(STAGES, width=60)
    assert "█" not in text_of(STAGES, width=59)


def test_a_column_that_is_cut_keeps_its_figures_whole():
    columns = [*figures("sps"), Column(name="function", is_cut=True)]

    text = text_of(Table(columns, [("1234567890", "a function with a long name")]), width=30)

    assert text.splitlines()[-1] == "1234567890   a function with …"


def test_a_blank_line_stands_between_blocks_and_none_within_a_section():
    facts = fact_table([("Steps", "12")])
    section = Section("The run", [facts, Items([Item("fast")])], indent=2)

    assert text_of(Paragraph(["one", "two"]), section, Paragraph(["three"])) == (
        "one\ntwo\n\nThe run\n  Steps  12\n  - fast\n\nthree\n"
    )
    assert as_markdown(
        [Paragraph(["one", "two"]), Section("The run", [Items([Item("fast")])])]
    ) == ("one two\n\n### The run\n\n- fast\n")


def test_markdown_leaves_details_out():
    detail = TerminalOnly(Section("Functions", [Paragraph(["step"])]))

    assert text_of(detail) == "Functions\nstep\n"
    assert as_markdown([Paragraph(["one"]), detail]) == "one\n"


def test_remarks_tell_their_level_and_a_terminal_their_name():
    remarks = Remarks("What to know", [Note("warning", "odd-run", "It is <odd>.")])

    assert text_of(remarks) == "What to know\nwarning: It is <odd>. (odd-run)\n"
    assert as_markdown([remarks]) == "What to know:\n\n- warning: It is &lt;odd&gt;.\n"


@pytest.mark.parametrize(
    "empty", [Items([]), Items([], "Worse"), Paragraph([]), Remarks("What to know", [])]
)
def test_empty_lists_leave_nothing_behind(empty):
    assert text_of(Paragraph(["one"]), empty, Paragraph(["two"])) == "one\n\ntwo\n"
    assert as_markdown([Paragraph(["one"]), empty]) == "one\n"


def test_a_list_may_have_a_title_that_is_no_heading():
    items = Items([Item("slow")], "What got worse")

    assert text_of(items) == "What got worse\n- slow\n"
    assert as_markdown([items]) == "What got worse:\n\n- slow\n"


def test_markdown_folds_a_section_that_a_terminal_shows():
    section = Section("<Runs>", [Paragraph(["one"])], is_folded=True)

    assert text_of(section) == "<Runs>\none\n"
    assert as_markdown([section]) == (
        "<details><summary>&lt;Runs&gt;</summary>\n\none\n\n</details>\n"
    )


def test_nothing_that_a_program_printed_is_markup():
    printed = Printed(["```", "  <b>@team</b> \x1b[31m", "[red]x"])

    assert as_markdown([printed]) == "    ```\n      <b>@team</b> \\x1b[31m\n    [red]x\n"
    assert text_of(printed) == "```\n  <b>@team</b> \\x1b[31m\n[red]x\n"


def test_a_log_has_lines_of_any_length():
    words = " ".join(["word"] * 300)

    assert as_text([Paragraph([words])], width=None, colored=False) == f"{words}\n"


def test_a_look_of_several_words_is_bold_in_markdown_too():
    assert as_markdown([Paragraph([StyledText("slower", "bold red")])]) == "**slower**\n"


@pytest.mark.parametrize("width", range(12, 30))
def test_no_line_of_a_terminal_ends_within_a_figure(width):
    remarks = Remarks(
        "What to know", [Note("info", "slow", "It takes 12 500 steps, 3.1 s and 5.0 % of it.")]
    )

    lines = text_of(remarks, width=width).splitlines()

    assert not any(line.endswith((" 12", " 3.1", " 5.0")) for line in lines)


def test_markdown_keeps_what_is_set_in_and_joins_what_a_terminal_breaks():
    line = ("    ", StyledText("train › ", "dim"), "step", StyledText("\n    from train.py", "dim"))

    assert (
        as_markdown([Paragraph([line])]) == "&nbsp;&nbsp;&nbsp;&nbsp;train › step from train.py\n"
    )
    assert text_of(Paragraph([line])) == "    train › step\n    from train.py\n"
