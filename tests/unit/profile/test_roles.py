from __future__ import annotations

from rlprof.model.recording import Process
from rlprof.profile.roles import process_roles


def a_process(number: int, parent: int, command: str, start_method: str = "subprocess") -> Process:
    return Process(
        id=number,
        pid=100 + number,
        ppid=100 + parent,
        argv=tuple(command.split()),
        executable="/usr/bin/python3",
        python="3.11.7",
        start_method=start_method,
        started_us=0,
        ended_us=None,
        exit_code=None,
        fate="sampled",
    )


ROOT = -99


def test_a_script_alone_is_main():
    script = a_process(0, ROOT, "python train.py", "root")

    assert process_roles([script], {0}) == {0: "main"}
    assert process_roles([script], set()) == {0: "main"}


def test_a_pool_has_a_main_that_waits_workers_and_services():
    pool = [
        a_process(0, ROOT, "python train.py", "root"),
        a_process(1, 0, "python -c from multiprocessing.resource_tracker import main;main(5)"),
        a_process(2, 0, "python -c from multiprocessing.forkserver import main;main()"),
        a_process(3, 2, "python -c from multiprocessing.forkserver import main", "forkserver"),
        a_process(4, 0, "python train.py", "fork"),
        a_process(5, 0, "python -c from loky.backend.resource_tracker import main; main(3)"),
    ]

    assert process_roles(pool, {3, 4}) == {
        0: "main",
        1: "resource tracker",
        2: "forkserver",
        3: "worker",
        4: "worker",
        5: "resource tracker",
    }


def test_what_only_starts_the_program_is_its_launcher():
    """bash -> torchrun -> two ranks, one of which has a data loader."""
    job = [
        a_process(0, ROOT, "bash train.sh", "root"),
        a_process(1, 0, "python -m torch.distributed.run train.py"),
        a_process(2, 1, "python train.py"),
        a_process(3, 1, "python train.py"),
        a_process(4, 2, "python train.py", "fork"),
        a_process(5, 0, "tee log.txt"),
    ]

    assert process_roles(job, {2, 3}) == {
        0: "launcher",
        1: "launcher",
        2: "main",
        3: "main",
        4: "worker",
        5: "other",
    }


def test_a_script_behind_a_shell_is_main_though_only_its_pool_works():
    job = [
        a_process(0, ROOT, "bash train.sh", "root"),
        a_process(1, 0, "python train.py"),
        a_process(2, 1, "python train.py", "fork"),
    ]

    assert process_roles(job, {2}) == {0: "launcher", 1: "main", 2: "worker"}


def test_a_pid_used_twice_does_not_send_the_search_in_circles():
    circle = [a_process(0, 1, "bash a", "root"), a_process(1, 0, "python b")]

    assert process_roles(circle, {1}) == {0: "launcher", 1: "main"}
