"""The pytest plugin in real sessions of pytest: what passes, what fails, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.live_processes import processes_with, wait_until

DEADLINE_S = 100

PASSED, FAILED, INTERRUPTED = 0, 1, 2

IS_INSTALLED = any(
    point.value == "rlprof.pytest_plugin" for point in entry_points(group="pytest11")
)
"""Not where the checkout was installed before it had the plugin."""

# Each step waits, so that its rate hardly depends on what else the machine does: at most 250 sps.
TRAIN = """
import logging, pathlib, sys, time
import rlprof

def train(steps=300, cost_s=0.004):
    for _ in range(steps):
        time.sleep(cost_s)
        rlprof.step()

if __name__ == "__main__":
    # A run leaves a mark, so that runs can be counted.
    with open("runs", "a") as runs:
        runs.write("x")
    if "--logging" in sys.argv:
        logging.warning("a record")
        for _ in range(299):
            logging.warning("a record")
    if "--slow-at-first" in sys.argv and pathlib.Path("runs").stat().st_size == 1:
        train(cost_s=0.02, steps=150)
    else:
        train()
"""


class Session:
    """How a session of pytest ended."""

    def __init__(self, code: int, out: str, junit: Path) -> None:
        self.code = code
        self.out = out
        self._junit = junit

    def properties(self, test: str) -> dict[str, str]:
        found = ElementTree.parse(self._junit).iter("testcase")
        (case,) = [element for element in found if element.get("name") == test]
        return {
            element.get("name", ""): element.get("value", "") for element in case.iter("property")
        }


class Project:
    """A folder with a training and its tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("train.py", TRAIN)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(textwrap.dedent(text))

    @property
    def runs(self) -> int:
        """Made by ``train.py``."""
        return len((self.folder / "runs").read_text())

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        plugin = () if IS_INSTALLED else ("-p", "rlprof.pytest_plugin")
        # A session of its own, and no worker of the one that these tests run in.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        # As strict as a project can be.
        strict = ("-W", "error", "--strict-markers", "--strict-config")
        # Sessions of one user tidy each other's folders, and warn where they meet.
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *plugin, *strict, "--junitxml=junit.xml", *options],
            cwd=self.folder,
            env={
                **inherited,
                "COLUMNS": "200",
                "PYTEST_DEBUG_TEMPROOT": str(temporary),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def test(self, text: str, *options: str, **environment: str) -> Session:
        """Run ``text`` as the only file of tests."""
        self.write("test_speed.py", text)
        return self._ended(self.start(*options, **environment))

    def stopped_by(self, signum: int, text: str, *options: str) -> Session:
        """The same, with a signal as soon as there is a file ``ready``."""
        self.write("test_speed.py", text)
        running = self.start(*options)
        try:
            wait_until((self.folder / "ready").exists, "the training runs")
            running.send_signal(signum)
        except BaseException:
            running.kill()
            raise
        return self._ended(running)

    def _ended(self, running: subprocess.Popen[str]) -> Session:
        try:
            out, _ = running.communicate(timeout=DEADLINE_S)
        finally:
            running.kill()
            running.wait()
        return Session(running.returncode, out, self.folder / "junit.xml")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# --- what holds -----------------------------------------------------------------------------


def test_a_training_that_is_fast_enough_passes_and_its_figures_are_shown(project):
    session = project.test("""
        import pytest

        @pytest.mark.rlprof("train.py")
        def test_speed(assert_sps):
            found = assert_sps(at_least=25, counters={"log_records": 0.02, "gpu_syncs": 0})
            assert found.sps_low <= found.sps <= found.sps_high
            assert 25 <= found.sps < 260
            assert (found.unit, found.source, found.steps) == ("steps", "rlprof.step", 300)
            assert found.rates == (found.sps,)
            assert found.counters["gpu_syncs"] == 0
    """)

    assert session.code == PASSED, session.out
    assert "rlprof: steps per second" in session.out
    assert "test_speed.py::test_speed: " in session.out
    assert " sps, at least 25; 0 log_records per step, at most 0.02" in session.out
    found = session.properties("test_speed")
    assert 25 <= float(found["sps"]) < 260
    assert (found["log_records"], found["gpu_syncs"]) == ("0.0", "0.0")
    assert project.runs == 1


@pytest.mark.slow
def test_a_slow_run_is_made_up_for_by_a_fast_one(project):
    session = project.test("""
        import pytest

        @pytest.mark.rlprof("train.py", "--slow-at-first", runs=9)
        def test_speed(assert_sps):
            found = assert_sps(at_least=100)
            assert found.rates[0] < 100 <= found.rates[-1] == found.sps
    """)

    assert session.code == PASSED, session.out
    assert 2 <= project.runs < 9


@pytest.mark.slow
def test_counters_take_one_run_and_no_rate(project):
    session = project.test("""
        import rlprof

        def train():
            rlprof.step(10)

        def test_counters(assert_sps):
            found = assert_sps(counters={"log_records": 0}, command=train)
            assert (found.sps, found.rates, found.steps) == (None, (), 10)
    """)

    assert session.code == PASSED, session.out
    assert "test_counters: 0 log_records per step, at most 0" in session.out


CALLED = """
    import os, pathlib, sys
    import beside, rlprof

    def train():
        assert "PYTEST_CURRENT_TEST" not in os.environ and "COV_CORE_SOURCE" not in os.environ
        pathlib.Path("pid").write_text(f"{os.getpid()} {os.environ['SEED']} {beside.NAME}")
        rlprof.step(10)

    def test_called(assert_sps, tmp_path):
        assert_sps(counters={"log_records": 0}, command=train, cwd=tmp_path, env={"SEED": 7})
        pid, seed, name = (tmp_path / "pid").read_text().split()
        assert int(pid) != os.getpid() and (seed, name) == ("7", "beside")
"""


@pytest.mark.parametrize("mode", ["prepend", pytest.param("importlib", marks=pytest.mark.slow)])
def test_a_function_is_called_in_a_process_of_its_own(project, mode):
    project.write("beside.py", "NAME = 'beside'")

    session = project.test(
        CALLED, f"--import-mode={mode}", COV_CORE_SOURCE="", PYTHONPATH=python_path(project.folder)
    )

    assert session.code == PASSED, session.out


def python_path(folder: Path) -> str:
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)


