"""Two programs that take turns on the machine, as the benchmarks of truth run them, on real processes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]

TELLING = """
import json, sys, time
sys.stdout.write("x" * int(sys.argv[2]) + "\\n")
last = time.monotonic()
end = last + float(sys.argv[1])
longest = 0.0
while last < end:
    time.sleep(0.001)
    longest, last = max(longest, time.monotonic() - last), time.monotonic()
print(json.dumps({"sps": float(sys.argv[3]), "longest_gap_s": longest}))
"""

FAILING = "import sys; sys.exit('no such level')"

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def run_ends(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("run_ends")


def telling(run_ends, sps, seconds=0.3, printed=0):
    arguments = [str(seconds), str(printed), str(sps)]
    return run_ends.Command([sys.executable, "-c", TELLING, *arguments])


def test_each_round_tells_of_both_whoever_has_the_first_turn(run_ends):
    before, after = telling(run_ends, 3.0), telling(run_ends, 4.0)

    made = run_ends.pairs_in_turns(2, before, after, patience_s=0)

    assert [(first.told["sps"], second.told["sps"]) for first, second, _ in made] == [(3, 4)] * 2
    assert all(cores >= 0 for *_, cores in made)


def test_each_is_stopped_while_the_other_runs(run_ends):
    ((first, second, _),) = run_ends.pairs_in_turns(
        1, telling(run_ends, 1.0, seconds=1.0), telling(run_ends, 1.0, seconds=1.0), patience_s=0
    )

    for end in (first, second):
        assert end.told["longest_gap_s"] >= run_ends.TURN_S / 2


def test_what_prints_more_than_a_pipe_holds_ends_all_the_same(run_ends):
    made = run_ends.pairs_in_turns(
        1, telling(run_ends, 1.0, printed=500_000), telling(run_ends, 2.0), patience_s=0
    )

    assert len(made[0][0].stdout) > 500_000


def test_one_that_fails_ends_the_other_and_says_why(run_ends):
    failing = run_ends.Command([sys.executable, "-c", FAILING])
    others = set(psutil.Process().children(recursive=True))

    with pytest.raises(run_ends.ProgramFailedError, match="no such level"):
        run_ends.pairs_in_turns(1, failing, telling(run_ends, 1.0, seconds=50), patience_s=0)

    assert set(psutil.Process().children(recursive=True)) <= others
