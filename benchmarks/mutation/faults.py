"""All faults."""

from __future__ import annotations

from . import (
    faults_of_calls,
    faults_of_episodes,
    faults_of_learning,
    faults_of_processes,
    faults_of_steps,
)
from .fault import Fault

__all__ = ["FAULTS", "Fault"]

FAULTS: tuple[Fault, ...] = (
    *faults_of_steps.FAULTS,
    *faults_of_calls.FAULTS,
    *faults_of_episodes.FAULTS,
    *faults_of_learning.FAULTS,
    *faults_of_processes.FAULTS,
)
