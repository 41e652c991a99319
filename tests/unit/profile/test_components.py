from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.activity import Component
from rlprof.model.profile import Profile
from rlprof.model.recording import Counter, Recording
from rlprof.profile import components
from rlprof.profile.build import build_profile
from rlprof.profile.components import classify_components
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script

RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"
GYM = f"{SITE}/gymnasium/envs/classic_control/cartpole.py:130 CartPoleEnv.step"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"


def components_of(recording: Recording) -> list[str]:
    time_us = [0] * len(recording.nodes)
    for _, _, node, wall, _, _ in recording.samples.rows():
        time_us[node] += wall
    return classify_components(recording.nodes, recording.sources, time_us)


def component_at_the_end_of(*stack: str) -> str:
    recording = a_run().process("main").spends(1.0, *stack).recording()
    return components_of(recording)[-1]


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        pytest.param(("train.py:9 main", GYM), "environment", id="an installed environment"),
        pytest.param(("train.py:9 main", "my_env.py:30 GridWorld.step"), "environment", id="yours"),
        pytest.param(("train.py:9 main", "envs/cart.py:30 step"), "other", id="step of no class"),
        pytest.param(
            ("train.py:9 main", "my_env.py:30 GridWorld.step", "physics.py:4 integrate"),
            "environment",
            id="what the environment calls",
        ),
        pytest.param(("train.py:9 main", "agent.py:4 Agent.act", LINEAR), "inference", id="a policy"),
        pytest.param(("train.py:9 main", LINEAR), "inference", id="a network on its own"),
        pytest.param(("train.py:9 main", "agent.py:9 Agent.update", LINEAR), "learning", id="a network below a learner"),
        pytest.param(
            ("train.py:9 main", "agent.py:9 Agent.update", f"{SITE}/gymnasium/spaces/box.py:114 Box.shape"),
            "learning",
            id="a learner that asks a space",
        ),
        pytest.param(
            ("train.py:9 main", f"{SITE}/torch/autograd/__init__.py:345 backward"), "learning", id="backward"
        ),
        pytest.param(("train.py:9 main", f"{STDLIB}/logging/__init__.py:1100 emit"), "logging", id="logging"),
        pytest.param(
            ("train.py:9 main", "env.py:3 Env.step", f"{SITE}/omegaconf/dictconfig.py:355 __getattr__"),
            "configuration",
            id="configuration, also inside an environment",
        ),
        pytest.param(
            ("train.py:9 main", f"{STDLIB}/multiprocessing/reduction.py:51 ForkingPickler.dumps"),
            "transfer",
            id="pickling",
        ),
        pytest.param(("train.py:9 main", "replay.py:7 ReplayBuffer.sample"), "data preparation", id="a replay buffer"),
        pytest.param(("train.py:9 main",), "other", id="the rest"),
    ],
)  # fmt: skip
def test_the_nearest_known_frame_names_the_component(stack, name):
    assert component_at_the_end_of(*stack) == name


def test_a_function_that_steps_the_environment_is_the_loop_and_no_part():
    recording = a_run().process("main").spends(1.0, "train.py:12 Agent.learn", GYM).recording()

    assert components_of(recording) == ["other", "environment"]


def test_before_python_3_11_the_source_names_the_class():
    script = Script(
        "worlds.py", "class GridWorld:\n    def step(self, action):\n        return 1\n"
    )
    recording = (
        a_run()
        .process("main")
        .spends(1.0, "worlds.py:3 step")
        .source(script.file, script.text)
        .recording()
    )

    assert components_of(recording) == ["environment"]


# Updates: forward passes that gradients are of

BACKWARD = f"{SITE}/torch/autograd/__init__.py:345 backward"
ADAM = f"{SITE}/torch/optim/adam.py:210 Adam.step"

