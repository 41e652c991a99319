"""Tell what pytest calls: the fixture ``assert_sps``, the marker ``rlprof`` and ``--rlprof-skip``.

It is loaded in every pytest of an environment in which rlprof is installed, so it imports what it takes to
measure only once a test measures.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False  # The real one lives in ``typing``.
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlprof.pytest_plugin.speed_test import AssertSps

_FIXTURE = "assert_sps"
_MARKER = "rlprof"
_LINE = "rlprof"
"""Property of a test's report: what was measured, in words. Reports travel from pytest-xdist's workers."""

_ASSERTING = pytest.StashKey["AssertSps"]() if hasattr(pytest, "StashKey") else None
"""Key of what the fixture handed to a test. None before pytest 7: other plugins and tests are to go on as they did."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rlprof", "steps per second (rlprof)")
    group.addoption(
        "--rlprof-skip",
        action="store_true",
        help="skip tests that run a training to measure it, on machines where its speed means nothing",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(*command, **options): the training that the fixture {_FIXTURE} runs, in words as for "
        "`rlprof run` (a script, '-m' and a module, or '--' and a command), and the fixture's options. "
        "Every test with the fixture has it, so -m 'not rlprof' leaves them out.",
    )


@pytest.hookimpl(tryfirst=True)  # Before -m chooses.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="--rlprof-skip was given")
    for item in items:
        if _FIXTURE in getattr(item, "fixturenames", ()):
            item.add_marker(_MARKER)
        # The fixture may come by request.getfixturevalue, which only the marker tells.
        if config.getoption("--rlprof-skip") and item.get_closest_marker(_MARKER):
            item.add_marker(skip)


@pytest.fixture
def assert_sps(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AssertSps:
    """Run a training, and fail where it is slower, or counts more, than it may.

    ``assert_sps(at_least=900, counters={"gpu_syncs": 0})`` runs the command of ``@pytest.mark.rlprof("train.py",
    "--steps", "20000")`` up to three times in fresh processes, until one run makes 900 steps per
    second. More options: command (words, or a function of a module), runs, timeout (seconds, of one
    run), cwd, env, steps_from, sps_pattern; the marker takes them too. Returns what was measured.
    """
    if _ASSERTING is None:
        pytest.fail(f"assert_sps needs pytest 7 or newer; this is {pytest.__version__}")
    from rlprof.pytest_plugin.speed_test import AssertSps

    asserting = AssertSps(request, tmp_path_factory)
    request.node.stash[_ASSERTING] = asserting
    return asserting


@pytest.hookimpl(trylast=True)  # Behind the test itself: not where it failed, or skipped itself.
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail a test that asks for a floor and has measured nothing: it would pass however slow the training is."""
    if _ASSERTING is None:
        return
    asserting = item.stash.get(_ASSERTING, None)
    if asserting is not None and asserting.was_called:
        return
    if asserting is not None or _has_floor(item):
        from rlprof.pytest_plugin.options import in_python, nothing_measured

        pytest.fail(in_python(nothing_measured(has_fixture=asserting is not None)), pytrace=False)


def _has_floor(item: pytest.Item) -> bool:
    options = (mark.kwargs for mark in item.iter_markers(_MARKER))
    return any(
        option.get("at_least") is not None or option.get("counters") is not None
        for option in options
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [*_measured_lines(terminalreporter)]
    if lines and terminalreporter.verbosity >= 0:
        terminalreporter.write_sep("=", "rlprof: steps per second")
        for line in lines:
            terminalreporter.write_line(line)


def _measured_lines(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            properties = getattr(report, "user_properties", ())
            told = [str(value) for name, value in properties if name == _LINE]
            if told:
                # The report of each stage of a test repeats what those before it have.
                found[report.nodeid] = max(told, found.get(report.nodeid, []), key=len)
    for test, told in found.items():
        yield from (f"{test}: {line}" for line in told)
