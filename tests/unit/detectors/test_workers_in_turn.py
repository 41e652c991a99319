from __future__ import annotations

import pytest

from rlprof.detectors.workers_in_turn import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, claimed_s, detect, lines_of, profile_of

POOL = Script(
    "pool.py",
    """
    class Pool:
        def in_turn(self, actions):
            answers = []
            for conn, action in zip(self.conns, actions):
                conn.send(action)
                answers.append(conn.recv())
            return answers

        def by_number(self, actions):
            for i in range(len(self.conns)):
                self.inboxes[i].put(actions[i])
                obs[i] = self.outboxes[i].get()

        def all_first(self, actions):
            for conn, action in zip(self.conns, actions):
                conn.send(action)
            return [conn.recv() for conn in self.conns]

        def answer_first(self, actions):
            for conn in self.conns:
                obs = conn.recv()
                conn.send(policy(obs))

        def proxies(self, actions):
            return [env.step(action) for env, action in zip(self.envs, actions)]

        def over_time(self, actions):
            for action in actions:
                self.env.step(action)

        def handed(self, actions):
            for conn, action in zip(self.conns, actions):
                seen = ask(conn, action)

        def by_name(self, actions):
            for conn, action in zip(self.conns, actions):
                seen = ask(action=action, conn=conn)

        def pipeline(self, x):
            for conn in self.conns:
                conn.send(x)
                x = conn.recv()

        def game(self, state):
            for conn in self.conns:
                conn.send(state.board)
                state.push(conn.recv())

        def on_one_board(self):
            for number, conn in enumerate(self.conns):
                conn.send(view())
                cell = conn.recv()
                play(number, cell)

        def noted(self, actions):
            for number, conn in enumerate(self.conns):
                conn.send(view())
                reward = conn.recv()
                note(reward)

        def at_times(self, done):
            for conn, is_done in zip(self.conns, done):
                if is_done:
                    conn.send("reset")
                seen = conn.recv()

        def to_another(self, actions):
            for conn, action in zip(self.conns, actions):
                conn.send(action)
            for i, conn in enumerate(self.conns):
                self.free.put(i)
                seen.append(conn.recv())

        def found_first(self, item):
            for conn in self.conns:
                conn.send(item)
                if conn.recv():
                    break

        def results(self, tasks):
            return [self.pool.submit(roll, task).result() for task in tasks]

        def two_statements(self, tasks):
            for task in tasks:
                future = self.pool.submit(roll, task)
                self.episodes.append(future.result(timeout=60))

        def applied(self, tasks):
            for task in tasks:
                done = self.pool.apply(roll, (task,))
                self.episodes.append(done)

        def all_submitted(self, tasks):
            futures = [self.pool.submit(roll, task) for task in tasks]
            return [future.result() for future in futures]

        def learning(self, net, tasks):
            for task in tasks:
                episode = self.pool.submit(roll, net, task).result()
                loss = improve(net, episode)

        def learning_itself(self, tasks):
            for task in tasks:
                episode = self.pool.submit(roll, self.net).result()
                self.learn(episode)

        def an_episode(self, obs):
            for _ in range(100):
                obs = self.pool.submit(act, obs).result()

    class RemoteEnv:
        def step(self, action):
            return self._ask("step", action)

        def _ask(self, name, given):
            self.conn.send((name, given))
            return self.conn.recv()

        def fly(self, actions):
            return [link.fly(action) for link, action in zip(self.conns, actions)]

        def two_calls(self, actions):
            for link, action in zip(self.conns, actions):
                link.command(action)
                seen.append(link.telemetry())

        def commanded_first(self, actions):
            for link, action in zip(self.conns, actions):
                link.command(action)
            return [link.telemetry() for link in self.conns]

        def of_managers(self, actions):
            for i, env in enumerate(self.conns):
                obs[i] = env.advance(actions[i])

        def of_managers_in_need(self, obs):
            for env in self.conns:
                obs = env.advance(policy(obs))

        def called(self, actions):
            return {i: call(conn, "step", actions[i]) for i, conn in self.conns.items()}

        def over_sockets(self, actions):
            return [end.roll(a) for end, a in zip(self.conns, actions)]

        def sockets_written_first(self, actions):
            for end, action in zip(self.conns, actions):
                write(end.sock, action)
            return [read(end.sock) for end in self.conns]

    def view():
        return board.copy(), left

    def play(number, cell):
        board[cell] = number

    def note(reward):
        seen.append(reward)

    class End:
        def roll(self, action):
            write(self.sock, action)
            return read(self.sock)

    class Link:
        def command(self, action):
            self.conn.send(action)

        def telemetry(self):
            told = self.conn.recv()
            return told

        def fly(self, action):
            self.command(action)
            return self.telemetry()

    def ask(conn, action):
        conn.send(action)
        return conn.recv()

    def call(conn, name, *given):
        conn.send((name, given))
        answer = conn.recv()
        return answer

    def write(sock, action):
        sock.sendall(pickle.dumps(action))

    def read(sock):
        return pickle.loads(sock.recv(4096, socket.MSG_WAITALL))
    """,
)
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"
GET = f"{STDLIB}/multiprocessing/queues.py:100 Queue.get"
OF_THREADS = f"{STDLIB}/queue.py:171 Queue.get"
ASK = (POOL.at('self._ask("step"', "RemoteEnv.step"), POOL.at("self.conn.recv()", "RemoteEnv._ask"))
TELEMETRY = (POOL.at("told = self.conn.recv()", "Link.telemetry"), RECV)
RESULT = f"{STDLIB}/concurrent/futures/_base.py:440 Future.result"
APPLY = f"{STDLIB}/multiprocessing/pool.py:768 ApplyResult.get"
MANAGER = (
    "<string>:2 advance",
    f"{STDLIB}/multiprocessing/managers.py:822 BaseProxy._callmethod",
    RECV,
)
READ = POOL.at("return pickle.loads(sock.recv", "read")
STACKS = {
    "of_managers": (POOL.at("env.advance(actions", "Pool.of_managers"), *MANAGER),
    "of_managers_in_need": (POOL.at("env.advance(policy", "Pool.of_managers_in_need"), *MANAGER),
    "called": (
        POOL.at('call(conn, "step"', "Pool.called"),
        POOL.at('call(conn, "step"', "<dictcomp>"),
        POOL.at("answer = conn.recv()", "call"),
        RECV,
    ),
    "over_sockets": (
        POOL.at("[end.roll(a)", "Pool.over_sockets"),
        POOL.at("return read(self.sock)", "End.roll"),
        READ,
    ),
    "sockets_written_first": (POOL.at("[read(end.sock)", "Pool.sockets_written_first"), READ),
    "results": (POOL.at("task).result() for task in tasks", "Pool.results"), RESULT),
    "two_statements": (POOL.at("future.result(timeout", "Pool.two_statements"), RESULT),
    "applied": (POOL.at("self.pool.apply(", "Pool.applied"), APPLY),
    "all_submitted": (POOL.at("return [future.result()", "Pool.all_submitted"), RESULT),
    "learning": (POOL.at("net, task).result()", "Pool.learning"), RESULT),
    "learning_itself": (POOL.at("self.net).result()", "Pool.learning_itself"), RESULT),
    "an_episode": (POOL.at("act, obs).result()", "Pool.an_episode"), RESULT),
    "in_turn": (POOL.at("answers.append(conn.recv())", "Pool.in_turn"), RECV),
    "by_number": (POOL.at("self.outboxes[i].get()", "Pool.by_number"), GET),
    "proxies": (POOL.at("env.step(action) for env", "Pool.proxies"), *ASK, RECV),
    "handed": (
        POOL.at("seen = ask(conn", "Pool.handed"),
        POOL.at("return conn.recv()", "ask"),
        RECV,
    ),
    "by_name": (
        POOL.at("conn=conn", "Pool.by_name"),
        POOL.at("return conn.recv()", "ask"),
        RECV,
    ),
    "fly": (
        POOL.at("[link.fly(action)", "Pool.fly"),
        POOL.at("return self.telemetry()", "Link.fly"),
        *TELEMETRY,
    ),
    "two_calls": (POOL.at("seen.append(link.telemetry())", "Pool.two_calls"), *TELEMETRY),
    "commanded_first": (POOL.at("[link.telemetry()", "Pool.commanded_first"), *TELEMETRY),
    "all_first": (POOL.at("return [conn.recv()", "Pool.all_first"), RECV),
    "answer_first": (POOL.at("obs = conn.recv()", "Pool.answer_first"), RECV),
    "over_time": (POOL.at("self.env.step(action)", "Pool.over_time"), *ASK, RECV),
    "pipeline": (POOL.at("x = conn.recv()", "Pool.pipeline"), RECV),
    "game": (POOL.at("state.push(conn.recv())", "Pool.game"), RECV),
    "on_one_board": (POOL.at("cell = conn.recv()", "Pool.on_one_board"), RECV),
    "noted": (POOL.at("reward = conn.recv()", "Pool.noted"), RECV),
    "found_first": (POOL.at("if conn.recv():", "Pool.found_first"), RECV),
    "at_times": (POOL.at("seen = conn.recv()", "Pool.at_times"), RECV),
    "to_another": (POOL.at("seen.append(conn.recv())", "Pool.to_another"), RECV),
    "threads": (POOL.at("self.outboxes[i].get()", "Pool.by_number"), OF_THREADS),
}


