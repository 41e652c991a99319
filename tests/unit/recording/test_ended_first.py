from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TELLS = """
from pathlib import Path
from rlprof.recording.memory_shortage import be_ended_first

def score():
    return Path("/proc/self/oom_score_adj").read_text().strip()

be_as_before = be_ended_first()
print(score())
be_as_before()
print(score())
"""


def test_who_is_to_be_ended_first_can_go_back():
    answer = subprocess.run(
        [sys.executable, "-c", TELLS], capture_output=True, text=True, timeout=60, check=True
    )

    assert answer.stdout.split() == ["1000", Path("/proc/self/oom_score_adj").read_text().strip()]
