from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.evaluation_share import DETECTOR, LEAST_COUNTED, MIN_SHARE
from rlprof.model.finding import Finding
from rlprof.model.profile import Drift, Quarter
from rlprof.report.build import build_report
from rlprof.report.wording import unglued
from rlprof.report.wording.run import run_facts
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
    def how_it_goes(values, env):
        at, total, over = env.reset(), 0.0, False
        while not over:
            at, reward, over, _ = env.step(best(values))
            total += reward
        return total

    def collect(env, buffer):
        for _ in range(99):
            at, reward, over, _ = env.step(0)
            buffer.append(at)

    def look_ahead(model):
        model.reset()
        for _ in range(9):
            at, reward, over, _ = model.step(0)
        return reward

    def main(env, values, buffer):
        for episode in range(1000):
            if episode % 2 == 0:
                score = how_it_goes(values, env)
            collect(env, buffer)
            while not over:
                action = look_ahead(model)
                at, reward, over, _ = env.step(action)
                buffer.append(at)
            evaluate_policy(values, env)

    def search(env, centre, buffer):
        for generation in range(1000):
            noise = draw(8)
            scores = np.array([how_it_goes(centre + d, env) for d in noise])
            gain = scores - scores.mean()
            centre = centre + 0.1 * noise.T @ gain
            collect(env, buffer)

    def look(env, centre, buffer):
        for generation in range(1000):
            mean = np.array([how_it_goes(centre, env) for d in range(5)]).mean()
            highest = max(highest, mean)
            collect(env, buffer)
    """,
)
SCORE = TRAIN.at("score = how_it_goes", "main")
PLAYED = TRAIN.at("env.step(best", "how_it_goes")
COLLECT = TRAIN.at("collect(env, buffer)", "main"), TRAIN.at("env.step(0)", "collect")
STEP = "env.py:3 Env.step"


WORKERS = Script(
    "workers.py",
    """
    def play(env, steps):
        at, total = env.reset(), 0.0
        for _ in range(steps):
            at, reward, over, _ = env.step(0)
            total += reward
            if over:
                env.reset()
        return total

    def main(env):
        results = [play(env, 20)]
        for worker in range(8):
            tell(play(env, 40))
    """,
)


def a_training(seconds: float, *stack: str, rest: tuple[str, ...] = (*COLLECT, STEP)) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    return run.spends(seconds, *stack).spends(10.0 - seconds, *rest)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_finds_what_steps_and_keeps_nothing_whatever_its_name():
    run = a_training(4.0, SCORE, PLAYED, STEP)
    profile = profile_of(run, TRAIN)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert lines_of(finding) == [TRAIN.line("score = how_it_goes")]
    assert finding.evidence[1] == "it is done when episode % 2 == 0"
    assert claimed_s(profile, finding) == 4.0


def test_finds_an_environment_of_any_interface():
    script = Script(
        "game.py",
        """
        def shown(yard, choose):
            seen, over, total = yard.begin(), False, 0.0
            while not over:
                seen, gain, over = yard.move(choose(seen))
                total += gain
            return total

        def main(yard, choose, learn):
            for number in range(1000):
                seen, over = yard.begin(), False
                while not over:
                    choice = choose(seen)
                    seen, gain, over = yard.move(choice)
                    learn(seen, gain)
                best = shown(yard, choose)
        """,
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    move = "yard.py:3 Yard.move"
    run.spends(4.0, script.at("best = ", "main"), script.at("move(choose", "shown"), move)
    run.spends(6.0, script.at("move(choice)", "main"), move)

    (finding,) = detect(DETECTOR, run, script)

    assert lines_of(finding) == [script.line("best = ")]


@pytest.mark.parametrize(
    ("kept", "is_told"), [("total", True), ("reward", False), ("(at, total)", False)]
)
def test_a_list_of_the_sums_of_episodes_is_nothing_to_learn_from(kept: str, is_told: bool):
    script = Script(
        "score.py",
        f"""
        def score(net, env, episodes):
            returns, total = [], 0.0
            at, _ = env.reset()
            while len(returns) < episodes:
                at, reward, over, _, _ = env.step(net(at))
                total += reward
                if over:
                    returns.append({kept})
                    total = 0.0
                    at, _ = env.reset()
            return mean(returns)

        def main(net, env, buffer):
            for number in range(1000):
                collect(env, buffer)
                if number % 2 == 0:
                    shown = score(net, env, 10)
                    look_at(shown)
        """,
    )
    played = script.at("shown = score", "main"), script.at("env.step(net", "score"), STEP

    assert bool(detect(DETECTOR, a_training(4.0, *played), script, TRAIN)) == is_told


def test_finds_that_of_a_library():
    line = TRAIN.at("evaluate_policy", "main")
    run = a_training(4.0, line, f"{SITE}/stable_baselines3/common/evaluation.py:80 evaluate_policy")

    assert len(found(run)) == 1


def test_silent_for_what_collects():
    assert found(a_training(4.0, *COLLECT, STEP)) == []


def test_silent_for_a_search_at_each_step():
    ahead = TRAIN.at("action = look_ahead", "main"), TRAIN.at("model.step(0)", "look_ahead")

    assert found(a_training(4.0, *ahead, "model.py:3 Model.step")) == []


@pytest.mark.parametrize(
    ("function", "line", "is_told"), [("search", "scores =", False), ("look", "mean =", True)]
)
def test_silent_where_the_returns_decide_what_is_played_next(function, line, is_told):
    run = a_training(6.0, TRAIN.at(line, function), PLAYED, STEP)

    assert bool(found(run)) is is_told


def test_silent_where_it_is_the_training():
    rest = (TRAIN.at("for episode", "main"), "es.py:3 noise")

    assert found(a_training(4.0, SCORE, PLAYED, STEP, rest=rest)) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9, SCORE, PLAYED, STEP)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1, SCORE, PLAYED, STEP))) == 1


IN_TURNS = Script(
    "script.py",
    """
    for round in range(1000):
        state, over = env.reset(), False
        while not over:
            state, reward, over, _ = env.step(choose(values, state))
            values[state] += reward
        total = 0.0
        for _ in range(3):
            seen, spare = trial.reset(), False
            while not spare:
                seen, gain, spare, _ = trial.step(choose(values, seen))
                total += gain
    """,
)
TRAINED = IN_TURNS.at("env.step", "<module>")
TRIED = IN_TURNS.at("trial.step", "<module>")


def test_finds_a_loop_between_the_loops_of_the_training():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, TRIED, STEP).spends(
        1.0, IN_TURNS.at("trial.reset", "<module>"), "env.py:9 reset"
    )
    run.spends(4.0, TRAINED, STEP)
    profile = profile_of(run, IN_TURNS)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert lines_of(finding)[0] == IN_TURNS.line("trial.step")
    assert claimed_s(profile, finding) == 6.0


def test_tells_how_many_of_the_counted_steps_are_of_evaluations():
    run = a_run(steady_s=10.0).process("main").counts("steps:gymnasium.env", 1000)
    (finding,) = detect(DETECTOR, run.spends(6.0, TRIED, STEP).spends(4.0, TRAINED, STEP), IN_TURNS)

    assert "about 60 % of the counted steps are made there (57 to 63 %)" in finding.evidence[-1]
    assert "the training's own are some 40 sps" in finding.evidence[-1]


def in_turns(trained_s: float, *, adam_s: float = 0.0) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main").counts("steps:gymnasium.env", 1000)
    run.spends(10.0 - trained_s - adam_s, TRIED, STEP).spends(trained_s, TRAINED, STEP)
    return run.spends(adam_s, TRAINED, f"{SITE}/torch/optim/adam.py:200 Adam.step")


def test_the_steps_of_evaluations_are_told_where_the_rate_drifts_by_factors_and_is_no_price():
    profile = profile_of(in_turns(4.0), IN_TURNS)
    drifting = replace(profile.throughput, drift=Drift(100.0, 400.0))

    (finding,) = DETECTOR.in_samples.detect(replace(profile, throughput=drifting))

    assert finding.evidence[-1].startswith(
        "about 60 % of the counted steps are made there (57 to 63 %): the rate is not that of the training's own"
    )


def test_steps_of_an_optimizer_are_none_of_an_environment():
    (finding,) = detect(DETECTOR, in_turns(2.0, adam_s=2.0), IN_TURNS)

    assert "about 75 % of the counted steps" in finding.evidence[-1]


def test_each_quarter_counts_for_the_steps_that_were_made_in_it():
    profile = profile_of(in_turns(5.0), IN_TURNS)
    tree = profile.steady
    places = {
        tree.frame(tree.nodes[node].parent).line: node
        for node in tree.hot_nodes()
        if tree.frame(node).function == "Env.step"
    }
    trained, tried = places[IN_TURNS.line("env.step")], places[IN_TURNS.line("trial.step")]
    # The machine was crowded at first: few steps in as long a time, and hardly an evaluation.
    slow, quick = Quarter(100.0, {trained: 80, tried: 20}), Quarter(900.0, {trained: 20, tried: 80})

    (finding,) = DETECTOR.in_samples.detect(replace(profile, quarters=(slow, quick)))

    assert "about 74 % of the counted steps" in finding.evidence[-1]


def test_the_rate_is_told_to_be_that_of_evaluations_too_from_a_tenth_of_the_steps_on():
    def told(trained_s: float) -> tuple[str, list[str]]:
        run = in_turns(trained_s)
        run.source(IN_TURNS.file, IN_TURNS.text)
        report = build_report(run.recording())
        (steps,) = [text for name, text in run_facts(report) if name == "Steps"]
        return unglued(steps), [note.slug for note in report.notes]

    steps, slugs = told(4.0)
    assert steps.endswith(", about 60 % of it by evaluations")
    assert "steps-of-evaluations" in slugs
    steps, slugs = told(10 * (1 - 0.9 * LEAST_COUNTED))
    assert "evaluations" not in steps
    assert "steps-of-evaluations" not in slugs


def a_turn(body: str) -> tuple[Script, str]:
    """A training whose loop steps, with ``body`` in it, and the place of its inner step."""
    lines = "\n".join(f"                {line}" for line in body.strip().splitlines())
    script = Script(
        "turns.py",
        f"""
        def main(env, values):
            state = env.reset()
            for number in range(1_000_000):
{lines}
                after, reward, over, _ = env.step(action)
                values[state] += reward
                state = after
        """,
    )
    return script, script.at("inner.step", "main")


def found_in_turn(body: str) -> list[Finding]:
    script, place = a_turn(body)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, place, STEP).spends(5.0, script.at("env.step", "main"), STEP)
    return detect(DETECTOR, run, script)


EPISODE = """
    seen, spare, total = inner.reset(), False, 0.0
    while not spare:
        seen, gain, spare, _ = inner.step(values[seen])
        total += gain
