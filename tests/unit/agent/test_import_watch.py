"""The finder in front: it acts right after an import, and nobody can tell that it was there."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import sys
import traceback
from importlib.machinery import FileFinder, PathFinder, SourceFileLoader
from types import ModuleType

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


def test_finders_in_front_are_asked_once(watch, tmp_path):
    (tmp_path / "maze.py").write_text("ready = True\n")
    seen, asked = watch("maze"), []

    class Notes:
        @staticmethod
        def find_spec(name, *_):
            asked.append(name)

    sys.meta_path.insert(0, Notes)
    importlib.import_module("maze")

    assert asked == ["maze"]
    assert len(seen) == 1


def test_who_only_asks_for_a_spec_finds_nothing_of_it(watch, tmp_path):
    (tmp_path / "maze.py").write_text("ready = True\n")
    seen = watch("maze")

    first, second = (importlib.util.find_spec("maze") for _ in range(2))

    assert first == second
    assert pickle.loads(pickle.dumps(first.loader)) == first.loader
    assert importlib.import_module("maze").__spec__ == first
    assert len(seen) == 1


class Refusing(SourceFileLoader):
    def __setattr__(self, name, value):
        if "path" in vars(self):
            raise TypeError("loaders are immutable")
        super().__setattr__(name, value)


class Around:
    """Hands on all that is asked of it or set on it, but what is deleted."""

    def __init__(self, name, path):
        vars(self)["inner"] = SourceFileLoader(name, path)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __setattr__(self, name, value):
        setattr(self.inner, name, value)


@pytest.mark.parametrize("loader", [Refusing, Around])
def test_a_loader_with_a_mind_of_its_own_is_let_be(watch, tmp_path, monkeypatch, loader):
    (tmp_path / "maze.py").write_text("ready = True\n")
    hook = FileFinder.path_hook((loader, [".py"]))
    monkeypatch.setattr(sys, "path_hooks", [hook, *sys.path_hooks])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    seen = watch("maze")

    assert importlib.import_module("maze").ready
    assert seen == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 asks no such finders")
@pytest.mark.filterwarnings("ignore")
def test_a_finder_of_the_old_kind_is_asked_in_its_turn(watch, tmp_path):
    class Old:
        def find_module(self, name, _path=None):
            return self if name == "maze" else None

        def load_module(self, name):
            module = sys.modules[name] = ModuleType(name)
            module.is_olds = True
            return module

    (tmp_path / "maze.py").write_text("ready = True\n")
    sys.meta_path.insert(0, Old())
    watch("maze")

    assert importlib.import_module("maze").is_olds


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


class LazyFinder:
    """As programs have that import on demand."""

    def find_spec(self, name: str, path: object = None, _target: object = None):
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def test_what_a_program_loads_on_demand_is_acted_on_when_it_is_loaded(watch, tmp_path, monkeypatch):
    (tmp_path / "maze.py").write_text("ready = True\n")
    seen = watch("maze")
    monkeypatch.setattr(sys, "meta_path", [sys.meta_path[0], LazyFinder()])

    module = importlib.import_module("maze")

    assert seen == []
    assert module.ready
    assert seen == [(module, True)]
