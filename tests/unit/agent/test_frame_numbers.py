from __future__ import annotations

import struct
import sys

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.frame_numbers import FrameNumbers
from rlprof.agent.inject.rlprof_agent.layout import UNNAMED_FILE
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.model.recording import Frame
from rlprof.recording.mailboxes.mailbox import MailboxReader

TASK = """
def task():
    return sys._getframe()
"""


def a_task_s_frame(file: str):
    """The frame of a function that was made anew, as an unpickled one is."""
    names = {"sys": sys, "__file__": "train.py"}
    exec(compile(TASK, file, "exec"), names)
    return names["task"]()  # type: ignore[operator]


def test_what_was_sent_has_one_number_however_often_it_is_sent():
    numbers = FrameNumbers(Mailbox(10_000))
    first, second = a_task_s_frame(UNNAMED_FILE), a_task_s_frame(UNNAMED_FILE)

    assert numbers.number(first) == numbers.number(second) == numbers.number(first)
    assert numbers.number(sys._getframe()) not in (-1, numbers.number(first))


def test_it_is_told_once_with_the_file_that_it_was_written_in():
    mailbox = Mailbox(10_000)
    numbers = FrameNumbers(mailbox)
    number = numbers.number(a_task_s_frame(UNNAMED_FILE))
    told = mailbox.cells[layout.CELL_HEAD]

    numbers.number(a_task_s_frame(UNNAMED_FILE))

    assert mailbox.cells[layout.CELL_HEAD] == told
    mailbox.write(layout.STACK.pack(layout.TAG_STACK, 0, 1) + struct.pack("=I", number))
    mailbox.write(layout.SAMPLE.pack(layout.TAG_SAMPLE, 0, 1000))
    assert MailboxReader(mailbox.fd).take_stacks() == [((Frame("train.py", "task", 3),), 1.0)]


def test_code_that_was_compiled_anew_has_numbers_of_its_own():
    numbers = FrameNumbers(Mailbox(10_000))

    assert numbers.number(a_task_s_frame("a.py")) != numbers.number(a_task_s_frame("a.py"))
