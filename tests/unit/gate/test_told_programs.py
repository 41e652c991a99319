"""What is told of a program: never its secrets."""

from __future__ import annotations

from rlprof.gate.judge import measure_baseline
from rlprof.gate.program import Side, as_typed
from tests.check_factory import MACHINE, ListedRuns, a_program, checked, rates

COMMAND = ("python", "train.py", "--wandb-key=hunter2", "--token", "hunter2", "lr=3e-4")
TOLD = ("python", "train.py", "--wandb-key=[redacted]", "--token", "[redacted]", "lr=3e-4")


def test_a_command_on_one_line():
    assert as_typed((*COMMAND, "a name")) == (
        "python train.py '--wandb-key=[redacted]' --token '[redacted]' lr=3e-4 'a name'"
    )


def test_what_is_started_stays_as_it_is():
    program = a_program(Side.HEAD, command=COMMAND)

    assert (program.command, program.redacted_command) == (COMMAND, TOLD)


def test_what_is_handed_out_and_kept_has_none():
    head = a_program(Side.HEAD, command=COMMAND)
    runs = rates(1000, 1000)

    saved = measure_baseline(
        head, ListedRuns(runs), runs=2, machine=MACHINE, commit="", tell=lambda _line: None
    )

    assert checked(runs, head=head).command == TOLD
    assert saved.command == TOLD