# --- what does not --------------------------------------------------------------------------


def test_a_training_that_is_too_slow_fails_with_all_its_rates(project):
    session = project.test("""
        import pytest

        @pytest.mark.rlprof("train.py", runs=2)
        def test_speed(assert_sps):
            assert_sps(at_least=5000)
    """)

    assert session.code == FAILED
    assert ">       assert_sps(at_least=5000)" in session.out
    assert "AssertionError: train.py is too slow: the fastest of 2 runs made " in session.out
    assert "at least 5 000 are asked for (all runs: " in session.out
    assert "`rlprof run train.py` shows what it spends its time on" in session.out
    assert_without_our_frames(session)
    assert float(session.properties("test_speed")["sps"]) < 260
    assert project.runs == 2


def test_a_counter_fails_at_the_first_run(project):
    session = project.test("""
        import pytest

        @pytest.mark.rlprof("train.py", "--logging")
        def test_speed(assert_sps):
            assert_sps(at_least=5000, counters={"log_records": 0.1, "gpu_syncs": 0})
    """)

    assert session.code == FAILED
    assert "AssertionError: train.py --logging counts too much:" in session.out
    assert "run 1 counted 1 log_records per step (300 in 300 steps)" in session.out
    assert_without_our_frames(session)
    assert session.properties("test_speed")["log_records"] == "1.0"
    assert project.runs == 1


def assert_without_our_frames(session: Session) -> None:
    assert "rlprof/pytest_plugin" not in session.out
    assert "rlprof/gate" not in session.out


