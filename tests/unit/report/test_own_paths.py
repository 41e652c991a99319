"""Paths of the user's own files, as a link or an alert on a code host needs them."""

from __future__ import annotations

import pytest

from rlprof.report.own_paths import as_uri, own_path


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("/home/me/project/train.py", "train.py"),
        ("/home/me/project/envs/../train.py", "train.py"),
        ("./envs/../train.py", "train.py"),
        ("../elsewhere.py", None),
        ("/home/me/other/train.py", None),
        ("/home/me/project_2/train.py", None),
        ("/usr/lib/python3.11/copy.py", None),
        ("<string>", None),
    ],
)
def test_only_the_users_own_files_have_a_path(file, path):
    assert own_path(file, "/home/me/project/") == path


def test_every_file_lies_under_the_root_of_the_file_system():
    assert own_path("/train.py", "/") == "train.py"


def test_a_path_is_no_scheme_and_no_query():
    assert as_uri("odd: name?.py") == "odd%3A%20name%3F.py"
