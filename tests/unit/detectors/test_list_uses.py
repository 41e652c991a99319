from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.calls.long_lists import CUT_OFF, MOVED_IN_ORDER, SEARCHED
from rlprof.detectors.slow_call import DETECTOR
from tests.factories import a_run
from tests.profile_factory import Script, detect

LIST = "type=list length=9000 first.type=int"
PLAY = Script(
    "play.py",
    """
    import bisect
    import numpy as np

    class Play:
        def run(self, env, steps):
            window = []
            while True:
                legal = env.legal()
                known = self.known()
                left = list(self.left)
                move = self.pick(legal)
                if move in legal:
                    place = legal.index(move)
                both = [each for each in self.open if each in legal]
                if move in known:
                    move = None
                if move in left:
                    move = left[0]
                beam = [self.value(each) for each in legal]
                beam.sort()
                beam = beam[-500:]
                window.append(move)
                window = window[-256:]
                seen = np.array(window)
                self.log.append(move)
                self.log = self.log[-256:]
                if steps % 1000 == 0:
                    print(np.mean(self.log))
                steps += 1

        def known(self):
            return self.moves

        def fade(self):
            while True:
                keys = list(self.traces)
                for key in keys:
                    if self.traces[key] < 0.01:
                        del self.traces[key]
                names = list(self.traces)
                self.name = names[self.rng.integers(len(names))]

        def event(self):
            while True:
                when, who = self.events[0]
                del self.events[0]
                bisect.insort(self.events, (when + 1.0, who))
    """,
)


def told(piece: str, function: str = "run", **seen: str) -> list[str]:
    line = PLAY.at(piece, f"Play.{function}")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, line)
    findings = detect(DETECTOR, run.spends(6.0, "env.py:3 step").sees(line, **seen), PLAY)
    return [finding.title.partition(" (")[0] for finding in findings]


@pytest.mark.parametrize(
    ("piece", "name", "is_told"),
    [
        ("if move in legal", "legal", False),
        ("place = legal.index", "legal", False),
        ("both =", "legal", True),
        ("if move in known", "known", True),
        ("if move in left", "left", True),
    ],
)
def test_a_list_that_is_new_each_time_is_searched_as_quickly_as_a_set_of_it_is_made(
    piece: str, name: str, is_told: bool
):
    assert told(piece, **{name: LIST}) == [SEARCHED.done] * is_told


@pytest.mark.parametrize(
    ("piece", "name", "is_told"),
    [
        ("beam = beam[", "beam", False),
        ("window = window[", "window", False),
        ("self.log = self.log[", "self__log", True),
    ],
    ids=["sorted", "made an array", "made an array now and then"],
)
def test_a_list_that_a_deque_cannot_take_the_place_of_is_cut(piece: str, name: str, is_told: bool):
    assert told(piece, **{name: LIST}) == [CUT_OFF.done] * is_told


@pytest.mark.parametrize(("piece", "is_told"), [("keys =", False), ("names =", True)])
def test_a_copy_that_is_gone_through_while_the_container_changes(piece: str, is_told: bool):
    traces = "type=dict length=900 first.type=int"

    assert bool(told(piece, "fade", self__traces=traces)) is is_told


def test_a_heap_takes_the_place_of_a_list_that_is_kept_sorted():
    assert told("del self.events", "event", self__events=LIST) == [MOVED_IN_ORDER.done]
