from __future__ import annotations

import pytest

from rlprof.detectors.blocking_io import DETECTOR, MIN_SHARE
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
    import json, os
    import numpy as np

    def act(env, requests):
        return requests.post(URL, json=env.observation).json()

    class RemoteEnv:
        def step(self, action):
            return requests.post(self.url, json=action).json()

    def train(agent, levels, out, connection, simulator):
        weights = np.load("weights.npy")
        transitions = open("transitions.bin", "wb")
        for level in levels:
            learn(agent)
            maze = np.load(level)
            transitions.write(maze)
            if level % 2:
                transitions.flush()
                os.fsync(transitions.fileno())
            with open("returns.txt", "a") as returns:
                returns.write(str(level))
            config = json.loads(level)
            connection.commit()
            simulator.read()
            torch.save(agent, open("agent.pt", "wb"))
            print(level)
            log_file.flush()
            time.sleep(0.01)
    """,
)
LEARN = TRAIN.at("learn(agent)", "train")
LOAD = TRAIN.at("np.load(level)", "train")
SYNC = TRAIN.at("os.fsync", "train")
SAVE = TRAIN.at("torch.save", "train")
ASK_AGENT = (LEARN, TRAIN.at("requests.post(URL", "act"))
ASK_ENV = (LEARN, TRAIN.at("requests.post(self", "RemoteEnv.step"))
POST = f"{SITE}/requests/api.py:103 post"


def a_training(seconds: float, *stack: str, idle_s: float = 0.0) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds, *stack).spends(idle_s, *stack, idle=True)
    return run.spends(10.0 - seconds - idle_s, LEARN)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_names_the_line_that_reads_and_how_long():
    run = a_training(1.0, LOAD, idle_s=3.0)

    (finding,) = found(run)

    assert lines_of(finding) == [TRAIN.line("np.load(level)")]
    assert finding.title == "reads of files at train.py:16 hold up the training"
    assert finding.evidence == (
        "40 % of the critical time is spent there, 4 ms per step; asleep for 75 % of it",
    )
    assert claimed_s(profile_of(run), finding) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("stack", "what"),
    [
        pytest.param((LOAD, f"{SITE}/numpy/lib/_npyio_impl.py:300 load"), "reads of files", id="numpy"),
        pytest.param(
            (LEARN, f"{SITE}/PIL/Image.py:3400 open", f"{STDLIB}/codecs.py:3 decode"), "reads", id="image"
        ),
        pytest.param((LEARN, f"{STDLIB}/pathlib.py:1050 Path.read_text"), "reads", id="pathlib"),
        pytest.param((*ASK_AGENT, POST), "requests to servers", id="request"),
    ],
)  # fmt: skip
def test_knows_what_is_done_to_files(stack, what):
    (finding,) = found(a_training(1.0, *stack, idle_s=2.0))

    assert finding.title.startswith(what)
    assert finding.locations


LOAD_MODEL = f"{SITE}/stable_baselines3/common/base_class.py:670 BaseAlgorithm.load"
READ_ZIP = f"{SITE}/stable_baselines3/common/save_util.py:400 load_from_zip_file"
TORCH_LOAD = f"{SITE}/torch/serialization.py:1300 load"
MAKE_LAYER = f"{SITE}/torch/nn/modules/linear.py:100 Linear.__init__"


def test_what_is_loaded_costs_what_is_made_of_the_file_too():
    run = a_training(1.0, LEARN, LOAD_MODEL, READ_ZIP, TORCH_LOAD)
    run.spends(3.0, LEARN, LOAD_MODEL.replace(":670", ":690"), MAKE_LAYER)
    run.spends(2.0, LEARN, MAKE_LAYER)

    (finding,) = found(run)

    assert claimed_s(profile_of(run), finding) == pytest.approx(4.0)


def test_what_a_library_makes_without_a_file_is_not_loaded():
    run = a_training(1.0, LOAD).spends(3.0, LEARN, LOAD_MODEL, MAKE_LAYER)

    (finding,) = found(run)

    assert claimed_s(profile_of(run), finding) == pytest.approx(1.0)


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9, LOAD)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1, LOAD))) == 1


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param((TRAIN.at('np.load("weights', "train"),), id="once, before the loop"),
        pytest.param((TRAIN.at("json.loads", "train"), f"{STDLIB}/json/__init__.py:299 loads"), id="text"),
        pytest.param((TRAIN.at("simulator.read", "train"),), id="something else that reads"),
        pytest.param((TRAIN.at("time.sleep", "train"),), id="a real-time environment"),
        pytest.param((*ASK_ENV, POST), id="a simulator behind a server"),
        pytest.param((SAVE, f"{SITE}/torch/serialization.py:944 save"), id="checkpoints"),
        pytest.param((TRAIN.at("print(level)", "train"),), id="prints"),
        pytest.param((TRAIN.at("log_file.flush", "train"),), id="the log"),
        pytest.param((SYNC,), id="output"),
        pytest.param((LEARN, f"{STDLIB}/logging/__init__.py:1087 StreamHandler.flush"), id="records"),
        pytest.param((LEARN, f"{STDLIB}/multiprocessing/connection.py:430 Connection.recv"), id="pipe"),
    ],
)  # fmt: skip
def test_silent_on_what_waits_for_no_file(stack):
    assert found(a_training(2.0, *stack, idle_s=3.0)) == []


def test_silent_on_a_process_that_nothing_waits_for():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, LEARN)
    run.process("loader").spends(5.0, LOAD).spends(5.0, LOAD, idle=True)

    assert found(run) == []


def test_is_priced_by_the_time_spent_there():
    first, *_ = ranked(a_training(1.0, LOAD, idle_s=3.0), TRAIN)

    assert first.finding.detector == "blocking-io"
    assert first.saved_share.low == pytest.approx(0.22, abs=0.05)
    assert first.saved_share.low < 0.4 < first.saved_share.high


def test_a_file_made_of_a_socket_is_none_whatever_it_is_called():
    script = Script(
        "ask.py",
        """
        def ask(level_file):
            while True:
                reply = level_file.readline()
        """,
    )
    line = script.at("readline", "ask")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(5.0, line)
    run.spends(5.0, line, f"{STDLIB}/socket.py:705 SocketIO.readinto", idle=True)

    assert not detect(DETECTOR, run, script)


@pytest.mark.parametrize(
    ("before", "reading", "is_told"),
    [
        ("path = '/tmp/state'", "with open(path) as out: text = out.read()", True),
        ("pass", "with open('/proc/self/statm') as out: text = out.read()", False),
        ("pass", "with open(STATE) as out: text = out.read()", False),
        ("pass", "text = np.load(where)", True),
        ("now = os.stat(where).st_mtime", "if now != last: text = np.load(where)", False),
        ("now = time.time()", "if now > last: text = np.load(where)", True),
    ],
)
def test_silent_of_files_that_are_read_for_what_has_changed(
    before: str, reading: str, is_told: bool
):
    script = Script(
        "watch.py",
        f"""
        import os
        import numpy as np
        STATE = "/sys/class/thermal/thermal_zone0/temp"

        def watch(agent, where, last):
            while True:
                learn(agent)
                {before}
                {reading.replace(": ", ":" + chr(10) + " " * 20)}
        """,
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, script.at("text = ", "watch")).spends(5.0, script.at("learn", "watch"))

    assert bool(detect(DETECTOR, run, script)) is is_told
