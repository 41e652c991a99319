"""Each option of ``rlprof run`` has the effect that it names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from rlprof.errors import EXIT_USAGE
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run
from tests.live_processes import cli

TRAIN = """
import os, sys, time
import rlprof

def train(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
        rlprof.step()

print(*sys.argv[1:], flush=True)
train(0.8)
print(sorted(name for name in os.environ if name.startswith("RLPROF_")))
sys.exit(3)
"""


def test_the_arguments_after_the_script_are_its_own(write, rlprof_run):
    result = rlprof_run(write(TRAIN), "--label", "mine", "-o", "--no-agent", "--")

    assert result.out.splitlines()[0] == b"--label mine -o --no-agent --"
    assert result.recording.run.label is None
    assert result.root.argv[2:] == ("--label", "mine", "-o", "--no-agent", "--")


def test_label_and_command_are_kept(write, rlprof_run):
    result = rlprof_run(write(TRAIN), "--lr", "3e-4", options=["--label", "bigger batch"])

    run = result.recording.run
    assert run.label == "bigger batch"
    assert run.command[-2:] == ("--lr", "3e-4")
    assert run.script == "train.py"


SECRETIVE = TRAIN.replace(
    "train(0.8)",
    """
wandb_api_key = "8f2e77aa"
subprocess.run(["bash", "-c", f"{sys.executable} -S -c 'import time; time.sleep(0.3)' --api-key 8f2e77aa; true"])
train(0.8)
""",
).replace("import os, sys, time", "import os, subprocess, sys, time")


def test_secrets_are_not_kept(write, rlprof_run):
    env = {
        "WANDB_API_KEY": "8f2e77aa",
        "PROXY": "http://me:8f2e77aa@host/",
        "WANDB_CONFIG": '{"api_key": "8f2e77aa"}',
        "TRAIN_CMD": "python train.py --api-key 8f2e77aa",
        "PLAIN": "8f2e77aa",
        "OMP_NUM_THREADS": "1",
    }
    arguments = (
        *("--api-key=8f2e77aa", "--token", "8f2e77aa", "-k", "8f2e77aa", "--password", "-8f2e77aa"),
        *("--config", '{"password": "8f2e77aa; x"}', "wandb={api_key:8f2e77aa}"),
        *("--header", "Authorization: Bearer 8f2e77aa", "--secret=a 8f2e77aa;8f2e77aa&8f2e77aa"),
    )

    script = write(SECRETIVE)
    result = rlprof_run(script, *arguments, env=env)

    assert result.out.splitlines()[0].decode() == " ".join(arguments)
    assert b"8f2e77aa" not in result.run_file.read_bytes()
    assert result.recording.run.environment == {"OMP_NUM_THREADS": "1"}
    assert 'wandb_api_key = "xxxxxxxx"' in result.recording.sources[str(script)]


def test_interval_is_kept_from_the_first_second(write, rlprof_run):
    result = rlprof_run(write(TRAIN), options=["--interval", "50ms"])

    assert result.root.requested_interval_us == 50_000
    assert 8 < result.root.clock_samples < 30
    assert result.recording.run.settings["interval"] == "50000 us"


def test_the_start_is_sampled_finer_while_cores_are_free(write, rlprof_run):
    assert rlprof_run(write(TRAIN)).root.requested_interval_us < 10_000


def test_no_agent_leaves_the_environment_alone(write, rlprof_run):
    result = rlprof_run(write(TRAIN), options=["--no-agent"])

    assert result.out.splitlines()[-1] == b"[]"
    assert result.steps == 0
    assert result.root.fate == "sampled"
    assert result.root.probe_samples == 0
    assert "without the agent" not in result.root.note


def test_no_probe_still_counts_steps(write, rlprof_run):
    result = rlprof_run(write(TRAIN), options=["--no-probe"])

    assert result.root.fate == "sampled"
    assert result.root.probe_samples == 0
    assert result.steps > 0


def test_both_instruments_run_by_default(write, rlprof_run):
    result = rlprof_run(write(TRAIN))

    assert result.root.clock_samples > 20
    assert result.root.probe_samples > 5
    assert result.root.note == ""
    assert result.recording.notes == ()


def test_duration_ends_the_recording_and_not_the_training(write, start):
    script = write(TRAIN.replace("train(0.8)", "train(2.0)\nprint('went on', flush=True)"))
    running = start(script, options=["--duration", "0.7"])

    result = running.finish()

    assert result.code == 3
    assert b"went on" in result.out
    recording = result.recording
    assert recording.run.complete
    assert recording.run.exit_code == 3
    assert 600_000 < recording.run.wall_us < 1_500_000
    assert sum(recording.samples.wall_us) < 1_500_000
    assert recording.overhead["recorder_cpu_us"] < 1_000_000  # It sleeps for the rest.


def test_a_duration_without_end_is_none(write, rlprof_run):
    result = rlprof_run(write("print(1)"), options=["--duration", "inf"])

    assert (result.code, result.err) == (0, "")
    assert result.recording.run.complete


def test_no_probe_fires_after_the_recording_has_ended(write, start):
    script = write(
        """
        import os, time
        import rlprof_agent
        from rlprof_agent import layout

        cells = rlprof_agent._agent.mailbox.cells
        while cells[layout.CELL_INTERVAL_US]:
            time.sleep(0.01)
        sum(range(5_000_000))  # The probe obeys at its next stack.
        before = cells[layout.CELL_PROBE_TAKEN]
        sum(range(20_000_000))
        assert cells[layout.CELL_PROBE_TAKEN] == before
        if os.fork() == 0:
            sum(range(5_000_000))
            assert rlprof_agent._agent.mailbox.cells[layout.CELL_PROBE_TAKEN] == 0
            os._exit(0)
        assert os.wait()[1] == 0
        """
    )

    result = start(script, options=["--duration", "0.3"]).finish()

    assert (result.code, result.err) == (0, "")
    (note,) = [note for note in result.recording.notes if note.slug == "recording-stopped"]
    assert note.level == "info"
    assert "after 0.3 s as asked" in note.text


def test_signals_still_pass_after_the_recording_has_ended(write, start):
    script = write(
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
        time.sleep(0.5)
        print("ready", flush=True)
        time.sleep(60)
        """
    )
    running = start(script, options=["--duration", "0.1"])
    running.wait_line("ready")

    os.kill(running.pid, signal.SIGTERM)

    assert running.finish().code == 4


