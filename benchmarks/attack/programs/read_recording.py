"""Print what a run file holds, as JSON, read as reports read it: ``read_recording.py RUN``."""

import json
import sys
from pathlib import Path

from rlprof.runfile.reader import read_run

recording = read_run(Path(sys.argv[1]))
print(
    json.dumps(
        {
            "complete": recording.run.complete,
            "exit_code": recording.run.exit_code,
            "command": recording.run.command,
            "covered_until": recording.run.started_unix_s
            + (recording.windows[-1].end_us / 1e6 if recording.windows else 0),
            "notes": [f"{note.slug}: {note.text}" for note in recording.notes],
            "processes": [
                [process.start_method, process.fate, process.note, process.probe_samples]
                for process in recording.processes
            ],
            "sampled_s": sum(recording.samples.wall_us) / 1e6,
        }
    )
)
