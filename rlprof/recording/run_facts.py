"""Facts that are known of a run before it begins."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from rlprof import __version__
from rlprof.model.recording import RunInfo
from rlprof.recording.gpus.reader import GpuReader
from rlprof.recording.machine.host import git_state, host_facts
from rlprof.recording.redaction.arguments import redact_arguments
from rlprof.recording.redaction.environment import kept_environment
from rlprof.recording.settings import RecordingSettings


def run_info(
    settings: RecordingSettings, *, started_unix_s: float, gpus: GpuReader | None
) -> RunInfo:
    cwd = _working_directory()
    interval = settings.interval_us
    return RunInfo(
        id=secrets.token_hex(8),
        command=redact_arguments(settings.command),
        script=settings.script,
        cwd=cwd,
        started_unix_s=started_unix_s,
        wall_us=0,
        exit_code=None,
        complete=False,
        label=settings.label,
        git=git_state(Path(cwd)),
        host=host_facts(gpus),
        environment=kept_environment(os.environ),
        settings={
            "interval": "default" if interval is None else f"{interval} us",
            "agent": str(settings.agent).lower(),
            "probe": str(settings.probe).lower(),
            "sampling": str(settings.sampling).lower(),
            "torch": settings.torch.value,
        },
        rlprof_version=__version__,
    )


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # It was deleted, which the kernel marks behind its name.
        return str(Path("/proc/self/cwd").readlink()).removesuffix(" (deleted)")
