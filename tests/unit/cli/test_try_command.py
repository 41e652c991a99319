"""The command line of ``rlprof try``: treatments of the user's own, and what cannot be meant."""

from __future__ import annotations

import pytest

from rlprof.cli.try_ import _own, _require_known, _seconds
from rlprof.errors import EXIT_OK, EXIT_USAGE, UsageError
from rlprof.experiments.discovered import treatments
from rlprof.recording.mailboxes.treatment_desk import as_bytes


@pytest.fixture
def faster(tmp_path, monkeypatch):
    """A file of the user's in the working directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "faster.py"
    file.write_text("def compute_gae(rewards):\n    return rewards\n")
    return file


# What is to be tried


@pytest.mark.parametrize("wanted", ["hotspot", "0", "gae loop", ""])
def test_what_is_no_finding_is_told_before_the_training_starts(wanted):
    with pytest.raises(UsageError) as caught:
        _require_known(wanted)
    assert caught.value.slug == "no-such-finding"


def test_a_name_that_is_nearly_right_is_told():
    with pytest.raises(UsageError) as caught:
        _require_known("hotspot")
    assert "did you mean hot-spot?" in caught.value.hint


@pytest.mark.parametrize("wanted", ["hot-spot", "1", "12"])
def test_ids_and_ranks_may_be_tried(wanted):
    _require_known(wanted)


# Treatments of the user's own


@pytest.mark.parametrize(
    ("text", "every"),
    [("my_pkg.learner:Learner.publish", 50), ("my_pkg.learner:Learner.publish=7", 7)],
)
def test_calls_are_left_out_by_a_number(text, every):
    (planned,) = _own([text], [], [])

    (option,) = planned.options
    assert (planned.file, planned.function) == ("my_pkg.learner", "Learner.publish")
    assert (option.treatment, option.kind) == ("skip", "ceiling")
    assert option.parts == [
        {
            "way": "call",
            "what": "every",
            "every": every,
            "module": "my_pkg.learner",
            "qualname": "Learner.publish",
        }
    ]


def test_calls_are_answered_from_memory():
    (planned,) = _own([], ["train:Env.step"], [])

    (option,) = planned.options
    assert (option.treatment, option.kind) == ("memo", "ceiling")
    assert option.parts == [
        {"way": "call", "what": "from-memory", "module": "train", "qualname": "Env.step"}
    ]


def test_a_function_of_a_file_takes_the_place_of_the_programs(faster):
    (planned,) = _own([], [], ["train:compute_gae=faster.py:compute_gae"])

    (option,) = planned.options
    assert (option.treatment, option.kind) == ("with", "gain")
    (part,) = option.parts
    # Absolute: the program may have changed its working directory.
    assert (part["with_file"], part["with_name"]) == (str(faster.resolve()), "compute_gae")


def test_a_file_may_have_a_colon_in_its_path(faster):
    folder = faster.parent / "a:b"
    folder.mkdir()
    faster.rename(folder / "faster.py")

    (planned,) = _own([], [], ["train:gae=a:b/faster.py:compute_gae"])

    assert planned.options[0].parts[0]["with_name"] == "compute_gae"


def test_several_are_tried_in_their_order(faster):
    own = _own(["a:f", "b:g=3"], ["c:h"], ["d:i=faster.py:compute_gae"])

    assert [(each.options[0].treatment, each.file) for each in own] == [
        ("skip", "a"),
        ("skip", "b"),
        ("memo", "c"),
        ("with", "d"),
    ]
    for each in own:
        assert (each.finding, each.rank) == ("", 0)
        assert as_bytes(each.options[0].parts)


WRONG = [
    ("--skip", "publish"),
    ("--skip", ""),
    ("--skip", ":publish"),
    ("--skip", "learner:"),
    ("--skip", "learner:publish=often"),
    ("--skip", "learner:publish=-3"),
    ("--skip", "learner:publish=1.5"),
    ("--skip", "learner:publish="),
    ("--skip", "learner.py:publish all"),
    ("--memo", "Env.step"),
    ("--memo", "train:Env.step=3"),
    ("--with", "train:compute_gae"),
    ("--with", "train:compute_gae=faster.py"),
    ("--with", "compute_gae=faster.py:compute_gae"),
    ("--with", "train:compute_gae=faster.py:"),
    ("--skip", "learner:publish=0"),
    ("--skip", "learner:publish=²"),
    ("--with", "train:compute_gae=faster.py:compute gae"),
]


@pytest.mark.parametrize(("option", "text"), WRONG)
def test_what_names_nothing_is_told_with_an_example(option, text, faster, command_line):
    answer = command_line("try", option, text, "train.py")

    assert answer.exit_code == EXIT_USAGE
    assert f"{option} {text} does not name what it is to change" in answer.stderr
    assert f"for example {option} " in answer.stderr
    assert "bad-treatment" in answer.stderr
    assert [*faster.parent.iterdir()] == [faster]


@pytest.mark.parametrize(
    ("file", "what"), [("gone.py", "does not exist"), (".", "is no file")], ids=["gone", "a folder"]
)
def test_a_file_that_is_not_there_is_told(file, what, faster, command_line):
    answer = command_line("try", "--with", f"train:main={file}:foo", "train.py")

    assert answer.exit_code == EXIT_USAGE
    assert f"takes foo from {file}, which {what}" in answer.stderr
    assert "bad-treatment" in answer.stderr
    assert [*faster.parent.iterdir()] == [faster]


# The budget


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("120s", 120), ("120", 120), (" 5m ", 300), ("5 min", 300), ("1.5m", 90), ("0.5s", 0.5)],
)
def test_a_budget_is_a_time(text, seconds):
    assert _seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "0", "0.0s", "-5s", "soon", "5h", "5s 3", "nan", "inf", "1e3", "m", "٣s"]
)
def test_other_budgets_are_told_with_an_example(text):
    with pytest.raises(UsageError) as caught:
        _seconds(text)

    assert caught.value.slug == "bad-budget"
    assert f"--budget {text} is not a time" in caught.value.message
    assert caught.value.hint == "for example --budget 120s or 5m"


def test_a_wrong_budget_is_told_before_anything_is_run(faster, command_line):
    answer = command_line("try", "--budget", "soon", "faster.py")

    assert answer.exit_code == EXIT_USAGE
    assert "--budget soon is not a time" in answer.stderr
    assert [*faster.parent.iterdir()] == [faster]


# The rest


def test_without_a_program_there_is_nothing_to_try(command_line):
    answer = command_line("try", "--budget", "5s")

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof try train.py" in answer.stderr


def test_all_treatments_are_listed_with_what_they_try(command_line):
    answer = command_line("try", "--list")

    assert answer.exit_code == EXIT_OK
    for treatment in treatments():
        assert f"{treatment.id} ({treatment.kind.value}): {treatment.does}" in answer.stdout
        assert f"    tries {', '.join(sorted(treatment.findings))}" in answer.stdout