"""


def test_finds_a_loop_under_a_condition_of_a_loop_over_steps():
    assert len(found_in_turn(f"action = values[state]\nif number % 1000 == 0:{EPISODE}")) == 1


def test_silent_for_a_loop_that_the_action_comes_from():
    assert found_in_turn(f"if number % 2:{EPISODE}    action = total\nelse:\n    action = 1") == []
    assert found_in_turn(f"for action in (0, 1):{EPISODE}") == []


def test_silent_for_a_loop_that_learns():
    assert (
        found_in_turn(
            """
action = values[state]
if number % 1000 == 0:
    seen, spare = inner.reset(), False
    while not spare:
        choice = argmax(weights @ seen)
        seen, gain, spare, _ = inner.step(choice)
        error = gain - weights[choice]
        weights = weights + 0.1 * error
"""
        )
        == []
    )
    assert (
        found_in_turn(
            """
action = values[state]
if number % 1000 == 0:
    seen, spare = inner.reset(), False
    while not spare:
        seen, gain, spare, _ = inner.step(values[seen])
        agent.digest(seen, gain)
"""
        )
        == []
    )


def test_silent_for_an_episode_whose_log_keeps_its_steps():
    """``log`` is what many episodes call their ``append``."""
    body = """
action = values[state]
if number % 1000 == 0:
    trip, seen, spare = Trip(), inner.reset(), False
    while not spare:
        choice = argmax(weights @ seen)
        after, gain, spare, _ = inner.step(choice)
        trip.log(seen, choice, gain)
        total += gain
        seen = after
    improve(trip)
