from __future__ import annotations

import pytest

from rlprof.detectors.hot_spot import DETECTOR, MAX_FINDINGS, MIN_SHARE
from rlprof.model.finding import Confidence, Finding, Range
from tests.factories import RunBuilder, a_run
from tests.profile_factory import (
    SITE,
    STDLIB,
    Script,
    claimed_s,
    detect,
    lines_of,
    profile_of,
    ranked,
)

MAIN = "train.py:3 main"
PHYSICS = "physics.py:12 collide"


def a_training() -> RunBuilder:
    return a_run("train.py", steady_s=10.0).process("main", steps=10_000)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run)


def thin(run: RunBuilder, seconds: float) -> RunBuilder:
    """Spread ``seconds`` over a hundred lines of as many functions."""
    for number in range(100):
        run.spends(seconds / 100, MAIN, f"env.py:{number + 1} part_{number}")
    return run


def test_names_the_heaviest_line_without_a_cause():
    run = thin(a_training().spends(6.0, MAIN, PHYSICS), 4.0)

    (finding,) = found(run)

    assert finding.title == "physics.py:12 in collide is hot, no known cause"
    assert finding.confidence is Confidence.SUSPECTED
    assert finding.savings[0].removable == Range(0.0, 1.0)
    assert claimed_s(profile_of(run), finding) == pytest.approx(6.0)


def test_silent_just_under_its_threshold():
    under, over = 10 * MIN_SHARE * 0.9, 10 * MIN_SHARE * 1.1

    assert found(thin(a_training().spends(under, MAIN, PHYSICS), 10 - under)) == []
    assert len(found(thin(a_training().spends(over, MAIN, PHYSICS), 10 - over))) == 1


def test_silent_on_a_healthy_run():
    assert found(thin(a_training(), 10.0)) == []


def test_ranks_by_its_price_after_what_has_a_cause():
    access = f"{SITE}/omegaconf/dictconfig.py:355 DictConfig.__getattr__"
    run = a_training()
    run.spends(7.0, MAIN, PHYSICS)
    run.spends(2.0, MAIN, "env.py:4 step", access)
    run.spends(1.0, MAIN, "env.py:5 step")

    listed = ranked(run)

    assert [finding.finding.detector for finding in listed][:2] == [
        "omegaconf-in-loop",
        DETECTOR.id,
    ]
    assert listed[1].finding.locations[0].file == "physics.py"
    assert listed[1].saved_share.low == 0.0


def test_alike_lines_of_one_function_are_one_finding():
    run = a_training()
    for line in (12, 13, 14):
        run.spends(2.0, MAIN, f"physics.py:{line} collide")
    thin(run, 4.0)

    (finding,) = found(run)

    assert finding.title == "collide (physics.py) is hot over 3 lines, no known cause"
    assert sorted(lines_of(finding)) == [12, 13, 14]


def test_time_in_a_library_is_the_line_that_called_it():
    run = a_training()
    run.spends(5.0, MAIN, PHYSICS, f"{SITE}/numpy/linalg/linalg.py:5 norm", f"{STDLIB}/re.py:3 sub")
    run.spends(1.0, MAIN, PHYSICS)
    thin(run, 4.0)

    (finding,) = found(run)

    assert lines_of(finding) == [12]
    assert any("called: norm (linalg.py) 50 %" in text for text in finding.evidence)
    assert any("10 % on the lines themselves" in text for text in finding.evidence)


def test_what_is_called_is_not_told_again_as_where_the_time_ends():
    run = a_training().spends(4.0, MAIN, PHYSICS, f"{SITE}/numpy/linalg/linalg.py:5 norm")
    run.spends(2.0, MAIN, PHYSICS, f"{SITE}/numpy/linalg/linalg.py:9 det", f"{STDLIB}/re.py:3 sub")
    thin(run, 4.0)

    (finding,) = found(run)

    (ends,) = [text for text in finding.evidence if text.startswith("most of it in: ")]
    assert ends == "most of it in: sub (re.py) 20 %"


def test_without_a_frame_of_the_users_the_library_is_named():
    run = a_training()
    run.spends(6.0, f"{STDLIB}/runpy.py:198 _run_module", f"{SITE}/zoo/train.py:9 learn")
    thin(run, 4.0)

    (finding,) = found(run)

    assert finding.locations[0].file == f"{SITE}/zoo/train.py"


def test_waiting_is_not_hot():
    run = a_training()
    run.spends(6.0, MAIN, "actor.py:5 collect", f"{STDLIB}/queue.py:171 Queue.get", idle=True)
    thin(run, 4.0)

    assert found(run) == []


def test_garbage_collection_is_left_to_its_own_detector():
    run = a_training()
    run.spends(2.0, MAIN, PHYSICS, ":GC:")
    thin(run, 8.0)

    assert found(run) == []


def test_a_stack_not_read_whole_is_said_in_words():
    run = thin(a_training().spends(6.0, MAIN, PHYSICS, ":INVALID:"), 4.0)

    (finding,) = found(run)

    assert any("a stack that could not be read whole" in text for text in finding.evidence)


def test_names_no_more_than_a_few():
    run = a_training()
    for number in range(MAX_FINDINGS + 3):
        run.spends(1.0, MAIN, f"env.py:{number + 1} part_{number}")

    assert len(found(run)) == MAX_FINDINGS


def test_a_worker_that_a_library_spawned_is_named_by_the_librarys_line():
    spawned = (
        "<string>:1 <module>",
        f"{STDLIB}/multiprocessing/spawn.py:122 spawn_main",
        f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap",
    )
    run = a_training().spends(6.0, *spawned, f"{SITE}/collecting/worker.py:9 collect")
    thin(run, 4.0)

    (finding,) = found(run)

    assert finding.locations[0].file == f"{SITE}/collecting/worker.py"


def test_rlprofs_own_step_counts_for_the_line_that_calls_it():
    script = Script("train.py", "rlprof.step()\n")
    run = a_training().spends(6.0, "train.py:1 main", "/src/rlprof/__init__.py:34 step")
    thin(run, 4.0)

    (finding,) = detect(DETECTOR, run, script)

    assert finding.locations[0].file == "train.py"


def test_a_function_hot_over_many_lines_tells_what_they_take_together():
    run = a_training()
    for line in range(10):
        run.spends(0.6, MAIN, f"env.py:{line + 10} step")

    (finding,) = found(thin(run, 4.0))

    assert finding.title == "step (env.py) is hot over 10 lines, no known cause"
    assert finding.seen_share == pytest.approx(0.6)
    assert finding.locations[0].share == pytest.approx(0.06)


def called(finding: Finding) -> str:
    (text,) = [text for text in finding.evidence if text.startswith("called: ")]
    return text


def test_what_other_lines_call_is_not_said_of_the_heaviest():
    run = (
        a_training()
        .spends(4.0, "train.py:3 main", f"{SITE}/gymnasium/core.py:9 step")
        .spends(1.0, "train.py:4 main", f"{SITE}/numpy/core.py:7 digitize")
        .spends(5.0, "train.py:3 main", f"{SITE}/gymnasium/core.py:9 step", PHYSICS)
    )

    main = next(finding for finding in found(run) if finding.locations[0].function == "main")

    assert called(main) == "called: step (core.py) 40 %"
