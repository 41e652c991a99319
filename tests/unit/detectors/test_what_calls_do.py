from __future__ import annotations

import ast

import pytest

from rlprof.detectors.recognisers.outputs.what_calls_do import CallJudge
from rlprof.source.slices.model import Doing
from rlprof.source.values import Values
from rlprof.syntax.module import parse

IMPORTS = """
import csv, gc, json, logging, os, queue, sys, time
import numpy as np
import pandas as pd
import torch, wandb
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
"""


def judged(call: str, more: str = "") -> Doing:
    module = parse(f"{IMPORTS}\n{more}\n{call}\n")
    assert module is not None
    statement = module.tree.body[-1]
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    return CallJudge({"train.py": module}, Values(()))("train.py", statement.value)


@pytest.mark.parametrize(
    "call",
    [
        "np.histogram(x, bins=64)",
        "F.softmax(x, -1)",
        "np.random.default_rng(0)",
        "rng.normal(0, 1)",
        "x.mean()",
        "len(x)",
        "net.named_parameters()",
        "torch.distributions.Categorical(logits=x)",
        "time.perf_counter()",
        "state.get('a')",
        "' '.join(words)",
        "wandb.log(figures)",
        "writer.add_histogram('w', x, step)",
        "pd.DataFrame(rows)",
        "frame.groupby('action')['reward'].agg(['mean', 'std'])",
        "frame.corr()",
        "gc.get_objects()",
        "sys.getsizeof(x)",
    ],
)
def test_computes(call):
    assert judged(call) is Doing.COMPUTES


@pytest.mark.parametrize(
    "call",
    [
        "rows.append(x)",
        "table.update(x)",
        "x.add_(y)",
        "rows.pop()",
        "torch.nn.utils.clip_grad_norm_(x, 1)",
    ],
)
def test_changes_its_object(call):
    assert judged(call) is Doing.CHANGES


@pytest.mark.parametrize(
    "call",
    [
        "print(x)",
        "logging.info(x)",
        "log.debug(x)",
        "json.dump(x, file)",
        "file.write(x)",
        "np.save(p, x)",
    ],
)
def test_tells(call):
    assert judged(call) is Doing.TELLS


@pytest.mark.parametrize(
    "call",
    [
        "torch.save(x, path)",
        "loss.backward()",
        "optimizer.step()",
        "pipe.send(x)",
        "channel.get()",
        "channel.get(timeout=1)",
        "worker.join()",
        "worker.join(2)",
        "next(turns)",
        "unknown(x)",
        "handlers[0](x)",
        "time.sleep(1)",
    ],
)
def test_anything_else_acts(call):
    assert judged(call) is Doing.ACTS


@pytest.mark.parametrize(
    "call", ["json.dump(x, file)", "file.write(x)", "open(path)", "np.save(p, x)"]
)
def test_what_is_written_may_come_back_where_files_are_read(call):
    assert judged(call, "def weights(file):\n    return json.load(file)") is Doing.ACTS


CALLBACK = """
from stable_baselines3.common.callbacks import BaseCallback

class Watch({base}):
    def _on_step(self):
        self.logger.record("ranks/mean", rank)
        return True
"""


@pytest.mark.parametrize(
    ("base", "doing"), [("BaseCallback", Doing.COMPUTES), ("Agent", Doing.ACTS)]
)
def test_the_logger_of_a_callback_takes_figures(base, doing):
    module = parse(CALLBACK.format(base=base))
    assert module is not None
    call = next(node for node in ast.walk(module.tree) if isinstance(node, ast.Call))

    assert CallJudge({"train.py": module}, Values(()))("train.py", call) is doing


@pytest.mark.parametrize("call", ["os.replace(new, old)", "os.fsync(descriptor)"])
def test_files_put_in_place_are_no_computation(call):
    assert judged(call) is Doing.TELLS
    assert judged(call.replace("os.fsync", "os.rename"), "numbers = np.load(path)") is Doing.ACTS


@pytest.mark.parametrize(
    ("call", "doing"),
    [
        ("frame.fillna(0, inplace=True)", Doing.CHANGES),
        ("pd.read_csv(path)", Doing.ACTS),
        ("gc.collect()", Doing.ACTS),
        ("frame.apply(step)", Doing.ACTS),
    ],
)
def test_tables_that_are_changed_and_what_does_more(call, doing):
    assert judged(call) is doing