IN_ONE_FUNCTION = Script(
    "train.py",
    """
    def go():
        while True:
            for _ in range(64):
                action, value = agent.get_action_and_value(obs)
                obs, reward = lander.advance(action)
            for rows in chunks:
                part = torch.as_tensor(seen[rows])
                _, value = agent.get_action_and_value(part)
                loss = (value - returns[rows]).pow(2).mean()
                loss.backward()
                optimizer.step()
    """,
)

BY_A_HELPER = Script(
    "agent.py",
    """
    class Agent:
        def learn(self, batch):
            loss = self.error(batch)
            self.descend(loss)

        def descend(self, loss):
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
    """,
)


OWN_ENVIRONMENT = Script(
    "climb.py",
    """
    class Slope:
        def begin(self):
            return self.sample_place()

        def sample_place(self):
            return [0.0]

        def advance(self, move):
            place = self.sample_place()
            return place, 1.0, False

    class Pole:
        def reset(self):
            return [0.0]

        def step(self, push):
            return [push]

    def climb(slope, pole, policy):
        place = slope.begin()
        while True:
            move = policy(place)
            place, reward, over = slope.advance(move)
            pole.step(move)
    """,
)


@pytest.mark.parametrize(
    ("calling", "called", "working"),
    [
        ("slope.advance(move)", "Slope.advance", "place = self.sample_place()"),
        ("pole.step(move)", "Pole.step", "return [push]"),
    ],
)
def test_an_environment_of_any_name_is_told_by_its_use_or_its_methods(calling, called, working):
    run = a_run().source(OWN_ENVIRONMENT.file, OWN_ENVIRONMENT.text).process("main")
    step = (OWN_ENVIRONMENT.at(calling, "climb"), OWN_ENVIRONMENT.at(working, called))
    run.spends(1.0, *step).spends(1.0, *step, "scene.py:4 sample_rays")

    assert components_of(run.recording()) == ["other", "environment", "environment"]


def test_what_a_library_does_by_itself_is_not_read(monkeypatch):
    """What ``import torch`` goes through is a hundred files, which take seconds to read."""
    read = []
    monkeypatch.setattr(components, "parse", read.append)
    torch = f"{SITE}/torch/__init__.py"
    run = a_run().source("train.py", "import torch").source(torch, "import os").process("main")

    components_of(run.spends(1.0, "train.py:1 main", f"{torch}:9 <module>", LINEAR).recording())

    assert "import os" not in read


def test_nor_does_it_make_its_function_one():
    run = a_run().process("main", steps=1000).source(SELF_PLAY.file, SELF_PLAY.text)
    root, training = SELF_PLAY.at("main(Net()", "<module>"), SELF_PLAY.at("loss = train", "main")
    play = root, SELF_PLAY.at("play(roots)", "main")
    run.spends(6.9, *play, "game.py:9 play").spends(0.05, *play, BACKWARD)
    run.spends(0.5, root, training, SELF_PLAY.at("loss = net", "train"), LINEAR)
    run.spends(2.55, root, training, SELF_PLAY.at("loss.backward", "train"), BACKWARD)

    assert shares(run)["other"] == 0.69


def in_go(piece: str) -> str:
    return IN_ONE_FUNCTION.at(piece, "go")


def test_a_forward_pass_within_an_update_is_learning_whatever_it_is_called():
    run = a_run().process("main", steps=1000).source(IN_ONE_FUNCTION.file, IN_ONE_FUNCTION.text)
    run.spends(
        1.0, in_go("get_action_and_value(obs)"), "agent.py:30 Agent.get_action_and_value", LINEAR
    )
    run.spends(1.0, in_go("lander.advance"), "lander.py:12 Lander.advance")
    run.spends(0.5, in_go("torch.as_tensor"))
    run.spends(
        2.5, in_go("get_action_and_value(part)"), "agent.py:30 Agent.get_action_and_value", LINEAR
    )
    run.spends(1.0, in_go("pow(2)")).spends(3.0, in_go("backward()"), BACKWARD).spends(
        1.0, in_go("step()"), ADAM
    )

    assert shares(run) == {
        "learning": 0.75, "inference": 0.1, "other": 0.1, "data preparation": 0.05,
    }  # fmt: skip


