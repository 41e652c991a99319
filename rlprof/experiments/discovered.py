"""All treatments, found by walking their package."""

from __future__ import annotations

from rlprof.discovery import built_in
from rlprof.experiments.base import Treatment


def treatments() -> tuple[Treatment, ...]:
    """Return every treatment there is, by id."""
    found = built_in("rlprof.experiments.treatments", "TREATMENT")
    return tuple(sorted(found, key=lambda treatment: treatment.id))
