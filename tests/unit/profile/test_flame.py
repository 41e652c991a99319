from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.errors import UsageError
from rlprof.model.flame import Flame, FlameFrame, FlameSelection
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Recording
from rlprof.profile.build import build_profile
from rlprof.profile.flame import build_flame, widest_frames
from tests.factories import SECOND, RunBuilder, a_run
from tests.profile_factory import SITE

IMPORT = "importlib:1176 _find_and_load"


def flame_of(
    builder: RunBuilder, selection: FlameSelection | None = None, *, thinnest_share: float = 0.0
) -> Flame:
    recording = builder.recording()
    return build_flame(
        recording, build_profile(recording), selection, thinnest_share=thinnest_share
    )


def with_frozen_importlib(recording: Recording) -> Recording:
    """Give the frames of ``IMPORT`` the file name of the real import system."""
    nodes = tuple(
        node._replace(frame=node.frame._replace(file="<frozen importlib._bootstrap>"))
        if node.frame.file == "importlib"
        else node
        for node in recording.nodes
    )
    return replace(recording, nodes=nodes)


def labels(flame: Flame) -> list[str]:
    return [frame.label for frame in flame.frames]


def the(flame: Flame, label: str) -> FlameFrame:
    [frame] = [frame for frame in flame.frames if frame.label == label]
    return frame


def a_pair_of_processes() -> RunBuilder:
    return (
        a_run("train.py")
        .process("main", steps=1000)
        .spends(6.0, "train.py:12 step", "env.py:3 reward")
        .spends(2.0, "train.py:14 log")
        .process("worker")
        .spends(1.0, "worker.py:5 collect")
        .spends(3.0, "worker.py:6 recv", idle=True)
        .thread("feeder")
        .spends(0.5, "queues.py:9 feed")
    )


def test_samples_are_merged_under_process_and_thread() -> None:
    flame = flame_of(a_pair_of_processes())

    kinds = [(frame.depth, frame.kind) for frame in flame.frames]
    assert kinds[0] == (0, "root")
    assert [frame.kind for frame in flame.frames if frame.depth == 1] == ["process", "process"]
    assert [frame.label for frame in flame.frames if frame.kind == "thread"] == [
        "MainThread",
        "MainThread",
        "feeder",
    ]
    assert the(flame, "step").wall_us == 6 * SECOND
    assert the(flame, "recv").idle_us == 3 * SECOND
    assert flame.frames[0].wall_us == round(12.5 * SECOND)
    assert flame.frames[0].idle_us == 3 * SECOND


def test_two_lines_of_a_function_are_two_boxes_in_order_of_lines() -> None:
    builder = a_run().process().spends(1, "a.py:20 step").spends(5, "a.py:7 step")

    flame = flame_of(builder)

    assert [(f.label, f.line) for f in flame.frames if f.label == "step"] == [
        ("step", 7),
        ("step", 20),
    ]


def test_pseudo_frames_are_called_by_what_they_mean() -> None:
    flame = flame_of(a_run().process().spends(1, "a.py:1 f", ":GC:").spends(1, ":INVALID:"))

    assert the(flame, "garbage collection").kind == "runtime"
    assert the(flame, "stack could not be read whole").kind == "runtime"


def test_frames_are_in_preorder_with_parents_before_children() -> None:
    flame = flame_of(a_pair_of_processes())

    for position, frame in enumerate(flame.frames[1:], 1):
        assert 0 <= frame.parent < position
        assert frame.depth == flame.frames[frame.parent].depth + 1


@pytest.mark.parametrize("wanted", ["1001", "worker"])
def test_a_process_is_chosen_by_pid_or_by_role(wanted: str) -> None:
    flame = flame_of(a_pair_of_processes(), FlameSelection(process=wanted))

    assert "collect" in labels(flame)
    assert "step" not in labels(flame)
    assert flame.selection == f"process {wanted}"


def test_a_thread_is_chosen_by_a_part_of_its_name() -> None:
    flame = flame_of(a_pair_of_processes(), FlameSelection(thread="feed"))

    assert the(flame, "feed").wall_us == flame.frames[0].wall_us


def test_cpu_leaves_out_what_only_waits() -> None:
    flame = flame_of(a_pair_of_processes(), FlameSelection(metric="cpu"))

    assert "recv" not in labels(flame)
    assert flame.frames[0].cpu_us == round(9.5 * SECOND)


def test_imports_belong_to_start_up_whenever_they_happen() -> None:
    recording = with_frozen_importlib(
        a_run()
        .process(steps=1000)
        .spends(1.5, "train.py:2 set_up", start_up=True)
        .spends(1.0, "train.py:9 step", IMPORT, f"{SITE}/late.py:1 <module>")
        .spends(1.0, "train.py:9 step", IMPORT, "own.py:7 train")
        .spends(8.0, "train.py:9 step", "env.py:3 reward")
        .recording()
    )
    profile = build_profile(recording)

    start_up = build_flame(recording, profile, FlameSelection(phase=PhaseKind.START_UP))
    steady = build_flame(recording, profile, FlameSelection(phase=PhaseKind.STEADY))

    assert {"set_up", "import", "<module>"} <= set(labels(start_up))
    assert "reward" not in labels(start_up)
    # A module of yours that is imported may be the training itself.
    assert "train" not in labels(start_up)
    assert "train" in labels(steady)
    assert "<module>" not in labels(steady)