def a_training(
    function: str,
    *,
    waits_s: float = 8.0,
    works_s: float = 0.5,
    cores: int = 16,
    pool: str = "concurrent.futures.process.ProcessPoolExecutor",
) -> RunBuilder:
    """Ten seconds, in which the main process waits for four workers, one after the other."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main", steps=1_000).spends(waits_s, *STACKS[function], idle=True)
    run.spends(10.0 - waits_s, "train.py:3 learn")
    run.sees(STACKS[function][0], self__conns="type=list length=4", self__pool=f"type={pool}")
    for name in range(4):
        run.process(f"worker {name}").spends(10.0 - works_s, "env.py:20 work", RECV, idle=True)
        run.spends(works_s, "env.py:5 step")
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, POOL)


@pytest.mark.parametrize(
    "function",
    [
        *("in_turn", "by_number", "proxies", "handed", "by_name", "fly", "two_calls"),
        *("of_managers", "called", "over_sockets", "noted"),
    ],
)
def test_workers_that_are_asked_one_after_the_other(function):
    (finding,) = found(a_training(function))

    waiting = next(frame for frame in reversed(STACKS[function]) if frame.startswith("pool.py"))
    assert [f"pool.py:{line}" for line in lines_of(finding)] == [waiting.split()[0]]
    assert finding.title.startswith("workers are asked one after the other")


@pytest.mark.parametrize(
    "function",
    [
        *(
            "all_first",
            "answer_first",
            "over_time",
            "pipeline",
            "game",
            "on_one_board",
            "found_first",
        ),
        *("threads", "at_times", "to_another", "commanded_first"),
        *("of_managers_in_need", "sockets_written_first"),
    ],
)
def test_silent_where_they_work_side_by_side_or_need_each_other(function):
    assert not found(a_training(function))


def test_proxies_are_called_from_threads():
    (finding,) = found(a_training("of_managers"))

    assert "ThreadPoolExecutor.map" in finding.fix


def test_silent_of_one_process_that_serves_all_proxies():
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.spends(8.0, *STACKS["of_managers"], idle=True).spends(2.0, "train.py:3 learn")
    run.process("manager").spends(2.0, "env.py:20 work", RECV, idle=True).spends(
        8.0, "env.py:5 step"
    )

    assert not found(run)


@pytest.mark.parametrize("function", ["results", "two_statements", "applied"])
def test_a_pool_that_is_given_one_task_after_the_other(function):
    (finding,) = found(a_training(function))

    assert finding.savings[0].removable == pytest.approx((1 - 1.3 / 2, 1 - 0.3 / 16))


@pytest.mark.parametrize("function", ["all_submitted", "learning", "learning_itself", "an_episode"])
def test_silent_where_all_tasks_are_given_or_need_each_other(function):
    assert not found(a_training(function))


def test_silent_of_a_pool_of_threads():
    pool = "concurrent.futures.thread.ThreadPoolExecutor"

    assert not found(a_training("results", pool=pool))


def test_of_four_a_quarter_of_the_wait_is_left():
    (finding,) = found(a_training("in_turn"))

    assert finding.evidence[-1] == "seen there: 4 of them"
    assert finding.savings[0].removable == pytest.approx((1 - 1.3 / 4, 1 - 0.3 / 4))


def test_work_that_fills_the_cores_stays():
    (finding,) = found(a_training("in_turn", works_s=2.0, cores=1))

    assert finding.savings[0].removable == pytest.approx((0.0, 0.7))


def test_silent_under_its_threshold():
    assert not found(a_training("in_turn", waits_s=0.4))


POOL_TURNS = {
    "hill climbing": """