def test_the_loss_may_be_made_in_the_caller_of_who_descends():
    run = a_run().process("main", steps=1000).source(BY_A_HELPER.file, BY_A_HELPER.text)
    run.spends(
        4.0,
        "train.py:5 main",
        BY_A_HELPER.at("self.error", "Agent.learn"),
        "agent.py:40 Agent.error",
        LINEAR,
    )
    run.spends(
        2.0,
        "train.py:5 main",
        BY_A_HELPER.at("self.descend(loss)", "Agent.learn"),
        BY_A_HELPER.at("loss.backward", "Agent.descend"),
        BACKWARD,
    )
    run.spends(4.0, "train.py:4 main", "agent.py:50 Agent.act", LINEAR)

    assert shares(run) == {"learning": 0.6, "inference": 0.4}


ON_ONE_LINE = Script(
    "train.py",
    """
    class Trainer:
        def collect(self):
            self.rows.append(self.choose())
            self.env.step(self.action)

        def update(self, rows):
            loss = self.net(rows).mean()
            loss.backward()

    def main(trainer):
        while True:
            trainer.update(trainer.collect())
    """,
)


def test_a_rollout_on_the_line_of_an_update_is_none():
    run = a_run().process("main", steps=1000).source(ON_ONE_LINE.file, ON_ONE_LINE.text)
    both = ON_ONE_LINE.at("trainer.update(", "main")
    run.spends(
        6.0,
        both,
        ON_ONE_LINE.at("self.rows.append", "Trainer.collect"),
        "agent.py:30 Agent.choose",
        LINEAR,
    )
    run.spends(2.0, both, ON_ONE_LINE.at("self.env.step", "Trainer.collect"), GYM)
    run.spends(0.2, both, ON_ONE_LINE.at("loss = self.net", "Trainer.update"), LINEAR)
    run.spends(1.8, both, ON_ONE_LINE.at("loss.backward", "Trainer.update"), BACKWARD)

    assert shares(run) == {"inference": 0.6, "environment": 0.2, "learning": 0.2}


ALL_IN_ONE = Script(
    "train.py",
    """
    def optimise(agent, arena, keeper):
        adam = torch.optim.Adam(agent.parameters())
        while True:
            seen, gained = [], []
            for _ in range(100):
                with torch.no_grad():
                    act = agent(torch.stack(obs))
                seen.append(obs)
                obs, reward = arena.advance(act)
                keeper(reward)
                gained.append(reward)
            chosen = agent(torch.stack(seen))
            loss = -(chosen * torch.tensor(gained)).mean()
            loss.backward()
            adam.step()
    """,
)


def test_a_rollout_without_gradients_is_no_part_of_the_update_around_it():
    """Whatever the function is called, and however long its optimizer imports when it is made."""
    run = a_run().process("main", steps=1000).source(ALL_IN_ONE.file, ALL_IN_ONE.text)
    made = ALL_IN_ONE.at("torch.optim.Adam", "optimise")
    constructed = f"{SITE}/torch/optim/adam.py:102 Adam.__init__"
    run.spends(60.0, made, constructed, f"{STDLIB}/importlib/__init__.py:90 import_module")
    run.spends(2.0, ALL_IN_ONE.at("act = agent", "optimise"), LINEAR)
    run.spends(5.0, ALL_IN_ONE.at("keeper(reward)", "optimise"), "train.py:90 Keeper.__call__")
    run.spends(1.0, ALL_IN_ONE.at("chosen = agent", "optimise"), LINEAR)
    run.spends(2.0, ALL_IN_ONE.at("loss.backward", "optimise"), BACKWARD)

    recording = run.recording()
    found = components_of(recording)

    by_line = {node.frame.line: found[node.id] for node in recording.nodes if node.parent == -1}
    assert by_line[ALL_IN_ONE.line("loss.backward")] == "learning"
    assert by_line[ALL_IN_ONE.line("chosen = agent")] == "learning"
    assert by_line[ALL_IN_ONE.line("act = agent")] == "other"
    assert {found[n.id] for n in recording.nodes if n.frame.function == "Keeper.__call__"} == {
        "other"
    }
    assert [found[node.id] for node in recording.nodes if "linear.py" in node.frame.file] == [
        "inference",
        "learning",
    ]


