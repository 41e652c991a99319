"""``rlprof trace``: what any torch.profiler trace says by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlprof.cli.formats import TextOrJson, in_format
from rlprof.cli.output import Force, OutputFile, check_output, hand_out


def trace(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="What export_chrome_trace() wrote: .json or .json.gz, NVIDIA or AMD.",
            show_default=False,
        ),
    ],
    format_: Annotated[TextOrJson, typer.Option("--format", "-f", help="Of the answer.")] = (
        TextOrJson.TERMINAL
    ),
    output: OutputFile = None,
    force: Force = False,
) -> None:
    """Tell what a torch.profiler trace says.

    How busy the GPU is, what it waits for, and what each cause costs at most. A wait for the GPU is not time saved: what could be gained is bounded by the time that the GPU then
    has nothing to do.
    """
    from rlprof.device.view import view_trace
    from rlprof.discovery import discover_detectors
    from rlprof.pricing.traces import find_in
    from rlprof.tracefile.reader import read_trace
    from rlprof.tracereport.document import trace_document
    from rlprof.tracereport.json_document import trace_as_json

    if output is not None:
        check_output(output, force=force, reads=[path])
    view = view_trace(read_trace(path))
    findings = find_in(view, discover_detectors())
    text = in_format(
        format_,
        lambda: trace_as_json(view, findings),
        lambda: trace_document(view, findings, str(path)),
        to_file=output is not None,
    )
    hand_out(text, output, force=force)