for _ in range(30):
    tried = best + noise()
    score = pool.submit(evaluate, tried).result()  #
    if score > highest:
        best, highest = tried, score
""",
    "a learner between": """
for seed in range(100):
    episode = pool.submit(roll, seed).result()  #
    agent.learn(episode)
""",
    "weights of the moment": """
for epoch in range(100):
    agent.train(epoch)
    score = pool.submit(evaluate, agent.weights()).result()  #
    log.append(score)
""",
    "a retry": """
for attempt in range(5):
    found = pool.submit(search, start).result()  #
    log.append(found)
""",
    "todo grows": """
for task in todo:
    new = pool.submit(search, task).result()  #
    todo.extend(new)
""",
    "asked for the next": """
for task in self.candidates():
    self.last = pool.submit(search, task).result()  #
""",
    "the first that is good": """
found = any(pool.submit(search, task).result() for task in tasks)  #
""",
    "now and then": """
scores = [pool.submit(search, task).result() if task.hard else 0 for task in tasks]  #
""",
    "a curriculum": """
for level in levels:
    level.score = pool.submit(play, level).result()  #
""",
    "a lock": """
for task in tasks:
    with lock:
        done = pool.submit(write, task).result()  #
""",
    "once": """
for task in [first]:
    done = pool.submit(write, task).result()  #
