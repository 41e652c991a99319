from __future__ import annotations

import pytest

from rlprof.model.activity import WaitKind
from rlprof.source.wait_kinds import classify_waits
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script

RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"


def kind_at_the_end_of(*stack: str, script: Script | None = None) -> WaitKind | None:
    run: RunBuilder = a_run().process("main").spends(1.0, *stack, idle=True)
    if script is not None:
        run.source(script.file, script.text)
    recording = run.recording()
    return classify_waits(recording.nodes, recording.sources).get(recording.nodes[-1].id)


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        pytest.param((RECV,), WaitKind.PIPE, id="a pipe"),
        pytest.param(
            (f"{STDLIB}/multiprocessing/queues.py:103 Queue.get", RECV),
            WaitKind.QUEUE,
            id="a queue, not the pipe below it",
        ),
        pytest.param((f"{STDLIB}/queue.py:171 Queue.get",), WaitKind.QUEUE, id="a queue of threads"),
        pytest.param(
            (f"{STDLIB}/multiprocessing/synchronize.py:98 SemLock.__enter__",),
            WaitKind.LOCK,
            id="with lock",
        ),
        pytest.param(
            (f"{STDLIB}/multiprocessing/synchronize.py:349 Event.wait",
             f"{STDLIB}/multiprocessing/synchronize.py:261 Condition.wait"),
            WaitKind.EVENT,
            id="an event",
        ),
        pytest.param(
            (f"{STDLIB}/concurrent/futures/_base.py:451 Future.result",
             f"{STDLIB}/threading.py:327 Condition.wait"),
            WaitKind.FUTURE,
            id="a result, not the condition below it",
        ),
        pytest.param((f"{STDLIB}/threading.py:1119 Thread.join",), WaitKind.JOIN, id="a thread's end"),
        pytest.param((f"{STDLIB}/multiprocessing/process.py:149 BaseProcess.join",
                      f"{STDLIB}/multiprocessing/popen_fork.py:43 Popen.wait"),
                     WaitKind.JOIN, id="a process's end"),
        pytest.param((f"{STDLIB}/asyncio/base_events.py:1922 run_once", f"{STDLIB}/selectors.py:468 select"),
                     WaitKind.EVENT_LOOP, id="an event loop"),
        pytest.param((f"{STDLIB}/socket.py:706 readinto",), WaitKind.SOCKET, id="a socket"),
        pytest.param((f"{STDLIB}/threading.py:1002 Thread._bootstrap", "train.py:5 work"), None, id="the root of a thread"),
        pytest.param((f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap", "train.py:5 work"), None, id="the root of a worker"),
        pytest.param((f"{STDLIB}/json/decoder.py:340 decode",), None, id="the rest of the standard library"),
        pytest.param((f"{SITE}/torchrl/envs/batched_envs.py:2642 ParallelEnv._wait_for_workers",), WaitKind.POLL, id="torchrl spins on flags"),
        pytest.param((f"{SITE}/filelock/_api.py:340 BaseFileLock.__enter__", f"{SITE}/filelock/_api.py:330 BaseFileLock.acquire"),
                     WaitKind.LOCK, id="filelock naps until the file is free"),
        pytest.param((f"{SITE}/numpy/core/fromnumeric.py:59 wrapfunc",), None, id="a library"),
    ],
)  # fmt: skip
def test_the_standard_library_says_what_it_waits_for(stack, kind):
    assert kind_at_the_end_of("train.py:40 main", *stack) is kind


