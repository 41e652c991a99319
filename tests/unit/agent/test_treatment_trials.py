"""A treatment in one process, from the cells in which it is asked for to those that tell what became of it."""

from __future__ import annotations

import gc
import os
import sys
import time
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import layout, treatments
from rlprof.agent.inject.rlprof_agent.stack_probe import StackProbe
from rlprof.agent.inject.rlprof_agent.treatments import settings
from rlprof.recording.mailboxes.treatment_desk import TreatmentState, as_bytes
from tests.treated_program import Program, Try

ON, OFF = TreatmentState.ON, TreatmentState.OFF
ABSENT, REFUSED, WITHDRAWN = (
    TreatmentState.ABSENT,
    TreatmentState.REFUSED,
    TreatmentState.WITHDRAWN,
)

PROGRAM = """
def step(n):
    return n

def other(n):
    return n

def batches():
    yield 1
"""


@pytest.fixture
def program(tmp_path) -> Program:
    return Program(tmp_path, PROGRAM)


@pytest.fixture
def its_try():
    its_try = Try()
    yield its_try
    its_try.leave()


def test_nothing_is_done_before_anything_is_asked_for(its_try):
    its_try.trial.follow(its_try.mailbox)

    assert its_try.desk.told()[:3] == (TreatmentState.NOT_HEARD, 0, "")
    assert its_try.mailbox.cells[layout.CELL_TREATMENT_STATE] == 0


def test_it_is_off_until_it_is_wanted_and_when_it_is_left(program, its_try):
    code = program.step.__code__
    part = program.call("every", program.step, every=2)

    assert its_try.arm(part)[:3] == (OFF, 0, "")
    assert its_try.turn()[:3] == (OFF, 0, "")
    assert its_try.want(True)[:3] == (ON, 0, "")
    program.step(1)
    assert its_try.turn()[:3] == (ON, 1, "")
    its_try.leave()

    assert program.step.__code__ is code
    assert its_try.desk.told().state is TreatmentState.NOT_HEARD


def test_the_next_one_takes_the_place_of_the_one_before(program, its_try):
    step, other = program.step.__code__, program.other.__code__
    its_try.arm(program.call("every", program.step, every=2))
    its_try.want(True)
    program.step(1)

    assert its_try.arm(program.call("every", program.other, every=2))[:3] == (OFF, 0, "")
    assert program.step.__code__ is step
    its_try.want(True)

    assert program.step.__code__ is step
    assert program.other.__code__ is not other


def test_a_wish_of_the_one_before_is_not_obeyed(program, its_try):
    its_try.arm(program.call("every", program.step, every=2))
    its_try.want(True)

    its_try.desk.ask(77, as_bytes([program.call("every", program.other, every=2)]))

    assert its_try.turn().state is OFF


def test_all_parts_are_on_and_off_together(program, its_try):
    before = program.step.__code__, program.other.__code__
    parts = [program.call("every", each, every=2) for each in (program.step, program.other)]

    with its_try.on(*parts):
        now = program.step.__code__, program.other.__code__

    assert not set(map(id, now)) & set(map(id, before))
    assert (program.step.__code__, program.other.__code__) == before


def test_one_part_that_is_absent_leaves_the_others(program, its_try):
    gone = {**program.call("every", program.other, every=2), "name": "gone"}
    code = program.step.__code__

    with its_try.on(gone, program.call("every", program.step, every=2)):
        assert program.step.__code__ is not code


def test_two_that_change_one_function_are_refused_and_leave_it_its_own(program, its_try):
    before = program.step.__code__, program.other.__code__
    its_try.arm(
        program.call("every", program.other, every=2),
        program.call("every", program.step, every=2),
        program.call("from-memory", program.step),
    )

    told = its_try.want(True)

    assert (told.state, told.why) == (REFUSED, "two treatments change step")
    assert (program.step.__code__, program.other.__code__) == before
    its_try.leave()


def test_what_was_not_put_on_by_then_is_not_put_back(program, its_try, monkeypatch):
    """A setting would go back to what it was when the last try began, or to what it never was."""
    put_back: list[str] = []
    monkeypatch.setitem(
        settings._SETTINGS, "told", lambda _: (lambda: None, lambda: put_back.append("told"))
    )
    step = program.call("every", program.step, every=2)

    its_try.arm(step, step, {"way": "setting", "what": "told"})
    assert its_try.want(True).state is REFUSED
    assert put_back == []

    its_try.arm({"way": "setting", "what": "told"}, step, step)
    assert its_try.want(True).state is REFUSED
    assert put_back == ["told"]