def test_what_cannot_be_measured_says_why_and_what_to_do(project):
    session = project.test("""
        import time
        import rlprof

        def failing():
            raise ValueError("no such environment")

        def without_steps():
            pass

        def short():
            rlprof.step(10)

        def hanging():
            time.sleep(600)

        def test_failing(assert_sps):
            assert_sps(at_least=100, command=failing)

        def test_without_steps(assert_sps):
            assert_sps(at_least=100, command=without_steps)

        def test_short(assert_sps):
            assert_sps(at_least=100, command=short)

        def test_hanging(assert_sps):
            assert_sps(at_least=100, command=hanging, timeout=1)

        def test_nothing_asked(assert_sps):
            assert_sps(command=short)

        def test_unknown_counter(assert_sps):
            assert_sps(counters={"gpu_sync": 0}, command=short)

        def test_no_script(assert_sps):
            assert_sps(at_least=100, command=["evaluate.py"])

        def test_pattern(assert_sps):
            assert_sps(at_least=100, command=short, sps_pattern="sps")

        def test_function(assert_sps):
            assert_sps(at_least=100, command=short, steps_from="step")
    """)

    assert session.code == FAILED
    told = {
        "program-failed": "Failed: run 1 of failing() failed with exit code 1",
        "no-steps": "run 1 of without_steps() ended well, but nothing counted its steps",
        "no-steady-rate": "leave at_least out",
        "program-timed-out": "timeout=SECONDS",
        "no-floor": "assert_sps(at_least=900)",
        "bad-counter": "gpu_syncs",
        "script-missing": "evaluate.py",
        "bad-pattern": "sps_pattern='sps' captures nothing",
        "bad-steps-from": "steps_from='step' names no function",
    }
    for slug, said in told.items():
        assert f"rlprof explain {slug}" in session.out
        assert said in session.out
    assert "ValueError: no such environment" in session.out
    assert "in pair" not in session.out
    assert "9 failed" in session.out
    assert_without_our_frames(session)


def test_a_floor_that_is_never_measured_is_not_passed(project):
    session = project.test("""
        import pytest

        @pytest.mark.rlprof("train.py", at_least=1e9)
        def test_marked():
            pass

        class TestClass:
            pytestmark = pytest.mark.rlprof("train.py", counters={"log_records": 0})

            def test_of_a_marked_class(self):
                pass

        def test_not_called(assert_sps):
            pass

        @pytest.mark.rlprof("train.py", at_least=1e9)
        def test_not_called_later(request):
            request.getfixturevalue("assert_sps")

        def test_not_called_where_it_fails(assert_sps):
            raise ValueError("why it fails")

        @pytest.mark.rlprof("train.py", at_least=1e9)
        def test_skips_itself(assert_sps):
            pytest.skip("why it is skipped")

        @pytest.mark.rlprof("train.py")
        def test_without_a_floor():
            pass
    """)

    assert session.code == FAILED
    assert "5 failed, 1 passed, 1 skipped" in session.out, session.out
    told = [line.strip() for line in session.out.splitlines()]
    assert sum(line.startswith("the marker rlprof of the test asks for") for line in told) == 2
    assert sum(line.startswith("the test has the fixture assert_sps") for line in told) == 2
    assert told.count("more: rlprof explain nothing-measured") == 4
    assert "def test_speed(assert_sps)" in session.out
    assert "ValueError: why it fails" in session.out
    assert_without_our_frames(session)
    assert not (project.folder / "runs").exists()


@pytest.mark.slow
def test_beside_other_tests_a_low_rate_says_nothing_and_counters_do(project):
    session = project.test(
        """
        import pytest

        @pytest.mark.rlprof("train.py", runs=1)
        def test_slow(assert_sps):
            assert_sps(at_least=5000)

        @pytest.mark.rlprof("train.py", runs=1)
        def test_fast_all_the_same(assert_sps):
            assert_sps(at_least=25, counters={"log_records": 0})
        """,
        PYTEST_XDIST_WORKER="gw0",
        PYTEST_XDIST_WORKER_COUNT="4",
    )

    assert "beside the tests of 3 other workers of pytest-xdist" in session.out
    assert "rlprof explain beside-other-tests" in session.out
    assert "1 failed, 1 passed" in session.out


