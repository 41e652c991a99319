"""A stand-in for NVIDIA's driver library, so that tests run the real ``pynvml`` without a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")
UTILISATION = 0.37
MEMORY_BYTES = 2 << 30
POWER_W = 120.5
CLOCK_SHARE = 0.5


def stand_in_environment(folder: Path, processes: Path | None = None) -> dict[str, str]:
    """What a process needs in its environment to find the stand-in, which is built into ``folder``.

    ``processes``: the file with what processes hold on the GPU, a pid and its bytes a line.
    """
    pytest.importorskip("pynvml", reason="nvidia-ml-py is missing")
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc to build the stand-in for NVML with")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    theirs = os.environ.get("LD_LIBRARY_PATH")
    found = {"LD_LIBRARY_PATH": os.pathsep.join([str(folder), *([theirs] if theirs else [])])}
    return found | ({"STAND_IN_PROCESSES": str(processes)} if processes is not None else {})