def test_a_module(write, rlprof_run, tmp_path):
    (tmp_path / "package").mkdir()
    write(TRAIN + "\nprint(__name__, __package__)", name="package/__init__.py").write_text("")
    write(TRAIN, name="package/train.py")

    result = rlprof_run("-m", "package.train", "x", "-y")

    assert result.code == 3
    assert result.out.splitlines()[0] == b"x -y"
    assert result.recording.run.script == "package.train"
    assert result.root.fate == "sampled"


def test_a_command(write, rlprof_run):
    script = write(TRAIN)

    result = rlprof_run("--", sys.executable, "-X", "utf8", script, "a b")

    assert result.code == 3
    assert result.out.splitlines()[0] == b"a b"
    assert result.root.argv[1:3] == ("-X", "utf8")


def test_both_forms_of_the_command_line_are_the_same(write, tmp_path):
    script = write(TRAIN)
    entry = [sys.executable, "-c", "from rlprof.cli.commands import main; main()"]
    for number, program in enumerate([entry, cli()]):
        run_file = tmp_path / f"{number}.rlprof"
        answer = subprocess.run(
            [*program, "run", "--no-report", "-o", run_file, script],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (answer.returncode, answer.stderr) == (3, b"")
        assert read_run(run_file).run.complete


def test_the_default_place_and_its_link_to_the_latest(write, tmp_path):
    script = write(TRAIN)
    for _ in range(2):
        answer = subprocess.run(
            cli("run", "--no-report", script), cwd=tmp_path, capture_output=True, timeout=60
        )
        assert answer.returncode == 3

    runs = sorted((tmp_path / ".rlprof").glob("*-train.rlprof"))
    assert len(runs) == 2
    assert read_run(tmp_path / ".rlprof" / "latest").run.id in {read_run(p).run.id for p in runs}
    assert not (tmp_path / ".rlprof" / "latest").readlink().is_absolute()
    assert (tmp_path / ".rlprof" / ".gitignore").read_text() == "*\n", "git leaves them alone"
    assert (
        (tmp_path / ".rlprof" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d")
    )


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        (["--interval", "1us"], "bad-interval"),
        (["--sps-pattern", "SPS: ("], "bad-pattern"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_the_target_runs(
    write, rlprof_run, options, slug
):
    result = rlprof_run(write(TRAIN), options=options)

    assert (result.code, result.out) == (EXIT_USAGE, b"")
    assert f"rlprof explain {slug}" in result.err
    assert not result.run_file.exists()


def test_an_interpreter_that_does_not_exist(write, rlprof_run):
    result = rlprof_run(write(TRAIN), options=["--python", "/no/such/python"])

    assert result.code == 70
    assert "/no/such/python" in result.err
    assert not result.run_file.exists()


PRINTS_ITS_RATE = """
import time

for number in range(1, 21):
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        sum(range(1000))
    print(f"global_step={100 * number}, SPS: {1000 + number % 2}", flush=True)
"""


def test_a_rate_that_the_program_prints_to_a_file_is_recognised(write, tmp_path):
    run_file, log = tmp_path / "run.rlprof", tmp_path / "train.log"
    log.write_text("SPS: 7\n")
    command = cli("run", "--no-report", "-o", run_file, write(PRINTS_ITS_RATE))
    with log.open("a") as output:
        subprocess.run(command, stdout=output, cwd=tmp_path, timeout=60, check=True)

    throughput = build_report(read_run(run_file)).throughput
    assert throughput.source == "as printed by the program"
    assert 1000 <= throughput.steady_sps.median <= 1001
    assert log.read_text().count("SPS") == 21
