from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.gc_pressure import DETECTOR, MIN_SHARE
from rlprof.model.finding import Confidence, Finding
from rlprof.model.recording import Counter
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect, lines_of, ranked

TRAIN = Script(
    "train.py",
    """
    import gc

    def train(env, replay):
        for episode in range(1000):
            replay.append(Transition(env.step()))
            gc.collect()
    """,
)
APPEND = TRAIN.at("replay.append", "train")
COLLECT = TRAIN.at("gc.collect", "train")


def a_training(*, asked: float = 0.0, automatic: float = 0.0) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(asked, COLLECT, ":GC:").spends(automatic, APPEND, ":GC:")
    return run.spends(10.0 - asked - automatic, APPEND)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_names_the_call_in_the_loop():
    (finding,) = found(a_training(asked=4.0, automatic=0.5))

    assert lines_of(finding) == [TRAIN.line("gc.collect")]
    assert finding.title == "gc.collect() at train.py:6 runs in the loop"
    assert finding.evidence == (
        "45 % of the steady time is spent in collections, 40 % asked for and 5.0 % automatic",
    )
    assert finding.confidence is Confidence.MEASURED


def test_names_the_lines_that_set_off_automatic_ones():
    (finding,) = found(a_training(automatic=2.0))

    assert lines_of(finding) == [TRAIN.line("replay.append")]
    assert "gc.freeze()" in finding.fix
    assert finding.confidence is Confidence.BOUNDED


def test_counted_collections_are_evidence():
    recording = a_training(asked=4.0).source(TRAIN.file, TRAIN.text).recording()
    counted = Counter(recording.windows[-1].id, 0, "gc_collections", 40)

    profile = build_profile(replace(recording, counters=(*recording.counters, counted)))
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert finding.evidence[1] == "40 full collections in the steady phase, 4 per second"


@pytest.mark.parametrize(("times", "seconds", "told"), [(1, 0.3, 0), (2, 0.3, 1), (1, 0.6, 1)])
def test_one_full_collection_is_told_where_it_is_long(times: int, seconds: float, told: int):
    recording = a_training(automatic=seconds).source(TRAIN.file, TRAIN.text).recording()
    counted = Counter(recording.windows[-1].id, 0, "gc_collections", times)
    profile = build_profile(replace(recording, counters=(*recording.counters, counted)))

    assert len(list(DETECTOR.in_samples.detect(profile))) == told


def test_silent_just_under_its_threshold():
    assert found(a_training(asked=10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(asked=10 * MIN_SHARE * 1.1))) == 1


def test_silent_in_a_run_too_short_to_tell():
    run = a_run(steady_s=0.2).process("main", steps=100)
    run.spends(0.05, APPEND, ":GC:").spends(0.15, APPEND)

    assert found(run) == []


def test_silent_on_a_healthy_run():
    assert found(a_training()) == []


def test_silent_on_collections_in_set_up():
    run = a_training().spends(1.5, COLLECT, ":GC:", start_up=True)

    assert found(run) == []


def test_a_call_is_priced_nearly_whole_and_ranked_by_it():
    first, *_ = ranked(a_training(asked=4.0), TRAIN)

    assert first.finding.detector == "gc-pressure"
    assert first.saved_share.low == pytest.approx(0.8 * 0.4, abs=0.06)
    assert first.saved_share.low < 0.4 < first.saved_share.high


def test_collections_without_a_line_of_yours_are_told_too():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(5.0, APPEND)
    run.spends(5.0, "/usr/lib/python3.11/runpy.py:198 _run_module", ":GC:")

    (finding,) = found(run)

    assert finding.title == "garbage collection"
    assert finding.locations == ()


def test_the_interpreters_own_collection_at_its_end_is_left_alone():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(5.0, ":GC:").spends(5.0, APPEND)

    assert found(run) == []
