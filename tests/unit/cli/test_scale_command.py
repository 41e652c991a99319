"""The command line of ``rlprof scale``: how the number of workers gets into the target's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.cli.command import Target, TargetKind
from rlprof.cli.scale import with_argument, with_count, worker_counts
from rlprof.errors import EXIT_USAGE, UsageError
from rlprof.scaling.ladder import climbing_order


def a_script(*words: str) -> Target:
    return Target(TargetKind.SCRIPT, words)


def line(target: Target, arguments: list[str], count: int) -> str:
    return " ".join(with_count(with_argument(target, arguments), count).words)


def test_braces_among_the_targets_arguments_are_the_place():
    target = a_script("train.py", "--envs", "{}", "--buffer={}x4")

    assert line(target, [], 8) == "train.py --envs 8 --buffer=8x4"


def test_an_argument_goes_behind_the_targets_own():
    assert line(a_script("train.py", "--lr", "1"), ["run.n_jobs={}"], 4) == (
        "train.py --lr 1 run.n_jobs=4"
    )


def test_an_argument_may_be_several_words_and_there_may_be_several():
    target = a_script("train.py")

    assert line(target, ["--envs {}", "--batch={}"], 2) == "train.py --envs 2 --batch=2"


def test_with_an_argument_other_braces_stay():
    assert line(a_script("train.py", "extra={}"), ["n={}"], 2) == "train.py extra={} n=2"


def test_the_program_itself_is_no_place():
    assert line(a_script("{}.py", "{}"), [], 2) == "{}.py 2"


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        (a_script("train.py"), []),
        (a_script("{}.py"), []),
        (a_script("train.py", "{}"), ["--envs"]),
        (a_script("train.py"), ["--envs '{}"]),
    ],
)
def test_a_number_without_a_place_is_an_error_that_shows_one(target, arguments):
    with pytest.raises(UsageError) as caught:
        with_argument(target, arguments)

    assert caught.value.slug == "no-worker-argument"
    assert "{}" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "counts"), [("1,2,4,8", (1, 2, 4, 8)), ("4, 1,4", (1, 4)), ("16,2", (2, 16))]
)
def test_worker_counts_are_put_in_order(text, counts):
    assert worker_counts(text) == counts


@pytest.mark.parametrize("text", ["", "4", "4,4", "1,two", "0,1", "1,-2", "1;2", "1,99999", "1,²"])
def test_what_is_no_ladder_is_refused(text):
    with pytest.raises(UsageError) as caught:
        worker_counts(text)

    assert caught.value.slug == "bad-workers"


@given(st.lists(st.integers(1, 64), min_size=2, max_size=5, unique=True), st.integers(1, 4))
def test_each_round_runs_every_count_once(counts, rounds):
    order = list(climbing_order(counts, rounds))

    for number in range(1, rounds + 1):
        assert sorted(count for of, count in order if of == number) == sorted(counts)


def test_rounds_go_up_and_down_so_that_a_drift_cancels():
    assert [count for _, count in climbing_order([1, 2, 4], 2)] == [1, 2, 4, 4, 2, 1]


def test_no_target_and_no_such_script_end_before_anything_runs(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    nothing = command_line("scale", "--workers", "1,2")
    gone = command_line("scale", "--workers", "1,2", "gone.py", "{}")

    assert nothing.exit_code == EXIT_USAGE
    assert "rlprof explain no-target" in nothing.stderr
    assert "rlprof explain script-missing" in gone.stderr
    assert not (tmp_path / ".rlprof").exists()


def test_an_output_that_cannot_be_is_refused_before_anything_runs(
    command_line, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    (tmp_path / "there.json").touch()

    def refused(output: str) -> str:
        return command_line("scale", "--workers", "1,2", "-o", output, "train.py", "{}").stderr

    assert "rlprof explain no-such-format" in refused("out.png")
    assert "rlprof explain output-exists" in refused("there.json")
    assert not (tmp_path / ".rlprof").exists()
