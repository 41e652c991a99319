from __future__ import annotations

import pytest

from rlprof.detectors.eager_log_format import DETECTOR, MIN_SHARE
from rlprof.model.finding import Confidence, Finding
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

ARRAYPRINT = f"{SITE}/numpy/_core/arrayprint.py"
FORMAT = (
    f"{ARRAYPRINT}:1725 _array_str_implementation",
    f"{ARRAYPRINT}:802 array2string",
)
LOGGING = f"{STDLIB}/logging/__init__.py"
DEBUG = f"{LOGGING}:1467 Logger.debug"
IS_ENABLED = (f"{LOGGING}:1476 Logger.debug", f"{LOGGING}:1734 Logger.isEnabledFor")
EMITTED = (
    f"{LOGGING}:1477 Logger.debug",
    f"{LOGGING}:1634 Logger._log",
    f"{LOGGING}:1644 Logger.handle",
)
LOGURU = f"{SITE}/loguru/_logger.py"
ENV_STEP = "env.py:7 step"


def a_script(step_body: str, *, head: str = "") -> Script:
    """A script whose ``step(self, q)`` has ``step_body``."""
    body = "\n".join(f"        {line}" for line in step_body.splitlines())
    return Script(
        "train.py",
        f"import logging\nlogger = logging.getLogger(__name__)\n{head}\n"
        f"class Agent:\n    def step(self, q):\n{body}\n",
    )


PLAIN = a_script('logger.debug(f"q = {q}")')


def a_training(script: Script, piece: str, *below: str, seconds: float = 6.0) -> RunBuilder:
    """Ten seconds of steps, of which ``seconds`` on the line with ``piece`` and in what it calls."""
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.spends(seconds, "train.py:99 main", script.at(piece, "Agent.step"), *below)
    return run.spends(10.0 - seconds, "train.py:99 main", ENV_STEP)


def found(run: RunBuilder, *scripts: Script) -> list[Finding]:
    return detect(DETECTOR, run, *scripts)


def test_names_the_line_that_formats_for_nobody():
    run = a_training(PLAIN, "logger.debug", *FORMAT)
    run.spends(0.2, "train.py:99 main", PLAIN.at("logger.debug", "Agent.step"), *IS_ENABLED)

    (finding,) = found(run, PLAIN)

    assert lines_of(finding) == [PLAIN.line("logger.debug")]
    assert "logger.debug" in finding.title
    assert "logger.debug(" in finding.locations[0].source


def test_silent_just_under_its_threshold():
    under = a_training(PLAIN, "logger.debug", *FORMAT, seconds=10 * MIN_SHARE * 0.9)
    over = a_training(PLAIN, "logger.debug", *FORMAT, seconds=10 * MIN_SHARE * 1.1)

    assert found(under, PLAIN) == []
    assert len(found(over, PLAIN)) == 1


def test_silent_on_a_healthy_run():
    lazy = a_script('logger.debug("q = %s", q)')
    run = a_training(lazy, "logger.debug", *IS_ENABLED)

    assert found(run, lazy) == []


def test_ranks_by_its_price():
    run = a_training(PLAIN, "logger.debug", *FORMAT, seconds=8.2)

    first = ranked(run, PLAIN)[0]

    assert first.finding.detector == DETECTOR.id
    # 0.849 was measured where the probe saw 0.82.
    assert first.saved_share.low < 0.82
    assert first.saved_share.high > 0.849


@pytest.mark.parametrize(
    "body",
    [
        'logger.debug("q = %s" % q)',
        'logger.debug("q = {}".format(q))',
        'logger.debug("q = " + str(q))',
        "logger.debug(str(q))",
        'logger.debug("q = %s", np.array2string(q))',
        'logging.debug(f"q = {q}")',
        'self.logger.debug(f"q = {q}")',
        'self.get_logger().debug(f"q = {q}")',
        'logger.log(logging.DEBUG, f"q = {q}")',
        'logger.bind(step=1).debug(f"q = {q}")',
        'logger.opt(depth=1).debug(f"q = {q}")',
        'log.debug("step", q=repr(q))',
        'self._log_debug(f"q = {q}")',
        'if self.verbose: logger.debug(f"q = {q}")',
    ],
)
def test_ways_to_build_a_message_too_early(body):
    script = a_script(body)
    run = a_training(script, body, *FORMAT)

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run), finding) == pytest.approx(6.0)


