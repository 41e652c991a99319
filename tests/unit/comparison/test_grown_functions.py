"""Which functions are named for what takes longer."""

from __future__ import annotations

import pytest

from rlprof.comparison.outline import GrownFunction, grown_functions
from tests.comparison_factory import ACT, DEEPCOPY, HOME, LEARN, LOOP, STEP, a_training, compared
from tests.factories import RunBuilder, a_run

LEARNING = f"{HOME}/.venv/lib/python3.11/site-packages/stable_baselines3/dqn.py:267 learn"
WRAPPER = f"{HOME}/.venv/lib/python3.11/site-packages/stable_baselines3/callbacks.py:114 on_step"
CALLBACK = f"{HOME}/train.py:28 Recorder._on_step"
COPY_DICT = "/usr/lib/python3.11/copy.py:200 _deepcopy_dict"
COPY_LIST = "/usr/lib/python3.11/copy.py:227 _deepcopy_list"
ADAM = f"{HOME}/.venv/lib/python3.11/site-packages/torch/optim/adam.py:220 step"
PHYSICS = f"{HOME}/.venv/lib/python3.11/site-packages/gymnasium/core.py:327 step"


def grown(base: RunBuilder, new: RunBuilder, most: int = 3) -> tuple[GrownFunction, ...]:
    return grown_functions(compared(base, new).tree, most)


def named(found: tuple[GrownFunction, ...]) -> list[tuple[str, str, int, str]]:
    return [(function.label, function.place, function.line, function.inside) for function in found]


def learning(*paths: tuple[float, tuple[str, ...]]) -> RunBuilder:
    """Twenty seconds of a library's loop; ``paths`` are seconds of calls from it."""
    run = a_run("train.py", start_up_s=1, steady_s=20).process("main", steps=1000)
    run = run.spends(20 - sum(seconds for seconds, _ in paths), LOOP, LEARNING)
    for seconds, calls in paths:
        run = run.spends(seconds, LOOP, LEARNING, *calls)
    return run


def test_the_callback_is_named_and_not_the_wrapper_of_the_library_that_calls_it():
    new = learning(
        (2, (WRAPPER, CALLBACK, DEEPCOPY, COPY_DICT)),
        (2, (WRAPPER, CALLBACK, DEEPCOPY, COPY_LIST)),
    )

    (found,) = grown(learning(), new)

    assert named((found,)) == [("Recorder._on_step", "train.py", 28, "deepcopy")]
    assert (found.kind, found.base_us, found.new_us) == ("yours", 0, 4000)


def test_what_a_function_of_ones_own_now_calls_is_named_with_it():
    (found,) = grown(a_training(), a_training(copying_s=5))

    assert named((found,)) == [("step", "train.py", 12, "deepcopy")]
    assert found.change_us == 5000


def test_growth_of_a_library_is_named_on_the_nearest_line_of_ones_own():
    (found,) = grown(learning((2, (ADAM,))), learning((8, (ADAM,))))

    assert named((found,)) == [("train", "train.py", 40, "step")]
    assert (found.base_us, found.new_us) == (2000, 8000)


def env_step(line: int) -> str:
    return f"{HOME}/envs.py:{line} Env.step"


def test_the_line_is_the_one_that_calls_what_grew_and_not_the_longest():
    base = learning((12, (env_step(26), PHYSICS)), (1, (env_step(27),)))
    new = learning(
        (11, (env_step(26), PHYSICS)),
        (1, (env_step(27),)),
        (2, (env_step(29), DEEPCOPY, COPY_DICT)),
        (2, (env_step(29), DEEPCOPY, COPY_LIST)),
    )

    assert named(grown(base, new)) == [("Env.step", "envs.py", 29, "deepcopy")]


def test_of_the_lines_that_call_it_the_one_that_does_so_for_longest_is_told():
    elsewhere = DEEPCOPY.replace(":128", ":137")
    new = learning(
        (1, (env_step(31), DEEPCOPY)),
        (1.5, (env_step(29), DEEPCOPY)),
        (1, (env_step(31), elsewhere)),
    )

    assert named(grown(learning(), new)) == [("Env.step", "envs.py", 31, "deepcopy")]


