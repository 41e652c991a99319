from __future__ import annotations

import pytest

from rlprof.detectors.omegaconf_in_loop import DETECTOR, MIN_SHARE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import (
    SITE,
    STDLIB,
    Script,
    claimed_s,
    detect,
    lines_of,
    profile_of,
    ranked,
)

TRAIN = Script(
    "train.py",
    """
    from omegaconf import OmegaConf

    def act(cfg, rng):
        if rng.random() < cfg.agent.epsilon:
            return rng.integers(cfg.env.arms)
        sizes = [layer.size for layer in cfg.layers]
        return 0

    def train(cfg):
        settings = OmegaConf.to_container(cfg)
        for step in range(1000):
            act(cfg, rng)
            OmegaConf.merge(cfg, {"step": step})

    train(OmegaConf.load("config.yaml"))
    """,
)
TOP = TRAIN.at("train(OmegaConf", "<module>")
LOOP = TRAIN.at("    act(cfg, rng)", "train")
EPSILON = TRAIN.at("cfg.agent.epsilon", "act")
ARMS = TRAIN.at("cfg.env.arms", "act")
GETATTR = f"{SITE}/omegaconf/dictconfig.py:355 DictConfig.__getattr__"
GET_NODE = f"{SITE}/omegaconf/basecontainer.py:81 BaseContainer._get_node"
STEP = "env.py:7 step"


def a_training(*, steps: float = 10_000) -> RunBuilder:
    return a_run("train.py", steady_s=10.0).process("main", steps=steps)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_names_the_lines_of_the_user_that_read_the_config():
    run = a_training()
    run.spends(6.0, TOP, LOOP, EPSILON, GETATTR, GET_NODE)
    run.spends(2.0, TOP, LOOP, ARMS, GETATTR)
    run.spends(2.0, TOP, LOOP, STEP)

    (finding,) = found(run)

    assert lines_of(finding) == [TRAIN.line("cfg.agent.epsilon"), TRAIN.line("cfg.env.arms")]
    assert finding.title == "cfg.agent.epsilon and 1 more line read through OmegaConf in the loop"
    assert claimed_s(profile_of(run), finding) == pytest.approx(8.0)
    assert all("omegaconf" not in location.file for location in finding.locations)


@pytest.mark.parametrize(
    ("write", "is_written"),
    [
        ("cfg.agent.epsilon = cfg.agent.epsilon * 0.99", True),
        ("self.cfg.agent.epsilon *= 0.99", True),
        ("cfg.agent.rate *= 0.99", False),
    ],
)
def test_what_the_program_writes_cannot_be_read_once(write, is_written):
    script = Script("train.py", TRAIN.text + f"\ndef anneal(cfg):\n    {write}\n")
    run = a_training().spends(6.0, TOP, LOOP, EPSILON, GETATTR).spends(4.0, TOP, LOOP, STEP)

    (finding,) = detect(DETECTOR, run, script)

    assert ("cfg.agent.epsilon is written, too" in finding.fix) == is_written


def test_silent_just_under_its_threshold():
    under = a_training()
    under.spends(10.0 * MIN_SHARE * 0.9, TOP, LOOP, EPSILON, GETATTR)
    under.spends(10.0 - 10.0 * MIN_SHARE * 0.9, TOP, LOOP, STEP)
    over = a_training()
    over.spends(10.0 * MIN_SHARE * 1.1, TOP, LOOP, EPSILON, GETATTR)
    over.spends(10.0 - 10.0 * MIN_SHARE * 1.1, TOP, LOOP, STEP)

    assert found(under) == []
    assert len(found(over)) == 1


def test_silent_on_a_healthy_run():
    run = a_training()
    run.spends(1.0, TOP, GETATTR, start_up=True)
    run.spends(10.0, TOP, LOOP, STEP)

    assert found(run) == []


def test_ranks_by_its_price():
    run = a_training()
    run.spends(7.0, TOP, LOOP, EPSILON, GETATTR)
    run.spends(3.0, TOP, LOOP, STEP)

    first = ranked(run, TRAIN)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.7 < first.saved_share.high
    assert first.saved_share.low > 0.6


def test_time_of_other_work_on_the_line_is_not_claimed():
    run = a_training()
    run.spends(4.0, TOP, LOOP, EPSILON, GETATTR)
    run.spends(6.0, TOP, LOOP, EPSILON)

    (finding,) = found(run)

    assert claimed_s(profile_of(run), finding) == pytest.approx(4.0)


def test_the_failed_lookup_on_the_reading_line_is_claimed_in_part():
    run = a_training()
    run.spends(8.0, TOP, LOOP, EPSILON, GETATTR)
    run.spends(1.0, TOP, LOOP, EPSILON)
    run.spends(1.0, TOP, LOOP, STEP)

    (finding,) = found(run)

    inside, line = finding.savings
    assert inside.removable.low > 0.9
    assert line.removable == pytest.approx((0.4, 0.9))