@pytest.mark.parametrize(
    "body",
    [
        'logger.debug("q = %s", q)',
        'logger.debug("q is " "long")',
        'logger.opt(lazy=True).debug("q = {}", lambda: f"{q}")',
        'logger.debug("n = %d", len(q))',
        'print(f"q = {q}")',
        'raise ValueError(f"q = {q}")',
        'self.display(f"q = {q}")',
        'writer.add_scalar(f"q/{i}", q)',
        "np.log(a + b)",
        'wandb.log({f"q/{i}": q})',
        'if logger.isEnabledFor(logging.DEBUG): logger.debug(f"q = {q}")',
        'self.debug(f"q", q)',
    ],
)
def test_what_is_no_message_built_too_early(body):
    script = a_script(body)
    run = a_training(script, body, *FORMAT)

    assert found(run, script) == []


def test_emitted_records_are_wanted():
    run = a_training(PLAIN, "logger.debug", *FORMAT)
    run.spends(0.5, "train.py:99 main", PLAIN.at("logger.debug", "Agent.step"), *EMITTED)

    assert found(run, PLAIN) == []


def test_a_guard_clause_before_it_is_a_guard():
    script = a_script('if not logger.isEnabledFor(10):\n    return\nlogger.debug(f"q = {q}")')
    run = a_training(script, "logger.debug", *FORMAT)

    assert found(run, script) == []


@pytest.mark.parametrize(
    ("guard", "decides"),
    [
        ("if logger.isEnabledFor(10) and n % 10 == 0:", True),
        ("if logger.isEnabledFor(10) or logger.getEffectiveLevel() < 10:", True),
        ("if not fixed or logger.isEnabledFor(10):", False),
        ("if verbose or (n and logger.isEnabledFor(10)):", False),
    ],
)
def test_a_guard_with_an_alternative_to_the_level_is_none(guard, decides):
    script = a_script(f'{guard}\n    logger.debug(f"q = {{q}}")')
    run = a_training(script, "logger.debug", *FORMAT)

    assert bool(found(run, script)) != decides


def test_every_line_of_a_long_call_counts():
    script = a_script('logger.debug(\n    f"step {self.n} "\n    f"q = {q}"\n)')
    run = a_training(script, 'f"q = {q}"', *FORMAT)
    run.spends(1.0, "train.py:99 main", script.at('f"step', "Agent.step"))

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line('f"q = {q}"'), script.line('f"step')]


def test_a_message_kept_in_a_variable_for_the_log_alone():
    script = a_script('message = f"q = {q}"\nself.env.step(0)\nlogger.debug(message)')
    run = a_training(script, "message = ", *FORMAT)

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line("message = ")]


@pytest.mark.parametrize("other_use", ["return message", "self.history.append(message)"])
def test_a_message_used_elsewhere_too_is_wanted(other_use):
    script = a_script(f'message = f"q = {{q}}"\nlogger.debug(message)\n{other_use}')
    run = a_training(script, "message = ", *FORMAT)

    assert found(run, script) == []


def test_a_kept_message_that_is_emitted_later_is_wanted():
    script = a_script('message = f"q = {q}"\nlogger.debug(message)')
    run = a_training(script, "message = ", *FORMAT)
    run.spends(0.3, "train.py:99 main", script.at("logger.debug", "Agent.step"), *EMITTED)

    assert found(run, script) == []


LINES = 'lines = []\nlines.append(f"q = {q}")\n'


def test_lines_that_are_joined_for_the_log_alone():
    script = a_script(LINES + 'logger.debug("\\n".join(lines))')
    run = a_training(script, "lines.append", *FORMAT)

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line("lines.append")]
    assert "out of the message" not in finding.fix


@pytest.mark.parametrize(
    "body",
    [
        LINES + 'logger.debug("\\n".join(lines))\nself.history.extend(lines)',
        LINES.replace("[]", "self.lines") + 'logger.debug("\\n".join(lines))',
        LINES.replace("lines = []\n", "") + 'logger.debug("\\n".join(lines))',
        "global lines\n" + LINES + 'logger.debug("\\n".join(lines))',
        LINES.replace("[]", "list(q)") + 'logger.debug("\\n".join(lines))',
    ],
)
def test_lines_that_somebody_else_may_have_are_wanted(body):
    script = a_script(body)
    run = a_training(script, "lines.append", *FORMAT)

    assert found(run, script) == []


