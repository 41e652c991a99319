"""Whatever the layout of a file: the result is Python, only the named statement's lines and imports change, and comments stay."""

from __future__ import annotations

import ast
import io
import tokenize

from hypothesis import given
from hypothesis import strategies as st

from rlprof.fixes.base import Fix
from rlprof.fixes.rewrites.lazy_log_text import FIX as LAZY_LOG_TEXT
from rlprof.fixes.rewrites.no_gradients import FIX as NO_GRADIENTS
from rlprof.fixes.rewrites.one_array_first import FIX as ONE_ARRAY_FIRST
from tests.fix_factory import changes, fixed

HEADS = (
    "if x:",
    "for x in y:  # each",
    "while x:",
    "with x as y:",
    "@deco( a ,b)\n{i}def f( self,x ):",
    "class A( object ):",
    "async def g(x):",
    "try:\n{i}{s}pass\n{i}except E:",
    "if x: pass\n{i}else:",
)
STATEMENTS: tuple[tuple[Fix, str], ...] = (
    (LAZY_LOG_TEXT, 'log.debug(f"a {n:.2f} {{}} %" , )'),
    (LAZY_LOG_TEXT, "log.debug( f'''a\n{n!r}''' )"),
    (LAZY_LOG_TEXT, "log.info(f'{unseen}')"),
    (LAZY_LOG_TEXT, "log.info('a' +\n{i}  str(unseen))"),
    (NO_GRADIENTS, "a = net(x)\\\n{i}  .argmax()"),
    (NO_GRADIENTS, "a = net(  # ask\n{i}  x,\n{i}  # all\n\n{i}  y)"),
    (ONE_ARRAY_FIRST, "t = torch.tensor(xs, device = d) ;"),
    (ONE_ARRAY_FIRST, "t = torch.tensor(  # of\n{i}  xs  # rows\n{i}  , device=d)"),
)
SEEN = {"n": "type=float", "xs": "type=list length=9 first.type=numpy.ndarray"}
LINES = ("", "# why", "pass", "x  =  1  # one", "y = '''\n  text\n'''", "z = (1,\n   2)", "\x0b# v")


@st.composite
def programs(draw: st.DrawFn) -> tuple[Fix, str, int, int]:
    """A program, its fix, and the first and the last line of the statement."""
    step = draw(st.sampled_from(("    ", "\t", "  ")))
    fix, statement = draw(st.sampled_from(STATEMENTS))
    lines = st.lists(st.sampled_from(LINES[:6]), max_size=2)
    head = draw(
        st.sampled_from(("", '"""Doc."""\n', "#!/bin/sh\n# -*- x -*-\n\n", "import torch as th\n"))
    )
    text = f"{head}import logging\nlog = logging.getLogger()\n"
    text += "" if "torch as" in head else "import torch\n"
    text = text.replace("torch as th", "torch")
    indent = ""
    for _ in range(draw(st.integers(0, 4))):
        for line in draw(lines):
            text += f"{indent}{line}\n" if line else "\n"
        before = draw(st.sampled_from(HEADS)).replace("{i}", indent).replace("{s}", step)
        text += f"{indent}{before}\n"
        indent += step
    for line in draw(lines):
        text += f"{indent}{line}\n" if line else "\n"
    first = text.count("\n") + 1
    text += indent + statement.replace("{i}", indent)
    last = text.count("\n") + 1
    text += draw(st.sampled_from(("", "  # told", " ")))
    text += draw(st.sampled_from(("", "\n")))
    if text.endswith("\n"):
        for line in draw(lines):
            text += f"{indent}{line}\n" if line else "\n"
    newline = draw(st.sampled_from(("\n", "\r\n")))
    return fix, text.replace("\n", newline), first, last


def comments(text: str) -> list[str]:
    read = io.StringIO(text).readline
    return [
        token.string for token in tokenize.generate_tokens(read) if token.type == tokenize.COMMENT
    ]


@given(programs())
def test_only_the_statement_changes(program):
    fix, text, first, last = program
    ast.parse(text)

    new = fixed(fix, text, first, seen=SEEN)

    ast.parse(new)
    ends = "\r\n" if "\r\n" in text else "\n"
    own = text.split("\n")[first - 1 : last]
    gone = [line[1:] for line in changes(text, new) if line[0] == "-"]
    assert all(line in own for line in gone)
    outside = [*text.split("\n")[: first - 1], *text.split("\n")[last:]]
    left = iter(new.split("\n"))
    assert all(line in left for line in outside)
    assert comments(new) == comments(text)
    assert new.count("\n") == new.count(ends)
