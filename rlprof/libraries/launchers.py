"""Programs and libraries that start other people's code."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARIES: Final = (
    Library(
        name="Click",
        also=("click",),
        samples=("utils.py",),
        sinks={Sink.PRINT: r"utils\.py$"},
        is_launcher=True,
    ),
    Library(
        name="joblib",
        packages=("joblib",),
        samples=("numpy_pickle.py",),
        saving=r"numpy_pickle\.py$",
        drives=EVERYTHING,
        is_launcher=True,
    ),
    # With RLlib.
    Library(
        name="Ray",
        packages=("ray",),
        drives=EVERYTHING,
        is_launcher=True,
    ),
    Library(
        name="launchers",
        packages=("absl", "accelerate"),
        also=(
            "IPython",
            "_pytest",
            "coverage",
            "debugpy",
            "deepspeed",
            "distributed",
            "fire",
            "invoke",
            "ipykernel",
            "jsonargparse",
            "loky",
            "pluggy",
            "pytest",
            "rlprof",
            "simple_parsing",
            "submitit",
            "tornado",
            "traitlets",
            "typer",
            "tyro",
            "xdist",
        ),
        is_launcher=True,
    ),
)
