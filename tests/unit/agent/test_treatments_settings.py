"""Settings of the interpreter and of torch, changed and put back."""

from __future__ import annotations

import gc
import sys

import pytest

from rlprof.recording.mailboxes.treatment_desk import TreatmentPart, TreatmentState
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


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("meanwhile", [False, True])
def test_checks_are_as_the_program_has_set_them_meanwhile(before, meanwhile, torch, its_try):
    kind = torch.distributions.Distribution
    was, setter = kind._validate_args, vars(kind)["set_default_validate_args"]
    kind.set_default_validate_args(before)
    try:
        with its_try.on(setting("distribution-checks")):
            kind.set_default_validate_args(meanwhile)
            torch.distributions.Normal(0.0, -1.0)
            with pytest.raises(ValueError, match=r"^$"):
                kind.set_default_validate_args("off")
        assert kind._validate_args is meanwhile
        assert vars(kind)["set_default_validate_args"] is setter
        with its_try.on(setting("distribution-checks")):
            setter.__func__(True)
        assert kind._validate_args is True
    finally:
        kind.set_default_validate_args(was)


@pytest.mark.parametrize(
    ("what", "module"),
    [
        ("torch-threads", "torch"),
        ("distribution-checks", "torch.distributions.distribution"),
    ],
)
def test_without_torch_there_is_nothing_to_set(what, module, its_try, monkeypatch):
    monkeypatch.delitem(sys.modules, module, raising=False)

    assert its_try.arm(setting(what, threads=1)).state is ABSENT


# Switches of torch's

SEARCH = setting("torch-switch", values="torch.backends.cudnn.benchmark=other")
TF32 = setting(
    "torch-switch",
    values="torch.backends.cuda.matmul.allow_tf32=1 torch.backends.cudnn.allow_tf32=1",
)


@pytest.fixture
def backends(torch):
    """Of torch, with TF32 in convolutions alone, as it comes; the same at the end of the test."""
    yield torch.backends
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = True


@pytest.mark.parametrize("before", [False, True])
def test_a_switch_goes_to_its_other_side_and_back(before, backends, its_try):
    backends.cudnn.benchmark = before
    its_try.arm(SEARCH)

    its_try.want(True)
    treated = backends.cudnn.benchmark
    its_try.want(False)

    assert (treated, backends.cudnn.benchmark) == (not before, before)


def test_a_switch_that_the_program_has_on_already_is_refused(backends, its_try):
    backends.cuda.matmul.allow_tf32 = True

    told = its_try.arm(TF32)

    assert (told.state, told.why) == (REFUSED, "the program has it so already")


def test_a_switch_that_the_program_moves_meanwhile_stays_there(backends, its_try):
    its_try.arm(TF32)
    its_try.want(True)
    assert backends.cuda.matmul.allow_tf32
    backends.cuda.matmul.allow_tf32 = False

    its_try.want(False)

    assert not backends.cuda.matmul.allow_tf32
    assert backends.cudnn.allow_tf32


# Autograd's anomaly mode


@pytest.fixture
def anomalies(torch):
    yield torch.autograd
    torch.autograd.set_detect_anomaly(False)


@pytest.mark.parametrize("before", [(False, True), (True, True), (True, False)])
def test_the_anomaly_mode_is_off_and_then_as_before(before, anomalies, torch, its_try):
    anomalies.set_detect_anomaly(*before)
    switches = torch.set_anomaly_enabled, torch.is_anomaly_enabled
    its_try.arm(setting("anomaly-mode"))

    its_try.want(True)
    on, told = torch._C.is_anomaly_enabled(), torch.is_anomaly_enabled()
    its_try.want(False)

    assert (on, told) == (False, before[0])
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == before
    assert (torch.set_anomaly_enabled, torch.is_anomaly_enabled) == switches


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_a_program_that_asks_for_it_in_each_update_has_none_while_it_is_treated(
    anomalies, torch, its_try
):
    its_try.arm(setting("anomaly-mode"))
    its_try.want(True)

    with anomalies.detect_anomaly(check_nan=False):
        inside = torch._C.is_anomaly_enabled(), torch.is_anomaly_enabled()
        its_try.want(False)
        untreated = torch._C.is_anomaly_enabled(), torch._C.is_anomaly_check_nan_enabled()
        its_try.want(True)
    outside = torch.is_anomaly_enabled()
    its_try.want(False)

    assert inside == (False, True)
    assert untreated == (True, False)
    assert (outside, torch.is_anomaly_enabled()) == (False, False)