def of_the_module(body: str) -> tuple[Script, RunBuilder]:
    """A script without functions, six seconds of whose ten are on the line that makes the message."""
    script = Script("train.py", f"import logging\nlogger = logging.getLogger(__name__)\n{body}\n")
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.spends(6.0, script.at("message = ", "<module>"), *FORMAT)
    return script, run.spends(4.0, "train.py:99 <module>", ENV_STEP)


def test_a_message_of_the_module_kept_for_the_log_alone():
    script, run = of_the_module('while True:\n    message = f"q = {q}"\n    logger.debug(message)')

    assert len(found(run, script)) == 1


def test_a_message_of_the_module_that_a_function_reads_is_wanted():
    script, run = of_the_module(
        'def last():\n    return message\nwhile True:\n    message = f"q = {q}"\n    logger.debug(message)'
    )

    assert found(run, script) == []


SPOKEN = """message = f"q = {q}"
for name in self.names:
    message += f"{name!r}"
if self.verbose:
    print(message)"""


@pytest.mark.parametrize("piece", ["message = ", "message +="])
def test_text_that_is_printed_only_behind_a_test(piece):
    script = a_script(SPOKEN)
    run = a_training(script, piece, *FORMAT)

    (finding,) = found(run, script)

    assert finding.title.startswith("text is made also when nothing prints it (train.py:")
    assert "self.verbose" in finding.evidence[1]
    assert lines_of(finding) == [script.line(piece)]


@pytest.mark.parametrize(
    ("between", "fix"),
    [
        ("self.count += 1", "Make the text behind"),
        ("q = self.ask()", "Keep the values"),
        ("q.step(1)", None),
        ("q[0] = 1", None),
    ],
)
def test_what_a_text_is_made_of_may_be_another_by_the_time_of_the_test(
    between: str, fix: str | None
):
    script = a_script(f'message = f"q = {{q}}"\n{between}\nif self.verbose:\n    print(message)')

    findings = found(a_training(script, "message = ", *FORMAT), script)

    assert [finding.fix.startswith(fix or "") for finding in findings] == [True] * bool(fix)


def test_of_texts_that_a_loop_gathers_the_values_are_kept():
    script = a_script(
        'texts = []\nwhile self.on:\n    texts.append(f"q = {q}")\nif self.best:\n    print("".join(texts))'
    )

    (finding,) = found(a_training(script, "texts.append", *FORMAT), script)

    assert finding.fix.startswith("Keep the values")


def test_text_that_was_seen_to_be_printed_behind_a_test_is_wanted():
    script = a_script(SPOKEN)
    run = a_training(script, "message = ", *FORMAT)
    run.spends(0.1, "train.py:99 main", script.at("print(", "Agent.step"))

    assert found(run, script) == []


def test_text_to_be_printed_needs_enough_samples_to_be_called_unwanted():
    script = a_script(SPOKEN)

    assert found(a_training(script, "message = ", *FORMAT, seconds=0.4), script) == []


@pytest.mark.parametrize(
    "body",
    [
        'message = f"q = {q}"\nprint(message)',
        'if self.verbose:\n    message = f"q = {q}"\n    print(message)',
        'message = f"q = {q}"\nif self.verbose:\n    print(message)\nself.last = message',
        'message = f"q = {q}"\nif message != self.last:\n    print(message)',
    ],
)
def test_text_is_wanted_that_is_printed_wherever_it_is_made_or_used_besides(body):
    script = a_script(body)

    assert found(a_training(script, "message = ", *FORMAT), script) == []


WRAPPER = """
class Base:
    def say(self, message):
        self._logger.debug(message)
"""


def test_a_wrapper_is_known_by_what_it_does():
    script = a_script('self.say(f"q = {q}")', head=WRAPPER)
    run = a_training(script, "self.say(", *FORMAT)
    inside = script.at("self._logger.debug", "Base.say")
    run.spends(0.1, "train.py:99 main", script.at("self.say(", "Agent.step"), inside, DEBUG)

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line("self.say(")]
    assert claimed_s(profile_of(run), finding) == pytest.approx(6.0)