def test_two_that_stand_in_for_one_function_in_c_are_refused_too(its_try):
    collect = gc.collect
    part = {"way": "call", "what": "every", "module": "gc", "attribute": "collect", "every": 2}
    its_try.arm(part, {**part, "every": 3})

    told = its_try.want(True)

    assert (told.state, told.why) == (REFUSED, "two treatments change collect")
    assert gc.collect is collect


def test_one_after_another_may_change_the_same_function(program, its_try):
    for what in "every", "from-memory", "every":
        its_try.arm(program.call(what, program.step, every=2))
        for _ in range(2):
            assert its_try.want(True).state is ON
            assert its_try.want(False).state is OFF


def test_one_part_that_is_refused_refuses_all(program, its_try):
    refused = program.call("every", program.batches, every=2)
    code = program.step.__code__

    told = its_try.arm(program.call("every", program.step, every=2), refused, refused)

    assert (told.state, told.why) == (REFUSED, "batches is a generator or coroutine")
    its_try.want(True)
    assert program.step.__code__ is code


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"way": "nonsense"}, "KeyError: 'nonsense'"),
        ({"what": "nonsense"}, "KeyError: 'nonsense'"),
        ({"every": "many"}, None),
    ],
)
def test_what_cannot_be_made_for_another_reason_is_refused_too(change, why, program, its_try):
    its_try.arm(program.call("every", program.step, every=2))

    told = its_try.arm({**program.call("every", program.step, every=2), **change})

    if why is None:
        assert told.state is OFF
    else:
        assert (told.state, told.why) == (REFUSED, why)


def test_a_reason_of_the_one_before_is_forgotten(program, its_try):
    its_try.arm(program.call("every", program.batches, every=2))

    assert its_try.arm(program.call("every", program.step, every=2))[:3] == (OFF, 0, "")


@pytest.mark.parametrize("text", ["ü" * 100_000, "\udcff" * 10, "", "line\nline"])
def test_a_reason_of_any_length_and_kind_arrives(text, its_try):
    treatments._reply(its_try.mailbox, text)
    its_try.desk.ask(1, b"")
    its_try.mailbox.cells[layout.CELL_TREATMENT_STATE] = (
        layout.TREATMENT_STATES + layout.TREATMENT_REFUSED
    )

    told = its_try.desk.told()

    sent = text.encode("utf-8", "backslashreplace").decode()
    assert sent.startswith(told.why.rstrip("\ufffd"))
    assert len(told.why) == len(sent) or len(told.why) > 1000


def test_what_cannot_be_put_on_is_withdrawn_and_nothing_of_it_stays(program, its_try, monkeypatch):
    code = program.step.__code__
    its_try.arm(program.call("every", program.step, every=2))
    taken = []

    def fails() -> None:
        raise RuntimeError("cannot be set")

    failing = SimpleNamespace(put_on=fails, take_off=lambda: taken.append(1))
    monkeypatch.setattr(its_try.trial, "_parts", [*its_try.trial._parts, failing])

    told = its_try.want(True)

    assert (told.state, told.why) == (WITHDRAWN, "RuntimeError: cannot be set")
    assert program.step.__code__ is code
    assert taken == [1]
    assert its_try.want(True).state is WITHDRAWN
    assert program.step.__code__ is code


def test_one_part_that_cannot_be_taken_off_keeps_none_of_the_others(program, its_try, monkeypatch):
    code = program.step.__code__
    its_try.arm(program.call("every", program.step, every=2))

    def fails() -> None:
        raise RuntimeError("cannot be set")

    failing = SimpleNamespace(put_on=lambda: None, take_off=fails)
    monkeypatch.setattr(its_try.trial, "_parts", [*its_try.trial._parts, failing])
    its_try.want(True)

    its_try.want(False)

    assert program.step.__code__ is code


# Silence


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """That of the agent, ``now`` in ns."""
    clock = SimpleNamespace(now=time.monotonic_ns())
    monkeypatch.setattr(treatments, "time", SimpleNamespace(monotonic_ns=lambda: clock.now))
    return clock


@pytest.mark.parametrize("is_on", [True, False])
def test_silence_takes_it_away(is_on, program, its_try, clock):
    code = program.step.__code__
    its_try.arm(program.call("every", program.step, every=2))
    its_try.desk.want(is_on, clock.now)
    its_try.turn()

    clock.now += layout.TREATMENT_PATIENCE_NS
    assert its_try.turn().state is (ON if is_on else OFF)
    clock.now += 1
    told = its_try.turn()

    assert (told.state, told.why) == (WITHDRAWN, "rlprof went silent")
    assert program.step.__code__ is code


