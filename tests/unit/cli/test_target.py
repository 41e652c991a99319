from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from rlprof.cli import last_resort
from rlprof.cli.command import Target, TargetKind, split
from rlprof.cli.commands import _app

VALUE_OPTIONS = frozenset({"--label", "-o", "--output"})


@pytest.mark.parametrize(
    ("line", "own", "kind", "words"),
    [
        ("train.py --lr 3e-4", "", TargetKind.SCRIPT, "train.py --lr 3e-4"),
        ("--label x train.py --label y", "--label x", TargetKind.SCRIPT, "train.py --label y"),
        ("--label=x train.py", "--label=x", TargetKind.SCRIPT, "train.py"),
        ("-o run.rlprof train.py", "-o run.rlprof", TargetKind.SCRIPT, "train.py"),
        ("-orun.rlprof train.py", "-orun.rlprof", TargetKind.SCRIPT, "train.py"),
        ("--force train.py", "--force", TargetKind.SCRIPT, "train.py"),
        ("-fo run.rlprof train.py", "-fo run.rlprof", TargetKind.SCRIPT, "train.py"),
        ("-m pkg.train --label y", "", TargetKind.MODULE, "pkg.train --label y"),
        ("--force -m pkg.train", "--force", TargetKind.MODULE, "pkg.train"),
        ("-- bash train.sh", "", TargetKind.COMMAND, "bash train.sh"),
        ("-o r -- torchrun -m x", "-o r", TargetKind.COMMAND, "torchrun -m x"),
        ("train.py -- -m x", "", TargetKind.SCRIPT, "train.py -- -m x"),
        ("- --lr 1", "", TargetKind.SCRIPT, "- --lr 1"),
        ("--help", "--help", TargetKind.SCRIPT, ""),
        ("", "", TargetKind.SCRIPT, ""),
        ("--label", "--label", TargetKind.SCRIPT, ""),
    ],
)
def test_target_begins_where_python_would_begin_it(line, own, kind, words):
    assert split(line.split(), VALUE_OPTIONS) == (own.split(), Target(kind, tuple(words.split())))


@given(st.lists(st.text()), st.lists(st.sampled_from(["--force", "--label=x", "-orun"])))
def test_arguments_of_the_script_stay_as_they_are(arguments, own_options):
    own, target = split([*own_options, "train.py", *arguments], VALUE_OPTIONS)

    assert own == own_options
    assert target.words == ("train.py", *arguments)


def test_the_last_resort_knows_which_options_take_a_value():
    command = get_command(_app()).commands["run"]

    with_value = [
        param for param in command.params if param.param_type_name == "option" and not param.is_flag
    ]

    assert (
        frozenset(name for option in with_value for name in option.opts)
        == last_resort.VALUE_OPTIONS
    )
