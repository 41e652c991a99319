"""Plan experiments in a process of its own: the recorder goes on meanwhile.

It prints a :class:`Plan` as JSON, or says on stderr why it cannot.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import msgspec

from rlprof.errors import MeasureError, RlprofError
from rlprof.experiments.plan import Plan, plan_ceilings, plan_experiments

_PATIENCE_S: Final = 60.0
"""For a plan to be made, on a machine that trains."""


class PlannerProcess:
    """One plan in the making."""

    def __init__(self, run_file: Path, begun_s: float, *, of_ceilings: bool = False) -> None:
        self._begun_s = begun_s
        # Not what the program's environment may set for its own Python.
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        package = str(Path(__file__).parents[2])
        # Files and no pipes: nobody reads while it writes.
        self._told, self._errors = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - until the plan is there
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, package, str(run_file), str(int(of_ceilings))],
            stdin=subprocess.DEVNULL,
            stdout=self._told,
            stderr=self._errors,
            env=environment,
        )

    def plan(self, now_s: float) -> Plan | None:
        """The plan; None while it is made. Raises :class:`MeasureError` where that failed."""
        if self.process.poll() is None:
            if now_s - self._begun_s > _PATIENCE_S:
                self.stop()
                raise _failed(f"it took more than {_PATIENCE_S:g} s")
            return None
        with self._told, self._errors:
            for file in (self._told, self._errors):
                file.seek(0)
            if self.process.returncode:
                lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
                raise _failed(lines[-1] if lines else f"it ended with {self.process.returncode}")
            return msgspec.json.decode(self._told.read(), type=Plan)

    def stop(self) -> None:
        """Give the plan up."""
        self.process.kill()
        self.process.wait()
        self._told.close()
        self._errors.close()


_START: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from rlprof.experiments.planner import main; "
    "main(sys.argv[2], of_ceilings=sys.argv[3] == '1')"
)


def _failed(why: str) -> MeasureError:
    return MeasureError(
        f"the findings of the run so far could not be told: {why}",
        slug="try-not-planned",
        hint="`rlprof report` shows what was recorded; please report it if that works",
    )


def main(run_file: str, *, of_ceilings: bool) -> None:
    from rlprof.experiments.discovered import treatments
    from rlprof.runfile.reader import read_run

    try:
        recording = read_run(Path(run_file))
        plan = (
            plan_ceilings(recording) if of_ceilings else plan_experiments(recording, treatments())
        )
    except RlprofError as error:
        sys.exit(error.message)
    sys.stdout.buffer.write(msgspec.json.encode(plan))
