"""Reads and copies of tensors, counted by place; tensors here are stand-ins that may be on a GPU."""

from __future__ import annotations

import _thread
import operator
import os
import sys
import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from unittest import mock

import pytest

from rlprof.agent.inject.rlprof_agent import dynamo, held_codes, layout
from rlprof.agent.inject.rlprof_agent.counted import torch_syncs
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.model.recording import SyncSite
from rlprof.recording.mailboxes.mailbox import MailboxReader

PAGEABLE = "to (to the GPU, pageable)"


class Tensor:
    """As much of a tensor as the counting asks for; its methods are bound like torch's own."""

    def __init__(self, *, cuda: bool = False, pinned: bool = False, size: int = 400) -> None:
        self.is_cuda = cuda
        self.nbytes = size
        self._pinned = pinned

    def is_pinned(self) -> bool:
        return self._pinned

    def item(self) -> float:
        return 2.5

    def cpu(self) -> Tensor:
        return Tensor(size=self.nbytes) if self.is_cuda else self

    def numpy(self) -> list[float]:
        return [2.5]

    def __bool__(self) -> bool:
        return True

    def to(self, device: str, **_options: bool) -> Tensor:
        return Tensor(cuda=device == "cuda", size=self.nbytes)

    def copy_(self, _source: Tensor) -> Tensor:
        return self


class Subclass(Tensor):
    """One whose attributes may run the program's code."""


class DeviceContext:
    """The mode of ``torch.set_default_device``."""


@pytest.fixture
def function_modes() -> list[object]:
    """Those that are on, as ``with torch.device(...)`` is one."""
    return []


@pytest.fixture
def mailbox(monkeypatch, function_modes) -> Iterator[Mailbox]:
    made = Mailbox(10_000)
    modes = SimpleNamespace(
        _len_torch_function_stack=lambda: len(function_modes),
        _get_function_stack_at=function_modes.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "torch._C", modes)
    monkeypatch.setitem(sys.modules, "torch.cuda", SimpleNamespace(_initialized=True))
    monkeypatch.setitem(sys.modules, "torch.version", SimpleNamespace(cuda=None, hip=None))
    monkeypatch.setattr(torch_syncs, "_counted", [])
    monkeypatch.setattr(dynamo, "_before_compiling", [])
    monkeypatch.setattr(dynamo, "_may_have_compiled", False)
    monkeypatch.setattr(torch_syncs, "current_agent", lambda: SimpleNamespace(mailbox=made))
    own = {name: vars(Tensor)[name] for name in vars(Tensor)}
    module = ModuleType("torch._tensor")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    torch_syncs.count_syncs(module)
    yield made
    for name, value in own.items():
        if name in (*torch_syncs.READS, *torch_syncs.COPIES):
            setattr(Tensor, name, value)


@pytest.fixture
def reader(mailbox: Mailbox) -> MailboxReader:
    return MailboxReader(os.dup(mailbox.fd))


def only(sites: list[SyncSite]) -> SyncSite:
    (site,) = sites
    return site


def test_methods_give_what_they_gave_before(mailbox):
    tensor = Tensor(cuda=True)
    assert tensor.item() == 2.5
    assert tensor.cpu().numpy() == [2.5]
    assert bool(tensor) is True
    assert Tensor.item(tensor) == 2.5
    assert Tensor.item.__name__ == "item"


@pytest.mark.parametrize("name", ["item", "cpu", "to"])
def test_what_stands_in_the_class_has_the_names_of_a_function(mailbox, name):
    there = vars(Tensor)[name]
    assert (there.__name__, there.__qualname__) == (name, f"Tensor.{name}")


@pytest.mark.parametrize("name", ["item", "cpu", "to"])
def test_methods_can_be_mocked_by_their_own_specification(mailbox, name):
    with mock.patch.object(Tensor, name, autospec=True, return_value=7):
        assert getattr(Tensor(), name)() == 7
    assert Tensor().item() == 2.5


