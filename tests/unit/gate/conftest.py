"""Checks are stopped by signals."""

from __future__ import annotations

from tests.heard_signals import hear_signals

hear_signals()