def a_script(body: str) -> Script:
    return Script("train.py", body)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        pytest.param("buffer_lock.acquire()", WaitKind.LOCK, id="acquire"),
        pytest.param(
            "fcntl.flock(self.file, fcntl.LOCK_EX)", WaitKind.LOCK, id="the lock of a file"
        ),
        pytest.param(
            "fcntl.flock(self.file, fcntl.LOCK_UN)", None, id="the lock of a file, given back"
        ),
        pytest.param(
            "fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
            None,
            id="the lock of a file, if it is free",
        ),
        pytest.param("room.acquire()", WaitKind.EVENT, id="a semaphore that others count up"),
        pytest.param("with self.lock:", WaitKind.LOCK, id="with a lock"),
        pytest.param("time.sleep(0.02)", WaitKind.SLEEP, id="sleep"),
        pytest.param("batch = self.queue.get()", WaitKind.QUEUE, id="a queue's get"),
        pytest.param("obs = conn.recv()", WaitKind.PIPE, id="recv"),
        pytest.param("data = sock.recv(4096)", WaitKind.SOCKET, id="a socket's recv"),
        pytest.param("barrier.wait()", WaitKind.EVENT, id="wait"),
        pytest.param("value = config.get('lr')", None, id="a dict's get"),
        pytest.param("name = ', '.join(parts)", None, id="a string's join"),
        pytest.param("worker.join()", WaitKind.JOIN, id="join"),
        pytest.param("loss = compute(batch)", None, id="work"),
    ],
)
def test_a_line_that_waits_in_c_says_so_by_its_names(line, kind):
    script = a_script(f"def work(self):\n    {line}\n" + "        pass\n" * line.endswith(":"))

    assert kind_at_the_end_of(script.at(line, "work"), script=script) is kind


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        pytest.param("while not done.is_set():\n        pass", WaitKind.POLL, id="a spin"),
        pytest.param(
            "while len(buffer) < 32:\n        time.sleep(0.001)", WaitKind.POLL, id="sleeping between"
        ),
        pytest.param("while flag[0] == 0:\n        pass", WaitKind.POLL, id="shared memory"),
        pytest.param(
            "while True:\n        try:\n            item = q.get_nowait()\n            break\n"
            "        except Empty:\n            time.sleep(0.001)",
            WaitKind.POLL,
            id="get_nowait until there is something",
        ),
        pytest.param(
            "while time.monotonic() < due:\n        time.sleep(0.001)", WaitKind.SLEEP, id="pacing"
        ),
        pytest.param(
            "while True:\n        with it.lock:\n            if it.version >= wanted:\n                return\n"
            "        time.sleep(0.1)",
            WaitKind.POLL,
            id="asked for under a lock",
        ),
        pytest.param(
            "while True:\n        with it.lock:\n            it.count(agent)\n        time.sleep(0.1)",
            None,
            id="work under a lock at a pace",
        ),
        pytest.param(
            "while it.on:\n        it.tick += 1\n        time.sleep(0.02)",
            None,
            id="a clock that others read",
        ),
        pytest.param(
            "while not done.is_set():\n        tries += 1\n        time.sleep(0.02)",
            WaitKind.POLL,
            id="a count of its own",
        ),
        pytest.param(
            "while 0 <= r < 6 and grid[r, c] == who:\n        run += 1\n        r += dr\n        c += dc",
            None,
            id="stones in a row",
        ),
        pytest.param("while b:\n        a, b = b, a % b", None, id="a common divisor"),
        pytest.param("while low < high:\n        low = middle + 1", None, id="a search by halves"),
        pytest.param("while node.parent:\n        node = node.parent", None, id="up a tree"),
        pytest.param(
            "while True:\n        if grid[r] != who:\n            break\n        r += 1",
            None,
            id="a loop that leaves",
        ),
        pytest.param("while not done:\n        done = flag[0]", WaitKind.POLL, id="a new look"),
        pytest.param(
            "while flag[0] == 0 and tries < 9:\n        tries += 1\n        time.sleep(0.001)",
            WaitKind.POLL,
            id="tries with naps",
        ),
        pytest.param(
            "while not done.is_set():\n        agent.act(env)", None, id="a training loop"
        ),
        pytest.param(
            "while not done.wait(timeout=1.0):\n        worker.is_alive()",
            WaitKind.EVENT,
            id="a wait that looks around now and then",
        ),
        pytest.param(
            "while not done.wait(0.001):\n        worker.is_alive()",
            WaitKind.POLL,
            id="a wait too short to be one",
        ),
    ],
)  # fmt: skip
def test_a_loop_that_does_nothing_but_ask_polls(loop, kind):
    script = a_script(f"def work(q, done):\n    {loop}\n")

    assert kind_at_the_end_of("train.py:2 work", script=script) is kind


GATHERS = """
    def gather(conns, missing, answers):
        while {test}:
            for number in list(missing):
                if conns[number].poll():
                    {answer}
            time.sleep(0.002)
"""


@pytest.mark.parametrize(
    ("test", "answer", "kind"),
    [
        ("missing", "missing.remove(number)", WaitKind.POLL),
        ("len(answers) < 3", "answers[number] = conns[number].recv()", WaitKind.POLL),
        ("not len(answers) >= 3", "answers.append(conns[number].recv())", WaitKind.POLL),
        ("left > 0", "left -= 1", WaitKind.POLL),
        ("any(it is None for it in answers)", "answers[number] = 3", WaitKind.POLL),
        ("not all(answers)", "answers[number] = 3", WaitKind.POLL),
        ("any(it is None for it in others)", "answers[number] = 3", WaitKind.SLEEP),
        ("running", "answers[number] = conns[number].recv()", WaitKind.SLEEP),
        ("True", "missing.remove(number)", WaitKind.SLEEP),
    ],
)
def test_a_nap_until_questions_have_been_answered_polls(test, answer, kind):
    script = a_script(GATHERS.format(test=test, answer=answer))

    assert kind_at_the_end_of(script.at("time.sleep", "gather"), script=script) is kind


CONTROLS = """
    def control(robot, policy, stop, commands, log):
        running = True
        while {test}:
            {work}
            if {question}:
                {answer}
            time.sleep(0.02)
"""


