from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rlprof.fixes.base import Place
from rlprof.fixes.rewrites.lazy_log_text import FIX
from tests.fix_factory import a_case, changes, fixed, refusal

SEEN = {"state": "type=numpy.ndarray shape=4 dtype=f8", "reward": "type=float", "n": "type=int"}
HEAD = "import logging\n\nlogger = logging.getLogger(__name__)\n\n\ndef train(state, reward, n):\n"


def line(call: str, **more: object) -> str:
    """The one line that takes the place of ``call``."""
    text = f"{HEAD}    {call}\n    return n\n"
    new = fixed(FIX, text, 7, seen=SEEN, **more)
    assert new.startswith(HEAD)
    assert new.endswith("    return n\n")
    return new.removeprefix(HEAD).removesuffix("    return n\n").strip()


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (
            'logger.debug(f"state {state} reward {reward:.3f}")',
            'logger.debug("state %s reward %.3f", state, reward)',
        ),
        ('logger.debug(f"{state!r} is 100%")', 'logger.debug("%r is 100%%", state)'),
        ('logger.debug(f"{{{n}}}")', 'logger.debug("{%s}", n)'),
        ("logger.debug(f'{n:5d}|{reward:<8.2f}|{reward:+08.1f}')", "logger.debug('%5d|%-8.2f|%+08.1f', n, reward, reward)"),
        ('logger.debug(rf"\\d {n}", extra={})', 'logger.debug(r"\\d %s", n, extra={})'),
        ('logger.debug("q %s" % (state,))', 'logger.debug("q %s", state)'),
        ('logger.debug("q %s" % state)', 'logger.debug("q %s", state)'),
        ('logger.debug("q {} {:.2f}%".format(state, reward))', 'logger.debug("q %s %.2f%%", state, reward)'),
        ('logger.debug("q {b} {a}".format(a=n, b=reward))', 'logger.debug("q %s %s", reward, n)'),
        ('logger.debug("q " + str(state) + "% of " + repr(n))', 'logger.debug("q %s%% of %r", state, n)'),
        ('logger.log(level, f"q {n}")', 'logger.log(level, "q %s", n)'),
        ('logger.debug(f"q {len(state)}")', 'logger.debug("q %s", len(state))'),
        ('logging.debug(f"q {n}")', 'logging.debug("q %s", n)'),
        ('x = 1; logger.debug(f"q {n}")', 'x = 1; logger.debug("q %s", n)'),
    ],
)  # fmt: skip
def test_values_are_handed_to_the_logger(call, new):
    assert line(call) == new


@pytest.mark.parametrize(
    "call",
    [
        'logger.debug(f"q {state.sum()}")',
        'logger.debug("q %s", str(state))',
        'logger.debug(f"q {unseen}")',
        'logger.debug(f"q {unseen:.2f}")',
        'logger.debug(f"q {reward:,}")',
        'logger.debug(f"q {n=}")',
        'logger.debug(f"q {n:{n}}")',
        'logger.debug("q %s" % unseen)',
        'logger.debug(f"q \\x25 {n}")',
        "logger.debug(\"a\" + str(n) + 'b')",
        'logger.debug(f"q {n} %s", n)',
    ],
)
def test_others_are_made_only_where_they_are_logged(call):
    assert line(call) == f"if logger.isEnabledFor(logging.DEBUG):\n        {call}"


@pytest.mark.parametrize("own", ["interest.Rate", "integrals.Sum", "floats.Number", "booleans.B"])
def test_a_type_of_the_programs_own_is_no_number_whatever_its_module_is_called(own):
    text = f"{HEAD}    logger.debug(f'q {{reward:.2f}}')\n"

    new = fixed(FIX, text, 7, seen={**SEEN, "reward": f"type={own}"})

    assert "logger.isEnabledFor" in new


def test_a_logger_that_was_seen_counts_whatever_its_name():
    text = "def f(self, n):\n    self.say.info(f'q {n}')\n"
    seen = {
        "self.say.info": "type=method function=logging.Logger.info file=/usr/lib/python3.11/logging/__init__.py",
        "n": "type=int",
    }

    assert changes(text, fixed(FIX, text, 2, seen=seen)) == [
        "-    self.say.info(f'q {n}')",
        "+    self.say.info('q %s', n)",
    ]


