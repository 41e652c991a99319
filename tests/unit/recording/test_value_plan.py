"""The recorder plans looks, an agent takes them: through a real mailbox, both in one process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.agent.inject.rlprof_agent.value_looks import ValueLooks
from rlprof.model.recording import Frame, SeenValue
from rlprof.recording.looks import hot_lines
from rlprof.recording.looks.hot_lines import HotLines
from rlprof.recording.looks.value_plan import ValuePlan
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.stacks import StackTable
from rlprof.recording.tracked import ProcessWindow
from rlprof.syntax.module import SourceModule, parse

SCRIPT = """\
def step(rows, frame):
    total = 0
    for row in rows:
        total += sum(row); told(frame())
    return total
"""
MS = 1_000.0
"""In µs."""


class Own(int):
    """A number that nothing tells of without asking it."""


class Run:
    """One process whose only line of the user's adds rows up."""

    def __init__(self, file: Path) -> None:
        file.write_text(SCRIPT)
        self.frame = Frame(str(file), "step", 4)
        self.mailbox = Mailbox(10_000)
        self.reader = MailboxReader(os.dup(self.mailbox.fd))
        self.looks = ValueLooks(self.mailbox)
        self.stacks = StackTable()
        self.plan = ValuePlan(HotLines(self.stacks))
        self.now_us = 0
        self._numbers: dict[tuple[int, int], int] = {}
        self._code = compile(SCRIPT, str(file), "exec")

    def works(
        self,
        cpu_us: float,
        rows: list[list[int]],
        *,
        frame: Frame | None = None,
        beside: Frame | None = None,
        process: int = 0,
    ) -> None:
        """For a window, in which the probe looked once a row; half of it in ``beside``, if that is given."""
        if (
            self.mailbox.cells[layout.CELL_LOOKS_ASKED]
            != self.mailbox.cells[layout.CELL_LOOKS_TAKEN]
        ):
            self.looks.hear(0)
        names = {"told": self._sample, "sum": sum}
        exec(self._code, names)
        names["step"](rows, lambda: sys._getframe(1))
        self.reader.take_stacks()
        self.now_us += 500_000
        eye = {
            self.stacks.node((place,)): cpu_us for place in (frame or self.frame, beside) if place
        }
        window = ProcessWindow(eye=eye)
        self.plan.follow(process, self.reader, window, self.now_us)

    def computes(self, line: str) -> None:
        """The source has this as the innermost line."""
        text = SCRIPT.replace("total += sum(row); told(frame())", line)
        Path(self.frame.file).write_text(text)

    def _sample(self, frame: FrameType) -> None:
        key = (id(frame.f_code), frame.f_lasti)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            file, function = self.frame.file.encode(), self.frame.function.encode()
            head = layout.FRAME.pack(
                layout.TAG_FRAME, self._numbers[key], self.frame.line, len(file), len(function)
            )
            assert self.mailbox.write(head + file + function)
        if self.looks.are_due:
            self.looks.take(0, frame, self._numbers)

    def seen(self, operand: str) -> list[SeenValue]:
        return [value for value in self.plan.seen() if value.operand == operand]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "train.py")


def test_a_hot_line_is_looked_at_in_the_window_after(run):
    for _ in range(3):
        run.works(200 * MS, [[1, 2], [3, 4]])

    (rows,) = run.seen("rows")
    (row,) = run.seen("row")
    assert rows.fields["type"] == "list"
    assert rows.fields["length"] == "2"
    assert row[1:5] == (*run.frame[:2], run.frame.line, "row")


def test_what_is_the_same_is_one_row_and_what_changes_several(run):
    for length in range(1, 12):
        run.works(500 * MS, [[0]] * length)

    assert [value.fields["length"] for value in run.seen("row")] == ["1"]
    lengths = [int(value.fields["length"]) for value in run.seen("rows")]
    assert len(lengths) > 2
    assert lengths == sorted(set(lengths))


def test_looks_become_rarer_as_a_line_becomes_known(run):
    for _ in range(60):
        run.works(500 * MS, [[1]])

    (row,) = run.seen("row")
    # From 30 ms to 30 s its time doubles ten times.
    assert 3 <= row.looks <= 10


@pytest.mark.parametrize("changes", [False, True])
def test_what_a_pure_statement_works_on_is_compared(run, changes):
    run.computes("low = sum(rows[0])\n        told(frame())")
    for number in range(30):
        run.works(500 * MS, [[1, number if changes else 2]])

    fields = run.seen("rows[0]")[-1].fields
    assert (int(fields["same"]) >= 3) != changes
    assert (int(fields["other"]) > 0) == changes


def test_what_cannot_be_compared_any_more_is_taken_for_changed(run):
    run.computes("low = sum(rows[0])\n        told(frame())")
    for number in range(30):
        run.works(500 * MS, [[1, 2 if number < 10 else Own()]])

    assert int(run.seen("rows[0]")[-1].fields["other"]) > 0


def test_windows_with_and_without_a_line_tell_that_it_was_reached(run):
    run.computes("low = sum(rows[0])\n        told(frame())")
    elsewhere = Frame(run.frame.file, "other", 9)
    for _ in range(10):
        run.works(500 * MS, [[1]], beside=elsewhere)

    fields = run.seen("rows[0]")[-1].fields
    assert int(fields["reached"]) > 3


def test_a_call_in_each_of_several_workers_is_not_many_calls(run):
    run.computes("total += sum(row)")
    elsewhere = Frame(run.frame.file, "other", 9)
    for _ in range(3):
        run.works(500 * MS, [[1]])
    for process in (1, 2, 3, 4):
        run.works(500 * MS, [[1]], beside=elsewhere, process=process)

    assert run.seen("rows")[-1].fields["entered"] == "1"


