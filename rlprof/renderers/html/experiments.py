"""The experiments of a page: what was predicted beside what was measured."""

from __future__ import annotations

from rlprof.model.experiment import Experiment
from rlprof.model.finding import Range
from rlprof.model.report import Report
from rlprof.renderers.html.document import View
from rlprof.renderers.html.drawings import compared_bar
from rlprof.report.wording.experiments import tried_rows


def experiment_views(report: Report) -> list[View]:
    rows = tried_rows(report)
    return [
        {**row._asdict(), "bar": _bar(experiment)}
        for row, experiment in zip(rows, report.experiments, strict=True)
    ]


def _bar(experiment: Experiment) -> object:
    measured = experiment.measured
    if experiment.predicted is None and measured is None:
        return ""
    return compared_bar(
        experiment.predicted, None if measured is None else Range(measured.low, measured.high)
    )
