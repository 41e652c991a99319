"""A report poured into ``page.html.jinja``, with its scripts, styles and data inside."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from markupsafe import Markup

from rlprof.model.activity import Component
from rlprof.model.report import Report
from rlprof.names import cut_middle, printable
from rlprof.renderers.browser_scripts import bundle
from rlprof.renderers.html import findings, processes, torch
from rlprof.renderers.html.document import View, carried, environment
from rlprof.renderers.html.drawings import share_bar
from rlprof.renderers.html.rundata import pack
from rlprof.report import wording
from rlprof.report.wording.crash import bad_end
from rlprof.report.wording.experiments import ABOUT
from rlprof.report.wording.facts import host_name, host_value
from rlprof.report.wording.rates import on_the_rate
from rlprof.report.wording.run import (
    about_the_parts,
    marked_phases,
    parts_of_the_time,
    run_facts,
    wait_lines,
    waits_for_cores,
    with_its_wait,
)
from rlprof.resources import asset
from rlprof.units import LEAST_PERCENT

STYLES: Final = ("vendor/uplot/uPlot.min.css", "page.css", "flamegraph.css", "interactive.css")
TIMELINE: Final = "vendor/uplot/uPlot.iife.min.js"

_LONGEST_UNSEEN: Final = 240
_MOST_UNSEEN: Final = 4
"""Remarks in the head; the rest is told at the end of the page."""

_NOT_EXECUTED: Final = "application/octet-stream"


def page(report: Report) -> str:
    draws = report.detail is not None and len(report.detail.samples) > 0
    data, pruned_share = pack(report) if draws else ("", 0.0)
    scripts = [asset("theme.js"), *([asset(TIMELINE), bundle("page.js")] if draws else [])]
    template = environment().get_template("page.html.jinja")
    return template.render(
        report=report,
        **carried(STYLES, scripts),
        data_type=_NOT_EXECUTED,
        data=Markup(data),
        version=report.run.rlprof_version,
        pruned=_pruned(pruned_share),
        draws=draws,
        why_no_drawings=_why_no_drawings(report),
        title=_title(report),
        command=wording.command(report),
        speed=wording.speed(report),
        interval=_interval(report),
        verdict=wording.verdict(report),
        crash=bad_end(report),
        on_the_rate=on_the_rate(report),
        head_facts=_head_facts(report),
        unseen=_unseen(report),
        findings=findings.finding_views(report),
        hot_lines=findings.hot_lines(report),
        nothing_found=wording.advice(report),
        also_seen=findings.also_seen(report),
        experiments=findings.experiment_views(report),
        about_experiments=ABOUT,
        parts=[_component(row, report) for row in parts_of_the_time(report)],
        about_the_parts=about_the_parts(report),
        marked_phases=[_component(row, report) for row in marked_phases(report)],
        waits_for_cores=waits_for_cores(report),
        run_facts=list(run_facts(report)),
        host_facts=[
            (host_name(key), host_value(key, told)) for key, told in report.run.host.items()
        ],
        lasted=wording.duration(report.run.wall_us),
        groups=processes.process_groups(report),
        every_process=processes.every_process(report),
        graph=processes.graph_of_waits(report),
        wait_lines=wait_lines(report),
        windows=torch.window_views(report),
        any_device=any(row.busy_share is not None for row in report.torch_windows),
        idle_legend=torch.legend(),
        ops=torch.heaviest_ops(report),
        kernels=torch.heaviest_kernels(report),
        sites=torch.site_views(report),
        notes=wording.gravest_first(report.notes),
    )


# --- the head ------------------------------------------------------------------------------


def _title(report: Report) -> str:
    run = report.run
    # `rlprof run -- python train.py` names python as what it starts.
    script = next((argument for argument in run.command if argument.endswith(".py")), run.script)
    name = run.label or PurePosixPath(script).name or wording.command(report) or "a run"
    return cut_middle(printable(name), 80)


def _interval(report: Report) -> str:
    steady = report.throughput.steady_sps
    return f"{wording.rate_range(steady)} (95 % interval)" if steady else ""


def _head_facts(report: Report) -> list[str]:
    run = report.run
    number = len(report.processes)
    facts = [
        f"ran {wording.duration(run.wall_us)}",
        f"{number} process{'' if number == 1 else 'es'}",
        f"{run.started:%Y-%m-%d %H:%M} UTC",
    ]
    if run.git:
        facts.append(f"git {printable(run.git, 60)}")
    if run.exit_code:
        facts.append(f"exit code {run.exit_code}")
    return facts


def _unseen(report: Report) -> list[str]:
    """Return what the reader has to know before believing the rest."""
    rows = report.processes
    missed = len(wording.missed(report))
    lines = []
    if report.run.is_live:
        lines.append("The run was still being recorded: what came later is missing.")
    elif not report.run.complete:
        lines.append("The recording was cut off: its last moments are missing.")
    if missed:
        was = "was" if missed == 1 else "were"
        lines.append(f"{missed} of {len(rows)} processes {was} not sampled.")
    if not wording.has_samples(report):
        lines.append("No samples were taken.")
    notes = [
        note for note in wording.gravest_first(report.notes) if note.level in ("error", "warning")
    ]
    lines += [cut_middle(printable(note.text), _LONGEST_UNSEEN) for note in notes[:_MOST_UNSEEN]]
    more = len(notes) - _MOST_UNSEEN
    if more > 0:
        lines.append(f"And {more} more remarks.")
    return lines


def _why_no_drawings(report: Report) -> str:
    if report.detail is None:
        return (
            "This page was made without the detail that the timeline, the flamegraph and the table of "
            "functions are drawn from: make it again with `rlprof report --html`."
        )
    return "No samples were taken: there is no timeline, no flamegraph and no table of functions."


def _pruned(share: float) -> str:
    if share < LEAST_PERCENT:
        return ""
    return (
        f"Calls too short to see are left out ({wording.percent(share)} of the time in all); their time "
        "stays with their callers."
    )


# --- the run -------------------------------------------------------------------------------


def _component(row: Component, report: Report) -> View:
    unit = wording.rate_unit(report.throughput)
    ceiling = row.ceiling_sps
    return {
        "name": row.name,
        "share": wording.percent(row.share),
        "bar": share_bar(row.share),
        "with_wait": with_its_wait(row),
        "per_step": wording.duration(row.per_step_us) if row.per_step_us else "",
        "ceiling": f"{wording.rate(ceiling)} {unit}" if ceiling else "",
    }