"""

    assert found_in_turn(body) == []


@pytest.mark.parametrize("adds", ["trace += seen * error", "trace = trace + seen * error"])
def test_silent_for_a_loop_that_adds_up_observations_for_a_gradient(adds):
    body = f"""
action = values[state]
if number % 1000 == 0:
    seen, spare, trace = inner.reset(), False, zeros
    while not spare:
        error = noise()
        {adds}
        seen, gain, spare, _ = inner.step(weights @ seen + error)
        total += gain
    weights = weights + total * trace
"""

    assert found_in_turn(body) == []


def test_silent_for_a_search_that_the_caller_acts_on():
    script = Script(
        "search.py",
        """
        def imagined(model, first):
            at, total, over = model.reset(), 0.0, False
            while not over:
                at, gain, over = model.step(first)
                total += gain
            return total

        def best(model):
            return max(range(4), key=lambda first: imagined(model, first))

        def main(env, model):
            for _ in range(1000):
                action = best(model)
                state, reward, over = env.step(action)
                model.fit(state, action)
        """,
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    inner = script.at("return max", "best.<locals>.<lambda>"), script.at("model.step", "imagined")
    run.spends(
        5.0, script.at("action = best", "main"), script.at("return max", "best"), *inner, STEP
    )
    run.spends(5.0, script.at("env.step", "main"), STEP)

    assert detect(DETECTOR, run, script) == []


def test_silent_for_an_action_that_is_repeated():
    script = Script(
        "skips.py",
        """
        def repeated(env, action):
            total = 0.0
            for _ in range(4):
                seen, gain, over, _ = env.step(action)
                total += gain
            return seen, total, over

        def main(env, agent):
            seen = env.reset()
            for number in range(1000):
                action, total = agent.act(seen), 0.0
                for _ in range(4):
                    seen, gain, over, *_ = env.step(action)
                    total += gain
                agent.memory.append(seen)
                agent.memory.append(repeated(env, action))
                loss.backward()
        """,
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at("over, *_ = env", "main"), STEP)
    run.spends(
        4.0, script.at("repeated(env, action))", "main"), script.at("env.step", "repeated"), STEP
    )
    run.spends(
        2.0, script.at("loss.backward", "main"), f"{SITE}/torch/_tensor.py:500 Tensor.backward"
    )

    assert detect(DETECTOR, run, script) == []


def test_finds_what_a_callback_of_a_library_plays():
    line = IN_TURNS.at("total = 0.0", "<module>")
    learn = f"{SITE}/stable_baselines3/common/on_policy_algorithm.py:300 learn"
    called = f"{SITE}/stable_baselines3/common/callbacks.py:460 EvalCallback._on_step"
    played = f"{SITE}/stable_baselines3/common/evaluation.py:80 evaluate_policy"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, line, learn, called, played, STEP).spends(4.0, line, learn, STEP)
    (finding,) = detect(DETECTOR, run, IN_TURNS)

    assert lines_of(finding) == [IN_TURNS.line("total = 0.0")]


PLAYED_WHOLE = Script(
    "whole.py",
    """
    def how_long(env, policy, scores):
        for _ in range(3):
            played = env.rollout(100, policy)
            scores.append(played["reward"].sum() / played.numel())

    def collect(env, policy, buffer):
        for _ in range(3):
            batch = env.rollout(100, policy)
            buffer.extend(batch)
    """,
)


@pytest.mark.parametrize(
    ("call", "function", "number"), [("played =", "how_long", 1), ("batch =", "collect", 0)]
)
def test_a_rollout_is_an_evaluation_where_only_numbers_of_it_are_read(call, function, number):
    rollout = f"{SITE}/torchrl/envs/common.py:3300 EnvBase.rollout"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, PLAYED_WHOLE.at(call, function), rollout, STEP)
    run.spends(6.0, "train.py:3 main", f"{SITE}/torch/_tensor.py:500 Tensor.backward")

    assert len(detect(DETECTOR, run, PLAYED_WHOLE)) == number


GET = f"{STDLIB}/multiprocessing/queues.py:100 Queue.get"


@pytest.mark.parametrize(("waits_s", "told"), [(0.0, False), (3.0, True)])
def test_a_process_of_its_own_that_evaluates_costs_the_training_nothing(waits_s: float, told: bool):
    """Unless the training waits for what it finds."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"})
    run.process("main", steps=1000).spends(10.0 - waits_s, *COLLECT, STEP)
    run.spends(waits_s, TRAIN.at("evaluate_policy", "main"), GET, idle=True)
    run.process("evaluator", steps=300).spends(4.0, SCORE, PLAYED, STEP)
    run.spends(6.0, "train.py:90 evaluator", GET, idle=True)

    assert bool(found(run)) is told


