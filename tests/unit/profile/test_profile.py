from __future__ import annotations

from tests.factories import a_run
from tests.profile_factory import SITE, Script, profile_of

TRAIN = Script("train.py", "for step in range(100):\n    learn()\n")
IMPORTED = f"{SITE}/torch/_meta_registrations.py"
CALLED = f"{SITE}/torch/optim/adam.py"
HARDLY_CALLED = f"{SITE}/torch/nn/init.py"


def test_sources_of_libraries_are_read_only_where_they_have_a_part_in_the_steady_phase():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(2.0, TRAIN.at("for step", "<module>"), f"{IMPORTED}:1 <module>", start_up=True)
    run.spends(9.95, TRAIN.at("learn()", "<module>"), f"{CALLED}:226 Adam.step")
    run.spends(0.05, TRAIN.at("learn()", "<module>"), f"{HARDLY_CALLED}:9 uniform_")
    for file in (IMPORTED, CALLED, HARDLY_CALLED):
        run.source(file, "pass\n")
    run.source("utils.py", "pass\n")

    profile = profile_of(run, TRAIN)

    assert set(profile.sources) == {"train.py", "utils.py", CALLED}