def test_the_line_leads_to_what_grew_through_all_that_is_not_ones_own():
    saving = f"{HOME}/train.py:44 train"
    base = learning((2, (ADAM,)), (4, (WRAPPER,))).spends(1, saving, WRAPPER, ADAM)
    new = learning((2, (ADAM,)), (4, (WRAPPER,))).spends(9, saving, WRAPPER, ADAM)

    assert named(grown(base, new)) == [("train", "train.py", 44, "step")]


def test_the_same_place_in_two_roles_is_told_on_the_line_of_the_one_that_grew_more():
    def run(*copying_s: float) -> RunBuilder:
        run = a_run("train.py", start_up_s=1, steady_s=20)
        for name, seconds, line in zip(("main", "worker"), copying_s, (12, 15), strict=True):
            run = run.process(name, steps=1000 if name == "main" else 0).spends(14, LOOP, LEARN)
            run = run.spends(6 - seconds, LOOP)
            run = run.spends(seconds, LOOP, f"{HOME}/train.py:{line} step", DEEPCOPY)
        return run

    assert named(grown(run(0, 0), run(3, 5))) == [("step", "train.py", 15, "deepcopy")]
    assert named(grown(run(0, 0), run(5, 3))) == [("step", "train.py", 12, "deepcopy")]


@pytest.mark.parametrize(("seconds", "line"), [(5.5, 0), (7, 27)])
def test_of_what_a_function_does_itself_a_line_is_told_if_it_outweighs_all_of_base(seconds, line):
    """Lines move: which one of base it was is not known."""
    base = learning((6, (env_step(26),)))
    new = learning((4, (env_step(26),)), (seconds, (env_step(27),)))

    assert named(grown(base, new)) == [("Env.step", "envs.py", line, "")]


def test_a_caller_is_not_named_for_what_the_functions_below_it_tell():
    base = a_training()
    new = a_run("train.py", start_up_s=1, steady_s=40).process("main", steps=1000)
    new = new.spends(2, LOOP).spends(6, LOOP, ACT).spends(20, LOOP, LEARN).spends(12, LOOP, STEP)

    assert [function.label for function in grown(base, new)] == ["learn", "step"]
    assert [function.label for function in grown(base, new, most=1)] == ["learn"]


def test_a_wait_of_ones_own_is_reached_through_what_calls_it():
    new = a_run("train.py", start_up_s=1, steady_s=30).process("main", steps=1000)
    new = new.spends(20, LOOP, LEARNING).spends(10, LOOP, LEARNING, WRAPPER, CALLBACK, idle=True)

    assert named(grown(learning(), new)) == [("Recorder._on_step", "train.py", 28, "")]


def test_where_all_of_it_is_waiting_the_wait_is_named():
    base = a_run("train.py", start_up_s=1, steady_s=20).process("main", steps=1000)
    new = a_run("train.py", start_up_s=1, steady_s=40).process("main", steps=1000)

    (found,) = grown(base.spends(20, LOOP, STEP, idle=True), new.spends(40, LOOP, STEP, idle=True))

    assert named((found,)) == [("step", "train.py", 12, "")]
    assert (found.change_us, found.waits) == (20_000, True)


def test_who_waits_for_another_that_became_slower_is_not_named():
    def run(steady_s: float) -> RunBuilder:
        run = a_run("train.py", start_up_s=1, steady_s=steady_s).process("main", steps=1000)
        run = run.spends(steady_s, LOOP, LEARN, idle=True)
        return run.process("worker").spends(steady_s, STEP)

    assert named(grown(run(20), run(40))) == [("step", "train.py", 12, "")]


def test_nothing_is_named_for_what_became_quicker_or_stayed():
    assert grown(a_training(copying_s=5), a_training()) == ()
    assert grown(a_training(), a_training()) == ()
    assert grown_functions(None, 3) == ()
