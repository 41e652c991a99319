from __future__ import annotations

import pytest

from rlprof.detectors.blocking_io import DETECTOR as BLOCKING_IO
from rlprof.detectors.checkpoint_heavy import DETECTOR, MIN_SHARE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import (
    SITE,
    STDLIB,
    Script,
    claimed_s,
    detect,
    lines_of,
    profile_of,
    ranked,
)

TRAIN = Script(
    "train.py",
    """
    import pickle
    import torch

    def train(policy, replay, updates):
        for update in range(updates):
            learn(policy)
            if update % 2 == 0:
                torch.save(policy.state_dict(), "latest.pt")
            pickle.dump(replay, open("replay.pkl", "wb"))
            batch = torch.load("batch.pt")
    """,
)
LEARN = TRAIN.at("learn(policy)", "train")
SAVE = TRAIN.at("torch.save", "train")
DUMP = TRAIN.at("pickle.dump", "train")
LOAD = TRAIN.at("torch.load", "train")
TORCH_SAVE = f"{SITE}/torch/serialization.py:944 save"
TORCH_LOAD = f"{SITE}/torch/serialization.py:1300 load"


def a_training(seconds: float, *stack: str, idle_s: float = 0.0) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds, *stack).spends(idle_s, *stack, idle=True)
    return run.spends(10.0 - seconds - idle_s, LEARN)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_names_the_line_that_saves_and_its_condition():
    (finding,) = found(
        a_training(2.0, SAVE, TORCH_SAVE, f"{SITE}/torch/serialization.py:1200 _save", idle_s=1.0)
    )

    assert lines_of(finding) == [TRAIN.line("torch.save")]
    assert finding.title == "saving at train.py:8 holds up the training"
    assert finding.evidence == (
        "30 % of the steady time is spent in saving, 33 % of it asleep for the disk",
        "it saves when update % 2 == 0",
    )  # fmt: skip


def test_a_dump_in_c_is_found_by_its_source_line():
    (finding,) = found(a_training(3.0, DUMP))

    assert lines_of(finding) == [TRAIN.line("pickle.dump")]
    assert finding.evidence[1] == "nothing on the way there keeps it from saving each time"


def test_a_library_that_saves_is_found_without_a_source():
    run = a_training(
        3.0, "other.py:9 run", f"{SITE}/stable_baselines3/common/save_util.py:300 save_to_zip_file"
    )

    (finding,) = found(run)

    assert lines_of(finding) == [9]


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9, SAVE, TORCH_SAVE)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1, SAVE, TORCH_SAVE))) == 1


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param((LOAD, TORCH_LOAD), id="loading"),
        pytest.param((LEARN, f"{STDLIB}/zipfile.py:1500 ZipFile.read"), id="reading an archive"),
        pytest.param((LEARN, f"{SITE}/torch/optim/adam.py:226 step"), id="learning"),
    ],
)
def test_silent_on_what_saves_nothing(stack):
    assert found(a_training(5.0, *stack)) == []


def test_silent_on_a_process_that_nothing_waits_for():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, LEARN)
    run.process("saver").spends(8.0, SAVE, TORCH_SAVE).spends(2.0, "train.py:1 wait", idle=True)

    assert found(run) == []


def test_is_priced_by_the_time_in_saving():
    first, *_ = ranked(a_training(4.0, SAVE, TORCH_SAVE), TRAIN)

    assert first.finding.detector == "checkpoint-heavy"
    assert first.saved_share.low == pytest.approx(0.8 * 0.4, abs=0.06)
    assert first.saved_share.low < 0.4 < first.saved_share.high


FREEZER = Script(
    "freezer.py",
    """
    import json
    from pickle import dump as freeze

    def keep(worth, path, model):
        with open(path, "wb") as lump:
            freeze(worth, lump)
        json.dump(worth, path)
        model.save(worth)
    """,
)


@pytest.mark.parametrize(
    ("piece", "look", "is_told"),
    [
        ("with open", None, True),
        ("freeze(worth", None, True),
        ("json.dump", None, False),
        ("model.save", None, True),
        ("model.save", "function=__main__.Model.save file=/home/you/freezer.py line=3", False),
    ],
)
def test_what_saves_is_known_by_what_it_is(piece, look, is_told):
    line = FREEZER.at(piece, "keep")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, line).spends(6.0, LEARN)
    if look:
        run.sees(line, model__save=f"type=function {look}")

    assert bool(detect(DETECTOR, run, FREEZER)) == is_told


BYTES = Script(
    "bytes.py",
    """
    import os, pickle

    def keep(state, path):
        blob = pickle.dumps(state)
        with open(path + ".tmp", "wb") as file:
            file.write(blob)
        os.replace(path + ".tmp", path)

    def short(state, path):
        path.write_bytes(pickle.dumps(state))

    def add(row, path):
        grown = pickle.dumps(row)
        with open(path, "ab") as file:
            file.write(grown)

    def send(state, path, pipe):
        sent = pickle.dumps(state)
        with open(path, "wb") as file:
            file.write(sent)
        pipe.send_bytes(sent)

    def note(row, path):
        with open(path, "w") as file:
            file.write(json.dumps(row))
        os.rename(path, path + "old")
    """,
)


@pytest.mark.parametrize(
    ("piece", "is_told"),
    [
        ("blob = ", True),
        ("file.write(blob)", True),
        ("os.replace", True),
        ("write_bytes", True),
        ("grown = ", False),
        ("file.write(grown)", False),
        ("sent = ", False),
        ("file.write(json", False),
        ("os.rename", False),
    ],
)
def test_bytes_that_a_file_is_written_anew_with_are_saved(piece, is_told):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, BYTES.at(piece, "keep")).spends(6.0, LEARN)

    assert bool(detect(DETECTOR, run, BYTES)) == is_told


