from __future__ import annotations

import shlex

import pytest

from rlprof.recording.launched_programs import service_of


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("python -c 'from multiprocessing.resource_tracker import main;main(3)'", "tracker"),
        ("python -c 'from joblib.externals.loky.backend.resource_tracker import main; main(3, False)'", "tracker of loky"),
        ("python -B -c 'from multiprocessing.forkserver import main; main(3)'", "fork server"),
        ("python -X utf8 -W ignore -m tensorboard.main --logdir x", "TensorBoard"),
        ("python /venv/bin/tensorboard --logdir runs", "TensorBoard"),
        ("python -u /x/torch/_inductor/compile_worker/__main__.py --pickler=x", "compile worker"),
        ("wandb-service(2-1234-s-1)", "Weights"),
    ],
)  # fmt: skip
def test_services_are_left_out(command, what):
    assert what in (service_of(tuple(shlex.split(command))) or "")


@pytest.mark.parametrize(
    "command",
    [
        "python train_tensorboard.py",
        "python /home/me/tensorboard/train.py",
        "python -m wandb.sdk",
        "python train.py --tracker multiprocessing.resource_tracker",
        "python -c 'from multiprocessing.spawn import spawn_main; spawn_main()'",
        "python",
        "",
    ],
)
def test_trainings_are_none_whatever_words_they_use(command):
    assert service_of(tuple(shlex.split(command))) is None