SELF_PLAY = Script(
    "train.py",
    """
    def simulate(net, games):
        with torch.no_grad():
            return net(games)

    def train(net, opt, batch):
        loss = net(batch).mean()
        loss.backward()
        opt.step()

    def main(net, opt, games):
        while True:
            roots = simulate(net, games)
            play(roots)
            loss = train(net, opt, games)

    main(Net(), Adam(), Games())
    """,
)


def test_a_short_update_beside_a_long_search_is_all_that_learns():
    """Its network is asked for a hundredth of the time that the search asks it for."""
    run = a_run().process("main", steps=1000).source(SELF_PLAY.file, SELF_PLAY.text)
    root = SELF_PLAY.at("main(Net()", "<module>")
    searching = SELF_PLAY.at("roots = simulate", "main"), SELF_PLAY.at("return net", "simulate")
    training = root, SELF_PLAY.at("loss = train", "main")
    run.spends(6.0, root, *searching, LINEAR)
    run.spends(3.7, root, SELF_PLAY.at("play(roots)", "main"), "game.py:9 play")
    run.spends(0.1, *training, SELF_PLAY.at("loss = net", "train"), LINEAR)
    run.spends(0.2, *training, SELF_PLAY.at("loss.backward", "train"), BACKWARD)

    assert shares(run) == {"inference": 0.6, "other": 0.37, "learning": 0.03}


def test_a_stack_that_was_torn_does_not_make_its_line_an_update():
    run = a_run().process("main", steps=1000).source(IN_ONE_FUNCTION.file, IN_ONE_FUNCTION.text)
    run.spends(5.0, in_go("backward()"), BACKWARD)
    run.spends(0.1, in_go("get_action_and_value(obs)"), BACKWARD)
    run.spends(
        4.9, in_go("get_action_and_value(obs)"), "agent.py:30 Agent.get_action_and_value", LINEAR
    )

    assert shares(run)["inference"] == 0.49


def test_without_source_the_name_of_the_caller_tells_an_update():
    run = a_run().process("main", steps=1000)
    run.spends(
        5.0, "train.py:4 main", "agent.py:9 Agent.update", "agent.py:30 Agent.predict", LINEAR
    )
    run.spends(5.0, "train.py:3 main", "agent.py:30 Agent.predict", LINEAR)

    assert shares(run) == {"learning": 0.5, "inference": 0.5}


# Costs and ceilings


def row(profile: Profile, name: str) -> Component:
    return next(component for component in profile.components if component.name == name)


def sequential(*, steps: float = 1000) -> RunBuilder:
    run = a_run().process("main", steps=steps)
    return (
        run.spends(6.0, "train.py:12 main", GYM)
        .spends(3.0, "train.py:13 main", LINEAR)
        .spends(1.0, "train.py:14 main")
    )


def test_the_ceiling_of_a_part_is_the_rate_if_all_else_were_free():
    profile = build_profile(sequential().recording())

    assert [component.name for component in profile.components] == [
        "environment",
        "inference",
        "other",
    ]
    assert row(profile, "environment").share == pytest.approx(0.6)
    assert row(profile, "environment").per_step_us == pytest.approx(6000)
    assert row(profile, "environment").ceiling_sps == pytest.approx(1000 / 6)
    assert row(profile, "inference").ceiling_sps == pytest.approx(1000 / 3)


@pytest.mark.parametrize("asleep_s", [6.0, 0.5])
def test_what_an_environment_that_sleeps_could_do_alone_its_cpu_time_does_not_tell(asleep_s):
    robot = ("train.py:12 main", "robot.py:30 RobotEnv.step")
    run = a_run().process("main", steps=1000).spends(3.5, *robot)
    run.spends(asleep_s, *robot, idle=True).spends(6.5 - asleep_s, "train.py:13 main", LINEAR)

    environment = row(build_profile(run.recording()), "environment")

    assert environment.share == pytest.approx((3.5 + asleep_s) / 10)
    assert (environment.ceiling_sps is None) is (asleep_s == 6.0)


