"""Which changes of a call tree are called one, and which are noise."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from rlprof.comparison.calltree import (
    ChangeBox,
    ChangeTree,
    CostPerStep,
    FunctionKey,
    Scale,
    common_ratio,
    compare_trees,
)
from rlprof.comparison.compare import compare
from rlprof.comparison.outline import outline
from rlprof.comparison.stacks import Stacks, roles_to_compare
from rlprof.pace.rates import MIN_EFFECT
from rlprof.report.build import build_report
from tests.comparison_factory import (
    ACT,
    DEEPCOPY,
    HOME,
    LEARN,
    LOOP,
    STEP,
    a_training,
    compared,
    stacks_of,
)
from tests.factories import a_run
from tests.report_factories import a_process, a_report

PER_STEP = Scale(1000.0, 0.0)
BLOCKS = 10


def box(tree: ChangeTree | None, label: str) -> ChangeBox:
    assert tree is not None
    (found,) = [change for change in tree.boxes if change.label == label]
    return found


def changed(tree: ChangeTree | None) -> set[str]:
    assert tree is not None
    return {change.label for change in tree.boxes if change.is_clear}


def compared_stacks(base: Stacks, new: Stacks) -> ChangeTree:
    return compare_trees(base, new, (PER_STEP, PER_STEP), metric="wall", per="step")


def evenly(**us: int) -> Stacks:
    """A main process with functions that cost so much, evenly over the blocks."""
    return stacks_of(
        {("main", name): [cost // BLOCKS] * BLOCKS for name, cost in us.items()}, blocks=BLOCKS
    )


def test_what_costs_more_per_step_is_found_with_its_callers_and_nothing_else():
    found = compared(a_training(steps=1000), a_training(steps=1000, copying_s=5))

    assert {"deepcopy", "step"} <= changed(found.tree)
    assert not {"act", "learn"} & changed(found.tree)
    assert box(found.tree, "deepcopy").base.us == 0
    assert box(found.tree, "deepcopy").new.us == 5e6 / 1000


def test_costs_are_per_step_whatever_the_length_of_the_run():
    twice = a_training(steps=2000)
    found = compared(a_training(steps=1000, copying_s=5), twice)

    assert box(found.tree, "act").base.us == 15 * 0.3 * 1e6 / 1000
    assert box(found.tree, "act").new.us == 20 * 0.3 * 1e6 / 2000


def test_processes_of_a_role_and_lines_of_a_function_share_a_box():
    run = a_training()
    for number in range(3):
        run = (
            run.process(f"worker {number}").spends(2, STEP).spends(3, STEP.replace(":12 ", ":13 "))
        )
    found = compared(run, run)

    step = [
        change
        for change in found.tree.boxes
        if change.label == "step" and change.base.us == 15e6 / 1000
    ]
    assert len(step) == 1
    assert step[0].line == 13


@pytest.mark.parametrize(("at_40_s", "line"), [(1, 44), (4, 40)])
def test_a_caller_has_the_line_on_which_most_of_its_time_passes(at_40_s, line):
    run = a_run("train.py").process(steps=1000)
    run = run.spends(at_40_s, LOOP, ACT).spends(5 - at_40_s, LOOP.replace(":40 ", ":44 "), LEARN)
    found = compared(run, run)

    assert box(found.tree, "train").line == line


def test_imports_are_no_part_of_the_steady_phase():
    recording = a_training().spends(5, LOOP, "importlib:1 _find_and_load").recording()
    nodes = tuple(
        node._replace(frame=node.frame._replace(file="<frozen importlib._bootstrap>"))
        if node.frame.function == "_find_and_load"
        else node
        for node in recording.nodes
    )
    report = build_report(replace(recording, nodes=nodes), detailed=True)

    tree = compare(report, report).tree

    assert "act" in {change.label for change in tree.boxes}
    assert "_find_and_load" not in {change.label for change in tree.boxes}


def test_workers_that_change_places_are_all_workers():
    def roles(*names: str):
        return a_report(processes=[a_process(role=name) for name in names])

    before, after = roles("learner", "worker", "worker"), roles("learner", "learner", "worker")

    assert roles_to_compare(before, after) == (("worker",) * 3, ("worker",) * 3)
    more = roles("learner", "worker", "worker", "worker")
    assert roles_to_compare(before, more)[1] == ("learner", "worker", "worker", "worker")


def test_a_slower_machine_makes_no_function_slower_than_the_others():
    tree = compared_stacks(
        evenly(act=3_000_000, learn=4_000_000, step=2_000_000),
        evenly(act=3_900_000, learn=5_200_000, step=2_600_000),
    )

    assert changed(tree) == set()
    assert round(tree.common_ratio, 3) == 1.3


def test_of_two_functions_the_one_that_changed_least_tells_what_is_common():
    base = evenly(act=300_000_000, learn=400_000_000)

    slower = compared_stacks(base, evenly(act=330_000_000, learn=520_000_000))
    either_way = compared_stacks(base, evenly(act=330_000_000, learn=320_000_000))

    assert slower.common_ratio == pytest.approx(1.1)
    assert either_way.common_ratio == 1


def test_waits_do_not_tell_how_fast_the_machine_is():
    key = FunctionKey("f", "train.py", "yours")
    working = [(key, CostPerStep(100.0), CostPerStep(100.0))] * 3
    waiting = [(key, CostPerStep(100.0, 90.0), CostPerStep(200.0, 190.0))] * 4

    assert common_ratio([*working, *waiting], 1000.0) == 1


def test_one_function_that_grows_on_a_slower_machine_is_still_found():
    tree = compared_stacks(
        evenly(act=3_000_000, learn=4_000_000, log=2_000_000, step=2_000_000),
        evenly(act=3_600_000, learn=4_800_000, log=2_400_000, step=9_000_000),
    )

    assert {function.label for function in tree.functions if function.is_clear} == {"step"}


def test_waiting_for_cores_explains_time_that_all_functions_take_longer_but_no_new_one():
    base = evenly(act=3_000_000, learn=4_000_000, step=2_000_000)
    new = evenly(act=9_000_000, learn=12_000_000, step=6_000_000, log=4_000_000)
    scales = (PER_STEP, PER_STEP)

    tree = compare_trees(base, new, scales, metric="wall", per="step", crowding=3.0)

    assert {function.label for function in tree.functions if function.is_clear} == {"log"}


def test_what_is_more_than_a_machine_explains_is_claimed_even_of_all_functions():
    tree = compared_stacks(
        evenly(act=3_000_000, learn=4_000_000, step=2_000_000),
        evenly(act=9_000_000, learn=12_000_000, step=6_000_000),
    )

    assert {"act", "learn", "step"} <= changed(tree)


def test_a_function_that_varies_within_its_run_must_change_by_more():
    calm = stacks_of(
        {("main", "act"): [300_000] * BLOCKS, ("main", "f"): [600_000] * BLOCKS}, blocks=BLOCKS
    )
    wild = [600_000, 0] * (BLOCKS // 2)
    restless = stacks_of({("main", "act"): wild, ("main", "f"): [600_000] * BLOCKS}, blocks=BLOCKS)
    more = stacks_of(
        {("main", "act"): [550_000] * BLOCKS, ("main", "f"): [600_000] * BLOCKS}, blocks=BLOCKS
    )

    noise = [box(compared_stacks(stacks, more), "act").noise_us for stacks in (calm, restless)]

    assert noise[1] > 2 * noise[0]


def test_the_error_of_a_cost_is_that_between_blocks_where_they_differ():
    wild = stacks_of(
        {("main", "act"): [600_000, 0] * 5, ("main", "f"): [600_000] * BLOCKS}, blocks=BLOCKS
    )

    # Ten blocks that are 300 ms off their mean: sqrt(10/9 * 10 * 300²) ms, by 1000 steps.
    assert box(compared_stacks(wild, wild), "act").base.error_us == pytest.approx(1000)


def test_what_was_never_sampled_could_have_been_once():
    tree = compared_stacks(evenly(act=3_000_000), evenly(act=3_000_000, log=100_000))

    assert box(tree, "log").base.us == 0
    assert box(tree, "log").base.error_us > 10


def test_the_least_effect_is_a_part_of_the_larger_cost():
    both, alone = evenly(act=10**11, copy=10**11), evenly(act=10**11)

    for tree in (compared_stacks(both, alone), compared_stacks(alone, both)):
        assert box(tree, "copy").noise_us > MIN_EFFECT * 10**11 / 1000


def test_what_a_new_function_calls_goes_without_saying():
    base = {("main", "act"): [900_000] * BLOCKS}
    new = {
        **base,
        ("main", "copy"): [300_000] * BLOCKS,
        ("main", "copy", "memo"): [300_000] * BLOCKS,
        ("main", "copy", "rebuild"): [300_000] * BLOCKS,
    }
    tree = compared_stacks(stacks_of(base, blocks=BLOCKS), stacks_of(new, blocks=BLOCKS))

    assert {"copy", "memo", "rebuild"} <= changed(tree)
    assert [row.box.label for row in outline(tree, 10)] == ["copy"]


def test_an_uncertain_rate_hides_changes_but_not_what_vanished():
    base, new = evenly(act=4_000_000, copy=4_000_000), evenly(act=5_500_000)
    uncertain = Scale(1000.0, 0.3)

    sure = compare_trees(base, new, (PER_STEP, PER_STEP), metric="wall", per="step")
    unsure = compare_trees(base, new, (uncertain, uncertain), metric="wall", per="step")

    assert box(sure, "copy").is_clear
    assert box(unsure, "copy").is_clear
    assert box(unsure, "act").noise_us > 2 * box(sure, "act").noise_us


def test_a_file_with_another_name_is_matched_by_the_functions_in_it():
    old = {("main", "run@stage_1.py", "step@stage_1.py"): [200_000] * BLOCKS}
    new = {("main", "run@stage_2.py", "step@stage_2.py"): [200_000] * BLOCKS}
    tree = compared_stacks(stacks_of(old, blocks=BLOCKS), stacks_of(new, blocks=BLOCKS))

    assert [change.label for change in tree.boxes] == ["all processes", "main", "run", "step"]
    assert box(tree, "step").place == "stage_2.py"
    assert [(function.label, function.place) for function in tree.functions if function.new.us] == [
        ("step", "stage_2.py")
    ]


def test_lambdas_of_different_files_are_not_the_same():
    old, new = ({("main", f"<lambda>@{file}"): [200_000] * BLOCKS} for file in ("a.py", "b.py"))
    tree = compared_stacks(stacks_of(old, blocks=BLOCKS), stacks_of(new, blocks=BLOCKS))

    assert sum(change.label == "<lambda>" for change in tree.boxes) == 2


def test_time_without_a_stack_is_nobodys_change():
    old = {("main", "act"): [300_000] * BLOCKS}
    torn = {**old, ("main", "stack could not be read whole"): [600_000] * BLOCKS}
    tree = compared_stacks(stacks_of(old, blocks=BLOCKS), stacks_of(torn, blocks=BLOCKS))

    assert not box(tree, "stack could not be read whole").is_clear


def test_two_thousand_callers_are_no_reason_to_fail():
    path = ("main", *(f"f{number}" for number in range(2000)))
    deep = stacks_of({path: [100_000] * BLOCKS}, blocks=BLOCKS)

    assert compared_stacks(deep, deep).boxes[-1].depth == 2001


def test_the_same_program_twice_is_hardly_ever_coloured():
    """Sampled every 10 ms from the same functions, on a machine that is up to 20 % off from run to run
    and wanders by 5 % within one: in 60 comparisons, a handful of their 3 600 boxes.
    """
    random = Random(20261121)
    shares = [1 / (rank + 3) for rank in range(60)]
    boxes = coloured = 0
    for _ in range(60):
        base, new = (_sampled(random, shares) for _ in range(2))
        tree = compare_trees(base[0], new[0], (base[1], new[1]), metric="wall", per="step")
        boxes += len(tree.boxes)
        coloured += sum(change.is_clear for change in tree.boxes)

    assert boxes > 3000
    assert coloured <= boxes / 500


def _sampled(random: Random, shares: list[float]) -> tuple[Stacks, Scale]:
    counts = {("main", f"f{rank}"): [0] * BLOCKS for rank in range(len(shares))}
    names = list(counts)
    speed = random.uniform(0.8, 1.2)
    steps = 0.0
    for block in range(BLOCKS):
        steps += 100 * speed * random.gauss(1, 0.05)
        for name in random.choices(names, shares, k=100):
            counts[name][block] += 10_000
    return stacks_of(counts, blocks=BLOCKS), Scale(steps, 0.02)


def test_the_metric_decides_what_is_compared():
    base = a_training().spends(0.0001, STEP, DEEPCOPY)
    waiting = a_training().spends(6, STEP, DEEPCOPY, idle=True)

    assert "deepcopy" in changed(compared(base, waiting).tree)
    assert "deepcopy" not in changed(compared(base, waiting, metric="cpu").tree)


def test_rows_of_what_is_not_ones_own_name_the_nearest_caller_that_is_once():
    library = f"{HOME}/.venv/lib/python3.11/site-packages/lib/wrappers.py"
    base = a_training()
    new = a_training().spends(4, LOOP, STEP, f"{library}:5 wrap", DEEPCOPY)
    new = new.spends(4, LOOP, STEP, f"{library}:5 wrap", f"{library}:9 check").spends(3, LOOP, ACT)
    found = compared(base.spends(1, LOOP, STEP, f"{library}:5 wrap"), new)

    assert found.tree is not None
    rows = outline(found.tree, 10)
    assert {row.box.label for row in rows} == {"train", "act", "wrap", "check", "deepcopy"}
    (wrap,) = [row for row in rows if row.own_caller is not None]
    assert (wrap.box.label, wrap.own_caller.label, wrap.box.called_on) == ("wrap", "step", 12)


def test_a_row_of_ones_own_needs_no_caller():
    tree = compared(a_training(), a_training().spends(5, LOOP, ACT)).tree

    assert tree is not None
    assert [(row.box.label, row.own_caller) for row in outline(tree, 10)] == [("act", None)]


def test_what_waits_is_no_row_of_the_outline():
    waiting = a_training().spends(6, STEP, DEEPCOPY, idle=True)
    tree = compared(a_training(), waiting).tree

    assert "deepcopy" in changed(tree)
    assert outline(tree, 10) == ()
