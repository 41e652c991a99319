"""The agent: what rides inside the target's Python processes.

``inject/`` is put in front of the target's ``PYTHONPATH``; Python then runs its
``sitecustomize.py`` in every process of the tree. Everything below ``inject/``
imports the standard library alone, runs on Python 3.9 or newer and stays silent.
"""

from __future__ import annotations

from pathlib import Path

INJECT_DIR = Path(__file__).parent / "inject"
"""The folder that goes in front of the target's ``PYTHONPATH``."""