RESULTS = Script(
    "results.py",
    """
    import multiprocessing as mp
    import numpy as np

    def main(seeds):
        with mp.Pool(2) as pool:
            results = pool.map(evaluate, seeds)
            np.save("results.npy", results)

    def alone(n):
        for path in paths:
            np.save(path, evaluate(n))

    def evaluate(n):
        return play(n)
    """,
)


def test_workers_of_a_pool_in_whose_block_something_is_saved_save_nothing():
    forked = f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(10.0, RESULTS.at("with mp.Pool", "main"), forked, RESULTS.at("play(n)", "evaluate"))

    assert detect(DETECTOR, run, RESULTS) == []


def test_what_is_computed_to_be_saved_is_no_saving():
    line = RESULTS.at("np.save(path", "alone")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(1.0, line)
    run.spends(9.0, line, RESULTS.at("play(n)", "evaluate"))

    profile = profile_of(run, RESULTS)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == pytest.approx(1.0)


MESSAGES = Script(
    "messages.py",
    """
    def pack(pipe, rows):
        while True:
            out = io.BytesIO()
            torch.save(rows, out)
            pipe.send_bytes(out.getbuffer())

    def unpack(pipe):
        while True:
            rows = torch.load(io.BytesIO(pipe.recv_bytes()), weights_only=True)
    """,
)


@pytest.mark.parametrize("out", ["type=_io.BytesIO", None], ids=["seen", "by-the-source"])
def test_bytes_of_a_message_are_no_checkpoint(out: str | None):
    line = MESSAGES.at("torch.save", "pack")
    run = a_training(4.0, line, TORCH_SAVE)
    if out is not None:
        run.sees(line, out=out)

    assert detect(DETECTOR, run, TRAIN, MESSAGES) == []


def test_bytes_of_a_message_are_no_file_that_is_read():
    run = a_training(4.0, MESSAGES.at("rows = torch.load", "unpack"), TORCH_LOAD)

    assert detect(BLOCKING_IO, run, TRAIN, MESSAGES) == []


RECOMPUTES = Script(
    "train.py",
    """
    from torch.utils.checkpoint import checkpoint

    def forward(layers, x):
        for layer in layers:
            x = x + checkpoint(layer, x, use_reentrant=False)
    """,
)


def test_activation_checkpointing_saves_nothing():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(
        10.0,
        RECOMPUTES.at("checkpoint(layer", "forward"),
        f"{SITE}/torch/utils/checkpoint.py:488 checkpoint",
    )

    assert detect(DETECTOR, run, RECOMPUTES) == []


IN_MEMORY = Script(
    "state.py",
    """
    import cloudpickle

    def plan(env, path, link, stream):
        for _ in range(64):
            trial = cloudpickle.loads(cloudpickle.dumps(env))
            link.send_bytes(cloudpickle.dumps(trial))
            path.write_bytes(cloudpickle.dumps(env))
            cloudpickle.dump(env, stream)
    """,
)
CLOUDPICKLE = f"{SITE}/cloudpickle/cloudpickle.py"


@pytest.mark.parametrize(
    ("piece", "calls", "is_told"),
    [
        ("trial =", ["1529 dumps", "1245 Pickler.dump"], False),
        ("link.send_bytes", ["1529 dumps", "1245 Pickler.dump"], False),
        ("path.write_bytes", ["1529 dumps", "1245 Pickler.dump"], True),
        ("cloudpickle.dump(env", ["1510 dump", "1245 Pickler.dump"], True),
    ],
    ids=["a copy", "a message", "bytes that are written", "a file"],
)
def test_bytes_in_memory_are_no_checkpoint(piece: str, calls: list[str], is_told: bool):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, IN_MEMORY.at(piece, "plan"), *(f"{CLOUDPICKLE}:{call}" for call in calls))

    assert bool(detect(DETECTOR, run.spends(6.0, "env.py:3 step"), IN_MEMORY)) is is_told


def test_objects_that_are_added_to_an_open_file_are_no_checkpoint():
    script = Script(
        "rows.py",
        """
        import pickle

        class Recorder:
            def __init__(self, path):
                self.file = open(path, "ab")

            def record(self, row):
                pickle.dump(row, self.file)

        def train(recorder):
            while True:
                recorder.record(play())
        """,
    )
    dump = script.at("pickle.dump", "Recorder.record")
    run = a_training(5.0, script.at("recorder.record", "train"), dump)

    assert detect(DETECTOR, run, script) == []


@pytest.mark.parametrize(
    ("load", "is_told"),
    [
        ("while True:\n        net.load_state_dict(torch.load(PATH))", False),
        ("net.load_state_dict(torch.load(PATH))", True),
        ("while True:\n        net.load_state_dict(torch.load(OTHER))", True),
    ],
)
def test_weights_that_another_function_loads_again_and_again_are_no_checkpoint(load, is_told):
    text = f"""
import torch

def act(net):
    {load}

def learn(net):
    while True:
        train(net)
        torch.save(net.state_dict(), PATH + ".new")
"""
    script = Script("weights.py", text)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, script.at("torch.save", "learn"), TORCH_SAVE)
    run.spends(7.0, script.at("train(net)", "learn"))

    assert bool(detect(DETECTOR, run, script)) is is_told
