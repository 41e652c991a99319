"""Packages of which little is known: names, and that some read files or ask servers."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Access, Library, Sink
from rlprof.model.activity import WaitKind

_FILES: Final = r"(h5py|imageio|minari|pyarrow|torchvision/io|zarr)/|PIL/Image\w*\.py$"

FILES_AND_SERVERS: Final = Library(
    name="files and servers",
    # The names of packages are in the patterns, so that each is still spoken of by its own.
    samples=("PIL/Image.py", "h5py/_hl/dataset.py", "requests/sessions.py"),
    sinks={Sink.FILES: _FILES},
    accesses={
        Access.REMOTE: "(requests|urllib3|httpx|botocore|pymongo|redis|sqlalchemy)/",
        Access.READ: _FILES,
    },
)
"""Packages that read and write files, and clients of servers, of which little else is known."""
FILELOCK: Final = Library(
    name="filelock",
    packages=("filelock",),
    samples=("_api.py",),
    waits={r"_api\.py$": {"acquire": WaitKind.LOCK}},
)
"""Locks of files, tried again and again."""
NAMES: Final = Library(
    name="other packages",
    packages=(
        "PIL",
        "datasets",
        "einops",
        "imageio",
        "optax",
        "psutil",
        "pydantic",
        "torchvision",
        "triton",
        "zmq",
    ),
)
"""Packages that trainings import, of which only the names are known."""
