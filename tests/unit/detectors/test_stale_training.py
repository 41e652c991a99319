from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.stale_training import DETECTOR, MOST_BESIDE, MOST_IN_TURNS
from rlprof.model.finding import Finding, Range
from rlprof.model.profile import Profile
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, profile_of

LEARNER = Script(
    "learner.py",
    """
    BATCH_SIZE = 64

    def run(queue, buffer):
        optimizer = torch.optim.Adam(net.parameters())
        while True:
            learn(buffer)
    """,
)
LEARN = LEARNER.at("learn(buffer)", "run")
ADAM = f"{SITE}/torch/optim/adam.py:200 Adam.step"
BOOTSTRAP = f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"
STEP = ("actor.py:9 act", "env.py:5 Env.step")
STEPS = 1000.0


def actors_and_learner(*, cores: int = 2) -> RunBuilder:
    """Two actors and a learner, each wanting a whole core."""
    run = a_run("train.py", steady_s=10.0)
    run.with_run(host={"cores": str(cores), "usable_cores": str(cores)})
    run.process("main")
    run.spends(10.0, f"{STDLIB}/multiprocessing/process.py:149 BaseProcess.join", idle=True)
    for _ in range(2):
        run.process("actor", steps=STEPS / 2).spends(10.0, BOOTSTRAP, *STEP, cpu=2 / 3)
    run.process("learner").spends(10.0, BOOTSTRAP, LEARN, ADAM, cpu=2 / 3)
    return run


def profile(run: RunBuilder, updates: float, *scripts: Script, process: int = 3) -> Profile:
    """The run with ``updates`` optimizer steps of one process, evenly."""
    made = profile_of(run, LEARNER, *scripts)
    counts = {number: dict(named) for number, named in made.process_counts.items()}
    counts.setdefault(process, {})["updates"] = updates
    return replace(made, process_counts=counts)


def found(seen: Profile) -> list[Finding]:
    return list(DETECTOR.in_samples.detect(seen))


def test_tells_updates_over_steps():
    (finding,) = found(profile(actors_and_learner(), 20 * STEPS))

    assert "20 updates for each new step" in finding.title
    assert finding.locations[0].line == LEARNER.line("learn(buffer)")
    assert any("20 000 optimizer steps in 1 process, 1 000" in text for text in finding.evidence)
    assert any("1 280 times" in text for text in finding.evidence)


def test_optimizers_that_one_function_makes_are_told_by_what_steps():
    script = Script(
        "sac.py",
        """
        def make(parameters):
            return torch.optim.Adam(parameters)

        def improve(agent):
            agent.critic.step()
            agent.actor.step()
            agent.temperature.step()
        """,
    )
    run = a_run("train.py", steady_s=10.0).process("main", steps=STEPS)
    for line in ("critic", "actor", "temperature"):
        run.spends(3.0, script.at(f"agent.{line}.step", "improve"), ADAM)
    steps = profile_of(run, script)
    counts = {0: {**steps.process_counts[0], "updates": 3.0 * 2 * STEPS}}
    (finding,) = found(
        replace(
            steps, process_counts=counts, sources={**steps.sources, "b.py": "buffer.add(obs)\n"}
        )
    )

    assert "2 updates for each new step" in finding.title
    assert any("with 3 optimizers" in text for text in finding.evidence)


def test_on_full_cpus_the_learners_time_is_for_sale():
    seen = profile(actors_and_learner(), 20 * STEPS)

    (finding,) = found(seen)

    assert seen.load.saturated
    (saving,) = finding.savings
    assert saving.removable == Range(1 - 0.5 / 20, 1 - 0.16 / 20)
    claimed = sum(seen.steady.self_cost(node).wall_us for node in saving.nodes)
    assert claimed / seen.critical.wall_us == pytest.approx(1 / 3, abs=0.01)


def test_on_free_cores_it_costs_nothing():
    (finding,) = found(profile(actors_and_learner(cores=8), 20 * STEPS))

    assert finding.savings == ()
    assert any("not full" in text for text in finding.evidence)


def test_actors_that_wait_for_the_learner_are_held_up_by_it():
    """Free cores, but each step waits for the weights of the update before it."""
    run = a_run("train.py", steady_s=10.0).with_run(host={"usable_cores": "8"})
    run.process("main").spends(
        10.0, f"{STDLIB}/multiprocessing/process.py:149 BaseProcess.join", idle=True
    )
    for _ in range(2):
        run.process("actor", steps=STEPS / 2).spends(2.0, BOOTSTRAP, *STEP)
        run.spends(
            8.0, BOOTSTRAP, f"{STDLIB}/multiprocessing/connection.py:250 Connection.recv", idle=True
        )
    run.process("learner").spends(8.0, BOOTSTRAP, LEARN, ADAM)
    seen = profile(run, 20 * STEPS)

    (finding,) = found(seen)

    claimed = sum(
        seen.steady.self_cost(node).wall_us for part in finding.savings for node in part.nodes
    )
    assert claimed / seen.critical.wall_us == pytest.approx(0.8, abs=0.02)
    assert any("wait 80 % of their time for it" in text for text in finding.evidence)


def test_silent_just_under_its_threshold():
    assert found(profile(actors_and_learner(), STEPS * MOST_BESIDE * 0.95)) == []
    assert len(found(profile(actors_and_learner(), STEPS * MOST_BESIDE * 1.05))) == 1


def test_silent_on_a_healthy_run():
    assert found(profile(actors_and_learner(), STEPS * 0.25)) == []


DQN = Script(
    "dqn.py",
    """
    import torch

    def main(env, memory):
        optimizer = torch.optim.Adam(net.parameters())
        while True:
            memory.push(env.step(action))
            update(memory)
    """,
)