def test_a_writer_that_sleeps_beside_the_training_leaves_logging_its_ceiling():
    emit = f"{STDLIB}/logging/__init__.py:1100 emit"
    run = a_run().process("main", steps=1000).spends(4.0, "train.py:12 main", emit)
    run.spends(6.0, "train.py:13 main", LINEAR)
    run.thread("writer").spends(0.1, "write.py:3 run", emit)
    run.spends(9.9, "write.py:3 run", emit, idle=True)

    assert row(build_profile(run.recording()), "logging").ceiling_sps is not None


def test_eight_workers_have_eight_times_the_ceiling_of_one():
    run = a_run().with_run(host={"usable_cores": "16"}).process("main", steps=1000)
    run.spends(4.0, "train.py:20 main", LINEAR).spends(6.0, "train.py:12 main", RECV, idle=True)
    for number in range(8):
        run.process(f"worker {number}").spends(6.0, "worker.py:2 loop", GYM)
        run.spends(4.0, "worker.py:3 loop", RECV, idle=True)

    profile = build_profile(run.recording())

    environment = row(profile, "environment")
    assert environment.parallel == 8
    assert environment.share == pytest.approx(0.6)
    assert environment.per_step_us == pytest.approx(48_000)
    assert environment.ceiling_sps == pytest.approx(8 * 1000 / 48)


def test_no_ceiling_is_higher_than_the_cores_allow():
    run = a_run().with_run(host={"usable_cores": "2"}).process("main", steps=1000)
    run.spends(10.0, "train.py:12 main", RECV, idle=True)
    for number in range(8):
        run.process(f"worker {number}").spends(2.0, "worker.py:2 loop", GYM)
        run.spends(8.0, "worker.py:3 loop", RECV, idle=True)

    assert row(build_profile(run.recording()), "environment").parallel == 2


def test_waits_that_nobody_works_in_are_ipc_wait_and_have_no_ceiling():
    run = a_run().process("main", steps=1000)
    run.spends(4.0, "train.py:12 main", GYM).spends(6.0, "train.py:13 main", RECV, idle=True)

    profile = build_profile(run.recording())

    assert row(profile, "IPC wait").share == pytest.approx(0.6)
    assert row(profile, "IPC wait").ceiling_sps is None


def test_without_steps_there_are_shares_and_no_ceilings():
    profile = build_profile(sequential(steps=0).recording())

    assert row(profile, "environment").share == pytest.approx(0.6)
    assert row(profile, "environment").ceiling_sps is None


def test_shares_of_all_parts_are_the_critical_time():
    profile = build_profile(sequential().recording())

    assert sum(component.share for component in profile.components) == pytest.approx(1.0)


def shares(run: RunBuilder) -> dict[str, float]:
    """The table of a run; it is all of the time."""
    profile = build_profile(run.recording())
    assert sum(component.share for component in profile.components) == pytest.approx(1.0)
    return {
        component.name: pytest.approx(component.share, abs=1e-6)
        for component in profile.components
        if component.share
    }


def test_what_waits_for_a_core_is_a_row_and_prices_count_it_with_its_part():
    run = a_run().process("main", steps=1000)
    run.spends(6.0, "train.py:12 main", GYM, cpu=0.25).spends(4.0, "train.py:13 main", LINEAR)

    assert shares(run) == {"waiting for a core": 0.45, "inference": 0.4, "environment": 0.15}
    profile = build_profile(run.recording())
    assert row(profile, "environment").priced_share == pytest.approx(0.6)
    assert row(profile, "waiting for a core").priced_share == 0
    assert row(profile, "waiting for a core").ceiling_sps is None


