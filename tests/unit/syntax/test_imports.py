from __future__ import annotations

from textwrap import dedent

from rlprof.syntax.imports import imported
from rlprof.syntax.module import parse


def names(text: str) -> dict[str, str]:
    module = parse(dedent(text))
    assert module is not None
    return dict(imported(module))


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


def test_relative_imports_tell_nothing():
    assert names("from . import os\nfrom .os import fsync") == {}