def in_turns(updates: float, script: Script = DQN) -> Profile:
    """One process that steps the environment, learns, and steps again."""
    run = a_run("dqn.py", steady_s=10.0).process("main", steps=STEPS)
    run.spends(2.0, "dqn.py:7 main", "env.py:5 Env.step")
    run.spends(8.0, "dqn.py:8 main", "dqn.py:12 update", ADAM)
    run.source(script.file, script.text)
    made = profile_of(run)
    return replace(made, process_counts={0: {"steps": STEPS, "updates": updates}})


def test_learning_in_turns_holds_up_the_next_step():
    seen = in_turns(2 * STEPS)

    (finding,) = found(seen)

    (saving,) = finding.savings
    assert saving.removable == Range(0.75, 0.92)
    assert sum(seen.steady.self_cost(node).wall_us for node in saving.nodes) == 8_000_000


def test_with_an_actor_and_a_critic_an_update_a_step_is_usual():
    both = DQN.text.replace(
        "Adam(net.parameters())", "Adam(actor.parameters()), Adam(critic.parameters())"
    )

    (finding,) = found(in_turns(8 * STEPS, Script("dqn.py", both)))

    assert finding.savings[0].removable == Range(0.75, 0.96)


def test_in_turns_silent_just_under_its_threshold():
    assert found(in_turns(STEPS * MOST_IN_TURNS * 0.95)) == []
    assert len(found(in_turns(STEPS * MOST_IN_TURNS * 1.05))) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [("memory.push(", "log.write("), ("optimizer =", "replay_ratio = 20; optimizer ="),
     ("import torch", "import torch; UTD_RATIO = 20"), ("import torch", "import torch; updates_per_step = 20"),
     ("import torch", "import torch; SAC(env, gradient_steps=8)")],
)  # fmt: skip
def test_silent_in_turns_on_a_data_set_or_on_purpose(before, after):
    assert found(in_turns(20 * STEPS, Script("dqn.py", DQN.text.replace(before, after)))) == []


def test_a_paper_in_a_comment_or_in_another_word_is_no_purpose():
    for other in (
        "import torch  # as REDQ does, see filteredQuery",
        "import torch; SAC(env, gradient_steps=1)",
    ):
        named = DQN.text.replace("import torch", other)

        assert len(found(in_turns(20 * STEPS, Script("dqn.py", named)))) == 1


def test_silent_on_a_handful_of_updates():
    run = a_run("train.py", steady_s=10.0).process("main", steps=1).spends(5.0, *STEP)
    run.process("learner").spends(5.0, BOOTSTRAP, LEARN)

    assert found(profile(run, 15.0, process=1)) == []


def test_ranks_by_its_price():
    priced = sell_samples(profile(actors_and_learner(), 20 * STEPS), [DETECTOR])[0].ranking()

    # A third of the CPU time, of which most goes.
    (entry,) = priced.listed
    assert entry.saved_share.low < 0.3 < entry.saved_share.high


SMALL_BUFFER = Script("config.py", "config = {'buffer_size': 16}\n")


def test_a_buffer_smaller_than_what_is_collected_between_updates():
    (finding,) = found(profile(actors_and_learner(), STEPS / 25, SMALL_BUFFER))

    assert "25 steps are collected for each update, into a buffer of 16" in finding.title
    assert any("36 % of the steps are overwritten" in text for text in finding.evidence)
    assert finding.savings == ()


def test_silent_on_a_buffer_that_holds_what_is_collected():
    assert found(profile(actors_and_learner(), STEPS / 10, SMALL_BUFFER)) == []


def test_several_optimizers_step_in_one_update():
    more = Script("sac.py", "critic, actor, alpha = Adam(a), Adam(b), Adam(c)\n")

    assert found(profile(actors_and_learner(), 15 * STEPS, more)) == []
    assert len(found(profile(actors_and_learner(), 17 * STEPS, more))) == 1


@pytest.mark.parametrize(
    "stepping",
    [
        "for name, part in self.parts.items(): part.step()",
        "for name in self.parts: self.parts[name].step()",
        "[part.step() for part in self.parts.values()]",
    ],
)
def test_silent_where_one_line_steps_nobody_knows_how_many(stepping):
    script = Script(
        "sac.py",
        f"""
        class Agent:
            def __init__(self, parts):
                self.parts = {{name: torch.optim.Adam(part) for name, part in parts.items()}}

            def learn(self, memory):
                {stepping.replace(": ", ":" + chr(10) + " " * 20)}

        def main(env, memory, agent):
            while True:
                memory.append(env.step(agent.act()))
                agent.learn(memory)
        """,
    )
    assert found(stepped_by(script)) == []


def test_silent_where_a_loop_goes_through_agents():
    script = Script(
        "maddpg.py",
        """
        class Agent:
            def __init__(self):
                self.optimizer = torch.optim.Adam(self.net.parameters())

            def learn(self, memory):
                self.optimizer.step()

        def main(env, memory, agents):
            while True:
                memory.append(env.step([agent.act() for agent in agents]))
                for agent in agents:
                    agent.learn(memory)
        """,
    )
    assert found(stepped_by(script)) == []
    alone = Script("dqn.py", script.text.replace("for agent in agents", "for _ in range(3)"))
    assert len(found(stepped_by(alone))) == 1


def stepped_by(script: Script) -> Profile:
    """A process that makes three updates for each step."""
    run = a_run("train.py", steady_s=10.0).process("main", steps=STEPS)
    run.spends(9.0, script.at("agent.learn", "main"), script.at("step()", "Agent.learn"), ADAM)
    return profile(run, 3 * STEPS, script, process=0)
