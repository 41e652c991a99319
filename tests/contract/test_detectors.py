"""What holds for every detector, also for one added tomorrow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding
from rlprof.model.profile import Profile
from rlprof.pricing.traces import find_in
from rlprof.profile.build import build_profile
from rlprof.resources import detector_page
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB
from tests.trace_factory import a_trace

ROOT = Path(__file__).parents[2]
DETECTORS = discover_detectors()
IN_SAMPLES = [detector for detector in DETECTORS if detector.in_samples is not None]
IN_TRACE = [detector for detector in DETECTORS if detector.in_trace is not None]
HEADINGS = [
    "## What it looks for",
    "## Why it costs time",
    "## What to change",
    "## When it stays silent",
    "## How it is priced",
]
MEASURED = "## Measured"
"""Last, on the pages of causes that programs here have: ``test_detector_pages.py``."""

HOSTILE_NAMES = ["<script>alert(1)</script>", "a;b\nc", "x" * 10_000, "\udcff\udcfe", "", "%s{}[]"]
HOSTILE_SOURCES = [
    "def broken(:\n",
    "x = '\0'\n",
    "x = 'a'\n" + "y = " + "1 + " * 250_000 + "1\n",
    "(" * 5_000 + ")" * 5_000,
    "match = 1\n" * 1_000,
    "\udcff\n",
    "",
    "# coding: nonsense\nlogger.debug(f'{x}')\n",
    "import numpy as np\nlogger.debug(f'{np}' + str(1) % 2); x = max(q, key=q.get)\n",
]


@pytest.fixture(params=DETECTORS, ids=[detector.id for detector in DETECTORS])
def detector(request):
    return request.param


@pytest.fixture(params=IN_SAMPLES, ids=[detector.id for detector in IN_SAMPLES])
def in_samples(request):
    return request.param


@pytest.fixture(params=IN_TRACE, ids=[detector.id for detector in IN_TRACE])
def in_trace(request):
    return request.param


def find(detector, profile: Profile) -> list[Finding]:
    return list(detector.in_samples.detect(profile))


def a_deep_run(depth: int) -> RunBuilder:
    """A recursion through the user's code, logging, omegaconf and numpy."""
    files = [
        "train.py",
        f"{STDLIB}/logging/__init__.py",
        f"{SITE}/omegaconf/base.py",
        f"{SITE}/numpy/a.py",
    ]
    run = a_run(start_up_s=10.0).process(steps=100)
    stack = [f"{files[i % 4]}:{i % 3 + 1} debug" for i in range(depth)]
    run.spends(5.0, *stack)
    run.spends(10.0, *stack, start_up=True)
    run.source("train.py", "for i in x:\n    logger.debug(f'{i}')\n    y = max(q, key=q.get)\n")
    return run


def test_there_are_detectors():
    assert len(IN_SAMPLES) >= 30
    assert len(IN_TRACE) >= 25
    assert len({detector.id for detector in DETECTORS}) == len(DETECTORS)


def test_has_a_page_with_its_headings(detector):
    lines = detector_page(detector.id).splitlines()

    assert lines[0] == f"# {detector.id}"
    headings = [line for line in lines if line.startswith("## ")]
    assert [heading for heading in headings if heading != MEASURED] == HEADINGS


def test_its_file_and_its_test_are_named_after_it(detector):
    name = detector.id.replace("-", "_")

    assert (ROOT / "rlprof" / "detectors" / f"{name}.py").is_file()
    if detector.in_samples is not None:
        assert (ROOT / "tests" / "unit" / "detectors" / f"test_{name}.py").is_file()


def test_finds_nothing_in_an_empty_run(in_samples):
    empty = a_run(start_up_s=0.0, steady_s=0.0)
    nothing_seen = a_run().process()

    assert find(in_samples, build_profile(empty.recording())) == []
    assert find(in_samples, build_profile(nothing_seen.recording())) == []


def test_walks_a_very_deep_stack(in_samples):
    profile = build_profile(a_deep_run(5_000).recording())

    assert_well_made(find(in_samples, profile), in_samples)


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_takes_any_name(in_samples, name):
    recording = a_deep_run(12).recording()
    nodes = tuple(
        node._replace(frame=node.frame._replace(function=name, file=node.frame.file + name))
        for node in recording.nodes
    )
    sources = {file + name: text for file, text in recording.sources.items()}

    found = find(in_samples, build_profile(replace(recording, nodes=nodes, sources=sources)))

    assert_well_made(found, in_samples)


@pytest.mark.parametrize("source", HOSTILE_SOURCES, ids=range(len(HOSTILE_SOURCES)))
def test_takes_any_source(in_samples, source):
    run = a_deep_run(12).source("train.py", source)

    assert_well_made(find(in_samples, build_profile(run.recording())), in_samples)


def test_the_same_profile_gives_the_same_findings(in_samples):
    recording = a_deep_run(40).recording()

    first = find(in_samples, build_profile(recording))

    assert find(in_samples, build_profile(recording)) == first


def test_silent_on_a_trace_in_which_nothing_happens(in_trace, tmp_path):
    trace = a_trace()
    trace.rows.append({"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0})
    view = trace.view(tmp_path)

    assert list(in_trace.in_trace.detect(view)) == []
    assert find_in(view, [in_trace]).listed == ()


def test_silent_on_a_gpu_that_always_works(in_trace, tmp_path):
    trace = a_trace()
    for step in range(5):
        start = step * 1000.0
        trace.region(f"ProfilerStep#{step}", start, 1000.0).op("aten::mm", start, 500.0)
        trace.kernel(start + 10.0, start + 500.0, 1000.0)

    assert list(in_trace.in_trace.detect(trace.view(tmp_path))) == []


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_takes_any_name_in_a_trace(in_trace, name, tmp_path):
    trace = a_trace().op(name, 0.0, 50.0).region(name, 0.0, 80.0).python(name, 0.0, 70.0)
    trace.kernel(5.0, 30.0, 50.0, name=name).call("cudaDeviceSynchronize", 90.0, 10.0)
    trace.copy("HtoD (Pageable -> Device)", 110.0, 20.0, start=115.0, took=5.0, size=1_000_000)

    list(in_trace.in_trace.detect(trace.kernel(140.0, 150.0, 5.0).view(tmp_path)))


def assert_well_made(findings: list[Finding], detector) -> None:
    for finding in findings:
        assert finding.detector in ("", detector.id)
        assert finding.title
        assert "\n" not in finding.title.replace("a;b\nc", "")
        assert finding.fix
        assert finding.evidence
        shares = [location.share for location in finding.locations]
        assert shares == sorted(shares, reverse=True)
        assert all(0.0 <= share <= 1.0 for share in shares)
        assert all(len(location.source) <= 200 for location in finding.locations)
        for saving in finding.savings:
            assert saving.nodes
            assert 0.0 <= saving.removable.low <= saving.removable.high <= 1.0
