"""``rlprof trace``: what any torch.profiler trace says by itself."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.output import Force, OutputFile, check_output, hand_out, in_words

if TYPE_CHECKING:
    from rlprof.device.view import TraceView


class TraceFormat(str, Enum):
    TERMINAL = "terminal"
    JSON = "json"


def trace(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="What export_chrome_trace() wrote: .json or .json.gz, NVIDIA or AMD.",
            show_default=False,
        ),
    ],
    format_: Annotated[TraceFormat, typer.Option("--format", "-f", help="Of the answer.")] = (
        TraceFormat.TERMINAL
    ),
    output: OutputFile = None,
    force: Force = False,
) -> None:
    """Tell what a torch.profiler trace says.

    How busy the GPU is, what it waits for, and what each cause costs at most. A wait for the GPU is not time saved: what could be gained is bounded by the time that the GPU then
    has nothing to do.
    """
    from rlprof.device.view import view_trace
    from rlprof.tracefile.reader import read_trace

    if output is not None:
        check_output(output, force=force, reads=[path])
    text = _document(view_trace(read_trace(path)), path, format_, to_terminal=output is None)
    hand_out(text, output, force=force)


def _document(view: TraceView, path: Path, format_: TraceFormat, *, to_terminal: bool) -> str:
    from rlprof.discovery import discover_detectors
    from rlprof.pricing.traces import find_in

    findings = find_in(view, discover_detectors())
    if format_ is TraceFormat.JSON:
        from rlprof.tracereport.json_document import trace_as_json

        return trace_as_json(view, findings)
    from rlprof.tracereport.document import trace_document

    blocks = trace_document(view, findings, str(path))
    return in_words(blocks, sys.stdout, to_file=not to_terminal)