def test_a_read_on_the_cpu_would_wait_and_is_not_timed(reader):
    tensor = Tensor()
    for _ in range(3):
        tensor.item()
    site = only(reader.sites.sites(0))

    assert (site.method, site.device, site.calls) == ("item", "cpu", 3)
    assert (site.wait_us, site.bytes) == (0, 0)
    assert site.function.endswith("test_a_read_on_the_cpu_would_wait_and_is_not_timed")
    assert site.file == __file__
    assert reader.new_counts() == {"would_sync": 3}
    assert reader.new_counts() == {}


def test_a_read_on_a_gpu_waits_and_moves_bytes(reader):
    tensor = Tensor(cuda=True, size=4000)
    for _ in range(5):
        tensor.cpu()
    site = only(reader.sites.sites(7))

    assert (site.process, site.method, site.device, site.calls) == (7, "cpu", "gpu", 5)
    assert site.bytes == 20_000
    assert reader.new_counts() == {"gpu_syncs": 5, "d2h_bytes": 20_000}


@pytest.mark.parametrize("cuda", [False, True])
def test_a_read_that_no_python_code_calls_is_counted_without_a_place(reader, mailbox, cuda):
    # Of the thread C code alone is on the stack where it looks the method up.
    _thread.start_new_thread(operator.methodcaller("item"), (Tensor(cuda=cuda),))
    spare = layout.CELLS_PER_SITE * layout.SPARE_SITE
    deadline = time.monotonic() + 30
    while not mailbox.site_cells[spare] and time.monotonic() < deadline:
        time.sleep(0.001)

    assert mailbox.site_cells[spare] == 1
    assert reader.sites.sites(0) == []


def test_each_line_is_a_place_of_its_own(reader):
    tensor = Tensor()
    tensor.item()
    tensor.item()
    lines = [site.line for site in reader.sites.sites(0)]

    assert lines[1] == lines[0] + 1


def test_a_branch_on_a_tensor_is_a_read(reader):
    tensor = Tensor()
    if tensor:
        pass

    assert only(reader.sites.sites(0)).method == "__bool__"


def test_cpu_then_numpy_is_one_read(reader):
    Tensor().cpu().numpy()

    assert only(reader.sites.sites(0)).method == "cpu"


def test_each_cpu_of_a_tensor_is_a_read(reader):
    tensor = Tensor()
    for _ in range(10):
        tensor.cpu()

    assert only(reader.sites.sites(0)).calls == 10


def test_a_tensor_that_does_not_tell_its_size_is_read_all_the_same(reader):
    sparse = Tensor(cuda=True)
    del sparse.nbytes

    assert sparse.item() == 2.5
    assert (only(reader.sites.sites(0)).calls, only(reader.sites.sites(0)).bytes) == (1, 0)


def test_a_counted_method_is_equal_to_the_one_it_stands_for(mailbox):
    held = vars(Tensor)["item"]

    assert held == Tensor.item
    assert hash(held) == hash(Tensor.item)


def test_places_that_come_and_go_are_forgotten(reader, monkeypatch):
    monkeypatch.setattr(held_codes, "MOST_CODES", 10)
    for number in range(50):
        code = compile("tensor.item()", f"cell{number}.py", "exec")
        exec(code, {"tensor": Tensor()})
    held = vars(Tensor)["item"].sites[0]

    assert len(held.slots) <= 10
    assert reader.new_counts() == {"would_sync": 50}


def test_copies_to_a_gpu_tell_whether_they_wait(reader):
    Tensor(size=100).to("cuda")
    Tensor(size=30, pinned=True).to("cuda")
    methods = {site.method: site.bytes for site in reader.sites.sites(0)}

    assert methods == {PAGEABLE: 100, "to (to the GPU)": 30}
    assert reader.new_counts() == {"h2d_bytes": 130, "gpu_syncs": 1}


def test_a_copy_into_a_tensor_counts_what_it_is_made_of(reader):
    Tensor(cuda=True, size=80).copy_(Tensor(size=80))

    assert only(reader.sites.sites(0)).method == "copy_ (to the GPU, pageable)"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_copy_that_stays_on_its_device_is_none(reader, device):
    Tensor(cuda=device == "cuda").to(device)

    assert reader.sites.sites(0) == []


def test_a_copy_to_the_host_that_does_not_block_is_no_wait(reader):
    Tensor(cuda=True).to("cpu", non_blocking=True)
    assert reader.new_counts() == {}

    Tensor(cuda=True).to("cpu")
    assert reader.new_counts() == {"gpu_syncs": 1, "d2h_bytes": 400}


