"""Record one run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rlprof.errors import OutputError, RlprofError
from rlprof.recording.experimenting import Experimenter
from rlprof.recording.machine import procfs
from rlprof.recording.machine.descriptors import occupy_closed_streams
from rlprof.recording.recorder import Recorder, RunEnd
from rlprof.recording.settings import RecordingSettings


def record(
    settings: RecordingSettings,
    when_started: Callable[[], None] = lambda: None,
    experimenter: Experimenter | None = None,
) -> RunEnd:
    """Run the target under observation and write ``settings.run_file``; ``when_started`` is called as soon as it
    runs, and ``experimenter`` as often as it asks for.

    Raises :class:`LaunchError` when the target cannot be started and :class:`OutputError` when nothing can
    be recorded; the target has not run then. Once it runs nothing is raised any more.
    """
    occupy_closed_streams()
    if procfs.is_of_others():
        raise OutputError(
            "/proc shows the processes of another PID namespace",
            slug="recording-not-begun",
            hint="mount one of your own: unshare --mount-proc, bwrap --proc /proc",
        )
    try:
        recorder = Recorder(settings, experimenter)
    except RlprofError:
        raise
    except Exception as error:
        raise OutputError(
            f"the recording could not begin: {error}",
            slug="recording-not-begun",
            hint="`rlprof doctor` looks at what it needs",
        ) from error
    try:
        return recorder.run(when_started)
    finally:
        with suppress(Exception):
            recorder.close()
