from __future__ import annotations

import pytest

from rlprof.detectors.startup_bound import DETECTOR, MIN_SHARE, NEEDED_LATER, NOT_SEEN_LATER
from rlprof.model.finding import Finding, Saving
from rlprof.model.profile import PhaseKind, Profile
from tests.factories import RunBuilder, a_run
from tests.profile_factory import BOOTSTRAP, SITE, Script, detect, lines_of, profile_of, ranked

TRAIN = Script(
    "train.py",
    """
    import torch
    import matplotlib.pyplot as plt
    from helpers import make_env

    env = make_env()
    for step in range(1000):
        env.step()
    """,
)
FIND = f"{BOOTSTRAP}:1176 _find_and_load"
EXEC = f"{BOOTSTRAP}:690 _load_unlocked"
TORCH = f"{SITE}/torch/__init__.py:5 <module>"
NUMPY = f"{SITE}/numpy/__init__.py:7 <module>"
PYPLOT = f"{SITE}/matplotlib/pyplot.py:30 <module>"
STEP = TRAIN.at("env.step", "<module>")


def importing(piece: str, *modules: str) -> tuple[str, ...]:
    """The stack of an import on the line with ``piece``; each module imports the next."""
    stack = [TRAIN.at(piece, "<module>")]
    for module in modules:
        stack += [FIND, EXEC, module]
    return tuple(stack)


def a_short_training(*, start_up_s: float = 6.0, steady_s: float = 4.0) -> RunBuilder:
    run = a_run("train.py", start_up_s=start_up_s, steady_s=steady_s).process("main", steps=4_000)
    run.spends(start_up_s * 0.5, *importing("import torch", TORCH), start_up=True)
    run.spends(start_up_s * 0.1, *importing("import torch", TORCH, NUMPY), start_up=True)
    run.spends(start_up_s * 0.3, *importing("matplotlib", PYPLOT), start_up=True)
    run.spends(start_up_s * 0.1, TRAIN.at("make_env()", "<module>"), "env.py:4 make", start_up=True)
    return run.spends(steady_s, STEP, f"{SITE}/torch/nn/linear.py:3 forward")


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def saving_of(profile: Profile, finding: Finding, file: str) -> Saving:
    (found,) = [
        saving
        for saving in finding.savings
        if any(file in profile.start_up.frame(node).file for node in saving.nodes)
    ]
    return found


def test_names_the_imports_that_outweigh_the_training():
    (finding,) = found(a_short_training())

    assert finding.phase is PhaseKind.START_UP
    assert "torch, matplotlib" in finding.title
    assert lines_of(finding)[:2] == [TRAIN.line("import torch"), TRAIN.line("matplotlib")]
    assert any("torch 3.6 s, matplotlib 1.8 s" in text for text in finding.evidence)


def test_silent_just_under_its_threshold():
    def a_run_with(share: float) -> RunBuilder:
        return a_short_training(start_up_s=100 * share, steady_s=100 * (1 - share))

    assert found(a_run_with(MIN_SHARE - 0.01)) == []
    assert len(found(a_run_with(MIN_SHARE + 0.01))) == 1


def test_silent_on_a_healthy_run():
    assert found(a_short_training(start_up_s=3.0, steady_s=120.0)) == []


@pytest.mark.parametrize("unseen", [{"complete": False}, {"exit_code": None}])
def test_silent_when_the_end_of_the_program_was_not_seen(unseen):
    assert found(a_short_training().with_run(**unseen)) == []


def test_silent_when_the_recording_was_stopped_early():
    stopped = a_short_training().note("info", "recording-stopped", "Stopped after 10 s.")

    assert found(stopped) == []


@pytest.mark.parametrize(("steps", "border"), [(4_000, "the first step"), (0, "the end of the")])
def test_says_where_start_up_was_taken_to_end(steps, border):
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=steps)
    run.spends(6.0, *importing("import torch", TORCH), start_up=True).spends(4.0, STEP)

    (finding,) = found(run)

    assert f"6.0 s before {border}" in finding.evidence[0]


def test_ranks_by_its_price():
    first = ranked(a_short_training(start_up_s=8.0, steady_s=2.0), TRAIN)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.sps_after is None
    assert 0.0 < first.saved_share.low < first.saved_share.high < 0.8


def test_imports_that_the_training_uses_promise_less():
    run = a_short_training()
    profile = profile_of(run)

    (finding,) = found(run)

    assert saving_of(profile, finding, "torch").removable == NEEDED_LATER
    assert saving_of(profile, finding, "matplotlib").removable == NOT_SEEN_LATER


def test_a_module_of_the_user_that_imports_is_not_what_is_heavy():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(
        5.0, *importing("helpers", "helpers.py:1 <module>"), FIND, EXEC, PYPLOT, start_up=True
    )
    run.spends(1.0, *importing("helpers", "helpers.py:9 <module>"), start_up=True)
    run.spends(4.0, STEP)

    (finding,) = found(run)

    assert [(location.file, location.line) for location in finding.locations] == [
        ("helpers.py", 1),
        ("helpers.py", 9),
    ]
    assert "matplotlib" in finding.title
    assert "helpers" not in finding.title


