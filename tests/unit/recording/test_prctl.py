from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["ctypes"] = None  # As where a library that it needs cannot be loaded.
from rlprof.recording.machine import prctl
from rlprof.recording.program import target
prctl.adopt_orphans(True)
prctl.end_with_parent(15)
"""


def test_a_training_is_started_where_ctypes_cannot_be_imported():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
