from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rlprof.detectors.output_per_step import DETECTOR, MIN_SHARE
from rlprof.model.finding import Confidence, Finding
from rlprof.model.recording import SyncSite
from rlprof.profile.build import build_profile
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
    import logging
    from tqdm import tqdm

    def train(env, agent, writer, rows, steps):
        progress = tqdm(total=steps)
        for step in range(steps):
            learn(agent)
            if step % 2 == 0:
                logger.info("step %d: %s", step, agent)
            logger.debug(f"q = {agent.q}")
            print("step", step, agent)
            print(evaluate(agent, env))
            print(loss.item())
            writer.add_scalar("loss", agent.loss, step)
            progress.set_postfix(loss=agent.loss)
            rows.writerow([step, agent.loss])
            sys.stdout.write(".")
            buffer.write(step)
    """,
)
LEARN = TRAIN.at("learn(agent)", "train")
INFO = TRAIN.at("logger.info", "train")
DEBUG = TRAIN.at("logger.debug", "train")
PRINT = TRAIN.at('print("step"', "train")
PRINT_EVALUATION = TRAIN.at("print(evaluate", "train")
PRINT_LOSS = TRAIN.at("print(loss", "train")
SCALAR = TRAIN.at("add_scalar", "train")
POSTFIX = TRAIN.at("set_postfix", "train")
ROW = TRAIN.at("writerow", "train")

LOGGER_INFO = f"{STDLIB}/logging/__init__.py:1489 Logger.info"
IS_ENABLED = f"{STDLIB}/logging/__init__.py:1739 Logger.isEnabledFor"
EMIT = (
    f"{STDLIB}/logging/__init__.py:1634 Logger._log",
    f"{STDLIB}/logging/__init__.py:1100 StreamHandler.emit",
)
ADD_SCALAR = f"{SITE}/torch/utils/tensorboard/writer.py:370 SummaryWriter.add_scalar"
SET_POSTFIX = f"{SITE}/tqdm/std.py:1431 tqdm.set_postfix"


def a_training(seconds: float, *stack: str) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(seconds, *stack)
    return run.spends(10.0 - seconds, LEARN)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_names_the_line_its_condition_and_the_records_per_step():
    run = a_training(4.0, INFO, LOGGER_INFO, *EMIT).counts("log_records", 500)

    (finding,) = found(run)

    assert lines_of(finding) == [TRAIN.line("logger.info")]
    assert finding.title == "log records are written at every step (train.py:9)"
    assert finding.evidence == (
        "40 % of the critical time is spent on log records: 4 ms per step",
        "500 log records in the steady phase, 0.5 per step",
        "it is written when step % 2 == 0",
    )


def test_printed_text_takes_time():
    (finding,) = found(a_training(3.0, PRINT))

    assert re.fullmatch(r"printed text at train\.py:\d+ takes 30 % of the time", finding.title)


def test_the_parts_of_the_output_are_told_where_there_are_several():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(2.0, PRINT).spends(1.0, SCALAR, ADD_SCALAR).spends(7.0, LEARN)

    (finding,) = found(run)

    assert finding.evidence[0] == (
        "30 % of the critical time is spent on output (20 % printed text, 10 % metrics): 3 ms per step"
    )


def test_claims_all_that_an_emitted_record_costs():
    run = a_training(1.0, INFO, LOGGER_INFO, *EMIT)
    run.spends(0.5, INFO)
    run.spends(0.5, INFO, LOGGER_INFO, IS_ENABLED)
    run.spends(0.5, INFO, LOGGER_INFO, *EMIT, "agent.py:30 Agent.__str__")

    (finding,) = found(run)

    assert claimed_s(profile_of(run), finding) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("stack", "fix"),
    [
        pytest.param((PRINT,), "Print every thousandth", id="print"),
        pytest.param((PRINT, f"{SITE}/numpy/_core/arrayprint.py:736 array2string"), "Print", id="array"),
        pytest.param((TRAIN.at("sys.stdout.write", "train"),), "Print", id="stdout"),
        pytest.param((SCALAR, ADD_SCALAR), "once per update", id="tensorboard"),
        pytest.param((POSTFIX, SET_POSTFIX), "refresh=False", id="tqdm"),
        pytest.param((ROW,), "row per episode", id="csv"),
        pytest.param(
            ("train.py:99 main", f"{SITE}/stable_baselines3/common/logger.py:470 Logger.dump"),
            "once per update",
            id="stable-baselines3",
        ),
        pytest.param(
            (INFO, f"{SITE}/loguru/_logger.py:2082 info", f"{SITE}/loguru/_handler.py:150 emit"),
            "Log every",
            id="loguru",
        ),
    ],
)  # fmt: skip
def test_knows_where_output_goes(stack, fix):
    (finding,) = found(a_training(3.0, *stack))

    assert finding.savings[0].nodes
    assert fix in finding.fix


def test_a_thread_that_writes_metrics_is_priced_by_what_it_keeps_the_others_from():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(1.0, SCALAR, ADD_SCALAR).spends(2.0, LEARN, idle=True)
    run.spends(7.0, LEARN, f"{SITE}/torch/optim/adam.py:226 step")
    run.thread("writer").spends(
        6.0,
        f"{STDLIB}/threading.py:1002 Thread._bootstrap",
        f"{SITE}/tensorboard/summary/writer/event_file_writer.py:233 run",
        f"{SITE}/tensorboard/summary/writer/record_writer.py:40 RecordWriter.write",
    )
    run.spends(4.0, f"{STDLIB}/queue.py:171 Queue.get", idle=True)
    profile = profile_of(run, TRAIN)

    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == pytest.approx(1.0 + 2.0)


def test_silent_just_under_its_threshold():
    under = a_training(10 * MIN_SHARE * 0.9, INFO, LOGGER_INFO, *EMIT)
    over = a_training(10 * MIN_SHARE * 1.1, INFO, LOGGER_INFO, *EMIT)

    assert found(under) == []
    assert len(found(over)) == 1


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param((DEBUG, f"{SITE}/numpy/_core/arrayprint.py:736 array2string"), id="level off"),
        pytest.param((INFO, LOGGER_INFO, IS_ENABLED), id="record refused"),
        pytest.param((PRINT_EVALUATION, "train.py:50 evaluate"), id="evaluated, then printed"),
        pytest.param((TRAIN.at("buffer.write", "train"),), id="a buffer of one's own"),
        pytest.param(
            (LEARN, f"{SITE}/tqdm/std.py:1181 tqdm.__iter__", "data.py:3 Loader.__iter__"),
            id="data below a progress bar",
        ),
        pytest.param(
            ("train.py:99 main", f"{SITE}/wandb/agents/pyagent.py:300 Agent._run_job", LEARN),
            id="a driver that calls the training",
        ),
        pytest.param((LEARN, "project/logging/handlers.py:3 emit"), id="a project's own logging"),
    ],
)
def test_silent_on_what_tells_nothing(stack):
    assert found(a_training(5.0, *stack)) == []


def test_silent_on_a_logger_that_nothing_waits_for():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, LEARN)
    run.process("logger").spends(8.0, INFO, LOGGER_INFO, *EMIT)

    assert found(run) == []


def test_a_line_that_was_seen_to_wait_for_a_gpu_is_no_output():
    def on_gpu(wait_s: float) -> RunBuilder:
        run = a_training(3.0, PRINT_LOSS)
        file, line = PRINT_LOSS.split(" ")[0].rsplit(":", 1)
        return run.reads(
            SyncSite(0, file, "train", int(line), "item", "gpu", 1_000, round(wait_s * 1e6), 4_000)
        )

    assert len(found(on_gpu(1.0))) == 1
    assert found(on_gpu(2.0)) == []


def test_a_value_fetched_from_a_gpu_promises_nothing():
    on_cpu = a_training(3.0, PRINT_LOSS)
    on_gpu = a_training(3.0, PRINT_LOSS)
    on_gpu.spends(
        0.5, "train.py:2 <module>", f"{SITE}/torch/cuda/__init__.py:400 _lazy_init", start_up=True
    )

    (sure,), (unsure,) = found(on_cpu), found(on_gpu)

    assert sure.savings[0].removable.low > 0.9
    assert unsure.savings[0].removable.low == 0.0


def test_is_priced_by_the_time_in_output():
    first, *_ = ranked(a_training(4.0, INFO, LOGGER_INFO, *EMIT), TRAIN)

    assert first.finding.detector == "output-per-step"
    assert first.saved_share.low == pytest.approx(0.36, abs=0.05)
    assert first.saved_share.low < 0.4 < first.saved_share.high


LEDGER = Script(
    "ledger.py",
    """
    from os import fdatasync as settle

    class Ledger:
        def put(self, row):
            self.rows.writerow(row)
            self.stream.flush()

        def keep(self, text):
            self.total += self.put_text(text) if text else 0
            settle(self.descriptor)
            self.ring.write(text); self.compress()
            with open(self.path, "a") as self.end:
                self.end.write(text)

    def train(sink, steps):
        for step in range(steps):
            sink.put((step, learn()))
    """,
)
CALL = LEDGER.at("sink.put", "train")
IN_A_ROW = (CALL, LEDGER.at("writerow", "Ledger.put"))
IN_A_FLUSH = (CALL, LEDGER.at("flush", "Ledger.put"))


def a_ledger(**seconds_by_stack: float) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    return run.spends(10.0 - sum(seconds_by_stack.values()), CALL, "env.py:3 step")


def test_rows_that_are_flushed_are_kept_and_their_flushes_sold():
    run = a_ledger(rows=2.0, flushes=3.0)
    run.spends(2.0, *IN_A_ROW).spends(3.0, *IN_A_FLUSH)
    run.sees(IN_A_FLUSH[1], self__stream__flush="type=x function=_io.TextIOWrapper.flush")

    (finding,) = detect(DETECTOR, run, LEDGER)

    assert finding.title == "syncs and flushes at ledger.py:6 take 30 % of the time"
    assert lines_of(finding) == [6]
    assert finding.fix.startswith("Flush, sync or commit once per rollout")
    assert claimed_s(profile_of(run, LEDGER), finding) == pytest.approx(3.0)
    assert "rows of CSV take 20 % besides, and stay" in finding.evidence


KEPT = Script(
    "kept.py",
    """
    import json

    def train(path, history, steps):
        for step in range(steps):
            with open(path, "w") as file: json.dump(history, file)
            with open(path, "w") as file: file.write(history)
            path.write_text(json.dumps(history))
            learn()
    """,
)
OPEN_AND_DUMP, OPEN_AND_WRITE = KEPT.at("json.dump", "train"), KEPT.at("file.write", "train")


def test_json_on_the_line_of_an_opening_is_none_of_it():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(2.0, OPEN_AND_DUMP)
    run.spends(7.0, OPEN_AND_DUMP, f"{STDLIB}/json/__init__.py:179 dump")
    run.spends(1.0, KEPT.at("learn()", "train"))
    run.sees(
        OPEN_AND_DUMP,
        json__dump=f"type=function function=json.dump file={STDLIB}/json/__init__.py line=120",
    )

    (finding,) = detect(DETECTOR, run, KEPT)

    assert finding.title == "files opened to be written at kept.py:5 take 20 % of the time"
    assert claimed_s(profile_of(run, KEPT), finding) == pytest.approx(2.0)


def test_json_that_is_made_to_be_written_is_no_writing():
    write = KEPT.at("write_text", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(1.0, write)
    run.spends(1.0, write, f"{STDLIB}/pathlib.py:1080 Path.write_text")
    run.spends(6.0, write, f"{STDLIB}/json/__init__.py:183 dumps")
    run.spends(2.0, KEPT.at("learn()", "train"))

    (finding,) = detect(DETECTOR, run, KEPT)

    assert "writes to files at kept.py:7 take 20 %" in finding.title
    assert claimed_s(profile_of(run, KEPT), finding) == pytest.approx(2.0)


def test_what_is_opened_and_written_on_one_line_is_either():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, OPEN_AND_WRITE)

    (finding,) = detect(DETECTOR, run.spends(6.0, KEPT.at("learn()", "train")), KEPT)

    assert "up to 40 %" in finding.title
    assert finding.savings[0].removable.low < 0.5


def test_rows_whose_flushes_alone_would_be_nothing_are_told():
    run = a_ledger(rows=0.4, flushes=0.19).spends(0.4, *IN_A_ROW).spends(0.19, *IN_A_FLUSH)
    run.sees(IN_A_FLUSH[1], self__stream__flush="type=x function=_io.TextIOWrapper.flush")

    (finding,) = detect(DETECTOR, run, LEDGER)

    assert finding.title == "output at ledger.py:5 and other lines takes 5.9 % of the time"


def test_rows_that_are_hardly_flushed_are_told_as_rows():
    run = a_ledger(rows=3.0, flushes=0.2).spends(3.0, *IN_A_ROW).spends(0.2, *IN_A_FLUSH)

    (finding,) = detect(DETECTOR, run, LEDGER)

    assert finding.title == "rows of CSV at ledger.py:5 take 30 % of the time"
    assert finding.savings[0].removable.low == 0.9


@pytest.mark.parametrize(
    ("piece", "operand", "look", "title"),
    [
        ("put_text", "self__put_text", "function=TextIOWrapper.write", "writes to files"),
        ("settle(", "settle", "function=posix.fdatasync", "syncs and flushes"),
        ("settle(", "other", "function=len", "syncs and flushes"),
        ("open(self", "open", "function=io.open", "files opened to be written"),
    ],
)
def test_a_line_is_known_by_what_was_seen_or_imported_there(piece, operand, look, title):
    line = LEDGER.at(piece, "Ledger.keep")
    run = a_ledger(s=3.0).spends(3.0, CALL, line).sees(line, **{operand: f"type=x {look}"})

    (finding,) = detect(DETECTOR, run, LEDGER)

    assert finding.title.startswith(title)


def test_of_a_line_that_does_something_else_too_less_is_promised():
    line = LEDGER.at("ring.write", "Ledger.keep")
    run = a_ledger(s=3.0).spends(3.0, CALL, line)
    run.sees(line, self__ring__write="type=x function=_io.FileIO.write")

    (finding,) = detect(DETECTOR, run, LEDGER)

    assert [saving.removable for saving in finding.savings] == [(0.1, 1.0)]


def test_a_method_of_your_own_is_no_output_whatever_its_name():
    run = a_ledger(s=3.0).spends(3.0, *IN_A_FLUSH).source("ledger.py", LEDGER.text)
    flush = "type=function function=ring.Ring.flush file=/home/you/ring.py line=3"
    run.sees(IN_A_FLUSH[1], self__stream__flush=flush)

    assert detect(DETECTOR, run, LEDGER) == []


def test_a_sync_that_sleeps_is_paid_asleep():
    line = LEDGER.at("settle(", "Ledger.keep")
    run = a_ledger(s=4.0).spends(1.0, CALL, line).spends(3.0, CALL, line, idle=True)

    (finding,) = detect(DETECTOR, run, LEDGER)

    assert claimed_s(profile_of(run, LEDGER), finding) == pytest.approx(4.0)
    assert "asleep for 75 % of it" in finding.evidence


TOLD = Script(
    "told.py",
    """
    import asyncio
    import statistics

    def main(seeds):
        for k in range(15):
            print(f"{k}: {statistics.mean(episode(seed) for seed in seeds):.1f}")

    def other():
        for k in range(15):
            print(asyncio.run(episode(k)))

    def episode(seed):
        return play(seed)
    """,
)


@pytest.mark.parametrize(
    ("piece", "function", "library"),
    [
        ("statistics.mean", "main", f"{STDLIB}/statistics.py:320 mean"),
        ("asyncio.run", "other", f"{STDLIB}/asyncio/runners.py:190 run"),
        ("asyncio.run", "other", f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"),
    ],
)
def test_what_is_computed_to_be_printed_is_no_output(piece: str, function: str, library: str):
    line, play = TOLD.at(piece, function), TOLD.at("play(seed)", "episode")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(10.0, line, library, play)

    assert detect(DETECTOR, run, TOLD) == []


REMOTE = Script(
    "remote.py",
    """
    import json
    import numpy as np

    def ask(self, message):
        while True:
            self.f.write(message); self.f.flush(); reply = json.loads(self.f.readline())

    def gather(workers, rows, out_file):
        while True:
            [worker.join(3) for worker in workers]; print("all there")
            out_file.write(json.dumps({"mean": sum(rows) / len(rows)})); out_file.flush()
            print(np.linalg.norm(rows))
            print(sum(row for row in rows))
            total = sum(row for row in rows); print(total)
    """,
)
ASK = REMOTE.at("self.f.write", "ask")
READ_SOCKET = f"{STDLIB}/socket.py:705 SocketIO.readinto"
JOIN, ROW_OF_MEAN = REMOTE.at("worker.join", "gather"), REMOTE.at("out_file.write", "gather")
JOINED = (
    f"{STDLIB}/multiprocessing/process.py:149 BaseProcess.join",
    f"{STDLIB}/multiprocessing/popen_fork.py:40 Popen.wait",
)
DECODE = f"{STDLIB}/json/__init__.py:299 loads"


def of_remote(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, REMOTE)


def idle_on(*stack: str) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(6.0, *stack, idle=True)
    flush = "type=method_descriptor function=_io.TextIOWrapper.flush"
    run.sees(ASK, self__f__flush=flush)
    return run.spends(0.1, stack[0]).spends(3.9, REMOTE.at("while True", "ask"))


@pytest.mark.parametrize(
    "stack",
    [(ASK,), (ASK, READ_SOCKET), (ASK, DECODE), (JOIN, *JOINED)],
    ids=["in C", "in the socket's frame", "beside", "workers"],
)
def test_the_wait_for_an_answer_on_the_line_of_a_flush_is_none_of_it(stack):
    assert not of_remote(idle_on(*stack))


def test_a_comprehension_beside_what_is_printed_is_none_of_it():
    beside = REMOTE.at("total = sum", "gather")
    within = REMOTE.at("print(sum(row", "gather")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, beside, beside.replace("gather", "gather.<locals>.<genexpr>"))
    run.spends(3.0, within, within.replace("gather", "gather.<locals>.<genexpr>"))

    run.spends(3.0, REMOTE.at("while True", "ask"))

    (finding,) = of_remote(run)

    assert claimed_s(profile_of(run, REMOTE), finding) == pytest.approx(3.0)


@pytest.mark.parametrize("place", [ROW_OF_MEAN, REMOTE.at("np.linalg", "gather")])
def test_time_shared_with_other_work_is_a_limit_and_not_measured(place):
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, place)

    (finding,) = of_remote(run.spends(6.0, REMOTE.at("while", "ask")))

    assert "up to 40 %" in finding.title
    assert finding.evidence[0].startswith("at most 40 % of the critical time is spent on ")
    assert finding.confidence is Confidence.BOUNDED


ROWS = Script(
    "rows.py",
    """
    import pickle

    class Recorder:
        def __init__(self, path):
            self.file = open(path, "ab")

        def record(self, row):
            pickle.dump(row, self.file)

        def save(self, model, path):
            with open(path, "wb") as kept:
                pickle.dump(model, kept)

        def message(self, row):
            pickle.dump(row, self.buffer)

    def train(recorder):
        while True:
            recorder.record(play())
            recorder.save(recorder, "model.pkl")
            recorder.message(play())
    """,
)


@pytest.mark.parametrize(
    ("piece", "method", "is_told"),
    [
        ("pickle.dump(row, self.file)", "record", True),
        ("pickle.dump(model", "save", False),
        ("pickle.dump(row, self.buffer)", "message", False),
    ],
)
def test_objects_that_are_pickled_into_a_file_which_stays_open(piece, method, is_told):
    line = ROWS.at(piece, f"Recorder.{method}")
    run = a_training(4.0, ROWS.at(f"recorder.{method}(", "train"), line)
    run.sees(line, self__buffer="type=_io.BytesIO")
    findings = detect(DETECTOR, run, ROWS)

    assert [lines_of(finding) for finding in findings] == ([[ROWS.line(piece)]] if is_told else [])
    assert all(finding.title.startswith("writes to files at rows.py") for finding in findings)


PLACED = Script(
    "placed.py",
    """
    import json, os

    def train(env, new, path, steps):
        for step in range(steps):
            learn(env)
            new.write_text(json.dumps({"step": step}))
            os.replace(new, path)
            path.rename("old")
    """,
)


def test_a_file_that_takes_the_place_of_the_last_one_at_each_step():
    writes = PLACED.at("write_text", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(1.0, writes, f"{STDLIB}/pathlib.py:1071 Path.write_text")
    run.spends(4.0, PLACED.at("os.replace", "train"))
    run.spends(
        1.0, PLACED.at('path.rename("old")', "train"), f"{STDLIB}/pathlib.py:1188 Path.rename"
    )
    run.spends(4.0, PLACED.at("learn(env)", "train"))

    (finding,) = detect(DETECTOR, run, PLACED)

    assert finding.title == "files put in the place of others at placed.py:7 take 60 % of the time"
    assert lines_of(finding)[0] == PLACED.line("os.replace")
    assert claimed_s(profile_of(run, PLACED), finding) == pytest.approx(6.0)
    assert finding.fix.startswith("Write the file once per rollout")


@pytest.mark.parametrize(
    ("start_method", "reading", "is_told"),
    [
        ("subprocess", "for line in actor.stdout:", False),
        ("subprocess", "while actor.poll() is None:", True),
        ("fork", "for line in actor.stdout:", True),
    ],
)
def test_what_the_run_reads_of_a_program_that_it_starts_is_no_output(
    start_method, reading, is_told
):
    actor = Script(
        "actor.py",
        """
        while True:
            print(env.step(choose()), flush=True)
        """,
    )
    learner = Script(
        "learner.py",
        f"""
        actor = subprocess.Popen(command, stdout=subprocess.PIPE)
        {reading}
            learn()
        """,
    )
    run = a_run("learner.py", steady_s=10.0).process("main")
    run.spends(
        10.0,
        learner.at("learn", "<module>"),
        f"{STDLIB}/threading.py:320 Condition.wait",
        idle=True,
    )
    run.process("actor", steps=1000).spends(10.0, actor.at("print", "<module>"))
    for script in (actor, learner):
        run.source(script.file, script.text)
    recording = run.recording()
    processes = tuple(
        replace(process, start_method=start_method) if process.id else process
        for process in recording.processes
    )
    profile = build_profile(replace(recording, processes=processes))

    assert bool([*DETECTOR.in_samples.detect(profile)]) is is_told