def test_logging_is_imported_for_a_test_of_the_level():
    text = '"""Train."""\n\n# Ours.\nfrom logs import log\n\n\ndef f(self, n):\n    log.info(f"q {n}")  # told\n'
    seen = {
        "log.info": "type=method function=logging.Logger.info file=/usr/lib/python3.11/logging/__init__.py"
    }

    new = fixed(FIX, text, 8, seen=seen)

    assert new == (
        '"""Train."""\n\n# Ours.\nfrom logs import log\nimport logging\n\n\ndef f(self, n):\n'
        '    if log.isEnabledFor(logging.INFO):\n        log.info(f"q {n}")  # told\n'
    )


def test_comments_and_layout_stay():
    text = (
        f"{HEAD}    for i in range(n):\n\n        # Each step.\n        logger.debug(\n"
        '            f"state {state} "  # of arrays\n            f"reward {reward:.3f}",\n            extra={"n": n},\n'
        "        )  # for us\n        n  += 1\n"
    )

    new = fixed(FIX, text, 11, seen=SEEN)

    assert changes(text, new) == [
        '-            f"state {state} "  # of arrays',
        '-            f"reward {reward:.3f}",',
        '+            "state %s "  # of arrays',
        '+            "reward %.3f", state, reward,',
    ]


def test_tabs_and_line_ends_of_windows_stay():
    text = "import logging\r\nlog = logging.getLogger()\r\ndef f(x):\r\n\tif x:\r\n\t\tlog.debug(f'{x}')\r\n"

    new = fixed(FIX, text, 5)

    assert new == text.replace(
        "\t\tlog.debug(f'{x}')",
        "\t\tif log.isEnabledFor(logging.DEBUG):\r\n\t\t\tlog.debug(f'{x}')",
    )


def test_nested_and_decorated_functions_are_left_as_they_are():
    text = "import logging\nlog = logging.getLogger()\n\n@deco(\n    a  = 1)\ndef f( x ):\n    def g(n): log.debug(f'{n!r}')\n    return g\n"

    assert fixed(FIX, text, 7) == text.replace("f'{n!r}'", "'%r', n")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('logger.debug(f"q {env.step(n)}")', "env.step() is called for its message"),
        ('logger.debug(f"q {(m := n)}")', "more than compute"),
        ('logging.debug(f"q {unseen}")', "set logging up"),
        ("logger.debug(message)", "made on another line"),
        ('print(f"q {n}")', "no method of a logger"),
        ('other.debug(f"q {n}")', "no method of a logger"),
        ('x = 1; logger.debug(f"q {unseen}")', "no statement by itself"),
    ],
)
def test_what_cannot_be_made_exactly_is_refused(call, why):
    assert why in refusal(FIX, f"{HEAD}    {call}\n", 7, seen=SEEN)


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture
def heard() -> Iterator[Heard]:
    logger, handler = logging.getLogger("rlprof.test.fixes"), Heard()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)


VALUES = [0, -3, 7.25, float("inf"), float("-inf"), float("nan"), 1e22, 123456, True, -0.0]


@pytest.mark.parametrize(
    "spec",
    ["", ".3f", "8.2e", "<9.1f", ">9.1f", "+.2f", " .2g", "010.3f", "+010.3F", "G", "12g", ".0f"],
)
def test_what_is_logged_is_the_same_character_by_character(heard, spec):
    hole = f"{{x:{spec}}}" if spec else "{x}"
    text = f"import logging\nlogger = logging.getLogger('rlprof.test.fixes')\nfor x in VALUES:\n    logger.debug(f'a {hole}% {{x!r:>30}}|')\n"
    seen = {"x": "type=float"}

    for each in (text, fixed(FIX, text, 4, seen=seen)):
        exec(compile(each, "train.py", "exec"), {"VALUES": VALUES})

    assert heard.texts[: len(VALUES)] == heard.texts[len(VALUES) :]


def test_a_file_that_cannot_be_written_again_holds_up_no_other():
    text = f"{HEAD}    logger.debug(f'q {{n}}')\n"
    case = a_case(text, 7, seen=SEEN, other=text.replace("def train", "\fdef train"))
    known = case.places[0].known

    rewriting = FIX.rewrite(replace(case, places=[*case.places, Place("/p/other.py", 7, known)]))

    assert list(rewriting.texts) == [case.places[0].file]
    assert rewriting.left == ["other.py:7: its file has form feeds or line ends that would be lost"]
