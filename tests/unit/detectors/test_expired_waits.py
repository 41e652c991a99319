from __future__ import annotations

import pytest

from rlprof.detectors.expired_waits import DETECTOR
from rlprof.model.finding import Finding
from rlprof.source.gathers import gathering_waits
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, detect, lines_of

SERVER = Script(
    "server.py",
    """
    def gather(self):
        batch = [self.inbox.get()]
        while len(batch) < self.most:
            try:
                batch.append(self.inbox.get(timeout=self.longest))
            except Empty:
                break
        return batch

    def one(self):
        while True:
            item = self.inbox.get(timeout=0.1)
            self.count += len(item)

    def collected(self):
        batch = []
        while True:
            batch.append(self.inbox.get(True, 0.01))
            if len(batch) == 8:
                return batch

    def for_good(self):
        batch = []
        while len(batch) < 8:
            batch.append(self.inbox.get())

    def looks_around(self):
        batch = []
        while len(batch) < 8:
            batch.append(self.inbox.get(timeout=5.0))

    def goes_on(self):
        while True:
            try:
                taken = self.inbox.get(timeout=0.1)
            except Empty:
                continue
            batch.append(taken)
            if len(batch) >= 64:
                batch = self.update(batch)

    def until_late(self):
        while len(batch) < 8 and time.monotonic() < end:
            try:
                batch.append(self.inbox.get(timeout=0.001))
            except Empty:
                pass

    def another_list(self):
        while True:
            kind, message = self.inbox.get(timeout=0.05)
            seen.append(kind)
            if len(returns) > 8:
                break

    def infer(self):
        return self.net(batch)

    def nap(self):
        time.sleep(0.01)
    """,
)
GET = f"{STDLIB}/multiprocessing/queues.py:100 Queue.get"
ACTOR_WAITS = ("actor.py:4 ask", f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv")
STEP = "env.py:5 step"
GATHERS = SERVER.at("timeout=self.longest", "gather")


def a_server(waits: str = GATHERS, *, waits_s: float = 7.0, steps_s: float = 1.0) -> RunBuilder:
    """Ten seconds of two actors, which make the steps, and of one who answers them."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "4"}).process("main")
    run.spends(waits_s, waits, GET, idle=True)
    run.spends(10.0 - waits_s, SERVER.at("return self.net(", "infer"))
    for name in ("actor 1", "actor 2"):
        run.process(name, steps=500).spends(steps_s, STEP)
        run.spends(10.0 - steps_s, *ACTOR_WAITS, idle=True)
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, SERVER)


def test_a_batch_that_nobody_is_left_to_fill():
    (finding,) = found(a_server())

    assert lines_of(finding) == [SERVER.line("timeout=self.longest")]
    assert finding.remainder is not None
    left = finding.remainder.left
    # All wait for 6 to 7 s of the ten.
    assert left.low < 0.4
    assert 0.4 <= left.high < 0.7


@pytest.mark.parametrize(
    "waits",
    [
        SERVER.at("item = self.inbox.get", "one"),
        SERVER.at("batch.append(self.inbox.get())", "for_good"),
        SERVER.at("timeout=5.0", "looks_around"),
    ],
    ids=["one", "for good", "looks around"],
)
def test_silent_of_other_waits(waits):
    assert found(a_server(waits)) == []


def test_silent_where_the_actors_work_meanwhile():
    assert found(a_server(steps_s=9.5)) == []


def test_silent_where_somebody_sleeps():
    run = a_server()
    run.process("robot").spends(1.0, STEP).spends(9.0, SERVER.at("time.sleep", "nap"), idle=True)

    assert found(run) == []


def test_silent_under_its_threshold():
    assert found(a_server(waits_s=0.5)) == []


def test_lines_that_gather():
    wanted = ("timeout=self.longest", "self.inbox.get(True", "timeout=0.001")

    assert gathering_waits(SERVER.text) >= {SERVER.line(text) for text in wanted}
    others = (
        *("item = self.inbox.get", "batch.append(self.inbox.get())", "timeout=5.0"),
        *("taken = self.inbox.get(", "kind, message ="),
    )
    assert gathering_waits(SERVER.text).isdisjoint(SERVER.line(text) for text in others)
