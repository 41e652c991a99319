from __future__ import annotations

import ast
from textwrap import dedent

from rlprof.syntax.module import called_name, parse


def names(text: str) -> dict[str, str]:
    module = parse(dedent(text))
    assert module is not None
    return dict(module.imports)


def test_tells_full_names_by_those_of_the_file():
    found = names(
        """
        import os, os.path
        import numpy.random as dice
        from os import fsync as settle, write

        def train():
            from json import dump
        """
    )

    assert found == {
        "os": "os",
        "dice": "numpy.random",
        "settle": "os.fsync",
        "write": "os.write",
        "dump": "json.dump",
    }


def test_follows_names_that_the_file_gives_them():
    found = names(
        "import logging as chatter\nmurmur = tell = chatter.debug\nn = 3\nlocal.x = murmur"
    )

    assert found == {"chatter": "logging", "murmur": "logging.debug", "tell": "logging.debug"}


def test_a_partial_is_what_it_calls():
    assert names("import functools\nimport torch\npour = functools.partial(torch.tensor, dtype=d)")[
        "pour"
    ] == ("torch.tensor")


def test_a_name_that_something_else_has_too_tells_nothing():
    assert names("from numpy import stack, clip\ndef f(stack):\n    clip = stack") == {}


def test_what_is_called_goes_by_its_own_name():
    module = parse("from numpy import asarray as pack\npack(x)\nself.pack(x)")
    assert module is not None
    calls = [call for call in ast.walk(module.tree) if isinstance(call, ast.Call)]

    assert [called_name(call) for call in calls] == ["asarray", "pack"]


def test_relative_imports_tell_nothing():
    assert names("from . import os\nfrom .os import fsync") == {}
