from __future__ import annotations

from rlprof.agent.inject.rlprof_agent.code_places import file_of
from rlprof.agent.inject.rlprof_agent.layout import UNNAMED_FILE


class Namespace(dict):
    def get(self, *_):
        raise AssertionError("the program's own code is called")


def compiled(file: str):
    return compile("", file, "exec")


def test_the_file_is_the_code_s_own():
    assert file_of(compiled("envs.py"), {"__file__": "train.py"}) == "envs.py"


def test_what_cloudpickle_sent_has_it_in_its_globals():
    assert file_of(compiled(UNNAMED_FILE), Namespace(__file__="train.py")) == "train.py"


def test_without_a_file_there_it_stays_without():
    assert file_of(compiled(UNNAMED_FILE), {}) == UNNAMED_FILE
    assert file_of(compiled(UNNAMED_FILE), {"__file__": None}) == UNNAMED_FILE