def test_who_waits_for_another_process_waits_for_no_evaluation_beside_it():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"})
    run.process("main", steps=1000).spends(7.0, *COLLECT, STEP)
    run.spends(3.0, "train.py:80 draw", GET, idle=True)
    run.process("manager").spends(4.0, "train.py:90 serve", GET, idle=True)
    run.spends(6.0, "train.py:91 serve")
    run.process("evaluator", steps=300).spends(4.0, SCORE, PLAYED, STEP)
    run.spends(6.0, "train.py:90 evaluator", GET, idle=True)

    assert not found(run)


EVALUATE = f"{SITE}/stable_baselines3/common/evaluation.py:90 evaluate_policy"
IN_POLICY_S, OWN_S = 6.0, 4.0


def an_evaluation(source: str, *, apart: float = 0) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main").counts(source, 1000)
    if apart:
        run.counts("evaluation_steps", apart)
    run.spends(IN_POLICY_S, TRAIN.at("evaluate_policy", "main"), EVALUATE, STEP)
    return run.spends(OWN_S, *COLLECT, STEP)


def test_steps_of_a_librarys_evaluation_that_are_counted_apart_are_not_in_the_rate():
    run = an_evaluation("steps:sb3.vec", apart=3000)
    (finding,) = found(run)

    assert "their steps are not counted: the rate is that of the training's own" in finding.evidence
    assert finding.tells_rate
    assert ranked(run, TRAIN)[0].sps_after is not None