def test_one_call_of_a_statement_of_several_lines_is_met_at_all_of_them(run):
    run.computes("low = max(\n            sum(rows[0]), 2)\n        told(frame())")
    next_line = run.frame._replace(line=5)
    for _ in range(6):
        run.works(500 * MS, [[1]], beside=next_line)

    assert run.seen("rows[0]")[-1].fields["reached"] == "0"


def test_work_on_constants_is_counted_too(run):
    run.computes("low = max(range(9_000))\n        told(frame())")
    elsewhere = Frame(run.frame.file, "other", 9)
    for _ in range(6):
        run.works(500 * MS, [[1]], beside=elsewhere)

    assert int(run.seen("rows")[-1].fields["reached"]) > 3


def test_in_a_comprehension_nothing_is_compared(run):
    run.computes("low = sum(rows[0])\n        told(frame())")
    run.frame = run.frame._replace(function="step.<locals>.<genexpr>")
    for _ in range(9):
        run.works(500 * MS, [[1]])

    assert [value for value in run.plan.seen() if "same" in value.fields] == []


@pytest.mark.parametrize(("line", "is_told"), [("sum(row)", True), ("sum(row) * frame", False)])
def test_calls_with_something_that_cannot_be_compared_are_not_counted(run, line, is_told):
    run.computes(f"total += {line}")
    for number in range(60):
        run.works(500 * MS, [[number % 3]])

    rows = run.seen("rows")[-1].fields
    assert ("calls" in rows) == is_told
    if not is_told:
        assert int(rows["same"]) + int(rows["other"]) <= 1, "it is asked for no more"


SEARCH = """queue, seen = [row], set()
        while queue:
            place = queue.pop()
            if place == 9:
                return total
            if place not in seen:
                queue.append(place)"""


def test_inputs_of_other_functions_are_looked_at_once(run):
    run.computes("total += sum(row)")
    for number in range(30):
        run.works(500 * MS, [[number]] * 2)

    assert not [
        name for value in run.seen("rows") for name in value.fields if name.endswith("_soon")
    ]


@pytest.mark.parametrize(("samples", "field"), [(2, "same_soon"), (1, "other_soon")])
def test_inputs_of_a_search_that_change_are_looked_at_again_soon_after(run, samples, field):
    run.computes(SEARCH)
    for number in range(30):
        # The second look of a pair is in the same call, or in that of the next window.
        run.works(500 * MS, [[number]] * samples)

    (*_, rows) = run.seen("rows")
    soon = {name: count for name, count in rows.fields.items() if name.endswith("_soon")}
    assert [name for name, count in soon.items() if int(count) >= 3] == [field]
    assert len(soon) == 1
    assert rows.fields["same"] == "0", "what is soon after is not counted among the others"


def test_a_cold_line_is_left_alone(run):
    for _ in range(5):
        run.works(1 * MS, [[1]])

    assert run.plan.seen() == []


def test_lines_of_libraries_are_left_alone(run):
    library = Frame("/venv/lib/python3.11/site-packages/numpy/core.py", "sum", 3)
    for _ in range(5):
        run.works(500 * MS, [[1]], frame=library)

    assert run.plan.seen() == []


def test_looks_that_would_cost_too_much_are_put_off(run):
    run.mailbox.cells[layout.CELL_LOOKS_COST_NS] = 20_000_000
    for _ in range(3):
        run.works(500 * MS, [[1]])
    assert run.plan.seen() == []

    for _ in range(40):
        run.works(500 * MS, [[1]])
    assert run.plan.seen() != []


def test_frames_numbered_anew_are_not_taken_for_others(run):
    run.works(500 * MS, [[1]])
    assert run.mailbox.write(bytes([layout.TAG_RESET]))
    run.reader.take_stacks()

    run.looks.hear(1)

    assert run.looks.wanted == {}


def test_few_files_are_parsed_in_one_window(run, monkeypatch, tmp_path):
    files = [tmp_path / f"part{number}.py" for number in range(5)]
    for file in files:
        file.write_text(f"x = 1\n{file.stem} = x\n")
    clock_s = 0.0
    parsed = set()

    def slow_parse(text: str) -> SourceModule | None:
        nonlocal clock_s
        if text not in parsed:
            clock_s += 0.04
            parsed.add(text)
        return parse(text)

    monkeypatch.setattr(hot_lines, "parse", slow_parse)
    monkeypatch.setattr(hot_lines.time, "thread_time", lambda: clock_s)
    eye = {run.stacks.node((Frame(str(file), "f", 2),)): 500 * MS for file in files}

    counts = []
    for _ in range(4):
        run.plan.follow(0, run.reader, ProcessWindow(eye=eye), run.now_us)
        run.mailbox.cells[layout.CELL_LOOKS_TAKEN] = run.mailbox.cells[layout.CELL_LOOKS_ASKED]
        counts.append(len(parsed))

    assert counts == [2, 4, 5, 5]


def test_a_file_that_takes_long_to_parse_is_left_alone(run):
    Path(run.frame.file).write_text(SCRIPT + "x = 1\n" * 40_000)
    for _ in range(3):
        run.works(500 * MS, [[1]])

    assert run.plan.seen() == []


def test_a_key_that_is_a_secret_is_not_asked_for(run):
    key = "ghp_Ab3dEfGh1jKlMn0pQrStUvWx7z12"
    line = f'total += sum(row); keys["{key}"]; keys["lr"]; keys["{key}"]["lr"]'
    Path(run.frame.file).write_text(SCRIPT.replace("total += sum(row)", line))

    run.works(500 * MS, [[1]])
    asked = bytes(run.mailbox.looks_asked)

    assert b"slr" in asked
    assert key.encode() not in asked