def test_a_part_that_never_got_a_core_keeps_its_row():
    run = a_run().process("main").spends(6.0, "train.py:12 main", GYM, cpu=0.0)
    run.process("busy").spends(6.0, "train.py:12 main", LINEAR)

    profile = build_profile(run.recording())

    assert row(profile, "environment").share == 0
    assert sum(component.priced_share for component in profile.components) == pytest.approx(1)


def test_on_a_full_host_the_time_is_that_of_all_threads_with_and_without_a_core():
    run = a_run().with_run(host={"usable_cores": "1"}).process("main", steps=1000)
    run.spends(10.0, "train.py:12 main", GYM, cpu=0.5)
    run.process("worker").spends(10.0, "worker.py:2 loop", LINEAR, cpu=0.3)
    run.gauge("cpu_us", 3e5)  # Of 0.5 s a window: twice what its Python threads have.

    profile = build_profile(run.recording())

    assert profile.load.saturated
    # 5 s of the environment, 6 s of the worker, 12 s in the queue.
    assert shares(run) == {
        "waiting for a core": 12 / 23,
        "environment": 5 / 23,
        "inference": 3 / 23,
        "threads without Python": 3 / 23,
    }
    assert row(profile, "environment").priced_share == pytest.approx(5 / 11)


LOCKED = Script("train.py", "lock.acquire()\ntime.sleep(0.1)\n")


def test_waits_for_locks_and_sleep_have_rows_of_their_own():
    run = a_run().process("main", steps=1000).source("train.py", LOCKED.text)
    run.spends(3.0, "train.py:1 main", idle=True).spends(2.0, "train.py:2 main", idle=True)
    run.spends(5.0, "train.py:9 main", GYM)

    assert shares(run) == {"environment": 0.5, "lock wait": 0.3, "asleep": 0.2}


def test_an_environment_that_sleeps_is_the_environment():
    world = "class World:\n    def step(self):\n        time.sleep(0.1)\n"
    run = a_run().process("main", steps=1000).source("world.py", world)
    run.spends(4.0, "train.py:9 main", "world.py:3 World.step", idle=True).spends(
        6.0, "train.py:9 main"
    )

    assert shares(run) == {"other": 0.6, "environment": 0.4}


def test_a_wait_for_the_interpreter_lock_is_a_row():
    run = a_run().process("main", steps=1000)
    run.spends(6.0, "train.py:12 main", idle=True).spends(4.0, "train.py:13 main", LINEAR)
    run.thread("learner").spends(10.0, "train.py:40 learn", LINEAR)

    assert shares(run)["GIL wait"] == 0.6


def test_a_rate_that_drifts_by_factors_promises_no_ceiling():
    recording = sequential(steps=0).recording()
    slower = tuple(
        Counter(window.id, 0, "steps", 1000 / (1 + window.id)) for window in recording.windows
    )

    profile = build_profile(replace(recording, counters=slower))

    assert profile.throughput.drifts_by_factors
    assert row(profile, "environment").ceiling_sps is None


def with_a_rollout(wall_ns: float, cpu_ns: float) -> Profile:
    """One that the program marks as ``rollout``, ten times."""
    recording = sequential().recording()
    window = recording.windows[-1].id
    marks = (
        Counter(window, 0, "phase:rollout:wall_ns", wall_ns),
        Counter(window, 0, "phase:rollout:cpu_ns", cpu_ns),
        Counter(window, 0, "phase:rollout:entered", 10),
    )
    return build_profile(replace(recording, counters=(*recording.counters, *marks)))


def test_the_program_s_own_phases_stand_first():
    profile = with_a_rollout(7e9, 5e9)

    first = profile.components[0]
    assert (first.name, first.is_marked) == ("rollout", True)
    assert first.share == pytest.approx(0.7)
    assert first.ceiling_sps == pytest.approx(1000 / 5)


def test_a_phase_that_mostly_waits_promises_no_rate():
    profile = with_a_rollout(7e9, 0.2e9)

    assert profile.components[0].ceiling_sps is None
