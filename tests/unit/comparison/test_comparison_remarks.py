"""Counters, figures, and what a comparison says of its own limits."""

from __future__ import annotations

from dataclasses import replace

from rlprof.comparison.compare import Comparison, compare
from rlprof.model.recording import Note
from tests.comparison_factory import ACT, LOOP, a_training, compared
from tests.factories import a_run
from tests.report_factories import a_process, a_report


def slugs(found: Comparison) -> set[str]:
    return {note.slug for note in found.notes}


def test_one_run_a_side_is_always_said():
    assert slugs(compare(a_report(), a_report(id="other"))) >= {"one-run-a-side"}


def test_what_else_differs_is_said():
    base = a_report(id="base", processes=[a_process(python="3.11.7")])
    new = a_report(
        id="new",
        command=("python", "train.py", "seed=2"),
        host={"cores": "8", "cpu_model": "Other CPU", "gpu:0:name": "NVIDIA H200"},
        rlprof_version="0.2.0",
        exit_code=3,
        processes=[a_process(python="3.12.1")],
        notes=[Note("warning", "host-shared", "others")],
    )
    found = compare(base, new)

    texts = {note.slug: note.text for note in found.notes}
    assert "Processor: Test CPU, now Other CPU" in texts["other-machine"]
    assert "GPU 0 model: none, now NVIDIA H200" in texts["other-machine"]
    assert "Python: 3.11.7, now 3.12.1" in texts["other-machine"]
    assert "seed=1" in texts["other-command"]
    assert "seed=2" in texts["other-command"]
    assert "0.2.0" in texts["other-rlprof"]
    assert "exit code 3" in texts["run-ended-badly"]
    assert "host-shared" in texts["remarks-of-a-run"]
    levels = [note.level for note in found.notes]
    assert levels == sorted(levels, key=("error", "warning", "info").index)


def test_two_runs_of_one_program_on_one_machine_need_no_further_remark():
    found = compared(a_training(), a_training())

    assert slugs(found) == {"one-run-a-side"}


def test_a_file_compared_with_itself_is_told():
    report = a_report()

    assert "same-run" in slugs(compare(report, report))


def test_a_cut_off_recording_is_told():
    assert "run-ended-badly" in slugs(compare(a_report(), a_report(complete=False)))


def test_what_all_functions_have_in_common_is_told():
    found = compared(a_training(), a_training(speed=0.8))

    assert "all-alike" in slugs(found)
    assert not any(box.is_clear for box in found.tree.boxes if box.kind == "yours")


def test_runs_without_samples_are_compared_as_far_as_they_go():
    silent = a_run("train.py", steady_s=20).process("main", steps=1000)
    found = compared(silent, a_training())

    assert found.tree is None
    assert "no-steady-stacks" in slugs(found)
    assert found.rate is not None
    assert any(quantity.name == "wall time of the run" for quantity in found.quantities)


def test_reports_without_detail_are_compared_as_far_as_they_go():
    found = compare(a_report(), a_report(id="other"))

    assert found.tree is None
    assert found.rate is not None


def test_runs_without_steps_are_compared_by_shares():
    def uncounted(acting_s: float):
        run = a_run("train.py", start_up_s=0, steady_s=20).process()
        return run.spends(20 - acting_s, LOOP).spends(acting_s, LOOP, ACT)

    found = compared(uncounted(4), uncounted(12))

    assert found.tree.per == "second"
    assert "no-common-rate" in slugs(found)
    (act,) = [function for function in found.tree.functions if function.label == "act"]
    assert (act.base.us, act.new.us) == (0.2e6, 0.6e6)
    assert act.is_clear


def test_counters_are_compared_per_step():
    base = a_training(steps=1000).counts("gpu_syncs", 3000).counts("ipc_bytes", 64_000)
    new = a_training(steps=2000).counts("gpu_syncs", 8000).counts("ipc_bytes", 128_000)
    found = compared(base, new)

    changes = {
        counter.name: (counter.base, counter.new, counter.is_clear) for counter in found.counters
    }
    assert changes == {"gpu_syncs": (3.0, 4.0, True), "ipc_bytes": (64.0, 64.0, False)}
    assert found.counters[0].name == "gpu_syncs"


def test_a_handful_of_events_more_or_less_is_no_change():
    base = a_training().counts("gc_collections", 2)
    new = a_training().counts("gc_collections", 4)

    assert [counter.is_clear for counter in compared(base, new).counters] == [False]


def test_a_counter_of_one_run_alone_is_a_change():
    (only,) = compared(a_training(), a_training().counts("gpu_syncs", 3000)).counters

    assert (only.base, only.new, only.is_clear) == (None, 3.0, True)


def test_workers_are_matched_whatever_their_work_is_called():
    report = a_report(processes=[a_process(), a_process(1001, "environment worker")])
    other = replace(report, processes=(a_process(), a_process(1001, "worker")))
    from rlprof.comparison.stacks import roles_to_compare

    assert roles_to_compare(report, other) == (("main", "worker"), ("main", "worker"))
    assert roles_to_compare(report, report)[0] == ("main", "environment worker")


def test_a_run_that_goes_on_has_not_ended_badly():
    live = a_report(complete=False)
    live = replace(live, run=replace(live.run, is_live=True))

    found = slugs(compare(a_report(), live))

    assert "recording-goes-on" in found
    assert "run-ended-badly" not in found
