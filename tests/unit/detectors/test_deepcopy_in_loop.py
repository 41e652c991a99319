from __future__ import annotations

from rlprof.detectors.deepcopy_in_loop import DETECTOR, MIN_SHARE, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, claimed_s, detect, lines_of, profile_of, ranked

SEARCH = Script(
    "search.py",
    """
    from copy import deepcopy as twin

    def plan(position, rng):
        for _ in range(64):
            trial = twin(position)
            trial.advance(rng)
    """,
)
COPY = SEARCH.at("trial = twin", "plan")
ADVANCE = SEARCH.at("trial.advance", "plan")
DEEPCOPY = f"{STDLIB}/copy.py:128 deepcopy"
RECONSTRUCT = f"{STDLIB}/copy.py:259 _reconstruct"


def a_search(seconds: float) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds / 2, COPY, DEEPCOPY).spends(seconds / 2, COPY, DEEPCOPY, RECONSTRUCT)
    return run.spends(10.0 - seconds, ADVANCE)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, SEARCH)


def test_names_the_line_whatever_the_function_is_called_there():
    (finding,) = found(a_search(4.0))

    assert lines_of(finding) == [SEARCH.line("trial = twin")]
    assert finding.evidence == ("40 % of the steady time is spent on copying it, 4 ms a step",)


def test_claims_all_that_deepcopy_called():
    profile = profile_of(a_search(4.0), SEARCH)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0
    assert finding.savings[0].removable == REMOVABLE


def test_tells_what_is_copied_where_it_was_seen():
    run = a_search(4.0).sees(
        COPY,
        twin="type=function function=copy.deepcopy file=/usr/lib/python3.11/copy.py",
        position="type=game.Position file=game.py",
    )
    (finding,) = found(run)

    assert finding.evidence[1] == "what is copied: position, of type Position"


def test_silent_for_copies_that_a_library_makes_for_itself():
    inside = "/venv/lib/python3.11/site-packages/somelib/core.py:3 run"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, ADVANCE, inside, DEEPCOPY).spends(5.0, ADVANCE)

    assert found(run) == []


def test_silent_just_under_its_threshold():
    assert found(a_search(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_search(10 * MIN_SHARE * 1.1))) == 1


def test_ranks_before_the_search_itself():
    first, *_ = ranked(a_search(5.0), SEARCH)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.45 < first.saved_share.high


PICKLED = Script(
    "copies.py",
    """
    import pickle

    def plan(game, queue):
        for _ in range(64):
            trial = pickle.loads(pickle.dumps(game))
            queue.put(pickle.dumps(game))
    """,
)
LOADS = "type=builtin_function_or_method function=_pickle.loads"
DUMPS = "type=builtin_function_or_method function=_pickle.dumps"


def test_a_copy_by_way_of_pickle_is_one():
    line = PICKLED.at("trial =", "plan")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, line).spends(6.0, ADVANCE)
    run.sees(line, pickle__loads=LOADS, pickle__dumps=DUMPS)

    assert lines_of(*detect(DETECTOR, run, PICKLED)) == [PICKLED.line("trial =")]


def test_what_is_pickled_for_others_is_no_copy():
    line = PICKLED.at("queue.put", "plan")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, line).spends(6.0, ADVANCE)

    assert detect(DETECTOR, run.sees(line, pickle__dumps=DUMPS), PICKLED) == []