# --- choosing tests -------------------------------------------------------------------------


CHOSEN = """
    import pytest

    @pytest.mark.rlprof("train.py")
    def test_marked(assert_sps):
        raise NotImplementedError  # It is left out, and never runs.

    def test_with_the_fixture_alone(assert_sps):
        raise NotImplementedError  # It is left out, and never runs.

    @pytest.mark.rlprof("train.py")
    def test_that_asks_for_the_fixture_later(request):
        raise NotImplementedError  # It is left out, and never runs.

    def test_of_something_else():
        pass
"""


@pytest.mark.slow
def test_tests_of_speed_can_be_left_out(project):
    skipped = project.test(CHOSEN, "--rlprof-skip", "-rs")
    deselected = project.test(CHOSEN, "-m", "not rlprof")

    assert skipped.code == PASSED, skipped.out
    assert "1 passed, 3 skipped" in skipped.out
    assert "--rlprof-skip was given" in skipped.out
    assert deselected.code == PASSED, deselected.out
    assert "1 passed, 3 deselected" in deselected.out


def test_pytest_teaches_the_marker_and_the_fixture(project):
    markers = project.test(CHOSEN, "--markers")
    fixtures = project.test(CHOSEN, "--fixtures", "-v")

    assert "@pytest.mark.rlprof(*command, **options)" in markers.out
    assert "assert_sps(at_least=900, " in fixtures.out


@pytest.mark.skipif(
    not IS_INSTALLED,
    reason="rlprof was installed before it had the plugin: pip install -e . does so again",
)
def test_pytest_finds_the_plugin_by_its_entry_point(project):
    session = project.test(CHOSEN, "--trace-config", "--collect-only")

    assert session.code == PASSED, session.out
    active = session.out.partition("active plugins:")[2].splitlines()
    assert ["rlprof", ":"] in [line.split()[:2] for line in active]


def test_a_session_that_measures_nothing_pays_nothing():
    program = (
        "import sys, pytest; before = set(sys.modules); import rlprof.pytest_plugin; "
        "print(*sorted(name for name in set(sys.modules) - before))"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()

    assert set(loaded) - {"array"} == {"rlprof", "rlprof.pytest_plugin"}


# --- what is left behind --------------------------------------------------------------------


def stubborn(mark: str, ready: Path) -> str:
    """A training that ignores SIGTERM, with a child that has fled into a session of its own."""
    return f"""
        import pathlib, signal, subprocess, sys, time

        def train():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"],
                             start_new_session=True)
            pathlib.Path({str(ready)!r}).touch()
            time.sleep(600)

        def test_speed(assert_sps):
            assert_sps(at_least=100, command=train, env={{"MARK": "{mark}"}})
    """


@pytest.mark.parametrize(
    "signum", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_a_session_that_is_stopped_leaves_no_training_behind(project, mark, tmp_path, signum):
    session = project.stopped_by(signum, stubborn(mark, tmp_path / "ready"))

    code = INTERRUPTED if signum == signal.SIGINT else -signum
    assert session.code == code, session.out
    if signum == signal.SIGINT:
        assert processes_with(mark) == []
    wait_until(lambda: processes_with(mark) == [], "the training has ended")
    wait_until(lambda: processes_with(str(tmp_path)) == [], "what measures it has ended")


@pytest.mark.slow
def test_a_time_limit_of_pytest_ends_the_training(project, mark, tmp_path):
    pytest.importorskip("pytest_timeout", reason="pytest-timeout is missing (pip install it)")
    limit = ("--timeout=90", "--timeout-method=signal")

    # Its own signal, so that it is up exactly when the training runs.
    session = project.stopped_by(signal.SIGALRM, stubborn(mark, tmp_path / "ready"), *limit)

    assert session.code == FAILED, session.out
    assert "Timeout" in session.out
    wait_until(lambda: processes_with(mark) == [], "the training has ended")
