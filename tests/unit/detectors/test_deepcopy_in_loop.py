from __future__ import annotations

import pytest

from rlprof.detectors.deepcopy_in_loop import DETECTOR, MIN_SHARE, REMOVABLE
from rlprof.model.finding import Finding
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


KEPT = Script(
    "kept.py",
    """
    import cloudpickle
    import pickle

    class Game:
        def get_state(self):
            return pickle.dumps(self)

        def set_state(self, blob):
            return pickle.loads(blob)

        def twin(self):
            return pickle.loads(cloudpickle.dumps(self.board))

    class Link:
        def send(self, game):
            self.shared[:8] = pickle.dumps(game)
            self.queue.put(cloudpickle.dumps(game))

        def receive(self):
            return pickle.loads(self.shared[:8])

        def hear(self):
            return pickle.loads(self.queue.get())

    def plan(game, link):
        for _ in range(64):
            state = game.get_state()
            trial = game.set_state(state)
            game.twin()
            link.send(game)
            link.receive()
            link.hear()
    """,
)
GET = KEPT.at("return pickle.dumps", "Game.get_state")
SET = KEPT.at("pickle.loads(blob)", "Game.set_state")


def a_plan(seconds: float, *stack: str) -> RunBuilder:
    return a_run(steady_s=10.0).process("main", steps=1000).spends(seconds, *stack)


def test_bytes_that_are_kept_and_read_by_another_method_are_a_copy():
    run = a_plan(1.0, KEPT.at("game.get_state()", "plan"), GET)
    run.spends(2.0, KEPT.at("game.set_state(", "plan"), SET)
    run.spends(1.0, KEPT.at("game.set_state(", "plan"), SET, "kept.py:99 Board.__setstate__")
    profile = profile_of(run.spends(6.0, ADVANCE), KEPT)

    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0
    assert lines_of(finding) == [KEPT.line("pickle.loads(blob)"), KEPT.line("return pickle.dumps")]


def test_a_copy_by_cloudpickle_is_one_with_all_that_it_calls():
    line = KEPT.at("cloudpickle.dumps(self.board)", "Game.twin")
    dumps = f"{SITE}/cloudpickle/cloudpickle.py:1529 dumps"
    run = a_plan(1.0, KEPT.at("game.twin()", "plan"), line)
    run.spends(3.0, KEPT.at("game.twin()", "plan"), line, dumps).spends(6.0, ADVANCE)
    profile = profile_of(run, KEPT)

    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 4.0


@pytest.mark.parametrize(
    ("piece", "method"),
    [
        ("self.shared[:8] = pickle", "Link.send"),
        ("cloudpickle.dumps(game)", "Link.send"),
        ("pickle.loads(self.shared", "Link.receive"),
        ("pickle.loads(self.queue", "Link.hear"),
    ],
)
def test_silent_on_what_goes_through_memory_that_others_share_or_a_queue(piece: str, method: str):
    run = a_plan(4.0, KEPT.at("link.", "plan"), KEPT.at(piece, method)).spends(6.0, ADVANCE)

    assert detect(DETECTOR, run, KEPT) == []


TRAFFIC = """
import pickle

def encode(game):
    return pickle.dumps(game)

def decode(data):
    return pickle.loads(data)

def check(game, file):
    assert decode(encode(game)) == game
    {checked}

class Link:
    def send(self, game):
        self.sent = pickle.dumps(game)
        self.pipe.send_bytes(self.sent)

    def hear(self):
        {heard}
        return pickle.loads(self.sent)

def train(game, connection, rows, link):
    while True:
        payload = pickle.dumps(game)
        {between}
            game = pickle.loads(payload)
"""


def copies_in(piece: str, function: str, **lines: str) -> bool:
    plain = {"checked": "pass", "heard": "pass", "between": "if True:"}
    script = Script("traffic.py", TRAFFIC.format(**plain | lines))
    run = a_plan(4.0, KEPT.at("link.hear()", "plan"), script.at(piece, function))
    return bool(detect(DETECTOR, run.spends(6.0, ADVANCE), KEPT, script))


@pytest.mark.parametrize(
    ("between", "is_told"),
    [
        ("if True:", True),
        ("for other in rows:", True),
        ("payload = connection.recv_bytes()\n        if True:", False),
        ("for payload in rows:", False),
        ("for (payload,) in rows.execute('SELECT blob'):", False),
    ],
)
def test_a_name_that_stands_for_other_bytes_by_then_is_no_copy(between: str, is_told: bool):
    assert copies_in("game = pickle.loads", "train", between=between) is is_told


@pytest.mark.parametrize(
    ("checked", "is_told"),
    [("pass", True), ("decode(encode(file))", True), ("decode(file.read(64))", False)],
)
def test_a_function_that_is_given_bytes_from_elsewhere_too_is_no_copy(checked: str, is_told: bool):
    assert copies_in("return pickle.loads(data)", "decode", checked=checked) is is_told


@pytest.mark.parametrize(
    ("heard", "is_told"), [("pass", True), ("self.sent = self.pipe.recv_bytes()", False)]
)
def test_an_attribute_that_holds_what_came_as_well_is_no_copy(heard: str, is_told: bool):
    assert copies_in("return pickle.loads(self.sent)", "Link.hear", heard=heard) is is_told