def test_subclasses_and_function_modes_of_the_programs_are_left_alone(reader, function_modes):
    Subclass(cuda=True).item()
    function_modes.append(Subclass())
    Tensor(cuda=True).item()
    Tensor().item()
    Tensor().to("cuda")

    assert reader.sites.sites(0) == []


def test_a_default_device_is_no_hindrance(reader, function_modes):
    function_modes.append(DeviceContext())
    Tensor(cuda=True).item()

    assert reader.new_counts() == {"gpu_syncs": 1, "d2h_bytes": 400}


def test_more_places_than_there_is_room_for_cost_their_names_alone(reader):
    tensor = Tensor()
    source = "\n".join("tensor.item()" for _ in range(300))
    exec(compile(source, "many.py", "exec"), {"tensor": tensor})
    sites = reader.sites.sites(0)

    assert len(sites) == 255
    assert {site.calls for site in sites} == {1}


def test_a_long_path_is_cut_at_its_beginning(reader):
    path = "/very/long" * 100 + "/train.py"
    exec(compile("tensor.item()", path, "exec"), {"tensor": Tensor()})
    site = only(reader.sites.sites(0))

    assert site.file.endswith("/very/long/train.py")
    assert len(site.file) < 256


def test_what_torch_reads_is_the_doing_of_who_called_it(reader):
    source = "def check(tensor):\n    return tensor.item()"
    names: dict[str, object] = {}
    exec(compile(source, "/site-packages/torch/distributions/distribution.py", "exec"), names)
    check = names["check"]
    check(Tensor())
    site = only(reader.sites.sites(0))

    assert site.file == __file__


def test_a_forked_child_counts_for_itself(reader, monkeypatch):
    tensor = Tensor()
    tensor.item()
    monkeypatch.setattr(torch_syncs, "current_agent", lambda: None)
    torch_syncs.renew()
    tensor.item()

    assert only(reader.sites.sites(0)).calls == 1


def test_torchs_own_methods_stand_where_none_is_counted(mailbox):
    class Sparse(Tensor):
        """One that inherits all of them, as torch's class does some."""

    # As much of torch's module as is looked at.
    torch_syncs.count_syncs(SimpleNamespace(Tensor=Sparse))  # type: ignore[arg-type]
    inherited = torch_syncs._counted[-1]

    torch_syncs._put(reads=False, copies=False)
    assert "item" not in vars(Sparse)
    assert type(vars(Tensor)["item"]) is type(vars(Tensor)["is_pinned"])

    torch_syncs._put(reads=True, copies=False)
    assert isinstance(vars(Tensor)["item"], torch_syncs.CountedMethod)
    assert not isinstance(vars(Tensor)["to"], torch_syncs.CountedMethod)
    assert "to" not in vars(Sparse)

    torch_syncs._put(reads=True, copies=True)
    assert vars(Sparse)["copy_"] is inherited


def test_what_the_program_puts_in_their_places_stays(mailbox):
    def items(tensor: Tensor) -> float:
        return 0.0

    # What the program does here is what types forbid.
    Tensor.item = items  # type: ignore[method-assign]
    for is_counted in (False, True):
        torch_syncs._put(reads=is_counted, copies=is_counted)

        assert vars(Tensor)["item"] is items


def test_nothing_changes_its_place_once_torch_has_compiled(mailbox):
    torch_syncs._put(reads=False, copies=False)

    dynamo._stands_still()
    assert isinstance(vars(Tensor)["item"], torch_syncs.CountedMethod)

    torch_syncs._put(reads=False, copies=False)
    assert isinstance(vars(Tensor)["item"], torch_syncs.CountedMethod)
    assert torch_syncs._away == [True], "reads are let through"
    torch_syncs._put(reads=True, copies=True)


def test_where_torch_is_built_for_a_gpu_copies_stay_counted(mailbox, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.version", SimpleNamespace(cuda="13.0", hip=None))

    torch_syncs._put(reads=False, copies=False)

    assert not isinstance(vars(Tensor)["item"], torch_syncs.CountedMethod)
    assert isinstance(vars(Tensor)["to"], torch_syncs.CountedMethod)