def test_the_frames_of_one_import_share_a_box() -> None:
    load = "importlib:690 _load_unlocked"
    recording = with_frozen_importlib(
        a_run()
        .process()
        .spends(1.0, "train.py:1 <module>", IMPORT, load, "torch.py:1 <module>", IMPORT, load)
        .spends(0.5, "train.py:1 <module>", IMPORT)
        .recording()
    )

    flame = build_flame(recording, build_profile(recording))

    below = [(frame.label, frame.file, frame.wall_us) for frame in flame.frames[3:]]
    assert below == [
        ("<module>", "train.py", 1_500_000),
        ("import", "", 1_500_000),
        ("<module>", "torch.py", 1_000_000),
        ("import", "", 1_000_000),
    ]


def test_the_phases_share_out_the_whole_run() -> None:
    recording = a_pair_of_processes().spends(1.0, "a.py:1 early", start_up=True).recording()
    profile = build_profile(recording)

    parts = [
        build_flame(recording, profile, FlameSelection(phase=phase.kind)).frames[0].wall_us
        for phase in profile.phases
    ]

    assert sum(parts) == sum(recording.samples.wall_us)


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (FlameSelection(process="4711"), "1000"),
        (FlameSelection(process="0"), "1001"),
        (FlameSelection(thread="nobody"), "feeder"),
        (FlameSelection(phase=PhaseKind.SHUTDOWN), "steady"),
        (FlameSelection(metric="memory"), "wall, cpu"),
    ],
)
def test_a_selection_that_matches_nothing_says_what_there_is(
    selection: FlameSelection, says: str
) -> None:
    with pytest.raises(UsageError) as caught:
        flame_of(a_pair_of_processes(), selection)

    assert says in caught.value.hint


def test_cpu_of_a_run_without_cpu_time_is_said_so() -> None:
    with pytest.raises(UsageError, match="no CPU time"):
        flame_of(a_run().process().spends(2, "a.py:1 wait", idle=True), FlameSelection("cpu"))


def test_an_empty_run_is_a_lone_root() -> None:
    flame = flame_of(a_run().process())

    assert [frame.kind for frame in flame.frames] == ["root"]


def test_thin_boxes_go_and_their_time_stays_with_the_caller() -> None:
    builder = (
        a_run()
        .process()
        .spends(9.9, "a.py:1 f", "a.py:2 wide")
        .spends(0.1, "a.py:1 f", "a.py:3 thin")
    )

    flame = flame_of(builder, thinnest_share=0.05)

    assert "thin" not in labels(flame)
    assert the(flame, "f").wall_us == 10 * SECOND
    assert flame.pruned_share == pytest.approx(0.01)


def test_what_is_left_out_twice_counts_once() -> None:
    builder = (
        a_run()
        .process()
        .spends(8, "a.py:1 wide")
        .spends(1.5, "b.py:2 narrow")
        .spends(0.5, "b.py:2 narrow", "b.py:3 thin")
    )
    flame = flame_of(builder, thinnest_share=0.1)

    kept, further = widest_frames(flame.frames, "wall", len(flame.frames) - 1)

    assert flame.pruned_share == pytest.approx(0.05)
    assert [flame.frames[place].label for place in kept][3:] == ["wide"]
    assert flame.pruned_share + further == pytest.approx(0.2)


def test_the_widest_frames_come_with_their_callers() -> None:
    flame = flame_of(a_run().process().spends(1, *(f"a.py:{n} f{n}" for n in range(50))))

    kept, pruned = widest_frames(flame.frames, "wall", 20)

    assert kept == list(range(20))
    assert pruned == 1


def test_a_stack_of_5000_frames_is_drawn_whole() -> None:
    flame = flame_of(a_run().process().spends(1, *(f"a.py:{n} f{n}" for n in range(5000))))

    assert flame.frames[-1].label == "f4999"
    assert flame.frames[-1].depth == 5002


a_stack = st.lists(
    st.sampled_from(["a.py:1 a", "a.py:2 a", "b.py:1 b", ":GC:"]), min_size=1, max_size=6
)
some_stacks = st.lists(
    st.tuples(st.integers(1, 50), a_stack, st.booleans()), min_size=1, max_size=12
)


@given(some_stacks)
def test_folding_keeps_totals_and_children_fit_into_their_caller(
    stacks: list[tuple[int, list[str], bool]],
) -> None:
    builder = a_run().process()
    for tenths, stack, idle in stacks:
        builder.spends(tenths / 10, *stack, idle=idle)
    recording = builder.recording()

    flame = build_flame(recording, build_profile(recording), thinnest_share=0.0)

    below = [0] * len(flame.frames)
    for frame in flame.frames[1:]:
        below[frame.parent] += frame.wall_us
    assert flame.frames[0].wall_us == sum(recording.samples.wall_us)
    assert flame.frames[0].idle_us == sum(recording.samples.idle_us)
    assert all(below[i] <= frame.wall_us for i, frame in enumerate(flame.frames))


def many_rows() -> Recording:
    builder = a_run(steady_s=500).process()
    for branch in range(100):
        builder.spends(1.0, *(f"a.py:{n} f{n}_{branch % (n + 1)}" for n in range(40)))
    return builder.recording()


def test_a_hundred_thousand_rows_take_well_under_a_second_of_cpu() -> None:
    recording = many_rows()
    profile = build_profile(recording)
    assert len(recording.samples) == 100_000

    before = time.process_time()
    build_flame(recording, profile)

    # 0.1 s on one slow core; ten times that means something became quadratic.
    assert time.process_time() - before < 1.0
