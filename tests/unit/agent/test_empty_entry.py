"""The working directory goes to the end of the path, and hides nothing that is installed editable."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent.empty_entry import stand_in


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, in which a clone bears the name of the package within."""
    package = tmp_path / "worlds" / "worlds"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["/lib"])
    monkeypatch.setattr(sys, "argv", ["scripts/train.py"])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    return tmp_path


def installed(**places: object) -> None:
    finder: Any = SimpleNamespace(known_source_files=places)
    sys.meta_path.append(finder)


def test_it_comes_last(folder):
    stand_in()

    assert sys.path == ["/lib", str(folder)]


def test_it_is_added_once(folder):
    stand_in()
    stand_in()

    assert sys.path == ["/lib", str(folder)]


@pytest.mark.parametrize(
    "place", ["{}/worlds/worlds", "{}/worlds/worlds/__init__.py", ["{}/worlds/worlds"]]
)
def test_it_is_left_out_where_a_folder_in_it_would_hide_an_installed_package(folder, place):
    there = place.format(folder) if isinstance(place, str) else [place[0].format(folder)]
    installed(worlds=there)

    stand_in()

    assert sys.path == ["/lib"]


def test_it_is_added_where_the_installed_package_is_that_in_it(folder, monkeypatch):
    monkeypatch.chdir(folder / "worlds")
    (folder / "worlds" / "helper.py").touch()
    installed(
        **{
            "worlds": f"{folder}/worlds/worlds/__init__.py",
            "worlds.env": f"{folder}/worlds/worlds/env.py",
            "helper": f"{folder}/worlds/helper.py",
            "elsewhere": "/src/elsewhere",
        }
    )

    stand_in()

    assert sys.path == ["/lib", str(folder / "worlds")]