def test_steps_of_an_evaluation_in_vector_environments_are_not_in_the_rate_of_single_ones():
    run = a_run(steady_s=10.0).process("main")
    run.counts("steps:gymnasium.env", 9000).counts("steps:gymnasium.vector", 3000)
    run.spends(OWN_S, SCORE, PLAYED, STEP).spends(IN_POLICY_S, *COLLECT, STEP)

    (finding,) = found(run)

    assert "their steps are not counted: the rate is that of the training's own" in finding.evidence


@pytest.mark.parametrize("source", ["steps:sb3.vec", "steps:gymnasium.env"])
def test_no_rate_is_promised_where_the_steps_of_evaluations_are_counted(source):
    run = an_evaluation(source)
    (finding,) = found(run)

    assert "about 60 % of the counted steps are made there" in finding.evidence[-1]
    assert ranked(run, TRAIN)[0].sps_after is None


def test_a_rate_is_promised_where_the_program_says_what_its_steps_are():
    assert ranked(an_evaluation("steps"), TRAIN)[0].sps_after is not None


def test_the_same_function_elsewhere_is_no_training_beside_it():
    played = WORKERS.at("env.step(0)", "play")
    run = a_training(
        6.0,
        WORKERS.at("tell(play", "main"),
        played,
        STEP,
        rest=(WORKERS.at("results =", "main"), played, STEP),
    )

    assert detect(DETECTOR, run, WORKERS) == []