def test_plain_function_names_of_older_pythons_and_iteration_count():
    run = a_training()
    run.spends(3.0, TOP, LOOP, EPSILON, f"{SITE}/omegaconf/dictconfig.py:355 __getattr__")
    run.spends(
        3.0,
        TOP,
        LOOP,
        TRAIN.at("sizes =", "act"),
        TRAIN.at("sizes =", "<listcomp>"),
        f"{SITE}/omegaconf/listconfig.py:524 __next__",
    )
    run.spends(4.0, TOP, LOOP, STEP)

    (finding,) = found(run)

    assert {location.function for location in finding.locations} == {"act"}
    assert TRAIN.line("sizes =") in lines_of(finding)


def test_set_up_calls_are_left_alone_outside_a_loop():
    to_container = f"{SITE}/omegaconf/omegaconf.py:573 OmegaConf.to_container"
    pool = f"{STDLIB}/concurrent/futures/process.py:263 _process_worker"
    run = a_training()
    run.spends(3.0, pool, TRAIN.at("settings =", "train"), to_container, GET_NODE)
    run.spends(7.0, TOP, LOOP, STEP)

    assert found(run) == []


def test_set_up_calls_in_a_loop_count():
    merge = f"{SITE}/omegaconf/omegaconf.py:273 OmegaConf.merge"
    run = a_training()
    run.spends(3.0, TOP, TRAIN.at("OmegaConf.merge", "train"), merge, GET_NODE)
    run.spends(7.0, TOP, LOOP, STEP)

    (finding,) = found(run)

    assert lines_of(finding) == [TRAIN.line("OmegaConf.merge")]


MAKING = Script(
    "making.py",
    """
    def train(cfg):
        agent = hydra.utils.instantiate(cfg.agent)
        for step in range(1000):
            epsilon = hydra.utils.instantiate(cfg.epsilon)(step)
            env.step(agent.act(epsilon))
    """,
)
HYDRA = f"{SITE}/hydra/_internal/instantiate/_instantiate2.py"
MAKES = (f"{HYDRA}:251 instantiate", f"{HYDRA}:299 _instantiate_impl")
CALLS = f"{HYDRA}:129 _call_target"
COPIES = (
    f"{STDLIB}/copy.py:146 deepcopy",
    f"{SITE}/omegaconf/dictconfig.py:121 DictConfig.__deepcopy__",
)
EACH_STEP = MAKING.at("cfg.epsilon", "train")


def test_what_hydra_makes_in_a_loop_is_told_with_hydras_own_work():
    run = a_training()
    run.spends(3.0, EACH_STEP, *MAKES, *COPIES)
    run.spends(3.0, EACH_STEP, *MAKES)
    run.spends(1.0, EACH_STEP, *MAKES, f"{SITE}/hydra/_internal/target_policy.py:80 _check")
    run.spends(3.0, MAKING.at("env.step", "train"), STEP)

    (finding,) = detect(DETECTOR, run, MAKING)

    assert finding.title == "cfg.epsilon is instantiated by Hydra in the loop"
    assert lines_of(finding) == [MAKING.line("cfg.epsilon")]
    assert claimed_s(profile_of(run), finding) == pytest.approx(7.0)
    assert finding.fix.startswith("Instantiate it once")


def test_what_hydra_calls_to_make_it_is_not_claimed():
    run = a_training()
    run.spends(1.0, EACH_STEP, *MAKES)
    run.spends(4.0, EACH_STEP, *MAKES, CALLS, "schedule.py:7 Schedule.__init__")
    run.spends(3.0, EACH_STEP, *MAKES, CALLS, f"{STDLIB}/collections/__init__.py:439 namedtuple")
    run.spends(2.0, EACH_STEP, *MAKES, CALLS)

    (finding,) = detect(DETECTOR, run, MAKING)

    assert claimed_s(profile_of(run), finding) == pytest.approx(1.0)


def test_what_hydra_makes_before_the_loop_is_left_alone():
    run = a_training()
    run.spends(3.0, MAKING.at("cfg.agent", "train"), *MAKES, *COPIES)
    run.spends(7.0, MAKING.at("env.step", "train"), STEP)

    assert detect(DETECTOR, run, MAKING) == []


def test_without_steps_a_read_outside_every_loop_is_left_alone():
    script = Script("plain.py", "cfg = load()\nprint(cfg.a)\nfor i in range(9):\n    work(cfg.b)\n")
    once = a_training(steps=0)
    once.spends(3.0, script.at("cfg.a", "<module>"), GETATTR)
    once.spends(7.0, script.at("cfg.b", "<module>"))
    looped = a_training(steps=0)
    looped.spends(3.0, script.at("cfg.b", "<module>"), GETATTR)
    looped.spends(7.0, script.at("cfg.b", "<module>"))

    assert detect(DETECTOR, once, script) == []
    assert len(detect(DETECTOR, looped, script)) == 1


def test_a_project_of_the_users_named_omegaconf_is_not_the_library():
    run = a_training()
    run.spends(10.0, "/home/me/omegaconf/train.py:12 step", "/home/me/omegaconf/env.py:3 step")

    assert found(run) == []


def test_works_without_sources_but_is_less_sure():
    run = a_training()
    run.spends(5.0, "train.py:4 act", GETATTR)
    run.spends(5.0, "train.py:9 train")

    (finding,) = detect(DETECTOR, run)

    assert finding.title == "train.py:4 is read through OmegaConf in the loop"
    assert finding.locations[0].source == ""
