from __future__ import annotations

from rlprof.model import gauges
from rlprof.model.detail import Detail
from rlprof.report.build import build_report
from tests.factories import SECOND, RunBuilder, a_run

SCRIPT = "train.py"
TEXT = "\n".join(
    [
        "import logging",
        "logger = logging.getLogger()",
        "def train(env):",
        "    for step in range(1000):",
        "        action = env.choose()",
        "        logger.debug(f'{action}')",
        "        env.step(action)",
        "train(env)",
    ]
)
ARRAYPRINT = "/venv/lib/python3.11/site-packages/numpy/core/arrayprint.py:736 array2string"


def a_training() -> RunBuilder:
    """Half of the steady time goes into a log message that nobody reads."""
    main = (f"{SCRIPT}:8 <module>", f"{SCRIPT}:6 train")
    return (
        a_run(SCRIPT)
        .process("main", steps=10_000)
        .spends(2.0, "train.py:1 <module>", start_up=True)
        .spends(5.0, *main, ARRAYPRINT)
        .spends(5.0, f"{SCRIPT}:8 <module>", f"{SCRIPT}:7 train")
        .source(SCRIPT, TEXT)
    )


def detail_of(run: RunBuilder) -> Detail:
    detail = build_report(run.recording(), detailed=True).detail
    assert detail is not None
    return detail


def test_a_report_in_words_has_no_detail():
    assert build_report(a_training().recording()).detail is None


def test_all_time_is_in_it_by_slices_of_one_phase():
    run = a_training()

    detail = detail_of(run)

    assert sum(detail.samples.wall_us) == 12 * SECOND
    phases = [part.phase.value for part in detail.slices if part.phase is not None]
    assert (phases[0], phases[-1]) == ("start-up", "steady")
    assert detail.slices[-1].end_us == 12 * SECOND
    assert detail.steady_steps == 10_000


def test_a_finding_leads_to_the_nodes_that_its_fix_touches():
    run = a_training()
    report = build_report(run.recording(), detailed=True)
    assert report.detail is not None

    nodes = dict(report.detail.finding_nodes)

    first = report.findings[0]
    assert first.finding.detector == "eager-log-format"
    functions = {report.detail.nodes[node].frame.function for node in nodes[first.rank]}
    assert functions == {"array2string"}


def test_source_stands_around_the_lines_that_findings_name():
    detail = detail_of(a_training())

    excerpt = detail.excerpts[SCRIPT, 6]

    assert excerpt.first_line == 2
    assert excerpt.lines == tuple(TEXT.splitlines()[1:8])


def test_without_source_there_are_no_excerpts():
    run = a_run(SCRIPT).process(steps=100).spends(10.0, f"{SCRIPT}:7 train")

    assert detail_of(run).excerpts == {}


def test_the_timeline_has_the_rate_and_cores_and_memory_by_role():
    run = a_training().gauge(gauges.CPU_US, 450_000.0).gauge(gauges.RSS_BYTES, 2e9)
    run.process("worker").spends(10.0, "worker.py:3 work")
    run.gauge(gauges.RSS_BYTES, 1e9)
    run.process("worker").spends(10.0, "worker.py:3 work").gauge(gauges.RSS_BYTES, 1e9)

    detail = detail_of(run)

    of = {(series.group, series.name): series for series in detail.series}
    last = len(detail.points_us) - 1
    assert detail.points_us[last] == (11_500_000, 12 * SECOND)
    rate = of["rate", "sps"]
    assert (rate.unit, rate.values[0], round(rate.values[last] or 0)) == ("sps", None, 1000)
    assert of["cores", "main"].values[last] == 0.9
    assert of["memory", "main"].values[last] == 2e9
    assert of["memory", "worker"].values[last] == 2e9  # Of both.


def test_gpus_are_on_the_timeline():
    name = gauges.of_gpu(gauges.GPU_UTILISATION, 1)
    run = a_training().gauge(name, 0.25, 0.25)

    (gpu,) = [series for series in detail_of(run).series if series.group == "gpu"]

    assert (gpu.name, gpu.unit, set(gpu.values)) == ("GPU 1", "share", {0.25})


def test_an_empty_run_has_an_empty_detail():
    detail = detail_of(a_run(start_up_s=0, steady_s=0))

    assert (detail.slices, len(detail.samples), detail.series) == ((), 0, ())
