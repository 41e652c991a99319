from __future__ import annotations

from rlprof.recording.redaction.environment import kept_environment


def test_only_the_settings_of_thread_pools_are_kept():
    environment = {
        "OMP_NUM_THREADS": "4,2",
        "MKL_NUM_THREADS": "8",
        "HOME": "/home/me",
        "ARGS": "--api-key hunter2",
        "WANDB_CONFIG": '{"api_key": "hunter2"}',
        "GITHUB_PAT": "hunter2",
    }

    assert kept_environment(environment) == {"OMP_NUM_THREADS": "4,2", "MKL_NUM_THREADS": "8"}


def test_what_is_no_number_of_threads_is_not_kept():
    assert kept_environment({"OMP_NUM_THREADS": "hunter2", "MKL_NUM_THREADS": ""}) == {}
