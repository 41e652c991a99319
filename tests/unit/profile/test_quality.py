from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.profile import Drift, Interval
from rlprof.model.recording import Process, Recording
from rlprof.profile.build import build_profile
from rlprof.profile.quality import quality_notes
from tests.factories import a_run


def a_recording(**changes: object) -> Recording:
    """A healthy run of one process, with ``changes`` made to the process."""
    recording = (
        a_run()
        .process("main", steps=1000)
        .spends(2.0, "train.py:1 main", start_up=True)
        .spends(10.0, "train.py:12 step")
        .recording()
    )
    process: Process = replace(recording.processes[0], **changes)
    return replace(recording, processes=(process,))


def notes(recording: Recording) -> dict[str, str]:
    return {note.slug: note.text for note in build_profile(recording).notes}


def test_a_healthy_run_needs_no_note():
    assert notes(a_recording()) == {}


@pytest.mark.parametrize(
    ("slug", "says", "changes"),
    [
        ("processes-missed", "seccomp", {"fate": "missed", "note": "seccomp forbids it"}),
        ("no-clock", "1000", {"fate": "probe-only"}),
        ("poor-coverage", "for 75 %", {"clock_covered_us": 9_000_000}),
        ("probe-samples-lost", "100 of 1 300", {"probe_lost": 100}),
        ("no-probe", "100 %", {"probe_samples": 0}),
    ],
)
def test_what_was_not_seen_is_said(slug, says, changes):
    found = notes(a_recording(**changes))

    assert list(found) == [slug]
    assert says in found[slug]


@pytest.mark.parametrize(
    "changes",
    [
        {"clock_covered_us": 9_700_000},
        {"probe_lost": 12},
        {"fate": "left-out"},
        # The recording ends at 12 s; the process lived on.
        {"ended_us": 60_000_000},
        # Attaching takes some tens of ms.
        {"started_us": 11_500_000, "clock_covered_us": 200_000},
    ],
)
def test_small_gaps_are_no_news(changes):
    assert notes(a_recording(**changes)) == {}


def test_torn_stacks_are_said_to_widen_the_prices():
    run = a_run().process("main", steps=1000)
    run.spends(7.0, "train.py:12 step").spends(3.0, ":INVALID:")

    assert "30 %" in notes(run.recording())["torn-stacks"]


def test_torn_stacks_of_a_program_that_sleeps_are_no_news():
    run = a_run().process("main", steps=1000)
    run.spends(9.8, "train.py:12 wait", idle=True).spends(0.2, ":INVALID:")

    assert "torn-stacks" not in notes(run.recording())


def test_a_report_on_a_killed_recording_says_how_far_it_goes():
    recording = a_recording()
    recording = replace(recording, run=replace(recording.run, complete=False))

    assert "12.0 s" in notes(recording)["recording-incomplete"]


def test_a_report_on_a_recording_that_goes_on_is_not_called_cut_off():
    recording = a_recording()
    recording = replace(recording, run=replace(recording.run, complete=False, is_live=True))

    told = notes(recording)

    assert "still being recorded" in told["recording-goes-on"]
    assert "recording-incomplete" not in told


def test_the_recorder_s_own_words_go_before_ours():
    recording = (
        a_run()
        .process("main", steps=1000)
        .process("worker", fate="missed")
        .spends(1.0, "train.py:12 step")
        .note("warning", "processes-missed", "It left before we came.")
        .recording()
    )

    assert notes(recording) == {"processes-missed": "It left before we came."}


def test_many_pids_are_not_all_listed():
    run = a_run()
    for number in range(9):
        run.process(f"worker {number}", fate="missed")

    text = notes(run.recording())["processes-missed"]

    assert "9 of 9" in text
    assert "1003 and 5 more" in text


def test_a_host_that_other_programs_keep_busy_is_told():
    run = a_run().with_run(host={"usable_cores": "2"})
    run.process("main", steps=1000).spends(10.0, "train.py:12 step", cpu=0.4)

    (note,) = (
        entry for entry in build_profile(run.recording()).notes if entry.slug == "host-shared"
    )

    assert "got 0.4 of 2 cores, while 0.6 of its threads" in note.text


def test_a_host_that_the_run_itself_fills_is_not_shared():
    run = a_run().with_run(host={"usable_cores": "2"})
    for name in ("one", "two", "three"):
        run.process(name, steps=1000).spends(10.0, "train.py:12 step", cpu=0.66)

    assert "host-shared" not in {note.slug for note in build_profile(run.recording()).notes}


@pytest.mark.parametrize(
    ("steady", "says"),
    [
        (Interval(700.0, 600.0, 800.0), ": the rate given is one in between."),
        (Interval(780.0, 600.0, 900.0), ": the rate given, of the whole phase, is above both."),
        (Interval(640.0, 600.0, 800.0), ": the rate given, of the whole phase, is below both."),
        (None, " of the steady phase."),
    ],
)
def test_where_the_rate_lies_beside_those_of_the_thirds_is_told_as_it_is(steady, says):
    recording = a_recording()
    profile = build_profile(recording)
    drifting = replace(profile.throughput, steady_sps=steady, drift=Drift(771.0, 655.0))

    told = quality_notes(recording, replace(profile, throughput=drifting))

    (text,) = [note.text for note in told if note.slug == "throughput-drifts"]
    assert text.endswith(says)