def test_a_wrapper_in_another_file_of_the_run():
    base = Script("base.py", WRAPPER)
    script = a_script('self.say(f"q = {q}")')
    run = a_training(script, "self.say(", *FORMAT)

    assert len(found(run, script, base)) == 1


def test_a_wrapper_whose_records_are_emitted_is_wanted():
    script = a_script('self.say(f"q = {q}")', head=WRAPPER)
    run = a_training(script, "self.say(", *FORMAT)
    inside = script.at("self._logger.debug", "Base.say")
    run.spends(0.3, "train.py:99 main", script.at("self.say(", "Agent.step"), inside, *EMITTED)

    assert found(run, script) == []


@pytest.mark.parametrize(
    "function",
    [
        "def say(self, message):\n    print(message)\n    logger.debug(message)\n",
        "def say(self, message):\n    logger.debug('%s', message)\n    return self.act(message)\n",
    ],
)
def test_a_function_that_does_more_than_log_is_no_wrapper(function):
    head = "class Base:\n    " + function.replace("\n", "\n    ")
    script = a_script('self.say(f"q = {q}")', head=head)
    run = a_training(script, "self.say(", *FORMAT)

    assert found(run, script) == []


def test_a_logger_of_a_class_of_its_own():
    head = "class Quiet(logging.Logger):\n    pass\nout = Quiet('x')\n"
    script = a_script('out.debug(f"q = {q}")', head=head)
    run = a_training(script, "out.debug", *FORMAT)

    assert len(found(run, script)) == 1


def test_loguru_finds_out_in_its_own_log_method_that_nobody_listens():
    head = "from loguru import logger as talk\n"
    script = a_script('talk.debug(f"q = {q}")', head=head)
    at = script.at("talk.debug", "Agent.step")
    off = a_training(script, "talk.debug", *FORMAT)
    off.spends(
        0.2, "train.py:99 main", at, f"{LOGURU}:2074 Logger.debug", f"{LOGURU}:1961 Logger._log"
    )
    on = a_training(script, "talk.debug", *FORMAT)
    on.spends(
        0.2,
        "train.py:99 main",
        at,
        f"{LOGURU}:2074 Logger.debug",
        f"{LOGURU}:2066 Logger._log",
        f"{SITE}/loguru/_handler.py:206 Handler.emit",
    )

    assert len(found(off, script)) == 1
    assert found(on, script) == []


def test_structlog_runs_its_processors_only_for_events_that_are_wanted():
    script = a_script('log.debug(f"q = {q}")', head="log = structlog.get_logger()\n")
    at = script.at("log.debug", "Agent.step")
    native = f"{SITE}/structlog/_native.py"
    off = a_training(script, "log.debug", *FORMAT)
    off.spends(0.2, "train.py:99 main", at, f"{native}:36 _nop")
    on = a_training(script, "log.debug", *FORMAT)
    on.spends(
        0.2,
        "train.py:99 main",
        at,
        f"{native}:172 meth",
        f"{SITE}/structlog/_base.py:223 BoundLoggerBase._proxy_to_logger",
        f"{SITE}/structlog/dev.py:937 ConsoleRenderer.__call__",
    )

    assert len(found(off, script)) == 1
    assert found(on, script) == []


def test_info_needs_enough_samples_to_be_called_off():
    script = a_script('logger.info(f"q = {q}")')
    few = a_training(script, "logger.info", *FORMAT, seconds=0.4)
    many = a_training(script, "logger.info", *FORMAT, seconds=4.0)

    assert found(few, script) == []
    assert len(found(many, script)) == 1


def test_few_samples_do_not_measure_that_debug_is_off():
    few = a_training(PLAIN, "logger.debug", *FORMAT, seconds=0.15)
    many = a_training(PLAIN, "logger.debug", *FORMAT, seconds=0.25)

    assert [finding.confidence for finding in found(few, PLAIN)] == [Confidence.BOUNDED]
    assert [finding.confidence for finding in found(many, PLAIN)] == [Confidence.MEASURED]


