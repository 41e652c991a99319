from __future__ import annotations

import shlex

import pytest

from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.recording.agents import Announcement
from rlprof.recording.census import Census, _left_out
from rlprof.recording.mailbox import MailboxReader
from rlprof.recording.stacks import StackTable


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("python -c 'from multiprocessing.resource_tracker import main;main(3)'", "tracker"),
        ("python -B -c 'from multiprocessing.forkserver import main; main(3)'", "fork server"),
        ("python -X utf8 -W ignore -m tensorboard.main --logdir x", "TensorBoard"),
        ("python /venv/bin/tensorboard --logdir runs", "TensorBoard"),
        ("python -u /x/torch/_inductor/compile_worker/__main__.py --pickler=x", "compile worker"),
        ("wandb-service(2-1234-s-1)", "Weights"),
    ],
)
def test_services_are_left_out(command, what):
    assert what in (_left_out(arguments(command)) or "")


@pytest.mark.parametrize(
    "command",
    [
        "python train_tensorboard.py",
        "python /home/me/tensorboard/train.py",
        "python -m wandb.sdk",
        "python train.py --tracker multiprocessing.resource_tracker",
        "python -c 'from multiprocessing.spawn import spawn_main; spawn_main()'",
        "python",
        "",
    ],
)
def test_trainings_are_not_whatever_words_they_use(command):
    assert _left_out(arguments(command)) is None


@pytest.mark.parametrize(
    ("lives_s", "expected"),
    [
        pytest.param([0.1] * 7, False, id="too few to tell"),
        pytest.param([0.1] * 8, True, id="a pool made anew"),
        pytest.param([60.0] * 40, False, id="workers that stay"),
        pytest.param([0.1] * 40 + [60.0] * 16, False, id="short ones long ago"),
    ],
)
def test_short_lives_are_expected_after_short_lives(lives_s, expected):
    now_us = 0
    census = Census(StackTable(), lambda: now_us, expects_agents=True)
    for number, life_s in enumerate(lives_s):
        census.announced(Announcement(400_000_000 + number, 1, "fork", "3.11.7", a_mailbox()))
        now_us += round(life_s * 1e6)
        census.ended(400_000_000 + number, exit_code=0)

    assert census.expects_short_life() is expected


def a_mailbox() -> MailboxReader:
    mailbox = Mailbox(10_000)
    return MailboxReader(mailbox.fd)


def arguments(command: str) -> tuple[str, ...]:

    return tuple(shlex.split(command))
