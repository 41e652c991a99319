"""Reads of tensors by the host, counted by place in real programs of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live_processes import Result

pytest.importorskip("torch", reason="torch is missing (pip install torch)")

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"


def reads(result: Result) -> dict[tuple[int, str], int]:
    """Calls by line of the script and method."""
    return {
        (site.line, site.method): site.calls
        for site in result.recording.sync_sites
        if site.file.endswith("train.py")
    }


def counted(result: Result, name: str) -> float:
    return sum(counter.value for counter in result.recording.counters if counter.name == name)


def test_planted_reads_are_found_at_their_lines(write, rlprof_run):
    script = write(
        """\
        import numpy, torch
        from torch.distributions import Categorical
        t, many = torch.ones(()), torch.ones(4)
        for _ in range(100):
            t.item()
            float(t)
            if t > 0:
                many.cpu().numpy()
            many.tolist()
        weight = torch.nn.Parameter(torch.ones(1))
        for _ in range(7):
            weight.item()
            Categorical(logits=many)
            numpy.asarray(many)
        """
    )
    result = rlprof_run(script)

    assert result.code == 0
    found = reads(result)
    planted = {(5, "item"), (6, "__float__"), (7, "__bool__"), (8, "cpu"), (9, "tolist")}
    assert {key: found[key] for key in planted} == dict.fromkeys(planted, 100)
    assert found[12, "item"] == 7
    # The check of the distribution's arguments.
    assert found[13, "__bool__"] == 7
    assert found[14, "numpy"] == 7
    assert counted(result, "would_sync") == sum(found.values())
    assert {site.device for site in result.recording.sync_sites} == {"cpu"}
    assert counted(result, "gpu_syncs") == 0


@pytest.mark.slow
def test_compiled_code_is_compiled_as_without_rlprof(rlprof_run, bare_run):
    script = PROGRAMS / "compiled_branches.py"
    result, alone = rlprof_run(script, options=["--torch", "always"]), bare_run(script)

    assert alone.returncode == 0, alone.stderr
    assert (result.code, result.out) == (0, alone.stdout)


def test_warnings_point_at_the_program(write, rlprof_run, bare_run):
    script = write(
        """\
        import torch
        weight = torch.nn.Linear(1, 1)(torch.ones(1, 1))
        float(weight)
        """
    )
    result, alone = rlprof_run(script), bare_run(script)

    assert "train.py:3: UserWarning" in result.err
    assert result.err == alone.stderr.decode()


def test_each_process_counts_its_own(write, rlprof_run):
    script = write(
        """\
        import os, torch
        t = torch.ones(())
        for _ in range(10):
            t.item()
        if os.fork() == 0:
            for _ in range(30):
                t.item()
            os._exit(0)
        os.wait()
        """
    )
    result = rlprof_run(script)
    sites = {(site.process, site.line): site.calls for site in result.recording.sync_sites}

    assert sites == {(0, 4): 10, (1, 7): 30}
