"""Windows and reads of torch on a real GPU. Needs torch with CUDA (or ROCm) and a device."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rlprof.device.torch_windows import view_windows
from rlprof.model.recording import Recording
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run
from tests.live_processes import cli

torch = pytest.importorskip("torch", reason="torch is missing (pip install torch)")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(),
        reason="no GPU that torch can use (torch.cuda.is_available())",
    ),
]

DEADLINE_S = 300
UPDATES = 600

REPLAYED = f"""
import torch
weight = torch.ones(8, device="cuda", requires_grad=True)
optimizer = torch.optim.Adam([weight], capturable=True)
def update():
    optimizer.zero_grad(set_to_none=False)
    weight.square().sum().backward()
    optimizer.step()
aside = torch.cuda.Stream()
with torch.cuda.stream(aside):
    for _ in range(3):
        update()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    update()
for _ in range({UPDATES}):
    graph.replay()
torch.cuda.synchronize()
"""
"""Three updates, one that is captured, and its replays."""

PLANTED = f"""
import torch
net = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 8)
).cuda()
optimizer = torch.optim.Adam(net.parameters())
host = torch.randn(4096, 64)
for update in range({UPDATES}):
    batch = host.to("cuda")
    loss = net(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.item()
    if loss > 1e6:
        break
"""

LOOP_LINE = 8
"""The network's own copies to the GPU are made above it."""


def record(program: str, folder: Path, *options: str) -> Recording:
    script = folder / "train.py"
    script.write_text(program)
    run_file = folder / "run.rlprof"
    command = cli("run", "--no-report", *options, "-o", run_file, script)
    done = subprocess.run(
        command, cwd=folder, env=dict(os.environ), timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0
    return read_run(run_file)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(PLANTED, tmp_path_factory.mktemp("gpu"), "--torch", "always")


def test_planted_reads_and_copies_are_counted_to_the_line(recording):
    sites = {
        (site.line, site.method): site
        for site in recording.sync_sites
        if site.file.endswith("train.py") and site.device == "gpu" and site.line >= LOOP_LINE
    }

    assert {key: site.calls for key, site in sites.items()} == {
        (9, "to (to the GPU, pageable)"): UPDATES,
        (14, "item"): UPDATES,
        (15, "__bool__"): UPDATES,
    }
    assert sites[9, "to (to the GPU, pageable)"].bytes == UPDATES * 4096 * 64 * 4
    assert all(site.wait_us > 0 for site in sites.values())


def test_windows_have_rows_of_the_gpu_and_as_many_syncs_as_were_planted(recording):
    plain = next(
        window for window in view_windows(recording.torch_windows) if window.window.kind == "plain"
    )

    assert plain.view is not None
    assert plain.view.has_device
    assert plain.view.busy_share > 0
    blocking = plain.view.blocking
    uploads = sum(blocking.is_upload(call) for call in blocking.calls)
    # A copy of pageable memory is two calls, the copy and its wait; ``.item()`` and the branch are one each.
    assert uploads == pytest.approx(2 * plain.window.updates, abs=2)
    assert len(blocking.calls) - uploads == pytest.approx(2 * plain.window.updates, abs=2)


def test_the_report_names_the_reads_and_the_copies(recording):
    report = build_report(recording)
    found = {finding.finding.detector for finding in (*report.findings, *report.also_seen)}

    assert "gpu-sync" in found


def test_windows_cost_little(recording):
    cost_us = sum(window.ended_us - window.begun_us for window in recording.torch_windows)

    # Of a run of five minutes: 2 %.
    assert cost_us < 0.02 * 300e6


def test_replays_of_a_captured_update_are_updates(tmp_path):
    recording = record(REPLAYED, tmp_path)

    counted = sum(counter.value for counter in recording.counters if counter.name == "updates")
    # The end of the capture counts for the one that is captured.
    assert counted == 3 + 1 + UPDATES