def test_a_line_that_imports_and_works_has_the_time_of_both():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(4.0, *importing("import torch", TORCH), start_up=True)
    run.spends(2.0, TRAIN.at("import torch", "<module>"), start_up=True)
    run.spends(4.0, STEP)

    (finding,) = found(run)

    assert finding.locations[0].share == pytest.approx(0.6)


def test_a_compiled_module_is_named_by_its_import_statement():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(6.0, TRAIN.at("import torch", "<module>"), FIND, start_up=True)
    run.spends(4.0, STEP)

    (finding,) = found(run)

    assert "torch" in finding.title


def test_imports_of_workers_are_named_without_adding_up():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0)
    for worker in range(4):
        run.process(f"worker {worker}", steps=1_000)
        run.spends(6.0, *importing("import torch", TORCH), start_up=True)
        run.spends(4.0, STEP)

    (finding,) = found(run)
    (priced,) = [other for other in ranked(run, TRAIN) if other.finding.detector == DETECTOR.id]

    assert any("4 Python processes" in text for text in finding.evidence)
    assert priced.saved_share.high <= 0.6
    assert "pool" in finding.fix


@pytest.mark.parametrize(
    "file", ["/site/rlprof/agent/inject/sitecustomize.py", "/x/sitecustomize.py"]
)
def test_the_agent_is_not_the_users_import(file):
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(2.0, FIND, EXEC, f"{file}:3 <module>", start_up=True)
    run.spends(4.0, *importing("import torch", TORCH), start_up=True)
    run.spends(4.0, STEP)

    (finding,) = found(run)

    assert "agent" not in finding.title
    assert all("sitecustomize" not in location.file for location in finding.locations)
    assert "2.0 s of it the start of rlprof's agent, which is in no price" in finding.evidence


@pytest.mark.parametrize(
    "site",
    [
        ("<frozen site>:616 <module>", "<frozen site>:548 execsitecustomize"),
        ("/usr/lib/python3.10/site.py:599 <module>", "/usr/lib/python3.10/site.py:530 execsitecustomize"),
    ],
)  # fmt: skip
def test_a_start_of_the_agent_that_ends_in_the_import_of_it_is_the_agents(site):
    run = a_run("nap.py", start_up_s=0.3, steady_s=0.4).process("main", steps=0)
    run.spends(0.3, FIND, EXEC, *site, FIND, EXEC, start_up=True)

    assert found(run.spends(0.4, "nap.py:1 <module>")) == []


def test_the_start_of_the_agent_does_not_make_a_start_up_long():
    def a_run_with(agent_s: float) -> RunBuilder:
        run = a_run("train.py", start_up_s=3.0, steady_s=7.0).process("main", steps=4_000)
        run.spends(agent_s, FIND, EXEC, "<frozen site>:548 execsitecustomize", FIND, start_up=True)
        run.spends(3.0 - agent_s, *importing("import torch", TORCH), start_up=True)
        return run.spends(7.0, STEP)

    assert "29 % of the run" in found(a_run_with(0.1))[0].title
    assert found(a_run_with(1.0)) == []


def test_what_a_sitecustomize_of_the_user_imports_is_told():
    hook = ("<frozen site>:548 execsitecustomize", FIND, "/x/sitecustomize.py:3 <module>")
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(6.0, FIND, *hook, FIND, EXEC, TORCH, start_up=True).spends(4.0, STEP)

    (finding,) = found(run)

    assert "led by importing torch" in finding.title


def test_the_start_of_an_interpreter_is_named_and_may_have_to_stay():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(
        6.0, FIND, EXEC, "<frozen site>:616 <module>", "<frozen site>:590 main", start_up=True
    )
    run.spends(4.0, STEP)
    profile = profile_of(run)

    (finding,) = found(run)

    assert "led by importing site" in finding.title
    assert saving_of(profile, finding, "site").removable == NEEDED_LATER


def test_where_set_up_takes_longer_than_any_import_no_module_leads_and_its_line_stands_first():
    run = a_run("train.py", start_up_s=6.0, steady_s=4.0).process("main", steps=4_000)
    run.spends(2.0, *importing("import torch", TORCH), start_up=True)
    run.spends(4.0, "train.py:49 <module>", start_up=True).spends(4.0, STEP)

    (finding,) = found(run)

    assert finding.title == "start-up takes 60 % of the run"
    assert finding.locations[0].line == 49


def test_an_import_that_leads_stands_first_though_one_line_sets_up_for_longer_than_it_imports():
    run = a_run("train.py", start_up_s=7.0, steady_s=3.0).process("main", steps=4_000)
    run.spends(2.0, *importing("import torch", TORCH), start_up=True)
    run.spends(1.9, "train.py:3 <module>", FIND, EXEC, TORCH, start_up=True)
    run.spends(3.1, "train.py:49 <module>", start_up=True).spends(3.0, STEP)

    (finding,) = found(run)

    assert finding.title.endswith("led by importing torch")
    assert finding.locations[0].line != 49
