"""All treatments, found by walking their package."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from rlprof.experiments import treatments as package
from rlprof.experiments.base import Treatment


def treatments() -> tuple[Treatment, ...]:
    """Return every treatment there is, by id."""
    found = [
        import_module(f"{package.__name__}.{module.name}").TREATMENT
        for module in pkgutil.iter_modules(package.__path__)
    ]
    return tuple(sorted(found, key=lambda treatment: treatment.id))
