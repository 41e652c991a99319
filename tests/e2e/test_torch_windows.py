"""Windows of torch's profiler in real programs, however they train and however they end."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from rlprof.model.recording import TorchWindow
from rlprof.report.build import build_report
from tests.live_processes import Result, wait_until

pytest.importorskip("torch", reason="torch is missing (pip install torch)")

TRAINING = """
    import os, signal, sys, time
    import torch
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(net.parameters())
    batch = torch.ones(16, 8)

    def update():
        loss = net(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def train(updates):
        for _ in range(updates):
            loss = update()
        return loss.item()

    def train_for(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            update()

    def train_in_an_open_window():
        from rlprof_agent import torch_plan, torch_windows
        # On a slow machine it would have ended before anybody looks.
        torch_plan.AT_ONCE_NS = 60_000_000_000
        while not torch_windows._windows.is_open:
            update()
        train(2)
"""


def training(body: str) -> str:
    lines = [line.removeprefix("    ") for line in TRAINING.splitlines()]
    return "\n".join(lines) + "\n" + body


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Where the run puts what it does not keep. Its path is short: torch puts sockets there, whose names have room
    for 108 characters.
    """
    with tempfile.TemporaryDirectory(prefix="w-") as around:
        folder = Path(around, "t")
        folder.mkdir()
        yield folder


@pytest.fixture
def train(write, rlprof_run, temporary) -> Callable[..., Result]:
    """Runs the training above with ``body`` below it, windows from the first updates on."""

    def _train(
        body: str,
        *,
        torch: str = "always",
        steps: int = 5,
        environment: Mapping[str, str] | None = None,
        **keywords: object,
    ) -> Result:
        script = write(training(body))
        options = ["--torch", torch, "--torch-steps", str(steps)]
        env = {"TMPDIR": str(temporary), **(environment or {})}
        return rlprof_run(script, options=options, env=env, **keywords)

    return _train


def windows(result: Result) -> list[tuple[str, str]]:
    return [(window.kind, window.fate) for window in result.recording.torch_windows]


def names(window: TorchWindow, category: str) -> list[str]:
    rows = json.loads(gzip.decompress(window.trace))["traceEvents"]
    return [row["name"] for row in rows if row.get("cat") == category]


def test_three_short_windows_one_of_them_with_stacks(train, temporary):
    result = train("train_for(4)\nprint('trained')")

    assert (result.code, result.out, result.err) == (0, b"trained\n", "")
    *first_two, (_, fate) = windows(result)
    # On a crowded machine the third is of what is done between two updates.
    assert (first_two, fate) == ([("plain", "written"), ("stacks", "written")], "written")
    plain, stacks, _ = result.recording.torch_windows
    assert 1 <= plain.updates <= 5
    steps = names(plain, "user_annotation").count("Optimizer.step#Adam.step")
    assert steps == plain.updates
    assert not names(plain, "python_function")
    assert any("update" in name for name in names(stacks, "python_function"))
    assert not list(temporary.glob("rlprof-*"))
    assert result.recording.overhead["torch_windows_cpu_us"] > 0


GUARDED = """
import builtins
train(5)
real = builtins.__import__

class NotAllowed(BaseException):
    pass

class Guard:
    @staticmethod
    def find_spec(name, path=None, target=None):
        raise NotAllowed(name)

def guarded(name, *where):
    if not name.startswith("torch"):
        raise NotAllowed(name)
    return real(name, *where)

sys.meta_path.insert(0, Guard)
builtins.__import__ = guarded
train_for(4)
builtins.__import__ = real
sys.meta_path.remove(Guard)
print("trained")
"""


@pytest.mark.slow
def test_a_window_imports_nothing_that_a_guard_of_the_programs_may_forbid(train):
    result = train(GUARDED)

    assert (result.code, result.out, result.err) == (0, b"trained\n", "")
    assert ("stacks", "written") in windows(result)


def test_results_are_those_without_rlprof(train, bare_run, write):
    body = (
        "torch.manual_seed(1)\n[layer.reset_parameters() for layer in net[::2]]\nprint(train(2000))"
    )
    result = train(body)
    alone = bare_run(write(training(body), "alone.py"))

    assert result.out == alone.stdout
    assert windows(result)


def test_what_a_function_holds_ends_with_it_though_a_window_was_taken_in_it(train):
    body = """
import csv, gc

gc.disable()

class Simulator:
    def __del__(self):
        print('closed')

def main():
    simulator = Simulator()
    train_for(3)
    rows = csv.writer(open('late.csv', 'w'))
    rows.writerow([1, 2, 3])

main()
print('over', os.path.getsize('late.csv'))
"""
    result = train(body)

    assert windows(result)
    assert result.out == b"closed\nover 7\n"


def test_off_leaves_torch_as_it_is(train):
    body = """
from torch.optim import optimizer as module
print(len(module._global_optimizer_post_hooks), 'KINETO_LOG_LEVEL' in os.environ)
print(torch.Tensor.item is torch._C.TensorBase.item)
print([name for name in sys.modules if name.startswith('rlprof_agent.torch_')])
train(300)
"""
    result = train(body, torch="off")

    assert result.out == b"0 False\nTrue\n['rlprof_agent.torch_windows']\n"
    assert windows(result) == []


@pytest.mark.slow
def test_a_profiler_of_the_programs_own_keeps_everything(train):
    body = """
from torch.profiler import profile
with profile() as own:
    train_for(1)
print(sum(event.count for event in own.key_averages() if event.key == 'aten::addmm') > 100)
train_for(1)
"""
    result = train(body)

    assert (result.code, result.out) == (0, b"True\n")
    assert windows(result) == []
    assert "torch-profiler-of-its-own" in result.note_slugs


@pytest.mark.slow
def test_a_window_makes_way_for_a_profiler_that_starts_in_it(train):
    body = """
from torch.profiler import profile
train_in_an_open_window()
with profile() as own:
    train(100)
counts = {event.key: event.count for event in own.key_averages()}
print(counts['aten::addmm'], counts['Optimizer.step#Adam.step'])
"""
    result = train(body, steps=1000)

    assert (result.code, result.out) == (0, b"200 100\n")
    assert windows(result) == [("plain", "given-up")]


@pytest.mark.parametrize(
    "look", [pytest.param("sys.getprofile()", marks=pytest.mark.slow), "sys.setprofile(None)"]
)
def test_a_profile_function_of_torchs_is_not_seen_by_the_program(train, look):
    body = f"""
from rlprof_agent import layout, torch_plan, torch_windows
torch_plan.AT_ONCE_NS = 60_000_000_000
taken = torch_windows._windows
while not (taken.is_open and taken._capture.kind == layout.WINDOW_STACKS):
    update()
print({look}, taken.is_open)
train_for(2)
print(sys.getprofile())
"""
    result = train(body, steps=2)

    assert (result.code, result.out) == (0, b"None False\nNone\n")
    assert ("stacks", "written") in windows(result)


@pytest.mark.slow
def test_a_mode_of_the_programs_is_not_called_for_a_window(train):
    body = """
read = updates = 0
class Counts(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        global read
        read += function.__name__ == "__get__"
        return function(*args, **(kwargs or {}))
with Counts():
    end = time.monotonic() + 4
    while time.monotonic() < end:
        update()
        updates += 1
print(read > 0, read % updates)
"""
    result = train(body)

    assert (result.code, result.out) == (0, b"True 0\n")
    assert ("stacks", "written") in windows(result)


IN_RANGES_OF_A_WINDOW = """
import contextlib
from torch.profiler import record_function
from rlprof_agent import torch_windows
with contextlib.ExitStack() as stack:
    train_in_an_open_window()
    for name in ("epoch", "batch"):
        stack.enter_context({begin})
    while torch_windows._windows.is_open:
        update()
    # The next would be due after half a second.
    train_for(2)
    print(torch_windows._windows._number)
train_for(2)
print(torch_windows._windows._number)
"""


def test_no_window_begins_before_the_ranges_of_the_last_have_ended(train):
    result = train(IN_RANGES_OF_A_WINDOW.format(begin="record_function(name)"))

    assert (result.code, result.out) == (0, b"1\n3\n")


@pytest.mark.slow
def test_a_range_whose_end_nobody_tells_is_followed_by_no_window(train):
    begin = "torch._C._profiler._RecordFunctionFast(name)"
    result = train(IN_RANGES_OF_A_WINDOW.format(begin=begin))

    assert (result.code, result.out) == (0, b"1\n1\n")
    assert "torch-range-open" in result.note_slugs


@pytest.mark.slow
def test_a_thread_that_learns_is_left_alone_and_a_note_says_so(train):
    body = """
import threading
thread = threading.Thread(target=train_for, args=(3,))
thread.start()
thread.join()
"""
    result = train(body)

    assert (result.code, result.err) == (0, "")
    assert windows(result) == []
    assert "torch-in-a-thread" in result.note_slugs


@pytest.mark.parametrize(
    ("ending", "code", "fate"),
    [
        pytest.param("pass", 0, "written", marks=pytest.mark.slow),
        pytest.param("sys.exit(3)", 3, "written", marks=pytest.mark.slow),
        ("raise ValueError('bad batch')", 1, "written"),
        pytest.param("os._exit(4)", 4, "lost", marks=pytest.mark.slow),
        pytest.param("os.kill(os.getpid(), signal.SIGTERM)", 143, "lost", marks=pytest.mark.slow),
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", 137, "lost", marks=pytest.mark.slow),
        ("os.abort()", 134, "lost"),
    ],
)
def test_a_program_may_end_in_a_window_as_it_likes(train, temporary, ending, code, fate):
    result = train(f"train_in_an_open_window()\n{ending}", steps=1000)

    assert result.code == code
    assert [told for _, told in windows(result)] == [fate]
    assert not list(temporary.glob("rlprof-*"))


@pytest.mark.parametrize(
    "at_end", ["pass", pytest.param("tracemalloc.start()", marks=pytest.mark.slow)]
)
def test_no_window_begins_once_the_last_would_have_been_ended(write, rlprof_run, at_end):
    script = write(
        f"""\
        import atexit, time, tracemalloc

        @atexit.register  # Before torch is imported: of all that the end calls it comes last.
        def evaluate():
            from rlprof_agent import torch_windows
            tracemalloc.stop()
            are_open = set()
            end = time.monotonic() + 3
            while time.monotonic() < end:
                net(torch.ones(8))
                are_open.add(torch_windows._windows.is_open)
            print(are_open)

        import torch
        net = torch.nn.Linear(8, 8)
        {at_end}
        """
    )
    result = rlprof_run(script, options=["--torch", "always"])

    # A profiler of torch's that is on at the end crashes the process.
    assert (result.code, result.out, result.err) == (0, b"{False}\n", "")


@pytest.mark.parametrize(
    ("owner", "name", "handler"),
    [
        pytest.param(
            *("torch.autograd.profiler", "_prepare_profiler", "time_out"), marks=pytest.mark.slow
        ),
        ("torch.autograd.profiler", "_enable_profiler", "time_out"),
        ("torch.autograd.profiler", "_disable_profiler", "lambda *_: sys.exit(3)"),
        pytest.param(
            *("torch.profiler._KinetoProfile", "export_chrome_trace", "time_out"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_signal_handler_raises_through_a_window_into_the_program(
    train, temporary, owner, name, handler
):
    body = f"""
def time_out(*_):
    raise TimeoutError

def interrupted(*args, **keywords):
    result = real(*args, **keywords)
    setattr({owner}, "{name}", real)
    os.kill(os.getpid(), signal.SIGALRM)
    return result

real = {owner}.{name}
{owner}.{name} = interrupted
signal.signal(signal.SIGALRM, {handler})
try:
    while True:
        update()
except (TimeoutError, SystemExit) as error:
    print(type(error).__name__)
print(torch._C._autograd._profiler_enabled(), torch.autograd.profiler._is_profiler_enabled)
print({owner}.{name} is real)
train(50)
"""
    result = train(body)

    name = "TimeoutError" if handler == "time_out" else "SystemExit"
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{name}\nFalse False\nTrue\n".encode()
    assert windows(result) == [("plain", "failed")]
    assert not list(temporary.glob("rlprof-*"))


@pytest.mark.slow
def test_a_child_forked_in_a_window_is_free_of_it(train):
    body = """
import torch.autograd.profiler as module
before = module._prepare_profiler
train_in_an_open_window()
assert module._prepare_profiler is not before
child = os.fork()
if child == 0:
    print(module._prepare_profiler is before, torch._C._autograd._profiler_enabled(), flush=True)
    train(50)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
train(10)
"""
    result = train(body, steps=1000)

    assert (result.code, result.out) == (0, b"True False\n7\n")
    assert result.recording.torch_windows[0].fate == "written"


def test_a_child_that_another_thread_forks_in_a_window_has_no_profile_function(train):
    body = """
import threading
from rlprof_agent import layout, torch_plan, torch_windows
torch_plan.AT_ONCE_NS = 60_000_000_000
taken = torch_windows._windows
is_open = threading.Event()

def fork():
    is_open.wait()
    was_open = taken.is_open
    child = os.fork()
    if child == 0:
        print(was_open, sys.getprofile(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)

thread = threading.Thread(target=fork)
thread.start()
while not (taken.is_open and taken._capture.kind == layout.WINDOW_STACKS):
    update()
is_open.set()
while thread.is_alive():
    update()
train_for(1)
"""
    result = train(body, steps=1000)

    assert (result.code, result.out) == (0, b"True None\n")
    assert "torch-profiler-of-its-own" not in result.note_slugs


@pytest.mark.parametrize("in_window", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_forked_child_ends_after_a_window(train, in_window):
    """It waited at its end for a thread of torch's profiler that only its parent has."""
    body = f"""
train_in_an_open_window()
if not {in_window}:
    train_for(0.5)
child = os.fork()
if child == 0:
    raise SystemExit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    result = train(body, steps=1000 if in_window else 10)

    assert (result.code, result.out) == (0, b"3\n")
    assert result.recording.torch_windows[0].fate == "written"


@pytest.mark.slow
def test_a_forked_learner_opens_no_library_for_its_windows(train):
    """glibc ends a forked child that opens one, where a thread of its parent was opening one at the fork."""
    body = """
program = os.getpid()
opened = []

def notes(event, arguments):
    if event == "ctypes.dlopen" and os.getpid() != program:
        opened.append(arguments[0])

train(2)
# At the program's own call the agent would step aside.
from rlprof_agent import stand_ins
stand_ins._real(sys.addaudithook)(notes)
child = os.fork()
if not child:
    train_in_an_open_window()
    print(opened, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    result = train(body)

    assert (result.code, result.out) == (0, b"[]\n")


@pytest.mark.slow
def test_each_learner_of_a_fork_or_spawn_has_its_own(train):
    body = """
import multiprocessing
if __name__ == '__main__':
    learners = [
        multiprocessing.get_context(method).Process(target=train_for, args=(2,))
        for method in ('fork', 'spawn')
    ]
    [learner.start() for learner in learners]
    [learner.join() for learner in learners]
"""
    result = train(body)

    learners = {result.process("fork").id, result.process("spawn").id}
    assert {window.process for window in result.recording.torch_windows} == learners
    assert all(fate == "written" for _, fate in windows(result))


@pytest.mark.slow
def test_each_rank_of_a_distributed_training_has_its_own(write, rlprof_run, temporary):
    script = write(
        """\
        import torch
        torch.distributed.init_process_group("gloo")
        torch.set_num_threads(1)
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(400):
            optimizer.zero_grad()
            net(torch.ones(16, 8)).sum().backward()
            optimizer.step()
        torch.distributed.destroy_process_group()
        """
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    result = rlprof_run(
        "--",
        *launcher,
        script,
        options=["--torch", "always", "--torch-steps", "5"],
        env={"TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"},
    )
    plain = [window for window in result.recording.torch_windows if window.kind == "plain"]

    assert result.code == 0
    assert len({window.process for window in plain}) == 2
    assert all(window.fate == "written" and window.updates for window in plain)


@pytest.mark.slow
def test_workers_of_a_data_loader_do_their_work_in_a_window(train):
    body = """
if __name__ == '__main__':
    from torch.utils.data import DataLoader
    loader = DataLoader(torch.ones(4000, 8), batch_size=16, num_workers=2)
    for epoch in range(2):
        for batch in loader:
            update()
    print('loaded')
"""
    result = train(body, steps=50)

    assert (result.code, result.out) == (0, b"loaded\n")
    assert windows(result)[0] == ("plain", "written")


SEEMS_ON_CUDA = """
torch.cuda.is_initialized = lambda: True
torch.cuda.is_current_stream_capturing = lambda: False
torch.version.cuda = "13.0"
"""


UNTIL_THE_FIRST = """
from rlprof_agent import torch_plan, torch_windows
torch_plan.BEGIN_AFTER_S = (0, 0, 0)
torch_plan.MOST_COST = 1.0
while not (torch_windows._windows._number or torch_windows._windows.is_stopped):
    update()
"""
"""Trains until a window has been taken, or it is clear that there will be none."""


@pytest.mark.parametrize(("prelude", "has_windows"), [(SEEMS_ON_CUDA, False), ("", True)])
def test_a_program_on_cuda_has_none_unless_they_are_asked_for(train, prelude, has_windows):
    result = train(prelude + UNTIL_THE_FIRST, torch="auto")

    assert result.code == 0
    assert bool(windows(result)) is has_windows
    assert ("torch-no-windows-on-cuda" in result.note_slugs) is not has_windows


@pytest.mark.slow
def test_a_program_without_an_optimizer_has_timed_windows(write, rlprof_run):
    script = write(
        """\
        import sys, time, torch
        net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
        end = time.monotonic() + 5
        with torch.no_grad():
            while time.monotonic() < end:
                net(torch.ones(16, 8))
        print('torch._inductor' in sys.modules)
        """
    )
    result = rlprof_run(script, options=["--torch", "always"])

    assert result.out == b"False\n"
    assert windows(result)[0] == ("timed", "written")
    assert "aten::addmm" in names(result.recording.torch_windows[0], "cpu_op")


BACKWARD_IN_PYTHON = """
from rlprof_agent import torch_plan, torch_windows

class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, is_over):
        ctx.is_over = is_over
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        end = time.monotonic() + 4
        while time.monotonic() < end and not ctx.is_over():
            grad + 1
            time.sleep(0.002)
        return grad * 2, None

def backward_until(is_over):
    Backward.apply(batch.clone().requires_grad_(), is_over).sum().backward()

def is_open():
    return torch_windows._windows.is_open

def own_profiler_works():
    while is_open():
        time.sleep(0.002)
    torch_windows._windows.is_stopped = True
    with torch.profiler.profile() as own:
        train(10)
    print(sum(event.count for event in own.key_averages() if event.key == "aten::addmm"))
"""


def test_no_window_begins_within_a_backward_pass(train):
    """torch would lose it at the end of the pass, and crash as it is exported."""
    body = """
while not torch_windows._windows._probe._frames.saw_torch:
    net(batch)
backward_until(is_open)
own_profiler_works()
"""
    result = train(BACKWARD_IN_PYTHON + body)

    assert (result.code, result.out) == (0, b"20\n")
    assert {fate for _, fate in windows(result)} <= {"written"}


@pytest.mark.slow
def test_no_window_ends_within_a_backward_pass(train):
    """It would count as on for good, and no profiler of the program's could begin."""
    body = """
torch_plan.AT_ONCE_NS = 3_500_000_000
while not is_open():
    update()
backward_until(lambda: not is_open())
own_profiler_works()
"""
    result = train(BACKWARD_IN_PYTHON + body, steps=1000)

    assert (result.code, result.out) == (0, b"20\n")
    assert windows(result) == [("plain", "written")]


@pytest.mark.slow
def test_where_greenlets_change_places_no_window_has_stacks(train):
    """torch loses count of the calls there, and says so on the program's stderr."""
    pytest.importorskip("greenlet", reason="greenlet is missing (pip install greenlet)")
    result = train("import greenlet\ntrain_for(4)")

    assert ("stacks", "written") in windows(result)
    for window in result.recording.torch_windows:
        assert not names(window, "python_function")


WARNS = """
import warnings
import torch._inductor.config

prepared = torch.profiler._KinetoProfile.prepare_trace

def warns(self):
    warnings.warn("Profiler clears events at the end of each cycle")
    return prepared(self)

torch.profiler._KinetoProfile.prepare_trace = warns
train_for(3)
"""
"""As torch 2.10 and 2.11 do, wherever their compiler is loaded."""


@pytest.mark.slow
def test_a_torch_that_warns_as_a_profiler_is_prepared_is_kept_from_it(train):
    result = train(WARNS)

    assert {fate for _, fate in windows(result)} == {"written"}
    assert "Profiler clears" not in result.err


@pytest.mark.slow
def test_a_long_window_ends_by_its_time(train):
    result = train("train_for(4)", steps=1000)

    assert all(fate == "written" for _, fate in windows(result))
    assert all(0 < window.updates < 1000 for window in result.recording.torch_windows)


@pytest.mark.slow
@pytest.mark.parametrize("own_first", [True, False])
def test_a_profiler_of_the_programs_own_prints_what_it_would(write, train, bare_run, own_first):
    body = f"""
from torch.profiler import profile
def profile_itself():
    with profile():
        update()
if {own_first}:
    profile_itself()
if 'RLPROF_SOCKET' in os.environ:
    train_in_an_open_window()
    train(10)
profile_itself()
profile_itself()
"""
    result = train(body)
    alone = bare_run(write(training(body), "alone.py"))

    assert windows(result)[0] == ("plain", "written")
    assert without_times(result.err) == without_times(alone.stderr.decode())
    assert len(without_times(result.err)) == (6 if own_first else 4)


def without_times(text: str) -> list[str]:
    return [re.sub(r":\S+ \S+ \d+:\d+ ", ": ", line) for line in text.splitlines()]


@pytest.mark.slow
def test_a_missing_folder_for_temporary_files_costs_nothing(train, tmp_path):
    result = train("train_in_an_open_window()", environment={"TMPDIR": str(tmp_path / "missing")})

    assert (result.code, result.err) == (0, "")
    assert windows(result) == [("plain", "written")]


@pytest.mark.slow
def test_no_room_for_temporary_files_costs_the_windows_and_it_is_told(train):
    body = """
import errno
from rlprof_agent import torch_trace
def full(source, target):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
torch_trace.os.symlink = full
train_in_an_open_window()
"""
    result = train(body)

    assert (result.code, result.err) == (0, "")
    assert windows(result) == [("plain", "failed")]
    assert "torch-without-room" in result.note_slugs
    assert "disk-full" not in result.note_slugs


@pytest.mark.slow
def test_without_rlprof_a_program_takes_no_further_windows(write, start, temporary, tmp_path):
    body = """
from rlprof_agent import torch_windows
train_in_an_open_window()
print('training', flush=True)
end = time.monotonic() + 60
while not torch_windows._windows.is_stopped and time.monotonic() < end:
    update()
with open('stopped', 'w') as file:
    file.write(str(torch_windows._windows.is_stopped))
"""
    options = ["--torch", "always", "--torch-steps", "100"]
    running = start(write(training(body)), options=options, env={"TMPDIR": str(temporary)})
    running.wait_line("training")
    os.kill(running.pid, signal.SIGKILL)
    stopped = tmp_path / "stopped"
    wait_until(lambda: stopped.exists() and stopped.read_text(), "the program to end")

    assert stopped.read_text() == "True"
    assert not list(temporary.glob("rlprof-*"))


@pytest.mark.slow
def test_without_the_probe_there_are_none_and_a_note_says_so(write, rlprof_run):
    script = write(training("train(100)"))
    result = rlprof_run(script, options=["--torch", "always", "--no-probe"])

    assert windows(result) == []
    assert "torch-without-probe" in result.note_slugs


def test_the_report_leaves_the_windows_out(train, write, rlprof_run):
    result = train("import rlprof\nfor _ in range(3000):\n    update()\n    rlprof.step()")

    report = build_report(result.recording)

    assert report.torch_windows
    assert all(row.is_left_out for row in report.torch_windows)
    assert report.throughput.total_steps == 3000
    shown_us = max(phase.end_us for phase in report.phases)
    assert shown_us < result.recording.run.wall_us
