"""``dataloader-workers`` on samples: batches that are worked on in the process that trains, while cores are free."""

from __future__ import annotations

import pytest

from rlprof.detectors.dataloader_workers import DETECTOR, LEAST_OF_TRAINING
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import Script, detect, lines_of, ranked
from tests.unit.detectors.test_loaded_batches import FETCH, NEXT, QUEUE, SAMPLER, STACK

CLONES = Script(
    "clone.py",
    """
    class Frames:
        def __getitem__(self, i):
            return shift(self.frames[i])

    def train(loader, learn):
        for batch in loader:
            learn(batch)
    """,
)
LOOP = CLONES.at("for batch in loader", "train")
LEARN = CLONES.at("learn(batch)", "train")
SHIFT = CLONES.at("return shift", "Frames.__getitem__")


def a_training(
    made_s: float = 5.0, *, cores: int = 16, batches: int = 500, below: tuple[str, ...] = (FETCH,)
):
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main", steps=1000).counts("batches", batches)
    run.spends(made_s, LOOP, NEXT, *below, SHIFT).spends(0.2, LOOP, NEXT, *below, STACK)
    run.spends(0.1, LOOP, NEXT, SAMPLER)
    return run.spends(9.7 - made_s, LEARN)


def found(run) -> list[Finding]:
    return detect(DETECTOR, run, CLONES)


def test_names_the_loop_and_what_workers_would_leave():
    (finding,) = found(a_training())

    assert finding.title == "batches are made where it trains (clone.py:6)"
    assert lines_of(finding) == [CLONES.line("for batch in loader")]
    assert finding.evidence[0].endswith("for a DataLoader without workers, 10.4 ms each")
    assert "num_workers=8" in finding.fix
    # Training goes on for 0.48 of the time; the batches are handed over.
    assert finding.remainder.left.low == pytest.approx(0.48 + 0.52 * 0.02)
    assert finding.remainder.left.high == pytest.approx(0.48 + 0.52 * 0.2)


def test_a_single_free_core_makes_them_as_fast_as_now_at_best():
    (finding,) = found(a_training(6.5, cores=2))

    assert "num_workers=1" in finding.fix
    assert finding.remainder.left.low == pytest.approx(0.67)
    assert finding.remainder.left.high == pytest.approx(1.0)


def test_is_priced_by_what_is_left():
    first, *_ = ranked(a_training(), CLONES)

    assert first.finding.detector == "dataloader-workers"
    assert first.saved_share.low < 0.45 < first.saved_share.high < 0.55


@pytest.mark.parametrize(
    "run",
    [
        a_training(below=(QUEUE,)),
        a_training(LEAST_OF_TRAINING * 10 - 0.3),
        a_training(cores=1),
        # Half a millisecond each.
        a_training(batches=10_400),
    ],
    ids=["workers", "little", "no-core", "quick"],
)
def test_silent_where_workers_are_of_no_use(run):
    assert found(run) == []


def test_silent_on_items_that_lie_in_memory():
    script = Script("clone.py", CLONES.text.replace("shift(self.frames[i])", "self.frames[i]"))

    assert detect(DETECTOR, a_training(), script) == []