def test_it_stays_away_though_the_recorder_is_heard_again(program, its_try, clock):
    code = program.step.__code__
    its_try.arm(program.call("every", program.step, every=2))
    clock.now += 10 * layout.TREATMENT_PATIENCE_NS
    its_try.turn()

    its_try.desk.want(True, clock.now)

    assert its_try.turn().state is WITHDRAWN
    assert program.step.__code__ is code


def test_a_beat_that_comes_before_the_treatment_keeps_it(program, its_try, clock):
    its_try.desk.want(False, clock.now)
    its_try.desk.ask(1, as_bytes([program.call("every", program.step, every=2)]))

    assert its_try.turn().state is OFF


# Forks


def test_a_forked_child_starts_untreated(program, monkeypatch):
    """As ``_renew_cells`` has it; the parent stays as it is."""
    its_try = Try()
    monkeypatch.setattr(treatments, "_treatment", its_try.trial)
    code = program.step.__code__
    with its_try.on(program.call("every", program.step, every=2)):
        child = os.fork()
        if child == 0:
            try:
                treatments.end()
                os._exit(0 if program.step.__code__ is code else 1)
            finally:
                os._exit(2)
        _, status = os.waitpid(child, 0)
        assert program.step.__code__ is not code

    assert os.waitstatus_to_exitcode(status) == 0


def test_the_end_takes_it_away_and_begins_anew(program, its_try):
    code = program.step.__code__
    part = program.call("every", program.step, every=2)
    its_try.arm(part)
    its_try.want(True)

    its_try.trial.end()
    assert program.step.__code__ is code
    its_try.trial.end()

    assert its_try.arm(part).state is OFF
    assert its_try.want(True).state is ON


def test_an_end_in_the_midst_of_a_treated_call_is_no_error(program, its_try):
    """A signal handler of the program's may fork within it."""
    part = program.call("from-memory", program.step)
    its_try.arm(part)
    its_try.want(True)
    treated = program.step.__code__.co_consts
    (instead,) = [
        each for each in treated if getattr(getattr(each, "func", None), "__name__", "") == "called"
    ]

    its_try.trial.end()

    assert instead(4) == 4


def test_it_is_withdrawn_where_nobody_would_switch_it_any_more(program, its_try):
    code = program.step.__code__
    its_try.arm(program.call("every", program.step, every=2))
    its_try.want(True)

    its_try.trial.stop(its_try.mailbox, "the stack probe stepped aside")

    assert its_try.desk.told()[::2] == (WITHDRAWN, "the stack probe stepped aside")
    assert program.step.__code__ is code


def test_a_probe_that_steps_aside_takes_it_along(program, its_try, monkeypatch):
    code = program.step.__code__
    its_try.arm(program.call("every", program.step, every=2))
    its_try.want(True)
    monkeypatch.setitem(sys.modules, "rlprof_agent.treatments", treatments)
    monkeypatch.setattr(treatments, "_treatment", its_try.trial)
    probe = StackProbe.__new__(StackProbe)
    probe._mailbox = its_try.mailbox

    probe._set_state(layout.PROBE_ON)
    assert program.step.__code__ is not code
    probe._set_state(layout.PROBE_TRACED)

    assert program.step.__code__ is code
    assert its_try.desk.told().state is WITHDRAWN


def test_treated_code_that_is_pickled_by_value_is_untreated_where_it_is_read(program, its_try):
    cloudpickle = pytest.importorskip("cloudpickle", reason="pip install cloudpickle")
    its_try.arm(program.call("from-memory", program.step))
    its_try.want(True)
    program.step.__module__ = "__main__"

    copy = cloudpickle.loads(cloudpickle.dumps(program.step))
    its_try.want(False)

    assert [copy(each) for each in range(3)] == [0, 1, 2]
    assert its_try.desk.told().reached == 0


def test_all_that_is_needed_is_imported_before_the_program_begins():
    treatments.load()

    folder = treatments.__name__
    for file, name in treatments.WAYS.values():
        assert hasattr(sys.modules[f"{folder}.{file}"], name)


@pytest.mark.parametrize("what", ["every", "from-memory"])
def test_the_time_that_left_out_calls_take_is_told(what, program, its_try):
    """Of work that takes no time at all there would be a ceiling otherwise, by what the treatment takes."""
    step = program.call(what, program.step, every=1_000_000)
    told_s, took_s = [], []
    for _ in range(4):
        its_try.arm(step)
        # What counting has taken in other tests is in it, too.
        before_s = its_try.turn().cost_s
        its_try.want(True)
        begun_s = time.perf_counter()
        for _ in range(2000):
            program.step(3)
        took_s.append(time.perf_counter() - begun_s)
        told_s.append(its_try.want(False).cost_s - before_s)

    # What a call takes is timed when a try is armed, and another program may have the core just then.
    assert 0 < min(told_s) < 2 * max(took_s)
