"""Signals at random times, to rlprof, its samplers, the workers, the target and all at once."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time

from benchmarks.attack.arena import Arena, Failed, NotTried, children_of, command_of, program_of
from benchmarks.attack.row import Row
from benchmarks.attack.training import (
    SAMPLER,
    kill,
    pause,
    recording_in,
    start_training,
)

EARLY_S = (0.1, 1.0)
"""When signals are sent, after the training has begun."""

ENDLESS = 1_000_000
"""Steps of a training that a signal is to end: more than a minute."""

STOPPED_S = (1.0, 2.0)
"""How long stopped processes stand."""

PAUSE_WORDS = ("pause", "suspend", "stopped")
"""One of them is in the remark on a job that stood."""


def rlprof_killed(arena: Arena, workers: int = 0) -> str:
    training = start_training(arena, workers=workers)
    pause(arena, *EARLY_S)
    at = time.time()
    kill(training.rlprof.pid, signal.SIGKILL)
    training.expect_result()
    training.expect_clean_end()
    held = training.expect_recording(until=at)
    if held["complete"]:
        raise Failed("the recording says that it is complete")
    return f"result the same, {max(0.0, at - held['covered_until']):.2f} s lost"


def rlprof_killed_with_workers(arena: Arena) -> str:
    return rlprof_killed(arena, workers=2)


def rlprof_killed_at_start(arena: Arena) -> str:
    """Whatever has begun goes on to its end."""
    seen = []
    for _ in range(4):
        (arena.work / "result").unlink(missing_ok=True)
        (arena.work / "started").unlink(missing_ok=True)
        training = start_training(arena, steps=500, wait=False)
        pause(arena, 0.0, 1.2)
        kill(training.rlprof.pid, signal.SIGKILL)
        arena.finish(training.rlprof)
        # Between the two the target may just be on its way.
        arena.expect_nothing_left(30)
        has_begun = (arena.work / "started").exists()
        if has_begun:
            training.expect_result()
        seen.append("trained" if has_begun else "not begun")
    return ", ".join(seen)


def rlprof_killed_at_end(arena: Arena) -> str:
    training = start_training(arena, steps=2_000)
    arena.wait_for("the training's result", (arena.work / "result").exists)
    pause(arena, 0.0, 0.2)
    kill(training.rlprof.pid, signal.SIGKILL)
    training.expect_result()
    training.expect_clean_end()
    training.expect_recording()
    return "result the same, nothing left"


def rlprof_signalled(arena: Arena, signum: int, how: str = "plain", code: int = 0) -> str:
    training = start_training(arena, steps=ENDLESS, how=how)
    pause(arena, *EARLY_S)
    kill(training.rlprof.pid, signum)
    training.finish(code or 128 + signum)
    training.expect_clean_end()
    held = training.expect_recording()
    if not held["complete"] or held["exit_code"] != (code or 128 + signum):
        raise Failed(f"the recording says complete={held['complete']}, exit {held['exit_code']}")
    return f"both ended with {code or 128 + signum}"


def rlprof_terminated(arena: Arena) -> str:
    return rlprof_signalled(arena, signal.SIGTERM)


def rlprof_interrupted(arena: Arena) -> str:
    return rlprof_signalled(arena, signal.SIGINT)


def rlprof_hung_up(arena: Arena) -> str:
    return rlprof_signalled(arena, signal.SIGHUP)


def target_saves_on_term(arena: Arena) -> str:
    said = rlprof_signalled(arena, signal.SIGTERM, "tidy", 5)
    if not (arena.work / "saved").exists():
        raise Failed("the target did not get to save")
    return said


def target_ignores_term(arena: Arena) -> str:
    training = start_training(arena, how="stubborn")
    pause(arena, *EARLY_S)
    for _ in range(3):
        kill(training.rlprof.pid, signal.SIGTERM)
        pause(arena, 0.0, 0.2)
    training.finish()
    training.expect_clean_end()
    return "trained to its end, and rlprof with it"


def interrupted_many_times(arena: Arena) -> str:
    training = start_training(arena, steps=ENDLESS)
    pause(arena, *EARLY_S)
    for _ in range(8):
        kill(training.rlprof.pid, arena.random.choice([signal.SIGINT, signal.SIGTERM]))
        pause(arena, 0.0, 0.05)
    ended = training.finish(code=None)
    if ended.code not in (130, 143):
        raise Failed(f"ended with {ended.code}: {ended.complaint}")
    training.expect_clean_end()
    training.expect_recording()
    return f"ended with {ended.code}"


def sampler_signalled(arena: Arena, signum: int, goes_on: bool = False, workers: int = 0) -> str:
    training = start_training(arena, workers=workers)
    samplers = training.wait_for_samplers()
    pause(arena, 0.0, 0.5)
    for sampler in samplers:
        kill(sampler, signum)
    if goes_on:
        pause(arena, *STOPPED_S)
        for sampler in samplers:
            kill(sampler, signal.SIGCONT)
    training.finish()
    training.expect_clean_end()
    training.expect_recording()
    return "result the same, rlprof ended with its target"


def sampler_killed(arena: Arena) -> str:
    return sampler_signalled(arena, signal.SIGKILL)


def sampler_terminated(arena: Arena) -> str:
    return sampler_signalled(arena, signal.SIGTERM)


def sampler_stopped(arena: Arena) -> str:
    return sampler_signalled(arena, signal.SIGSTOP)


def sampler_stopped_and_continued(arena: Arena) -> str:
    return sampler_signalled(arena, signal.SIGSTOP, goes_on=True)


def all_samplers_stopped(arena: Arena) -> str:
    return sampler_signalled(arena, signal.SIGSTOP, workers=2)


def terminated_with_stopped_sampler(arena: Arena) -> str:
    training = start_training(arena, steps=ENDLESS)
    for sampler in training.wait_for_samplers():
        kill(sampler, signal.SIGSTOP)
    pause(arena, *EARLY_S)
    kill(training.rlprof.pid, signal.SIGTERM)
    training.finish(143)
    training.expect_clean_end()
    return "both ended with 143"


def killed_with_stopped_sampler(arena: Arena) -> str:
    training = start_training(arena)
    for sampler in training.wait_for_samplers():
        kill(sampler, signal.SIGSTOP)
    pause(arena, 0.0, 0.5)
    kill(training.rlprof.pid, signal.SIGKILL)
    training.expect_result()
    training.expect_clean_end()
    return "no stopped sampler is left"


def rlprof_stopped_and_continued(arena: Arena) -> str:
    training = start_training(arena)
    pause(arena, *EARLY_S)
    kill(training.rlprof.pid, signal.SIGSTOP)
    # The target ends meanwhile: only its parent, which stands, can take leave of it.
    arena.wait_for("the end of the target", training.has_ended, 60)
    kill(training.rlprof.pid, signal.SIGCONT)
    training.finish()
    training.expect_clean_end()
    training.expect_recording()
    return "the target went on meanwhile"


def worker_killed(arena: Arena) -> str:
    training = start_training(arena, steps=ENDLESS, workers=2)
    arena.wait_for("its workers", lambda: len(children_of(training.target)) >= 2)
    pause(arena, *EARLY_S)
    kill(arena.random.choice(children_of(training.target)), signal.SIGKILL)
    ended = training.finish(1)
    if b"a worker died" not in ended.err:
        raise Failed(f"the target did not notice its worker's death: {ended.complaint}")
    training.expect_clean_end()
    training.expect_recording()
    return "the target said so and ended with 1"


def target_killed(arena: Arena) -> str:
    training = start_training(arena, steps=ENDLESS)
    pause(arena, *EARLY_S)
    kill(training.target, signal.SIGKILL)
    training.finish(137)
    training.expect_clean_end()
    if training.expect_recording()["exit_code"] != 137:
        raise Failed("the recording does not say 137")
    return "rlprof ended with 137"


def target_stopped_and_continued(arena: Arena) -> str:
    training = start_training(arena)
    pause(arena, *EARLY_S)
    kill(training.target, signal.SIGSTOP)
    pause(arena, *STOPPED_S)
    kill(training.target, signal.SIGCONT)
    # A shell would continue the one that stopped with it.
    kill(training.rlprof.pid, signal.SIGCONT)
    training.finish()
    training.expect_clean_end()
    training.expect_recording()
    return "result the same"


def job_stopped_and_continued(arena: Arena) -> str:
    """Stop and continue all, as batch schedulers do to a job that has to make room."""
    # Long enough not to be over by then: there would be no pause to tell.
    training = start_training(arena, steps=60_000, workers=2)
    pause(arena, *EARLY_S)
    members = arena.members()
    arena.random.shuffle(members)
    for pid in members:
        kill(pid, signal.SIGSTOP)
    pause(arena, *STOPPED_S)
    for pid in members:
        kill(pid, signal.SIGCONT)
    training.finish()
    training.expect_clean_end()
    notes = " ".join(training.expect_recording()["notes"])
    if not any(word in notes for word in PAUSE_WORDS):
        raise Failed(f"no remark tells of the pause; remarks: {notes[:100] or 'none'}")
    return "result the same, the pause is told"


def job_killed(arena: Arena) -> str:
    training = start_training(arena, steps=ENDLESS, workers=2)
    pause(arena, *EARLY_S)
    at = time.time()
    for pid in arena.members():
        kill(pid, signal.SIGKILL)
    # Those that were being started.
    for pid in arena.members():
        kill(pid, signal.SIGKILL)
    training.expect_recording(until=at)
    _expect_swept(arena)
    return "the run file opens, nothing is left"


def job_terminated_then_killed(arena: Arena) -> str:
    """End all, as batch schedulers do to a job whose time is over."""
    training = start_training(arena, steps=ENDLESS, how="stubborn", workers=2)
    pause(arena, *EARLY_S)
    for pid in arena.members():
        kill(pid, signal.SIGTERM)
    pause(arena, 0.1, 0.5)
    at = time.time()
    for _ in range(2):
        for pid in arena.members():
            kill(pid, signal.SIGKILL)
    training.expect_recording(until=at)
    _expect_swept(arena)
    return "the run file opens, nothing is left"


def _expect_swept(arena: Arena) -> None:
    """Nobody was left to clean up: the next run has to, and no process may be left at all."""
    arena.wait_for("the end of every process", lambda: not arena.members())
    following = arena.rlprof("run", "--no-report", "-o", arena.folder / "next.rlprof", "--", "true")
    if arena.run(following).code != 0:
        raise Failed("the next run does not work")
    arena.expect_nothing_left()


def orphan_with_torch(arena: Arena) -> str:
    """A torch target whose rlprof was killed takes no more windows."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise NotTried("no torch in this environment") from None
    program = arena.work / "training.py"
    program.write_text(
        "import os, time, torch\n"
        "layer = torch.nn.Linear(8, 8)\n"
        "optimizer = torch.optim.SGD(layer.parameters(), 0.1)\n"
        "open('started', 'w').write(str(os.getpid()))\n"
        "end = time.monotonic() + 4\n"
        "while time.monotonic() < end:\n"
        "    layer(torch.ones(8, 8)).sum().backward()\n"
        "    optimizer.step()\n"
        "open('result', 'w').close()\n"
    )
    rlprof = arena.start(arena.recorded("--torch", "always", "training.py"))
    started = arena.work / "started"
    arena.wait_for("the start of the training", lambda: started.exists() and started.read_text())
    pause(arena, 0.2, 2.0)
    kill(rlprof.pid, signal.SIGKILL)
    arena.wait_for("the training's result", (arena.work / "result").exists, 60)
    for own in arena.tmp.glob("torchinductor_*"):
        shutil.rmtree(own)
    arena.expect_nothing_left()
    recording_in(arena)
    return "it trained on; nothing is left in TMPDIR"