@pytest.mark.parametrize(
    "file", ["/home/me/project/logging/__init__.py", "/home/me/loguru/handlers.py"]
)
def test_a_project_may_have_a_logging_package_of_its_own(file):
    own = Script(file, PLAIN.text)
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.spends(6.0, "train.py:99 main", own.at("logger.debug", "Agent.step"), *FORMAT)
    run.spends(4.0, "train.py:99 main", ENV_STEP)

    assert [lines_of(finding) for finding in found(run, own)] == [[own.line("logger.debug")]]


def test_functions_of_the_user_in_the_message_count_and_others_on_the_line_do_not():
    script = a_script('return self.learn(), logger.debug(f"{self.entropy()}")')
    run = a_training(script, "logger.debug", "policy.py:3 Agent.entropy", seconds=4.0)
    run.spends(
        3.0, "train.py:99 main", script.at("logger.debug", "Agent.step"), "l.py:3 Agent.learn"
    )

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run), finding) == pytest.approx(4.0)


LEARNING = "agent.py:3 Agent.learn"


def test_what_may_do_more_than_make_text_is_not_sold_for_certain():
    script = a_script('logger.debug(f"loss {self.learn()} of {q}")')
    at = script.at("logger.debug", "Agent.step")
    run = a_training(script, "logger.debug", *FORMAT, seconds=2.0)
    run.spends(3.0, "train.py:99 main", at, LEARNING)
    run.spends(1.0, "train.py:99 main", at)

    (finding,) = found(run, script)

    least = [(len(saving.nodes) > 0, saving.removable.low) for saving in finding.savings]
    assert least == [(True, 1.0), (True, 0.0), (True, 0.0)]
    assert claimed_s(profile_of(run), finding) == pytest.approx(6.0)
    assert finding.confidence is Confidence.BOUNDED
    assert "take self.learn() out of the message" in finding.fix


@pytest.mark.parametrize("value", ["q.sum()", "np.mean(q)", "entropy(q)", "len(q)"])
def test_what_only_computes_is_sold(value):
    head = "import numpy as np\ndef entropy(q):\n    return -(q * np.log(q)).sum()\n"
    script = a_script(f'logger.debug(f"loss {{{value}}}")', head=head)
    run = a_training(script, "logger.debug", "train.py:3 entropy")

    (finding,) = found(run, script)

    assert [saving.removable.low for saving in finding.savings] == [1.0]
    assert finding.confidence is Confidence.MEASURED
    assert "out of the message" not in finding.fix


def test_formatting_in_c_that_shows_on_the_loggers_first_line_is_claimed():
    run = a_training(PLAIN, "logger.debug", seconds=4.0)
    at = PLAIN.at("logger.debug", "Agent.step")
    run.spends(1.0, "train.py:99 main", at, DEBUG)
    run.spends(0.5, "train.py:99 main", at, *IS_ENABLED)

    (finding,) = found(run, PLAIN)

    (saving,) = finding.savings
    assert claimed_s(profile_of(run), finding) == pytest.approx(5.0)
    # What the refused call takes inside, it may take outside as well.
    assert 0.8 < saving.removable.low < 0.9


JOURNAL = Script(
    "journal.py",
    """
    import sys

    class Journal:
        def whisper(self, what, level=3):
            if level <= self.loud:
                print(what, file=sys.stderr)

        def keep(self, what):
            if self.keeps:
                self.lines.append(what)

    def main(journal, act, obs):
        while True:
            journal.whisper(f"act={act} obs={obs}")
            journal.keep(f"act={act} obs={obs}")
    """,
)
FORMATTING = f"{SITE}/numpy/_core/arrayprint.py:1720 _array_str_implementation"


@pytest.mark.parametrize(
    ("call", "title", "confidence"),
    [
        ("journal.whisper(f", "messages for journal.whisper are formatted", Confidence.MEASURED),
        ("journal.keep(f", "text for journal.keep may be made for nothing", Confidence.SUSPECTED),
    ],
)
def test_a_method_that_uses_text_on_a_condition_is_known_whatever_its_name(call, title, confidence):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(8.0, JOURNAL.at(call, "main"), FORMATTING)
    run.spends(2.0, "env.py:3 step")

    (finding,) = detect(DETECTOR, run, JOURNAL)

    assert finding.title.startswith(title)
    assert finding.confidence is confidence


