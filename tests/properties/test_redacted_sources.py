"""A kept source parses as before, line by line; only what is inside of its strings and comments differs."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import http.client
import http.cookies
import inspect
import io
import smtplib
import tokenize
import traceback
import urllib.request

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rlprof.recording.redaction.literals import hide_literals

MARK = "Zq7"
"""No text around a secret holds it."""

PIECES = [
    *" abN{}[]()#:=,;%@/\\\"'-",
    MARK,
    "\n",
    "\\n",
    "\\x41",
    "\\u0041",
    "\\N{DASH}",
    "{{",
    "}}",
    "é",
]
SECRETS = st.lists(st.sampled_from(PIECES), max_size=8).map(lambda pieces: "".join((*pieces, MARK)))
TEXTS = st.lists(st.sampled_from([*PIECES, "password", "token = ", "--api-key ", "://a:", "@b"]))
QUOTES = st.sampled_from(["'", '"', "'''", '"""'])
PREFIXES = st.sampled_from(["", "r", "b", "Rb", "f", "rF", "u"])
PLACES = st.sampled_from(
    [
        "password = %s",
        "é = 'é', {'é': 1}; x.token: str = %s; y = 'é'",
        "if (token := token or %s) == 3: pass",
        "def f(a, b=1, *, api_key=%s): pass",
        "connect('é', password=%s)",
        "setattr(x, 'token', %s)",
        "tokens = [f(1), ('é',\n  %s)]",
        "run(['prog', '--api-key', %s, '--lr'])",
        "password['é'] = %s",
        "class Secrets:\n    é: str = %s",
        "passwords.update(é=%s)",
        "hmac.compare_digest(password, %s)",
        "password = ('é'  # a\n  f'{a:>{b}}' %s\n)",
    ]
)
MODULES = [
    argparse,
    dataclasses,
    http.client,
    http.cookies,
    smtplib,
    tokenize,
    traceback,
    urllib.request,
]


@given(PLACES, PREFIXES, QUOTES, SECRETS)
@example("password = %s", "", '"', "\\\n" + MARK)
@example("password = %s", "", "'''", "\n#" + MARK)
@example("password = %s", "", "'", "'#" + MARK)
def test_no_part_of_a_string_stays(place, prefix, quote, secret):
    literal = f"{prefix}{quote}{secret}{quote}"
    text = place % literal + "\n"
    assume(is_one_string(literal) and is_parsed(text))

    told = hide_literals(text)

    assert MARK not in told
    assert code(told) == code(text)


@given(TEXTS.map("".join), PREFIXES, QUOTES)
def test_any_other_string_is_one_still(words, prefix, quote):
    text = f"a = {prefix}{quote}{words}{quote}, 'b'  # {words}".replace("\n#", "\n")
    assume(is_parsed(text))

    assert code(hide_literals(text)) == code(text)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_whole_modules_are_parsed_as_before(module):
    text = inspect.getsource(module)

    told = hide_literals(text)

    assert code(told) == code(text)
    assert [len(line) for line in told.split("\n")] == [len(line) for line in text.split("\n")]


def is_one_string(literal):
    """Whether all of it is words: an f-string's placeholders are code, and code stays; so do comments of no telling words."""
    try:
        tree = ast.parse(literal, mode="eval").body
        tokens = list(tokenize.generate_tokens(io.StringIO(literal).readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return False
    if any(token.type == tokenize.COMMENT for token in tokens):
        return False
    parts = tree.values if isinstance(tree, ast.JoinedStr) else [tree]
    return all(isinstance(part, ast.Constant) for part in parts)


def is_parsed(text):
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def code(text):
    """The tree without strings, and each token with its place but for strings and comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            node.value = ""
    kinds = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.NEWLINE, tokenize.INDENT}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return ast.dump(tree), [token[:4] for token in tokens if token.type in kinds]
