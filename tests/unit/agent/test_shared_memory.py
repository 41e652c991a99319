"""Memory that is shared through a memfd, under a limit on files, in real processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

UNDER_A_LIMIT = """
import os, resource, signal
{imports}
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
before = os.listdir("/proc/self/fd")
try:
    {act}
except OSError as error:
    print(error, os.listdir("/proc/self/fd") == before)
"""
"""Whoever makes a file that is larger dies."""


@pytest.mark.parametrize(
    ("imports", "act"),
    [
        ("from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox", "Mailbox(10_000)"),
        ("from rlprof.agent.inject.rlprof_agent import torch_trace", "torch_trace.export(None)"),
    ],
)
def test_where_files_are_limited_there_is_none(imports, act):
    program = UNDER_A_LIMIT.format(imports=imports, act=act)

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)

    assert (ended.returncode, ended.stdout) == (0, b"too little room in a file True\n")