def test_where_all_counted_steps_are_of_evaluations_that_is_told_however_few_they_are():
    run = a_run(steady_s=10.0).process("main").counts("steps:gymnasium.env", 1000)
    run.spends(0.2, SCORE, PLAYED, STEP).spends(9.8, "learn.py:3 update", "learn.py:9 backward")
    run.source(TRAIN.file, TRAIN.text)
    report = build_report(run.recording())

    (note,) = [note for note in report.notes if note.slug == "steps-of-evaluations"]
    (seen,) = [entry for entry in report.also_seen if entry.finding.detector == DETECTOR.id]

    assert note.text.startswith("All counted steps are made by evaluations")
    assert seen.finding.title == "evaluations make 100 % of the counted steps (train.py:22)"
    assert seen.saved_share == (0.0, 0.0)


@pytest.mark.parametrize(
    ("kept", "is_told"), [("(self.last, action, reward)", False), ("reward", True)]
)
def test_silent_where_a_wrapper_keeps_the_steps_for_the_learner(kept: str, is_told: bool):
    wrapper = Script(
        "recorder.py",
        f"""
        class Recorder(Wrapper):
            def step(self, action):
                at, reward, over, info = self.env.step(action)
                self.rows.append({kept})
                self.last = at
                return at, reward, over, info
        """,
    )
    inside = wrapper.at("self.env.step", "Recorder.step"), STEP

    run = a_training(4.0, SCORE, PLAYED, *inside)

    assert bool(detect(DETECTOR, run, TRAIN, wrapper)) is is_told


@pytest.mark.parametrize(
    ("kept", "is_told"), [("self.gains.append(gain)", False), ("self.last = gain", True)]
)
def test_silent_where_the_agent_remembers_what_it_got(kept: str, is_told: bool):
    agent = Script(
        "agent.py",
        f"""
        class Agent:
            def act(self, seen, gain):
                {kept}
                return self.best(seen)
        """,
    )
    script = Script(
        "play.py",
        """
        def play(env, agent):
            seen, gain, total, over = env.reset(), 0.0, 0.0, False
            while not over:
                choice = agent.act(seen, gain)
                seen, gain, over, _ = env.step(choice)
                total += gain
            return total

        def main(env, agent):
            for number in range(1000):
                last = play(env, agent)
                agent.learn()
        """,
    )
    line = script.at("last = play", "main")
    run = a_training(3.0, line, script.at("env.step", "play"), STEP)
    run.spends(2.0, line, script.at("agent.act", "play"), agent.at("best", "Agent.act"))

    assert bool(detect(DETECTOR, run, TRAIN, script, agent)) is is_told


@pytest.mark.parametrize(
    ("first", "body", "is_told"),
    [
        (
            "",
            "teacher.note(how_it_goes(values, env)); env = envs[teacher.draw()]; train(env)",
            False,
        ),
        ("", "score = how_it_goes(values, env); writer.add(score); print(writer.mean())", True),
        ("", "shown.tell(how_it_goes(values, env)); text = str(shown.mean())", True),
        ("best = 0.0", "best = max(best, how_it_goes(values, env)); print(best)", True),
        (
            "",
            "for x in es.ask():\n    scores.append(how_it_goes(x, env))\nes.tell(scores)",
            False,
        ),
        ("rate = trial.draw()", "trial.tell(how_it_goes(values, env)); train(rate)", True),
        (
            "",
            "for each in crew:\n    scores.append(how_it_goes(each, env))\norder = sort(scores)\n"
            "worst, best = crew[order[0]], crew[order[-1]]\nworst.net.load(best.net.state())",
            False,
        ),
        (
            "",
            "for each in crew:\n    scores.append(how_it_goes(each, env))\nbest = crew[argmax(scores)]\n"
            "best.net.save(path)",
            True,
        ),
    ],
)
def test_silent_where_scores_decide_what_is_trained_next(first: str, body: str, is_told: bool):
    lines = body.replace("; ", "\n").splitlines()
    turn = "\n".join(f"        {line}" for line in lines)
    text = f"def run(values, env):\n    {first}\n    while True:\n        scores = []\n{turn}\n"
    script = Script("curriculum.py", f"{TRAIN.text}\n\n{text}def train(env): pass\n")
    line = script.at(next(line for line in lines if "how_it_goes" in line), "run")

    run = a_training(4.0, line, script.at("env.step(best", "how_it_goes"), STEP)

    assert bool(detect(DETECTOR, run, TRAIN, script)) is is_told
