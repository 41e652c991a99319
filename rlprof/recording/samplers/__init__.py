"""Samplers: programs that read another process's stacks from outside (the clock)."""

from __future__ import annotations

from rlprof.recording.samplers.austin import Austin, find_austin

__all__ = ["Austin", "find_austin"]
