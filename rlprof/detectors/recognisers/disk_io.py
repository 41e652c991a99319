"""Where a program reads, writes and syncs files, or asks a server, while nothing else goes on.

Library code by its file and function, C code by the user's line. Output of logging and checkpoints
are left out: they have causes of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rlprof.detectors.recognisers.log_output import find_output
from rlprof.detectors.recognisers.saving import saving_calls
from rlprof.model.recording import Frame
from rlprof.source.file_access import Access, file_accesses
from rlprof.source.lines import UserLines, last_name
from rlprof.syntax.origin import Origin, origin, origin_of_file

_LIBRARIES: Final[tuple[tuple[Access, re.Pattern[str], re.Pattern[str]], ...]] = tuple(
    (access, re.compile(files), re.compile(functions))
    for access, files, functions in (
        (
            Access.REMOTE,
            r"/(requests|urllib|urllib3|httpx|botocore|pymongo|redis|sqlalchemy)/|/http/client\.py$",
            r"^\w+$",
        ),
        (
            Access.READ,
            r"/pathlib\.py$|/pathlib/|/numpy/lib/_?npyio(_impl)?\.py$|/PIL/Image\w*\.py$|/imageio/|/glob\.py$"
            r"|/pandas/io/|/pyarrow/|/h5py/|/zarr/|/minari/|/torchvision/io/|/(gzip|bz2|lzma|zipfile)\.py$"
            r"|/zipfile/|/torch/serialization\.py$",
            r"^(read\w*|load\w*|open|genfromtxt|fromfile|imread|__getitem__|i?glob|rglob|iterdir)$",
        ),
        (
            Access.WRITE,
            r"/pathlib\.py$|/pathlib/|/numpy/lib/_?npyio(_impl)?\.py$|/PIL/Image\w*\.py$|/imageio/|/pandas/"
            r"|/pyarrow/|/h5py/|/zarr/|/minari/|/torchvision/io/|/(gzip|bz2|lzma)\.py$|/matplotlib/figure\.py$",
            r"^(write\w*|save\w*|to_(csv|parquet|pickle|feather|hdf)|imwrite|imsave|__setitem__|flush)$",
        ),
    )
)

_TAKES_BYTES: Final = re.compile(
    r"/(codecs|encodings[/]\w+|_bootlocale|tempfile|pickle)\.py$|/json/"
)
"""Standard library that the user's own line calls to turn bytes into values and back."""


def find_file_access(lines: UserLines, sources: Mapping[str, str]) -> dict[int, Access]:
    """Nodes whose own time is access to files and servers, in loops of the user's."""
    tree = lines.tree
    output = find_output(lines)
    saving = set(saving_calls(lines))
    found: dict[int, Access] = {}
    below: set[int] = set()
    for node in tree.hot_nodes():
        parent = tree.nodes[node].parent
        frame = tree.frame(node)
        if node in saving or parent in saving:
            saving.add(node)
        elif parent in below:
            found[node] = found[parent]
            below.add(node)
        elif node in output:
            continue
        elif lines.is_yours(frame):
            text = sources.get(frame.file)
            access = file_accesses(text).get(frame.line) if text else None
            if access is not None and lines.is_repeated(node):
                found[node] = access
        elif (access := _of_library(frame)) is not None and lines.is_repeated(node):
            # The user's line may know more: a write for which the file is opened each time.
            found[node] = found.get(parent, access)
            below.add(node)
        elif parent in found and _takes_bytes(frame):
            found[node] = found[parent]
            below.add(node)
    return found


@lru_cache(maxsize=65536)
def _of_library(frame: Frame) -> Access | None:
    if origin(frame) is Origin.YOURS:
        return None
    for access, functions in _accesses_in(frame.file):
        if functions.search(last_name(frame.function)):
            return access
    return None


@lru_cache(maxsize=4096)
def _accesses_in(file: str) -> tuple[tuple[Access, re.Pattern[str]], ...]:
    if origin_of_file(file) not in (Origin.LIBRARY, Origin.STDLIB):
        return ()
    path = file.replace("\\", "/")
    return tuple(
        (access, functions) for access, files, functions in _LIBRARIES if files.search(path)
    )


def _takes_bytes(frame: Frame) -> bool:
    return origin(frame) is Origin.STDLIB and bool(_TAKES_BYTES.search(frame.file))