""",
    "one worker": """
pool = ProcessPoolExecutor(max_workers=1)
for task in tasks:
    done = pool.submit(write, task).result()  #
""",
}


@pytest.mark.parametrize("name", POOL_TURNS)
def test_silent_of_tasks_that_may_need_what_was_answered(name: str):
    body = POOL_TURNS[name].strip("\n").replace("\n", "\n    ")
    script = Script("tasks.py", f"def run(self, pool, tasks, todo, levels, agent):\n    {body}\n")
    line = script.at("#", "run")
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "16"}).process("main", steps=1_000)
    run.spends(8.0, line, RESULT, idle=True).spends(2.0, "train.py:3 learn")
    run.sees(line, pool="type=concurrent.futures.process.ProcessPoolExecutor")

    assert not detect(DETECTOR, run, script)


def test_two_tasks_halve_the_wait_at_most():
    script = Script(
        "two.py",
        "def run(pool):\n    for seed in (1, 2):\n        scores.append(pool.submit(roll, seed).result())\n",
    )
    line = script.at("pool.submit", "run")
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "16"}).process("main", steps=1_000)
    run.spends(8.0, line, RESULT, idle=True).spends(2.0, "train.py:3 learn")
    run.sees(line, pool="type=concurrent.futures.process.ProcessPoolExecutor")

    (finding,) = detect(DETECTOR, run, script)

    assert finding.title == "a pool is given one task after the other (two.py:3)"
    assert finding.savings[0].removable == pytest.approx((0.35, 0.85))


def test_where_the_steps_are_made_by_workers_their_waits_for_tasks_go():
    line = STACKS["results"]
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "16"})
    run.process("main").spends(9.0, *line, idle=True).spends(1.0, "train.py:3 learn")
    run.sees(line[0], self__pool="type=concurrent.futures.process.ProcessPoolExecutor")
    for name in range(2):
        run.process(f"worker {name}", steps=1_000).spends(5.0, "env.py:20 work", GET, idle=True)
        run.spends(5.0, "env.py:5 step")

    profile = profile_of(run, POOL)
    (finding,) = DETECTOR.in_samples.detect(profile)

    # Ten seconds of waits, less those in which the main process learns.
    assert claimed_s(profile, finding) == pytest.approx(8.0)
    assert finding.evidence[0].startswith("90 % of the steady time is spent asleep until one has")
