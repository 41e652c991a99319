"""What keeps rlprof from starting keeps no training from it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rlprof.runfile.reader import read_run
from tests.live_processes import DEADLINE_S, cli

TRAINING = "import sys; print('trained', *sys.argv[1:]); sys.exit(4)"


def answer_of(command, **how) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=DEADLINE_S, check=False, **how
    )


@pytest.fixture
def libraries(tmp_path):
    """A folder with a libz that lacks what Python's modules want of it, as a cluster's modules may bring."""
    source = tmp_path / "z.c"
    source.write_text('const char *zlibVersion(void) { return "1"; }')
    folder = tmp_path / "libraries"
    folder.mkdir()
    try:
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-Wl,-soname,libz.so.1", "-o", folder / "libz.so.1", source],
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("cc is missing (apt-get install gcc)")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    if not answer_of([sys.executable, "-c", "import zlib"], env=environment).returncode:
        pytest.skip("this Python has its own zlib within")
    return environment


def test_a_library_that_does_not_fit(libraries, write, tmp_path):
    answer = answer_of(
        cli("run", "-o", tmp_path / "run.rlprof", write(TRAINING), "--label", "x"), env=libraries
    )

    assert (answer.returncode, answer.stdout) == (4, "trained --label x\n"), answer.stderr
    assert "not recorded" in answer.stderr
    assert "LD_LIBRARY_PATH" in answer.stderr


@pytest.mark.parametrize(
    "words", [["doctor"], ["explain", "gc-pressure"], ["run", "--help"], ["run"]]
)
def test_other_commands_say_what_cannot_be_loaded(libraries, words):
    answer = answer_of(cli(*words), env=libraries)

    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("rlprof: error: rlprof needs what cannot be loaded here: ")
    assert "LD_LIBRARY_PATH" in answer.stderr
    assert "rlprof explain library-not-loaded" in answer.stderr
    assert "Traceback" not in answer.stderr


BROKEN = "import sys; sys.modules['typer'] = None; from rlprof.__main__ import main; main()"
"""rlprof where a package that it needs is missing."""


@pytest.mark.parametrize(
    "words",
    [
        ["--label", "a b", "-o", "run.rlprof", "SCRIPT", "seed-3"],
        ["--python", sys.executable, "SCRIPT", "seed-3"],
        [f"--python={sys.executable}", "--no-report", "SCRIPT", "seed-3"],
        ["--", sys.executable, "SCRIPT", "seed-3"],
    ],
)
def test_a_package_that_is_missing(words, write, tmp_path):
    script = str(write(TRAINING))
    words = [script if word == "SCRIPT" else word for word in words]

    answer = answer_of([sys.executable, "-c", BROKEN, "run", *words], cwd=tmp_path)

    assert (answer.returncode, answer.stdout) == (4, "trained seed-3\n"), answer.stderr
    assert "typer" in answer.stderr
    assert "The training runs without rlprof" in answer.stderr


@pytest.mark.parametrize("words", [["report"], ["run"], ["run", "--help"]])
def test_where_nothing_is_to_be_trained_the_error_is_told(words, tmp_path):
    answer = answer_of([sys.executable, "-c", BROKEN, *words], cwd=tmp_path)

    assert answer.returncode == 1
    assert answer.stderr.startswith("rlprof: error: rlprof needs what cannot be loaded here: ")
    assert "typer" in answer.stderr


def test_a_script_that_is_not_there_is_told_as_always(tmp_path):
    answer = answer_of([sys.executable, "-c", BROKEN, "run", "gone.py"], cwd=tmp_path)

    assert answer.returncode == 70
    assert "the script gone.py does not exist" in answer.stderr


def test_in_a_working_directory_that_is_gone_a_training_is_recorded(write, tmp_path):
    script, run_file, place = write(TRAINING), tmp_path / "run.rlprof", tmp_path / "gone"
    place.mkdir()
    leave = f'cd {place} && rmdir {place} && exec "$@"'

    answer = answer_of(
        ["bash", "-c", leave, "_", *cli("run", "-o", run_file, "--", sys.executable, script)]
    )

    assert (answer.returncode, answer.stdout) == (4, "trained\n"), answer.stderr
    assert read_run(run_file).run.exit_code == 4
