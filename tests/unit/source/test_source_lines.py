from __future__ import annotations

from rlprof.model.calltree import CallTree
from rlprof.source.lines import MAX_TEXT, Line, UserLines
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, profile_of

LOOP = Script("train.py", "def main():\n    for i in x:\n        act()\n    done()\nmain()\n")
MAIN = LOOP.at("main()", "<module>").replace(":1 ", ":5 ")


def lines_of(run: RunBuilder, *scripts: Script) -> UserLines:
    profile = profile_of(run, *scripts)
    return UserLines(profile.steady, profile.sources)


def the_leaf(tree: CallTree) -> int:
    (leaf,) = [node for node in tree.hot_nodes() if tree.self_cost(node).wall_us]
    return leaf


def a_stack(*stack: str) -> RunBuilder:
    return a_run().process(steps=10).spends(5.0, *stack)


def owner_of(*stack: str) -> str | None:
    lines = lines_of(a_stack(*stack))
    owner = lines.owner(the_leaf(lines.tree))
    return None if owner < 0 else lines.tree.frame(owner).function


def is_repeated(*stack: str) -> bool:
    lines = lines_of(a_stack(*stack), LOOP)
    return lines.is_repeated(the_leaf(lines.tree))


def test_time_belongs_to_the_nearest_frame_of_the_user():
    assert owner_of("a.py:1 main", "b.py:2 act", f"{SITE}/numpy/x.py:3 f", ":GC:") == "act"
    assert owner_of("a.py:1 main", "b.py:2 act") == "act"
    assert owner_of("a.py:1 main", "<string>:2 __init__") == "main"
    assert owner_of("<string>:2 main", f"{SITE}/numpy/x.py:3 f") == "main"
    assert owner_of(f"{STDLIB}/runpy.py:1 run", f"{SITE}/numpy/x.py:3 f") is None
    assert owner_of("a.py:1 main", "/src/rlprof/__init__.py:30 step") == "main"


def test_a_loop_repeats_all_that_it_calls():
    assert is_repeated(MAIN, LOOP.at("act()", "main"), "agent.py:3 act")
    assert not is_repeated(MAIN, LOOP.at("done()", "main"), "agent.py:3 close")


def test_a_framework_repeats_what_it_calls_back():
    learn = f"{SITE}/stable_baselines3/common/on_policy_algorithm.py:300 learn"
    wrapper = f"{SITE}/hydra/main.py:90 decorated_main"

    assert is_repeated(MAIN, LOOP.at("done()", "main"), learn, "callback.py:3 on_step")
    assert not is_repeated(MAIN, LOOP.at("done()", "main"), wrapper, "callback.py:3 close")


def test_a_loop_of_the_parent_does_not_run_what_a_forked_worker_does():
    fork = f"{STDLIB}/multiprocessing/popen_fork.py:71 Popen._launch"
    bootstrap = f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"

    assert is_repeated(MAIN, LOOP.at("act()", "main"), fork)
    assert not is_repeated(MAIN, LOOP.at("act()", "main"), fork, bootstrap, "worker.py:3 run")


def test_only_a_loop_of_the_users_own_is_an_own_loop():
    driver = Script(f"{SITE}/stable_baselines3/base.py", LOOP.text)
    stack = (driver.at("act()", "learn"), "callback.py:3 on_step")
    lines = lines_of(a_stack(*stack), driver)

    assert lines.is_repeated(the_leaf(lines.tree))
    assert not lines.is_in_loop(the_leaf(lines.tree))


def test_a_comprehension_goes_by_the_name_of_its_function():
    script = Script("train.py", "def act():\n    return [f(x) for x in y]\n")
    for name in ("act.<locals>.<listcomp>", "<listcomp>", "act"):
        lines = lines_of(a_stack(script.at("return", name)), script)
        assert lines.line(the_leaf(lines.tree)) == Line("train.py", 2, "act")


def test_the_text_of_a_line_is_stripped_and_cut():
    long = Script("long.py", "    x = 1\n" + "y = " + "1 + " * 100_000 + "1\n")
    lines = lines_of(a_stack("long.py:2 f"), long)

    assert lines.text(Line("long.py", 1, "f")) == "x = 1"
    assert len(lines.text(Line("long.py", 2, "f"))) == MAX_TEXT
    assert lines.text(Line("long.py", 3, "f")) == ""
    assert lines.text(Line("long.py", 0, "f")) == ""
    assert lines.text(Line("other.py", 1, "f")) == ""


def test_locations_come_heaviest_first():
    lines = lines_of(a_stack("a.py:1 f"))

    found = lines.locations({Line("a.py", 1, "f"): 2.0, Line("a.py", 2, "f"): 6.0}, 8.0)

    assert [(location.line, location.share) for location in found] == [(2, 0.75), (1, 0.25)]
