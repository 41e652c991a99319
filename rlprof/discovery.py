"""Plug-ins: found by walking their own package, plus one entry-point group for each kind.

A detector module exposes ``DETECTOR``, a renderer module ``RENDERER``. An entry point names
such a module, or the object itself::

    [project.entry-points."rlprof.detectors"]
    my-detector = "my_package.my_detector"

Nothing is registered by importing a module, and the order is that of the ids, so that the
same installation gives the same report.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rlprof.detectors.base import Detector
from rlprof.model.recording import Note

if TYPE_CHECKING:
    from rlprof.renderers.base import Renderer

_NO_PLUGINS: Final = frozenset({"base", "browser_scripts", "recognisers"})
"""Modules that plug-ins of a kind share, in their package."""

DETECTOR_GROUP: Final = "rlprof.detectors"
RENDERER_GROUP: Final = "rlprof.renderers"
_RENDERER_MEMBERS: Final = (
    "name",
    "suffixes",
    "options",
    "is_export",
    "needs_detail",
    "render",
)


class _PluginKind(NamedTuple):
    package: str
    """Its modules are the built-in plug-ins; its name is also the entry-point group."""
    attribute: str
    key: str
    """The attribute that tells plug-ins of this kind apart."""
    is_one: Callable[[object], bool]


class _FoundPlugins(NamedTuple):
    plugins: dict[str, object]
    broken: tuple[Note, ...]


def discover_detectors() -> tuple[Detector, ...]:
    """Every detector there is, by id; those that cannot be loaded are in ``broken_plugins``."""
    found = _discover(_DETECTORS).plugins
    return tuple(plugin for plugin in found.values() if isinstance(plugin, Detector))


def discover_renderers() -> tuple[Renderer, ...]:
    """Every renderer there is, by name; those that cannot be loaded are in ``broken_plugins``."""
    return tuple(_discover(_RENDERERS).plugins.values())  # type: ignore[arg-type]  # see is_one


def broken_plugins() -> tuple[Note, ...]:
    """One note for each plug-in of another package that is left out, and why."""
    return tuple(note for kind in (_DETECTORS, _RENDERERS) for note in _discover(kind).broken)


def _is_renderer(plugin: object) -> bool:
    return all(hasattr(plugin, member) for member in _RENDERER_MEMBERS)


_DETECTORS: Final = _PluginKind(
    DETECTOR_GROUP, "DETECTOR", "id", lambda plugin: isinstance(plugin, Detector)
)
_RENDERERS: Final = _PluginKind(RENDERER_GROUP, "RENDERER", "name", _is_renderer)


def _discover(kind: _PluginKind) -> _FoundPlugins:
    plugins = {
        str(getattr(plugin, kind.key)): plugin for plugin in built_in(kind.package, kind.attribute)
    }
    broken = []
    for entry in sorted(entry_points(group=kind.package), key=lambda entry: entry.value):
        try:
            plugin = _load(entry, kind)
            key = str(getattr(plugin, kind.key))
            if key in plugins:
                raise ValueError(f"another plug-in has the {kind.key} {key!r} already")
        # An import may raise anything, and a plug-in must not cost its user the whole report.
        except (Exception, SystemExit) as error:
            broken.append(_note(entry, kind, error))
        else:
            plugins[key] = plugin
    return _FoundPlugins(dict(sorted(plugins.items())), tuple(broken))


def built_in(package: str, attribute: str) -> Iterator[Any]:
    """Yield what each module of a package of plug-ins has under ``attribute``, in the order of the modules."""
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if module.name.rpartition(".")[2] not in _NO_PLUGINS:
            yield getattr(import_module(module.name), attribute)


def _load(entry: EntryPoint, kind: _PluginKind) -> object:
    loaded = entry.load()
    plugin = getattr(loaded, kind.attribute) if isinstance(loaded, ModuleType) else loaded
    if not kind.is_one(plugin):
        raise TypeError(f"{type(plugin).__name__} is not what {kind.package} holds")
    return plugin


def _note(entry: EntryPoint, kind: _PluginKind, error: BaseException) -> Note:
    package = entry.dist.name if entry.dist is not None else "an unknown package"
    return Note(
        level="warning",
        slug="broken-plugin",
        text=f"The plug-in {entry.name!r} of {package} ({kind.package}: {entry.value}) is left out: "
        f"{type(error).__name__}: {error}. Update or remove that package.",
    )
