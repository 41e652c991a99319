"""Which findings of a recording can be tried, and by what."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec
import pytest

from rlprof.discovery import discover_detectors
from rlprof.experiments.base import CannotTreatError, Patient, Treatment, call, setting
from rlprof.experiments.discovered import treatments
from rlprof.experiments.plan import NO_TREATMENT, Plan, PlannedFinding, plan_experiments
from rlprof.model.experiment import TreatmentKind
from rlprof.model.finding import Finding, Location
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart, as_bytes
from rlprof.source.values import Values
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, profile_of

TRAIN = Script(
    "train.py",
    """
    import logging
    import torch
    logger = logging.getLogger(__name__)

    class Agent:
        @staticmethod
        @torch.no_grad()
        def step(self, q):
            logger.debug(f"q = {q}")

    def main(agent):
        for _ in range(100):
            agent.step(1)
            batch = torch.tensor(observations)
    """,
)
FORMAT = (
    f"{SITE}/numpy/_core/arrayprint.py:1725 _array_str_implementation",
    f"{SITE}/numpy/_core/arrayprint.py:802 array2string",
)


def a_training(*, steady_s: float = 10.0, counted: str = "steps") -> RunBuilder:
    """Of which six tenths go into the text of a log message."""
    run = a_run("train.py", steady_s=steady_s).process("main")
    if counted:
        run.counts(counted, 1000 * steady_s)
    run.spends(0.6 * steady_s, "train.py:99 main", TRAIN.at("logger.debug", "Agent.step"), *FORMAT)
    run.spends(0.4 * steady_s, "train.py:99 main", "env.py:7 step")
    return run.source(TRAIN.file, TRAIN.text)


def plan_of(run: RunBuilder, known: Sequence[Treatment] | None = None) -> Plan:
    return plan_experiments(run.recording(), treatments() if known is None else known)


def planned(plan: Plan, finding: str) -> PlannedFinding:
    return next(each for each in plan.findings if each.finding == finding)


def a_treatment(
    name: str, parts: Sequence[TreatmentPart] | str = (), *, order: int = 0
) -> Treatment:
    def fit(_: Patient) -> Sequence[TreatmentPart]:
        if isinstance(parts, str):
            raise CannotTreatError(parts)
        return parts or [setting(name)]

    return Treatment(
        name, f"does {name}", TreatmentKind.GAIN, frozenset({"eager-log-format"}), fit, order=order
    )


def test_a_finding_is_planned_with_its_place_its_price_and_its_treatment():
    plan = plan_of(a_training())

    found = planned(plan, "eager-log-format")

    assert (plan.is_steady, plan.counter) == (True, "steps")
    assert (found.file, found.line) == ("train.py", TRAIN.line("logger.debug"))
    assert found.place == f"train.py:{TRAIN.line('logger.debug')}"
    assert found.rank == 1
    assert 0 < found.low < found.high < 1
    (option,) = found.options
    assert (option.treatment, option.kind) == ("lazy-log-text", "gain")
    assert option.parts == [
        {
            "way": "edit",
            "what": "if-logged",
            "file": "train.py",
            "path": "/home/researcher/project/train.py",
            # That of its first decorator, as in its code.
            "line": TRAIN.line("@staticmethod"),
            "name": "step",
            "at": TRAIN.line("logger.debug"),
            "lines": str(TRAIN.line("logger.debug")),
        }
    ]


@pytest.mark.parametrize(("steady_s", "is_steady"), [(7.0, False), (9.0, True)])
def test_a_short_steady_phase_is_waited_for(steady_s, is_steady):
    plan = plan_of(a_training(steady_s=steady_s))

    assert plan.is_steady is is_steady
    if not is_steady:
        assert plan == Plan(is_steady=False)


def test_an_empty_recording_is_waited_for():
    assert plan_of(a_run("train.py", start_up_s=0.5, steady_s=0.0)) == Plan(is_steady=False)


@pytest.mark.parametrize(
    ("counted", "counter"),
    [
        (["steps"], "steps"),
        (["steps", "updates"], "steps"),
        (["updates"], "updates"),
        (["iterations:tqdm", "updates"], "updates"),
        (["iterations:tqdm"], "iterations:tqdm"),
        (["steps:gymnasium.env", "updates"], "steps:gymnasium.env"),
        (["output_steps", "updates"], "updates"),
        (["output_steps"], ""),
        (["episodes"], ""),
        ([], ""),
    ],
)
def test_the_pace_is_measured_by_what_a_process_counts(counted, counter):
    run = a_training(counted="")
    for name in counted:
        run.counts(name, 5000)

    plan = plan_of(run)

    if plan.is_steady:
        assert plan.counter == counter
    else:
        assert not counter


def test_treatments_come_in_their_order():
    known = [a_treatment("b", order=1), a_treatment("c"), a_treatment("a", order=1)]

    found = planned(plan_of(a_training(), known), "eager-log-format")

    assert [option.treatment for option in found.options] == ["c", "a", "b"]


def test_of_parts_that_change_the_same_function_there_is_the_first():
    """As of two lines that both call it: the agent would refuse the second."""
    step = call("every", "train.py", 7, "step", every=50)
    lines = [{**step, "from_line": line} for line in (9, 30)]
    other = call("every", "train.py", 20, "other", every=50)

    (option,) = planned(
        plan_of(a_training(), [a_treatment("a", [*lines, other, setting("x"), setting("x")])]),
        "eager-log-format",
    ).options

    assert option.parts == [lines[0], other, setting("x"), setting("x")]


def test_one_that_does_not_fit_leaves_the_others():
    known = [a_treatment("a", "its line is in no function"), a_treatment("b", order=1)]

    found = planned(plan_of(a_training(), known), "eager-log-format")

    assert [option.treatment for option in found.options] == ["b"]
    assert found.refusal == ""


def test_where_none_fits_the_first_says_why():
    known = [a_treatment("b", "second", order=1), a_treatment("a", "first")]

    found = planned(plan_of(a_training(), known), "eager-log-format")

    assert (found.options, found.refusal) == ([], "first")


def test_where_there_is_none_that_is_said():
    found = planned(plan_of(a_training(), []), "eager-log-format")

    assert (found.options, found.refusal) == ([], NO_TREATMENT)


def test_it_goes_from_one_process_to_another():
    plan = plan_of(a_training())

    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    for found in plan.findings:
        for option in found.options:
            as_bytes(option.parts)


# Each treatment


def a_patient(
    finding: Finding, *, run: RunBuilder | None = None, script: Script = TRAIN
) -> Patient:
    profile = profile_of(run or a_run().process("main"), script)
    return Patient(finding, profile.sources, Values(profile.values), "/project")


def a_finding(*places: tuple[str, int]) -> Finding:
    return Finding(
        title="one",
        savings=(),
        locations=tuple(Location(file, line, "f", 0.5) for file, line in places),
        evidence=(),
        fix="",
    )


def by_id(name: str) -> Treatment:
    return next(each for each in treatments() if each.id == name)


def test_treatments_have_ids_of_their_own_and_are_of_detectors_that_there_are():
    known = treatments()
    detectors = {detector.id for detector in discover_detectors()}

    assert len({each.id for each in known}) == len(known)
    for each in known:
        assert each.findings <= detectors, each.id
        assert each.findings, each.id


LOG_LINE = ("train.py", TRAIN.line("logger.debug"))
TENSOR_LINE = ("train.py", TRAIN.line("batch ="))
CALL_LINE = ("train.py", TRAIN.line("agent.step(1)"))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("frozen-collector", [{"way": "setting", "what": "collector"}]),
        ("no-distribution-checks", [{"way": "setting", "what": "distribution-checks"}]),
        ("one-torch-thread", [{"way": "setting", "what": "torch-threads", "threads": 1}]),
    ],
)
def test_settings_fit_wherever_the_finding_is(name, parts):
    treatment = by_id(name)

    assert treatment.kind is TreatmentKind.GAIN
    assert treatment.parts(a_patient(a_finding())) == parts


def test_texts_of_all_log_lines_are_built_late():
    parts = by_id("lazy-log-text").parts(a_patient(a_finding(LOG_LINE, CALL_LINE)))

    assert [(part["what"], part["at"], part["name"]) for part in parts] == [
        ("if-logged", LOG_LINE[1], "step"),
        ("if-logged", CALL_LINE[1], "main"),
    ]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        ("return Categorical(p, validate_args=True)", "validate_args is given on its line"),
        ("try: return Categorical(p)\n    except ValueError: pass", r"goes on \(act.py:3\)"),
    ],
)
def test_checks_that_the_program_needs_stay(make, why):
    script = Script("act.py", f"def act(p):\n    {make}\n\nwhile True: act(1)\n")
    place = ("act.py", script.line("return"))

    with pytest.raises(CannotTreatError, match=why):
        by_id("no-distribution-checks").parts(a_patient(a_finding(place), script=script))


SIDES = Script(
    "sides.py",
    """
    class Agent:
        def train(self, log, s):
            log.debug(f"weights {self.learn(s)}")
            log.debug("state %s", s); log.debug(f"loss {self.learn(s)}")
            log.debug(f"state {s.sum()}")
    """,
)


@pytest.mark.parametrize("piece", ["weights", "loss"])
def test_a_message_that_does_more_than_make_text_is_refused_as_its_fix_is(piece):
    patient = a_patient(a_finding(("sides.py", SIDES.line(piece))), script=SIDES)

    with pytest.raises(CannotTreatError, match=r"^self\.learn\(\) is called for its message"):
        by_id("lazy-log-text").parts(patient)


def test_of_further_messages_such_ones_are_left_out():
    lines = [("sides.py", SIDES.line(piece)) for piece in ("s.sum()", "weights")]

    (part,) = by_id("lazy-log-text").parts(a_patient(a_finding(*lines), script=SIDES))

    assert part["lines"] == str(SIDES.line("s.sum()"))


def test_the_call_that_makes_a_tensor_is_found():
    (part,) = by_id("one-array-first").parts(a_patient(a_finding(LOG_LINE, TENSOR_LINE)))

    assert (part["what"], part["call"], part["at"]) == (
        "arrays-first",
        "torch.tensor",
        TENSOR_LINE[1],
    )


def test_a_line_without_such_a_call_cannot_be_treated():
    with pytest.raises(CannotTreatError, match=r"none of its lines calls torch\.tensor"):
        by_id("one-array-first").parts(a_patient(a_finding(LOG_LINE)))


def test_all_statements_of_a_finding_are_left_out():
    treatment = by_id("every-fiftieth")

    parts = treatment.parts(a_patient(a_finding(CALL_LINE, LOG_LINE)))

    assert treatment.kind is TreatmentKind.CEILING
    assert [(part["what"], part["at"], part["every"]) for part in parts] == [
        ("every", CALL_LINE[1], 50),
        ("every", LOG_LINE[1], 50),
    ]
    assert treatment.leaves == 1 / 50


ATOMIC = Script(
    "atomic.py",
    """
    import os
    import torch

    def save(net, path):
        torch.save(net.state_dict(), path + ".part")
        torch.save(net.state_dict(), part)
        os.replace(part, path)
    """,
)


@pytest.mark.parametrize("name", ["every-fiftieth", "every-fiftieth-call"])
def test_what_later_lines_need_is_not_left_out_alone(name):
    run = a_run().process("main")
    run.sees(ATOMIC.at("(), part)", "save"), torch__save="function=torch.save file=torch.py line=7")
    place = ("atomic.py", ATOMIC.line("(), part)"))
    patient = a_patient(a_finding(place), run=run, script=ATOMIC)

    with pytest.raises(CannotTreatError, match="what it writes to part is needed"):
        by_id(name).parts(patient)

    assert by_id("every-fiftieth-function").parts(patient)[0]["name"] == "save"


def test_a_call_is_left_out_where_it_was_seen_what_it_calls():
    run = a_run().process("main")
    run.sees(
        TRAIN.at("agent.step(1)", "main"),
        agent__step="function=Agent.step file=train.py line=7",
    )
    patient = a_patient(a_finding(CALL_LINE), run=run)

    (part,) = by_id("every-fiftieth-call").parts(patient)

    assert part == {
        "way": "call",
        "what": "every",
        "file": "train.py",
        "line": 7,
        "name": "step",
        "every": 50,
        "messages": 1,
        # For the calls of that line alone.
        "from_file": "train.py",
        "from_line": CALL_LINE[1],
        "to_line": CALL_LINE[1],
    }


@pytest.mark.parametrize(
    ("detector", "answered"), [("eager-log-format", "worth"), ("slow-call", "debug")]
)
def test_of_a_message_the_call_that_makes_its_text_is_answered_from_memory(detector, answered):
    script = Script("train.py", "def main(log, agent):\n    log.debug(agent.worth(1))\n")
    run = a_run().process("main")
    run.sees(
        script.at("log.debug", "main"),
        log__debug="function=Logger.debug file=/usr/lib/python3.11/logging/__init__.py line=1400",
        agent__worth="function=Agent.worth file=agent.py line=7",
    )
    found = replace(a_finding(("train.py", script.line("log.debug"))), detector=detector)
    profile = profile_of(run, script)
    patient = Patient(found, profile.sources, Values(profile.values), "/project")

    (part,) = by_id("call-from-memory").parts(patient)

    assert part["name"] == answered


def test_a_call_of_which_nothing_was_seen_cannot_be_left_out():
    with pytest.raises(CannotTreatError):
        by_id("every-fiftieth-call").parts(a_patient(a_finding(CALL_LINE)))


def test_the_function_around_the_line_is_answered_from_memory():
    treatment = by_id("from-memory")

    (part,) = treatment.parts(a_patient(a_finding(LOG_LINE)))

    assert treatment.kind is TreatmentKind.CEILING
    assert part == {
        "way": "call",
        "what": "from-memory",
        "file": "train.py",
        "line": TRAIN.line("@staticmethod"),
        "name": "step",
    }


@pytest.mark.parametrize("name", [each.id for each in treatments()])
@pytest.mark.parametrize(
    "finding",
    [
        a_finding(),
        a_finding(("train.py", 1)),
        a_finding(("train.py", 10_000)),
        a_finding(("gone.py", 3)),
        a_finding(("", 0)),
    ],
    ids=["nowhere", "module level", "beyond", "no text", "no file"],
)
def test_where_nothing_is_known_of_the_place_it_is_refused_or_fits(name, finding):
    with suppress(CannotTreatError):
        treatment = by_id(name)
        parts = treatment.parts(a_patient(finding))
        assert parts or treatment.restart
        as_bytes(parts)


@pytest.mark.parametrize("counter", ["gpu_syncs", "h2d_bytes", "d2h_bytes"])
def test_settings_of_a_gpu_are_tried_of_every_program_that_uses_one(counter):
    plan = plan_of(a_training().counts(counter, 10))

    found = planned(plan, "fp32-without-tf32-or-amp")

    assert plan.uses_gpu
    assert [option.treatment for option in found.options] == ["quick-float32"]
    assert (found.rank, found.low, found.high, found.place) == (0, 0.0, 0.0, "")
    # After what samples tell of it.
    assert plan.findings.index(found) > plan.findings.index(planned(plan, "eager-log-format"))


def test_a_hot_line_without_a_known_cause_comes_last():
    run = a_training().counts("gpu_syncs", 10)

    plan = plan_of(run)

    assert [each.finding for each in plan.findings][-1] == "hot-spot"
    assert plan.findings[0].finding == "eager-log-format"


def test_what_an_earlier_finding_tries_in_the_same_way_is_not_tried_again():
    same = [setting("one")]
    hot = replace(
        a_treatment("hot", same), id="one", findings=frozenset({"eager-log-format", "hot-spot"})
    )

    plan = plan_of(a_training(), [hot])

    assert [option.treatment for option in planned(plan, "eager-log-format").options] == ["one"]
    assert planned(plan, "hot-spot").options == []
    assert planned(plan, "hot-spot").refusal == (
        f"it is tried with eager-log-format (train.py:{TRAIN.line('logger.debug')})"
    )


def test_of_a_program_without_a_gpu_none_is():
    plan = plan_of(a_training().counts("would_sync", 10))

    assert not plan.uses_gpu
    assert not {"fp32-without-tf32-or-amp", "conv-search"} & {
        each.finding for each in plan.findings
    }
