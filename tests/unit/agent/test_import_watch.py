"""The finder in front: it acts right after an import, and nobody can tell that it was there."""

from __future__ import annotations

import importlib
import sys
import traceback
from importlib.machinery import PathFinder, SourceFileLoader

import pytest

from rlprof.agent.inject.rlprof_agent.import_watch import ImportWatch


@pytest.fixture
def watch(tmp_path, monkeypatch):
    """Watches ``name`` and keeps what it saw; its modules are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def _watch(name: str) -> list:
        seen: list = []
        ImportWatch({name: lambda module: seen.append((module, module.ready))}).install()
        return seen

    return _watch


def test_it_acts_after_the_module_has_run(watch, tmp_path):
    (tmp_path / "maze.py").write_text("ready = False\nready = True\n")
    seen = watch("maze")

    module = importlib.import_module("maze")

    assert seen == [(module, True)]


def test_spec_and_loader_are_those_of_an_unwatched_import(watch, tmp_path):
    (tmp_path / "maze.py").write_text("ready = True\n")
    plain = PathFinder.find_spec("maze", [str(tmp_path)])
    watch("maze")

    module = importlib.import_module("maze")

    assert type(module.__loader__) is SourceFileLoader
    assert module.__spec__.loader is module.__loader__
    assert module.__spec__.origin == plain.origin
    assert vars(module.__loader__) == vars(plain.loader)


def test_a_module_inside_a_package_and_a_reload(watch, tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text("")
    (tmp_path / "library" / "core.py").write_text("ready = True\n")
    seen = watch("library.core")

    module = importlib.import_module("library.core")
    importlib.reload(module)

    assert [each for each, _ in seen] == [module, module]


def test_a_module_that_is_loaded_already_is_acted_on_at_once(watch, tmp_path):
    (tmp_path / "maze.py").write_text("ready = True\n")
    module = importlib.import_module("maze")

    assert watch("maze") == [(module, True)]


def test_a_module_that_is_not_there_is_not_found_as_ever(watch):
    watch("no_such_maze")

    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_maze'"):
        importlib.import_module("no_such_maze")


def test_a_module_that_fails_shows_its_own_lines_only(watch, tmp_path):
    (tmp_path / "maze.py").write_text("import sys\n\n1 / 0\n")
    (tmp_path / "uses_maze.py").write_text("import maze\n")
    seen = watch("maze")

    with pytest.raises(ZeroDivisionError) as raised:
        # Written to a folder on the path by this test; imported for what its import raises.
        import uses_maze  # type: ignore[import-not-found]  # noqa: F401

    frames = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert frames == [__file__, str(tmp_path / "uses_maze.py"), str(tmp_path / "maze.py")]
    assert seen == []


def test_a_finder_of_the_program_s_own_is_asked_in_its_turn(watch):
    asked = []

    class Own:
        @staticmethod
        def find_spec(name, *_path_and_target):
            asked.append(name)

    sys.meta_path.insert(0, Own)
    watch("no_such_maze")

    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_maze")

    # By the watch and, since that found nothing, by Python.
    assert asked == ["no_such_maze"] * 2
