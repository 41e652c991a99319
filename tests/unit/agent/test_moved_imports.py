"""Paths into head's tree become those of the base, where they stand; all others stay."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent.moved_imports import install


@pytest.fixture
def trees(tmp_path, monkeypatch):
    """Both roots: head has two folders more, and base lies inside of head, as TMPDIR may want it."""
    head = tmp_path / "project"
    side = head / "tmp" / "base"
    for folder in (head / "src", side / "src", head / "new", head / ".venv/lib/site-packages"):
        folder.mkdir(parents=True)
    for name in ("src/policy.py", ".venv/lib/site-packages/six.py"):
        (side / name).parent.mkdir(parents=True, exist_ok=True)
        (side / name).touch()
    return head, side


def moved(monkeypatch, trees: tuple[Path, Path], *paths: object) -> list[object]:
    monkeypatch.setattr(sys, "path", list(paths))
    install(*map(str, trees))
    return sys.path


def test_each_path_is_replaced_where_it_stands(trees, monkeypatch):
    head, side = trees
    paths = ["/usr/lib/python3.11", str(head), str(head / "src"), "/elsewhere"]

    assert moved(monkeypatch, trees, *paths) == [
        "/usr/lib/python3.11",
        str(side),
        str(side / "src"),
        "/elsewhere",
    ]


def test_what_the_base_lacks_or_shares_stays(trees, monkeypatch):
    head, side = trees
    paths = [
        str(head / "new"),
        str(head / ".venv/lib/site-packages"),
        str(side / "src"),
        f"{head}-other/src",
        "",
        "src",
        head,  # Programs may put anything there.
    ]

    assert moved(monkeypatch, trees, *paths) == paths


def test_a_path_through_a_link_is_replaced_too(trees, monkeypatch, tmp_path):
    head, side = trees
    (tmp_path / "link").symlink_to(head)

    assert moved(monkeypatch, trees, str(tmp_path / "link" / "src")) == [str(side / "src")]


def test_redirected_imports_are_led_too(trees, monkeypatch):
    """As setuptools and ``editables`` install them."""
    head, side = trees
    by_setuptools = ModuleType("__editable___project_finder")
    mapping = {"renamed": f"{head}/src", "policy": f"{head}/src/policy"}
    namespaces = {"lab": [f"{head}/src", "/elsewhere"]}
    vars(by_setuptools).update(MAPPING=mapping, NAMESPACES=namespaces)
    finder = SimpleNamespace(_redirections={"new": f"{head}/new", "renamed": f"{head}/src"})
    monkeypatch.setitem(sys.modules, by_setuptools.__name__, by_setuptools)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])

    moved(monkeypatch, trees)

    assert mapping == {"renamed": f"{side}/src", "policy": f"{side}/src/policy"}
    assert namespaces == {"lab": [f"{side}/src", "/elsewhere"]}
    assert finder._redirections == {"new": f"{head}/new", "renamed": f"{side}/src"}


def test_head_itself_is_left_alone(trees, monkeypatch):
    head, _ = trees
    paths = [str(head / "src"), os.sep]

    assert moved(monkeypatch, (head, head), *paths) == paths