@pytest.mark.parametrize(
    ("test", "work", "question", "answer"),
    [
        ("running", "robot.send(policy(robot.read()))", "stop.is_set()", "running = False"),
        ("robot.is_up", "pass", "commands.poll()", "robot.apply(commands.recv())"),
        ("len(log) < 9", "robot.send(0)", "commands.poll()", "log.append(commands.recv())"),
    ],
    ids=["a flag", "a method of another kind", "works at each turn"],
)
def test_a_nap_that_keeps_the_pace_of_a_control_loop_is_asleep(test, work, question, answer):
    script = a_script(CONTROLS.format(test=test, work=work, question=question, answer=answer))

    kind = kind_at_the_end_of(script.at("time.sleep", "control"), script=script)

    assert kind is WaitKind.SLEEP


def test_a_question_that_only_goes_round_again_polls_and_the_work_beside_it_does_not():
    script = a_script(
        """
        def work(queue):
            while True:
                if queue.empty():
                    continue
                learn(queue.get())
        """
    )

    assert kind_at_the_end_of(script.at("queue.empty", "work"), script=script) is WaitKind.POLL
    assert kind_at_the_end_of(script.at("learn", "work"), script=script) is WaitKind.QUEUE


TURNS = """
    def work(queue, robot, fixed):
        while running:
            {turn}
"""


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        pytest.param(
            ["if fixed:", "    item = queue.get()", "else:", "    if queue.empty():", "        time.sleep(0.05)",
             "        continue", "    item = queue.get()", "learn(item)"],
            WaitKind.POLL, id="in a branch",
        ),
        pytest.param(
            ["if queue.empty():", "    time.sleep(0.05)", "else:", "    learn(queue.get())"], WaitKind.POLL, id="or else work"
        ),
        pytest.param(
            ["if queue.qsize():", "    learn(queue.get())", "else:", "    time.sleep(0.05)"], WaitKind.POLL, id="work or else"
        ),
        pytest.param(
            ["robot.send(0)", "if queue.qsize():", "    robot.apply(queue.get())", "else:", "    time.sleep(0.05)"],
            WaitKind.SLEEP, id="works at each turn",
        ),
        pytest.param(
            ["if robot.is_up():", "    robot.send(0)", "else:", "    time.sleep(0.05)"], WaitKind.SLEEP, id="no question"
        ),
    ],
)  # fmt: skip
def test_a_nap_of_a_turn_in_which_nothing_else_is_done_polls(turn, kind):
    script = a_script(TURNS.format(turn=("\n" + 12 * " ").join(turn)))

    assert kind_at_the_end_of(script.at("time.sleep", "work"), script=script) is kind


def test_what_a_polling_loop_calls_polls_too():
    script = a_script("def wait(event):\n    while not event.is_set():\n        pass\n")

    kind = kind_at_the_end_of(
        "train.py:2 wait",
        f"{STDLIB}/multiprocessing/synchronize.py:320 Event.is_set",
        f"{STDLIB}/multiprocessing/synchronize.py:98 SemLock.__enter__",
        script=script,
    )

    assert kind is WaitKind.POLL


def test_without_a_source_a_line_of_yours_does_not_say_that_it_waits():
    assert kind_at_the_end_of("train.py:12 wait") is None


ASKS_AGAIN = """
    def learn(q):
        while True:
            try:
                rows = q.get_nowait()
            except queue.Empty:
                {then}
            update(rows)
"""


@pytest.mark.parametrize(
    ("then", "function", "kind"),
    [
        pytest.param("continue", "_poll", WaitKind.POLL, id="nothing there: asked again"),
        pytest.param("continue", "_recv_bytes", WaitKind.QUEUE, id="taking what is there"),
        pytest.param("pass", "_poll", WaitKind.QUEUE, id="nothing there: works on"),
        pytest.param("break", "_poll", WaitKind.QUEUE, id="nothing there: ends"),
    ],
)
def test_looks_at_an_empty_queue_whose_turns_only_ask(then, function, kind):
    script = a_script(ASKS_AGAIN.format(then=then))
    get = f"{STDLIB}/multiprocessing/queues.py:99 Queue.get"
    taken = f"{STDLIB}/multiprocessing/connection.py:440 Connection.{function}"

    assert kind_at_the_end_of(script.at("get_nowait", "learn"), get, taken, script=script) is kind


STEPS_AND_LOOKS = """
    def act(q, env):
        while True:
            env.step(0)
            try:
                table = q.get_nowait()
            except queue.Empty:
                pass
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param(STEPS_AND_LOOKS, WaitKind.QUEUE, id="steps in each turn"),
        pytest.param(
            STEPS_AND_LOOKS.replace("env.step(0)", "time.sleep(0.001)"), WaitKind.POLL, id="waits"
        ),
    ],
)
def test_a_loop_that_works_and_looks_for_news_does_not_wait(text, kind):
    script = a_script(text)
    get = f"{STDLIB}/multiprocessing/queues.py:99 Queue.get"
    poll = f"{STDLIB}/multiprocessing/connection.py:440 Connection._poll"

    assert kind_at_the_end_of(script.at("get_nowait", "act"), get, poll, script=script) is kind
    if kind is WaitKind.QUEUE:
        assert kind_at_the_end_of(script.at("pass", "act"), script=script) is None
