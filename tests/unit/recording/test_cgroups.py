from __future__ import annotations

from pathlib import Path

from rlprof.recording.machine.cgroups import ControlGroups

GIB = 1 << 30


class Mounted:
    """Control groups under a folder of the test's."""

    def __init__(self, tmp_path: Path, membership: str) -> None:
        self.root = tmp_path / "cgroup"
        self.membership = tmp_path / "membership"
        tmp_path.mkdir(exist_ok=True)
        self.membership.write_text(membership)

    def group(self, path: str, **files: str) -> Mounted:
        folder = self.root / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        return self

    def ours(self) -> ControlGroups:
        return ControlGroups.ours(self.root, self.membership)


def test_the_tightest_group_on_the_way_up_counts(tmp_path):
    groups = (
        Mounted(tmp_path, "0::/jobs/train\n")
        .group("jobs", cpu__max="150000 100000\n", cpu__stat="usage_usec 9\nthrottled_usec 70\n")
        .group("jobs/train", cpu__max="400000 100000\n", cpu__stat="throttled_usec 30\n")
        .ours()
    )

    assert groups.cpu_quota() == 1.5
    assert groups.throttled_us() == 70


def test_version_1_has_a_folder_for_each_controller_and_counts_in_nanoseconds(tmp_path):
    stat = "nr_periods 5\nnr_throttled 2\nthrottled_time 2500000\n"
    groups = (
        Mounted(tmp_path, "5:cpu,cpuacct:/train\n4:memory:/other\n")
        .group(
            "cpu/train", cpu__cfs_quota_us="200000\n", cpu__cfs_period_us="100000\n", cpu__stat=stat
        )
        .group("memory/train", memory__limit_in_bytes="4096\n", memory__usage_in_bytes="1\n")
        .ours()
    )

    assert groups.cpu_quota() == 2.0
    assert groups.throttled_us() == 2500
    assert groups.memory_headroom_bytes() is None


def test_without_a_limit_there_is_nothing_to_tell(tmp_path):
    unlimited = f"{(1 << 63) - 4096}\n"
    groups = (
        Mounted(tmp_path, "0::/train\n4:memory:/train\n")
        .group("train", cpu__max="max 100000\n", cpu__stat="throttled_usec 70\n", memory__max="max")
        .group("memory/train", memory__limit_in_bytes=unlimited, memory__usage_in_bytes="9\n")
        .ours()
    )

    assert (groups.cpu_quota(), groups.throttled_us(), groups.memory_headroom_bytes()) == (
        None,
    ) * 3


def test_the_file_cache_counts_as_room(tmp_path):
    groups = (
        Mounted(tmp_path, "0::/train\n")
        .group(
            "train",
            memory__max=f"{8 * GIB}\n",
            memory__current=f"{7 * GIB}\n",
            memory__stat=f"anon 1\ninactive_file {2 * GIB}\n",
        )
        .ours()
    )

    assert groups.memory_headroom_bytes() == 3 * GIB


def test_no_groups_at_all(tmp_path):
    groups = ControlGroups.ours(tmp_path / "none", tmp_path / "none either")

    assert groups == ControlGroups((), ())
    assert groups.cpu_quota() is None


def test_processes_that_may_be_started_yet(tmp_path):
    groups = (
        Mounted(tmp_path, "0::/jobs/train\n")
        .group("jobs", pids__max="400\n", pids__current="180\n")
        .group("jobs/train", pids__max="max\n", pids__current="30\n")
        .ours()
    )

    assert groups.further_tasks() == 220
    assert Mounted(tmp_path / "other", "0::/\n").ours().further_tasks() is None
