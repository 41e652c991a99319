"""Checks are stopped by signals; what a run counted is read from its run file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from rlprof.gate.measured_run import measured
from rlprof.gate.program import Side
from tests.check_factory import a_program
from tests.factories import RunBuilder
from tests.heard_signals import hear_signals
from tests.run_files import write_run

hear_signals()


@pytest.fixture
def counted(tmp_path: Path) -> Callable[..., Mapping[str, float]]:
    """Counters per step of a run of head, with the options of ``measured``."""

    def _counted(
        run: RunBuilder, *, needs_counters: bool = False, asked: Sequence[str] = ()
    ) -> Mapping[str, float]:
        file = tmp_path / f"{len([*tmp_path.iterdir()])}.rlprof"
        write_run(file, run.recording())
        program = a_program(Side.HEAD)
        found = measured(
            file,
            program=program,
            pair=1,
            needs_rate=False,
            needs_counters=needs_counters,
            asked=asked,
        )
        return found.counters.per_step

    return _counted
