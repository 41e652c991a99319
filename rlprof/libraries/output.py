"""Logs, metrics and progress bars: whatever tells how a training is doing."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARIES: Final = (
    Library(
        name="Loguru",
        also=("loguru",),
        samples=("_handler.py",),
        logging=EVERYTHING,
        sinks={Sink.RECORDS: EVERYTHING},
        # Its Logger._log is where a level that is off is found out.
        emits=r"(_handler|_simple_sinks|_file_sink|_datetime|_recattrs)\.py$",
    ),
    # They get the metrics of a training, and draw them elsewhere.
    Library(
        name="Comet, ClearML and SwanLab",
        also=("clearml", "comet_ml", "swanlab"),
        sinks={Sink.METRICS: EVERYTHING},
    ),
    Library(
        name="Rich",
        packages=("rich",),
        samples=("console.py", "progress.py"),
        logging=EVERYTHING,
        sinks={
            Sink.PRINT: r"(console|_log_render)\.py$",
            Sink.PROGRESS: r"(progress|live)\.py$",
        },
        makes_text=EVERYTHING,
    ),
    Library(
        name="structlog",
        also=("structlog",),
        samples=("processors.py",),
        logging=EVERYTHING,
        sinks={Sink.RECORDS: EVERYTHING},
        emits=r"(dev|processors)\.py$",
    ),
    Library(
        name="tabulate",
        also=("tabulate",),
        makes_text=EVERYTHING,
    ),
    Library(
        name="TensorBoard",
        packages=("tensorboard",),
        samples=("summary/writer/event_file_writer.py",),
        logging=EVERYTHING,
        sinks={Sink.METRICS: "(summary|compat)/"},
    ),
    Library(
        name="tqdm",
        packages=("tqdm",),
        logging=EVERYTHING,
        sinks={Sink.PROGRESS: EVERYTHING},
    ),
    Library(
        name="trackers of experiments",
        packages=("mlflow", "wandb"),
        also=("aim", "neptune", "tensorboardX"),
        logging=EVERYTHING,
        sinks={Sink.METRICS: EVERYTHING},
    ),
)