def random_kills(arena: Arena) -> str:
    """Any signal to anybody at any time, many times over."""
    hit: dict[str, int] = {}
    for number in range(25):
        for name in ("started", "result", "saved"):
            (arena.work / name).unlink(missing_ok=True)
        workers = arena.random.choice([0, 0, 2])
        # Workers whose main process was killed would keep a pipe open, and so its reader waiting.
        training = start_training(
            arena,
            steps=arena.random.choice([8_000, 12_000]),
            workers=workers,
            output=subprocess.DEVNULL,
        )
        pause(arena, 0.0, 0.7)
        victim, name = _victim(arena, training.rlprof.pid)
        signum = arena.random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
        what = f"kill {number}: {signum.name} to {name}"
        hit[name] = hit.get(name, 0) + 1
        kill(victim, signum)
        if signum == signal.SIGSTOP:
            pause(arena, 0.2, 1.0)
            # A stopped sampler stays so.
            if name != "sampler":
                kill(victim, signal.SIGCONT)
                kill(training.rlprof.pid, signal.SIGCONT)
        try:
            if name in ("sampler", "rlprof") and signum != signal.SIGTERM:
                training.expect_result()
            training.finish(code=None)
            _end_orphans(arena)
            training.expect_clean_end()
            training.expect_recording()
        except Failed as failure:
            raise Failed(f"{what}: {failure}") from None
    return ", ".join(f"{count} at the {name}" for name, count in sorted(hit.items()))


