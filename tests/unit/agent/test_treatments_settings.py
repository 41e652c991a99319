"""Settings of the interpreter and of torch, changed and put back."""

from __future__ import annotations

import gc
import sys

import pytest

from rlprof.recording.treatment_desk import TreatmentPart, TreatmentState
from tests.treated_program import Try

ON, OFF = TreatmentState.ON, TreatmentState.OFF
ABSENT, REFUSED = TreatmentState.ABSENT, TreatmentState.REFUSED


def setting(what: str, **more: str | int) -> TreatmentPart:
    return {"way": "setting", "what": what, **more}


@pytest.fixture
def its_try():
    its_try = Try()
    yield its_try
    its_try.leave()


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


# The garbage collector


@pytest.fixture
def collector():
    """As it is now, at the end of the test too."""
    thresholds, enabled = gc.get_threshold(), gc.isenabled()
    yield thresholds
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    (gc.enable if enabled else gc.disable)()


def test_the_collector_is_left_as_it_was(collector, its_try):
    gc.set_threshold(701, 11, 12)
    assert its_try.arm(setting("collector")).state is OFF
    assert (gc.get_threshold(), gc.get_freeze_count()) == ((701, 11, 12), 0)

    for _ in range(2):
        assert its_try.want(True).state is ON
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] > 701
        its_try.want(False)
        assert (gc.get_threshold(), gc.get_freeze_count()) == ((701, 11, 12), 0)


def test_thresholds_are_those_of_the_moment_it_is_put_on(collector, its_try):
    its_try.arm(setting("collector"))
    gc.set_threshold(555, 5, 5)

    its_try.want(True)
    its_try.want(False)

    assert gc.get_threshold() == (555, 5, 5)


def test_thresholds_that_the_program_sets_meanwhile_stay(collector, its_try):
    its_try.arm(setting("collector"))
    its_try.want(True)
    gc.set_threshold(999, 9, 9)

    its_try.leave()

    assert gc.get_threshold() == (999, 9, 9)


def test_a_collector_that_the_program_switched_off_stays_off(collector, its_try):
    gc.disable()
    with its_try.on(setting("collector")):
        assert not gc.isenabled()

    assert not gc.isenabled()


def test_objects_that_the_program_has_frozen_stay_frozen(collector, its_try):
    gc.freeze()
    frozen = gc.get_freeze_count()

    told = its_try.arm(setting("collector"))
    its_try.want(True)
    its_try.leave()

    assert told.state is REFUSED
    assert gc.get_freeze_count() > frozen / 2  # Some have gone meanwhile.


# torch


def test_threads_are_as_many_as_before(torch, its_try):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        its_try.arm(setting("torch-threads", threads=1))
        assert torch.get_num_threads() == 2
        its_try.want(True)
        assert torch.get_num_threads() == 1
        its_try.want(False)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("before", [True, False])
def test_checks_of_distributions_are_as_before(before, torch, its_try):
    kind = torch.distributions.Distribution
    was = kind._validate_args
    kind.set_default_validate_args(before)
    try:
        with its_try.on(setting("distribution-checks")):
            torch.distributions.Normal(0.0, -1.0)
        assert kind._validate_args is before
    finally:
        kind.set_default_validate_args(was)


@pytest.mark.parametrize(
    ("what", "module"),
    [
        ("torch-threads", "torch"),
        ("distribution-checks", "torch.distributions.distribution"),
        ("optimizer-flags", "torch.optim.optimizer"),
    ],
)
def test_without_torch_there_is_nothing_to_set(what, module, its_try, monkeypatch):
    monkeypatch.delitem(sys.modules, module, raising=False)

    assert its_try.arm(setting(what, threads=1, flag="foreach")).state is ABSENT


def test_flags_of_all_groups_are_set_and_put_back(torch, its_try):
    first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    adam = torch.optim.Adam([{"params": [first]}, {"params": [second], "foreach": False}])
    sgd = torch.optim.SGD([first], lr=0.1, foreach=False)
    groups = [*adam.param_groups, *sgd.param_groups]
    before = [dict(group) for group in groups]

    its_try.arm(setting("optimizer-flags", flag="foreach"))
    assert [dict(group) for group in groups] == before
    its_try.want(True)
    assert [group["foreach"] for group in groups] == [True] * 3
    its_try.want(False)

    assert [dict(group) for group in groups] == before


