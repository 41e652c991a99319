"""Profiles for detectors, told as a script and where its time went."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

from rlprof.detectors.base import Detector
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding, PricedFinding
from rlprof.model.profile import Profile
from rlprof.model.recording import Recording
from rlprof.profile.build import build_profile
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder

BOOTSTRAP = "<frozen_importlib._bootstrap>"
"""The import system's file in a story: the space of its real name would end the frame's place."""

SITE = "/venv/lib/python3.11/site-packages"
STDLIB = "/usr/lib/python3.11"


class Script:
    """A source file of the user's. ``at`` gives frames by a piece of the line's text."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = dedent(text).lstrip("\n")

    def at(self, piece: str, function: str) -> str:
        """The frame on the first line that contains ``piece``."""
        lines = self.text.splitlines()
        number = next(i for i, line in enumerate(lines, start=1) if piece in line)
        return f"{self.file}:{number} {function}"

    def line(self, piece: str) -> int:
        return int(self.at(piece, "f").rpartition(" ")[0].rpartition(":")[2])


def profile_of(run: RunBuilder, *scripts: Script) -> Profile:
    for script in scripts:
        run.source(script.file, script.text)
    return build_profile(with_import_system(run.recording()))


def with_import_system(recording: Recording) -> Recording:
    """``recording`` with the import system's file by its real name."""
    real = BOOTSTRAP.replace("_", " ", 1)
    nodes = tuple(
        node._replace(frame=node.frame._replace(file=real))
        if node.frame.file == BOOTSTRAP
        else node
        for node in recording.nodes
    )
    return replace(recording, nodes=nodes)


def detect(detector: Detector, run: RunBuilder, *scripts: Script) -> list[Finding]:
    return list(detector.in_samples.detect(profile_of(run, *scripts)))


def ranked(run: RunBuilder, *scripts: Script) -> list[PricedFinding]:
    """What a report lists, of all detectors, the dearest first."""
    sale, failures = sell_samples(profile_of(run, *scripts), discover_detectors())
    assert not [note for note in failures if note.slug == "detector-failed"]
    return list(sale.ranking().listed)


def lines_of(finding: Finding) -> list[int]:
    return [location.line for location in finding.locations]


def claimed_s(profile: Profile, finding: Finding) -> float:
    """Steady seconds that the finding claims."""
    nodes = {node for saving in finding.savings for node in saving.nodes}
    return sum(profile.steady.self_cost(node).wall_us for node in nodes) / 1e6
