"""What a test may ask of ``assert_sps``, and what wins where call and markers say different things."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rlprof.errors import UsageError
from rlprof.model.counters import COST_COUNTERS
from rlprof.pytest_plugin.options import DEFAULT_RUNS, OPTIONS, Mark, Options, options_of
from rlprof.pytest_plugin.speed_test import AssertSps

TRAIN = ("train.py", "--steps", "20000")


def asked(*marks: Mark, root: Path = Path("/"), **call: object) -> Options:
    everything = dict.fromkeys(OPTIONS) | call
    return options_of(everything, marks, root=root)


def a_mark(*words: object, **options: object) -> Mark:
    return Mark(words, options)


def test_the_words_of_the_marker_are_what_is_run():
    options = asked(a_mark("train.py", "--steps", 20_000), at_least=900)

    assert options.command == TRAIN
    assert (options.floor.at_least, options.floor.runs) == (900, DEFAULT_RUNS)


def test_the_call_wins_over_the_marker_and_the_closer_marker_over_the_next():
    outer = a_mark("train.py", runs=7, timeout=60)
    inner = a_mark(runs=5)

    options = asked(inner, outer, at_least=900, timeout=10)

    assert (options.command, options.floor.runs, options.timeout_s) == (("train.py",), 5, 10)


def test_a_marker_may_hold_the_floor_itself():
    options = asked(a_mark(*TRAIN, at_least=900, counters={"gpu_syncs": 0}))

    assert (options.floor.at_least, options.floor.counters) == (900, {"gpu_syncs": 0})


@pytest.mark.parametrize("name", sorted(COST_COUNTERS))
def test_every_counter_of_a_check_can_be_asked_for(name):
    assert asked(a_mark(*TRAIN), counters={name: 1}).floor.counters == {name: 1}


def test_none_in_a_marker_is_not_given():
    module = a_mark(*TRAIN, at_least=900, runs=5, cwd="/")
    nothing = a_mark(**dict.fromkeys(OPTIONS))

    assert asked(nothing, module) == asked(module)
    assert asked(a_mark(*TRAIN, **dict.fromkeys(OPTIONS)), at_least=9) == asked(
        a_mark(*TRAIN), at_least=9
    )


def test_the_folder_is_taken_from_the_root(tmp_path):
    (tmp_path / "project").mkdir()

    assert asked(a_mark(*TRAIN), at_least=9, root=tmp_path).folder == tmp_path
    inside = asked(a_mark(*TRAIN), at_least=9, cwd="project", root=tmp_path)
    assert inside.folder == tmp_path / "project"


def test_variables_are_text_and_none_takes_one_away():
    options = asked(a_mark(*TRAIN), at_least=9, env={"SEED": 1, "DISPLAY": None})

    assert options.environment == {"SEED": "1", "DISPLAY": None}


@pytest.mark.parametrize(
    ("call", "slug", "said"),
    [
        ({}, "no-floor", "assert_sps(at_least=900)"),
        ({"at_least": 0}, "bad-speed-test", "at_least=0"),
        ({"at_least": float("nan")}, "bad-speed-test", "at_least=nan"),
        ({"at_least": "900"}, "bad-speed-test", "at_least='900'"),
        ({"at_least": True}, "bad-speed-test", "at_least=True"),
        ({"at_least": 10**5000}, "bad-speed-test", "at_least is too large a number"),
        ({"at_least": 9, "runs": 0}, "bad-speed-test", "runs=0"),
        ({"at_least": 9, "runs": 2.5}, "bad-speed-test", "runs=2.5"),
        ({"at_least": 9, "timeout": -1}, "bad-speed-test", "timeout=-1"),
        ({"at_least": 9, "cwd": "nowhere"}, "bad-speed-test", "nowhere"),
        ({"at_least": 9, "cwd": 3}, "bad-speed-test", "cwd=3 is no folder"),
        ({"at_least": 9, "env": "SEED=1"}, "bad-speed-test", "SEED=1"),
        ({"at_least": 9, "env": {"A": "a\0b"}}, "bad-speed-test", "'A' in env has a NUL"),
        ({"at_least": 9, "env": {"A\0": None}}, "bad-speed-test", "NUL"),
        ({"at_least": 9, "env": {"B=": "x"}}, "bad-speed-test", "'B=' in env is no name"),
        ({"at_least": 9, "env": {"": "x"}}, "bad-speed-test", "'' in env is no name"),
        ({"at_least": 9, "command": ["train.py", "a\0b"]}, "bad-speed-test", "NUL"),
        ({"at_least": 9, "sps_pattern": re.compile("x")}, "bad-speed-test", "sps_pattern=re.comp"),
        ({"at_least": 9, "steps_from": len}, "bad-speed-test", "steps_from='module:function'"),
        ({"at_least": 9, "command": "train.py --steps 9"}, "bad-speed-test", "one string"),
        ({"at_least": 9, "command": ["train.py", None]}, "bad-speed-test", "None is no word"),
        ({"at_least": 9, "command": []}, "no-target", "@pytest.mark.rlprof"),
        ({"counters": ["gpu_syncs"]}, "bad-speed-test", "most per step"),
        ({"counters": {"gpu_syncs": -1}}, "bad-speed-test", "gpu_syncs"),
        ({"counters": {"gpu_syncs": 10**400}}, "bad-speed-test", "counter gpu_syncs is too large"),
        ({"counters": {"gpu_syncs": "5%"}}, "bad-speed-test", "5%"),
        ({"counters": {"gpu_sync": 0}}, "bad-counter", "gpu_syncs"),
        ({"counters": {"steps": 1}}, "bad-counter", "steps"),
    ],
)
def test_what_cannot_be_meant(call, slug, said):
    with pytest.raises(UsageError) as caught:
        asked(*([] if "command" in call else [a_mark(*TRAIN)]), **call)

    assert caught.value.slug == slug
    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (a_mark("train.py", atleast=900), "no option 'atleast'"),
        (a_mark("train.py", command=["train.py"]), "a command twice"),
    ],
)
def test_markers_that_cannot_be_meant(mark, said):
    with pytest.raises(UsageError, match=said):
        asked(mark, at_least=900)


def test_the_marker_takes_every_option_of_the_call():
    parameters = AssertSps.__call__.__annotations__.keys() - {"return"}

    assert parameters == {*OPTIONS}
