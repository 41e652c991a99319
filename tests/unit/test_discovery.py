from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from rlprof import discovery
from rlprof.detectors.base import Detector, InSamples
from rlprof.discovery import broken_plugins, discover_detectors, discover_renderers


def a_detector(detector_id: str) -> Detector:
    return Detector(detector_id, "for a test", in_samples=InSamples(lambda _: ()))


@pytest.fixture
def install(monkeypatch):
    """Installs a module under an entry point of a group."""
    entries: dict[str, list[EntryPoint]] = {}

    def _install(group: str, value: str, **members: object) -> None:
        module = ModuleType(value.partition(":")[0])
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entries.setdefault(group, []).append(EntryPoint("theirs", value, group))

    monkeypatch.setattr(discovery, "entry_points", lambda group: entries.get(group, []))
    return _install


def test_built_in_plugins_come_sorted_and_without_duplicates():
    ids = [detector.id for detector in discover_detectors()]
    names = [renderer.name for renderer in discover_renderers()]

    assert ids == sorted(set(ids))
    assert names == sorted(set(names))


def test_a_module_or_an_object_of_another_package_is_found(install):
    install("rlprof.detectors", "their_module", DETECTOR=a_detector("zz-module"))
    install("rlprof.detectors", "their_object:FINDS_IT", FINDS_IT=a_detector("aa-object"))

    ids = [detector.id for detector in discover_detectors()]

    assert ids[0] == "aa-object"
    assert ids[-1] == "zz-module"
    assert broken_plugins() == ()


def test_a_plugin_that_cannot_be_imported_is_named_not_raised(install):
    install("rlprof.detectors", "their_module:NOT_THERE")

    (note,) = broken_plugins()

    assert note.slug == "broken-plugin"
    assert "theirs" in note.text
    assert "NOT_THERE" in note.text


@pytest.mark.parametrize("group", ["rlprof.detectors", "rlprof.renderers"])
def test_a_plugin_of_the_wrong_type_is_left_out(install, group):
    install(group, "their_module:THING", THING=object())

    (note,) = broken_plugins()

    assert group in note.text
    assert "object" in note.text


def test_a_second_plugin_with_a_taken_id_is_left_out(install):
    install("rlprof.detectors", "first:DETECTOR", DETECTOR=a_detector("theirs"))
    install("rlprof.detectors", "second:DETECTOR", DETECTOR=a_detector("theirs"))

    (note,) = broken_plugins()

    assert "second" in note.text
    assert "'theirs' already" in note.text