def test_groups_that_were_made_anew_meanwhile_are_put_back_too(torch, its_try):
    first, second = (torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1) for _ in range(2))

    its_try.arm(setting("optimizer-flags", flag="foreach"))
    its_try.want(True)
    first.load_state_dict(second.state_dict())
    its_try.want(False)

    assert [each.param_groups[0]["foreach"] for each in (first, second)] == [None, None]


def test_fused_optimizers_stay_as_they_are(torch, its_try):
    fused = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, fused=True)
    other = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)

    its_try.arm(setting("optimizer-flags", flag="foreach"))
    its_try.want(True)

    assert [each.param_groups[0]["foreach"] for each in (fused, other)] == [None, True]


def test_flags_are_those_of_the_moment_they_are_set(torch, its_try):
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    its_try.arm(setting("optimizer-flags", flag="foreach"))
    sgd.param_groups[0]["foreach"] = False

    its_try.want(True)
    assert sgd.param_groups[0]["foreach"] is True
    its_try.want(False)

    assert sgd.param_groups[0]["foreach"] is False


def test_optimizers_without_the_flag_are_left_alone(torch, its_try):
    lbfgs = torch.optim.LBFGS([torch.nn.Parameter(torch.ones(2))])
    before = dict(lbfgs.param_groups[0])

    its_try.arm(setting("optimizer-flags", flag="no-such-flag"))

    assert its_try.desk.told().state is ABSENT
    assert dict(lbfgs.param_groups[0]) == before


def test_an_optimizer_may_switch_between_two_updates(torch, its_try):
    """Adam keeps its state: what is next is what it would be, but for the last digits."""
    ends = []
    for is_treated in (False, True):
        weight = torch.nn.Parameter(torch.linspace(-1.0, 1.0, 8))
        adam = torch.optim.Adam([weight], lr=0.05)
        if is_treated:
            assert its_try.arm(setting("optimizer-flags", flag="foreach")).state is OFF
        for number in range(20):
            if is_treated:
                its_try.want(number % 3 == 1)
            adam.zero_grad()
            (weight**2).sum().backward()
            adam.step()
        ends.append(weight.detach())
        del adam

    torch.testing.assert_close(*ends)


@pytest.mark.parametrize(
    ("options", "why"), [({"differentiable": True}, "differentiable"), ({"fused": True}, "fused")]
)
def test_an_update_that_would_be_an_error_is_refused(options, why, torch, its_try):
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))], **options)
    before = dict(optimizer.param_groups[0])

    told = its_try.arm(setting("optimizer-flags", flag="foreach"))
    its_try.want(True)

    assert told.state is REFUSED
    assert why in told.why
    assert dict(optimizer.param_groups[0]) == before


def _sparse(torch):
    table = torch.nn.Embedding(8, 2, sparse=True)
    return [table.weight], lambda: table(torch.tensor([1, 2])).sum()


def _transposed(torch):
    weight = torch.nn.Parameter(torch.ones(3, 2))
    weight.grad = torch.arange(6.0).reshape(2, 3).T
    return [weight], lambda: torch.zeros(1, requires_grad=True).sum()


def _late(torch):
    first, late = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    calls = []

    def loss():
        calls.append(0)
        return (first.sum() if len(calls) < 3 else (first + late).sum()) * 1.0

    return [first, late], loss


@pytest.mark.parametrize("program", [_sparse, _transposed, _late])
def test_updates_of_any_kind_go_on_as_they_would(program, torch, its_try):
    """Gradients that are sparse, lie otherwise in memory, or come late."""
    ends = []
    for is_treated in (False, True):
        torch.manual_seed(3)
        parameters, loss = program(torch)
        optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
        if is_treated:
            assert its_try.arm(setting("optimizer-flags", flag="foreach")).state is OFF
        for number in range(6):
            if is_treated:
                its_try.want(number % 2 == 0)
            loss().backward()
            optimizer.step()
        ends.append([each.detach().clone() for each in parameters])
        del optimizer

    torch.testing.assert_close(*ends)