def _end_orphans(arena: Arena) -> None:
    """Workers whose main process was killed wait for ever, without rlprof too."""
    for pid in arena.members():
        if command_of(pid).startswith(f"{sys.executable} training.py"):
            kill(pid, signal.SIGKILL)


def _victim(arena: Arena, rlprof: int) -> tuple[int, str]:
    """Somebody of the job, and who that is; rlprof when it is alone, about to end."""
    victim = arena.random.choice(sorted(arena.members()) or [rlprof])
    if victim == rlprof:
        return victim, "rlprof"
    return victim, "sampler" if program_of(victim) == SAMPLER else "target or a worker"


_FAST = {
    rlprof_stopped_and_continued,
    killed_with_stopped_sampler,
}
"""Tests in tests/e2e try more of them: killed and stopped recorders, samplers, jobs and workers."""

_TOLD = {
    rlprof_killed: "SIGKILL to rlprof at a random time.",
    rlprof_killed_with_workers: "SIGKILL to rlprof, whose target has workers.",
    rlprof_killed_at_start: "SIGKILL to rlprof while it starts, four times.",
    rlprof_killed_at_end: "SIGKILL to rlprof as its target ends.",
    rlprof_terminated: "SIGTERM to rlprof: passed on, both end.",
    rlprof_interrupted: "SIGINT to rlprof: passed on, both end.",
    rlprof_hung_up: "SIGHUP to rlprof: passed on, both end.",
    target_saves_on_term: "SIGTERM to rlprof: the target saves and exits with its own code.",
    target_ignores_term: "SIGTERM to rlprof three times: the target ignores it.",
    interrupted_many_times: "Eight SIGINT and SIGTERM to rlprof in quick succession.",
    sampler_killed: "SIGKILL to the sampler.",
    sampler_terminated: "SIGTERM to the sampler.",
    sampler_stopped: "SIGSTOP to the sampler, for ever.",
    sampler_stopped_and_continued: "SIGSTOP and SIGCONT to the sampler.",
    all_samplers_stopped: "SIGSTOP to all samplers of a target with workers, for ever.",
    terminated_with_stopped_sampler: "SIGTERM to rlprof whose sampler is stopped.",
    killed_with_stopped_sampler: "SIGKILL to rlprof whose sampler is stopped.",
    rlprof_stopped_and_continued: "SIGSTOP to rlprof until its target has ended, then SIGCONT.",
    worker_killed: "SIGKILL to a worker of the target.",
    target_killed: "SIGKILL to the target.",
    target_stopped_and_continued: "SIGSTOP and SIGCONT to the target.",
    job_stopped_and_continued: "SIGSTOP to the whole job, SIGCONT later.",
    job_killed: "SIGKILL to the whole job at once.",
    job_terminated_then_killed: "SIGTERM to the whole job, which ignores it, then SIGKILL.",
    orphan_with_torch: "SIGKILL to rlprof while a torch target takes windows.",
    random_kills: "25 random signals to random processes of the job at random times.",
}

ROWS: tuple[Row, ...] = tuple(
    Row(
        attempt.__name__.replace("_", "-"),
        "kills",
        told,
        attempt,
        is_fast=attempt in _FAST,
    )
    for attempt, told in _TOLD.items()
)