def test_what_it_prints_was_wanted():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    line = JOURNAL.at("journal.whisper(f", "main")
    run.spends(6.0, line, FORMATTING)
    run.spends(2.0, line, JOURNAL.at("print(what", "Journal.whisper"))
    run.spends(2.0, "env.py:3 step")

    assert detect(DETECTOR, run, JOURNAL) == []


def test_knows_a_logger_that_was_seen_whatever_its_name():
    script = a_script('self.out.info(f"q = {q}")')
    line = script.at("self.out.info", "Agent.step")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, line, *FORMAT).spends(4.0, ENV_STEP)

    assert detect(DETECTOR, run, script) == []
    run.sees(line, self__out__info=f"type=function function=logging.Logger.info file={LOGGING}")
    assert len(detect(DETECTOR, run, script)) == 1


DROPPED = Script(
    "dropped.py",
    """
    class Pond:
        def step(self, action):
            seen = self.look()
            note = f"at {seen}"
            return seen, 0.0, {"where": str(seen)}

        def tell(self):
            return {"where": str(self.seen)}

        def look(self):
            told = {"where": str(self.seen)}
            return told

    def main(pond):
        while True:
            seen, reward, _ = pond.step(0)
            info = pond.tell()
            use(info)
            pond.look()
    """,
)


@pytest.mark.parametrize(
    ("piece", "function", "is_told"),
    [
        pytest.param("0.0, {", "Pond.step", True, id="dropped by the caller"),
        pytest.param("note =", "Pond.step", True, id="never read"),
        pytest.param("return {", "Pond.tell", False, id="read by the caller"),
        pytest.param("told =", "Pond.look", False, id="assigned by another caller"),
    ],
)
def test_text_that_nothing_reads(piece, function, is_told):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, DROPPED.at(piece, function), FORMATTING).spends(4.0, "env.py:3 step")

    findings = detect(DETECTOR, run, DROPPED)

    assert bool(findings) == is_told
    if is_told:
        assert findings[0].title.startswith("text is made that nothing reads (dropped.py:")


def test_text_under_a_key_that_the_program_names_elsewhere_is_read():
    """A library may be given the key: ``Monitor(env, info_keywords=("where",))``."""
    text = DROPPED.text.replace("info = pond.tell()", 'info = keep(pond, ["where"])')
    script = Script(DROPPED.file, text)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, script.at("0.0, {", "Pond.step"), FORMATTING).spends(4.0, "env.py:3 step")

    assert not detect(DETECTOR, run, script)


SCRIBE = Script(
    "scribe.py",
    """
    import logging as chatter
    murmur = chatter.debug

    def make_scribe(depth):
        def scribe(what, *more):
            if depth < 3:
                return
            print(what)
        return scribe

    def decide(text, value):
        if value is not None:
            print(value)
        return text

    def main(tell, seen, journal):
        while True:
            murmur("seen %s" % seen)
            tell(f"seen {seen}")
            if journal.depth >= 3:
                tell(f"so {seen}")
            tell("seen %s", seen)
    """,
)


@pytest.mark.parametrize(
    ("piece", "look", "is_told"),
    [
        pytest.param("murmur(", None, True, id="a name for logging.debug"),
        pytest.param("{seen}", ("make_scribe.<locals>.scribe", "def scribe"), True, id="a closure"),
        pytest.param("{seen}", ("decide", "def decide"), False, id="another function"),
        pytest.param("{seen}", None, False, id="nobody knows what is called"),
        pytest.param("so {seen}", ("make_scribe.<locals>.scribe", "def scribe"), False, id="asked before"),
        pytest.param('tell("seen', ("make_scribe.<locals>.scribe", "def scribe"), False, id="in pieces"),
    ],
)  # fmt: skip
def test_what_takes_a_message_is_known_by_what_it_is(piece, look, is_told):
    line = SCRIBE.at(piece, "main")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, line, FORMATTING).spends(4.0, "env.py:3 step")
    if look:
        name, place = look
        fields = f"type=function function=__main__.{name} file=scribe.py line={SCRIBE.line(place)}"
        run.sees(line, tell=fields)

    assert bool(detect(DETECTOR, run, SCRIBE)) == is_told
