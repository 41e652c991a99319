"""Accesses of configurations, counted on stand-ins of the same shape."""

from __future__ import annotations

import copy
import inspect
import threading
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import counters
from rlprof.agent.inject.rlprof_agent.counted import call_marks, configurations


@pytest.fixture(autouse=True)
def _counting_begins_anew(monkeypatch):
    monkeypatch.setattr(counters, "_counters", {})


def accesses() -> int:
    call_marks.add_what_is_left()
    return counters.counter("config_accesses").cell[0]


def omegaconf_like() -> SimpleNamespace:
    """Its classes, with values that may be read from elsewhere: ``$key`` stands for ``config.key``."""

    class DictConfig:
        def __init__(self, content):
            self.__dict__["_content"] = content

        def __getattr__(self, key):
            if key not in self.__dict__.get("_content", ()):
                raise AttributeError(key)
            return self._read(key)

        def __getitem__(self, key):
            return self._read(key)

        def _read(self, key):
            value = self.__dict__["_content"][key]
            return self._read(value[1:]) if isinstance(value, str) and value[:1] == "$" else value

        def get(self, key, default_value=None):
            """The value, or another."""
            return self._content.get(key, default_value)

    class ListConfig:
        def __init__(self, content):
            self.__dict__["_content"] = content

        def __getitem__(self, index):
            return self.__dict__["_content"][index]

        def get(self, index, default_value=None):
            return self[index] if index < len(self._content) else default_value

        def __iter__(self):
            if self._content is None:
                raise TypeError("not a list")
            return iter(self._content)

    class OmegaConf:
        @staticmethod
        def select(cfg, key, *, default=None):
            for part in key.split("."):
                cfg = cfg[part]
            return default if cfg is None else cfg

        @staticmethod
        def to_container(cfg, *, resolve=False):
            content = cfg.__dict__["_content"]
            return {key: cfg[key] if resolve else content[key] for key in content}

    library = SimpleNamespace(DictConfig=DictConfig, ListConfig=ListConfig, OmegaConf=OmegaConf)
    configurations.count_dict_accesses(library)
    configurations.count_list_accesses(library)
    configurations.count_conversions(library)
    return library


@pytest.fixture
def library():
    return omegaconf_like()


@pytest.mark.parametrize(
    ("access", "value", "number"),
    [
        (lambda c, _: c.lr, 0.1, 1),
        (lambda c, _: c["lr"], 0.1, 1),
        (lambda c, _: c.get("lr"), 0.1, 1),
        (lambda c, _: c.get(key="nope", default_value=3), 3, 1),
        (lambda c, _: c.net.width, 8, 2),
        (lambda c, _: c.again, 0.1, 1),
        (lambda c, _: c.layers[1], 2, 2),
        (lambda c, _: c.layers.get(index=1), 2, 2),
        (lambda c, _: [*c.layers], [1, 2, 3], 4),
        (lambda c, lib: lib.OmegaConf.select(c, "net.width"), 8, 1),
        (lambda c, lib: lib.OmegaConf.select(cfg=c, key="net.width", default=1), 8, 1),
        (lambda c, lib: len(lib.OmegaConf.to_container(c, resolve=True)), 4, 1),
    ],
    ids=[
        "attribute", "item", "get", "get-by-name", "nested", "interpolated", "list-item", "list-get",
        "list-items", "select", "select-by-name", "to-container",
    ],
)  # fmt: skip
def test_each_access_counts_once(library, access, value, number):
    config = library.DictConfig(
        {
            "lr": 0.1,
            "again": "$lr",
            "net": library.DictConfig({"width": 8}),
            "layers": library.ListConfig([1, 2, 3]),
        }
    )

    assert access(config, library) == value
    assert accesses() == number


def test_what_raises_leaves_nothing_behind(library):
    config = library.DictConfig({"lr": 0.1})

    assert not hasattr(config, "momentum")
    with pytest.raises(KeyError):
        config["momentum"]
    with pytest.raises(KeyError):
        library.OmegaConf.select(config, "net.width")
    with pytest.raises(TypeError):
        iter(library.ListConfig(None))

    before = accesses()
    assert config.lr == 0.1
    assert accesses() == before + 1


def test_keys_may_be_given_by_name(library):
    layers = library.ListConfig([1, 2, 3])

    assert layers.__getitem__(index=1) == 2
    assert library.DictConfig({"lr": 0.1}).__getitem__(key="lr") == 0.1
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'index'"):
        layers.__getitem__()


def test_threads_count_apart(library):
    """While one thread is inside a call that reads a whole path, accesses of others count."""
    inside, go_on = threading.Event(), threading.Event()

    class Slow(dict):
        def __getitem__(self, key):
            if key == "slow":
                inside.set()
                assert go_on.wait(10)
            return super().__getitem__(key)

    config = library.DictConfig(Slow(lr=0.1, slow=1, last=2))
    thread = threading.Thread(
        target=library.OmegaConf.to_container, args=(config,), kwargs={"resolve": True}
    )
    thread.start()
    assert inside.wait(10)
    assert (config.get("nope"), config["lr"]) == (None, 0.1)
    go_on.set()
    thread.join()

    assert accesses() == 3


def test_a_version_with_another_get_is_counted_too():
    class DictConfig:
        def __getattr__(self, key):
            raise AttributeError(key)

        def __getitem__(self, key):
            return key

        def get(self, key, default=5):
            return default if key == "x" else key

    configurations.count_dict_accesses(SimpleNamespace(DictConfig=DictConfig))

    assert (DictConfig().get("x"), DictConfig().get("x", default=6)) == (5, 6)
    assert accesses() == 2


def test_the_program_finds_the_functions_as_they_were(library):
    config = library.DictConfig({"lr": 0.1})
    get = library.DictConfig.get

    assert (get.__name__, get.__doc__) == ("get", "The value, or another.")
    assert str(inspect.signature(get)) == "(self, key, default_value=None)"
    assert str(inspect.signature(library.OmegaConf.select)) == "(cfg, key, *, default=None)"
    assert isinstance(vars(library.OmegaConf)["select"], staticmethod)
    assert copy.deepcopy(config).lr == 0.1


def test_config_dicts_of_ml_collections_count_whichever_way():
    class ConfigDict:
        def __init__(self, **fields):
            self.__dict__["_fields"] = fields

        def __getitem__(self, key):
            if "." in key:
                first, rest = key.split(".", 1)
                return self[first][rest]
            return self._fields[key]

        def __getattr__(self, key):
            try:
                return self[key]
            except KeyError as error:
                raise AttributeError(key) from error

        def get(self, key, default=None):
            try:
                return self[key]
            except KeyError:
                return default

    configurations.count_config_dicts(SimpleNamespace(ConfigDict=ConfigDict))
    config = ConfigDict(lr=0.1, net=ConfigDict(width=8))

    assert (config.lr, config["lr"], config.get("lr"), config["net.width"]) == (0.1, 0.1, 0.1, 8)
    assert (config.get("nope"), hasattr(config, "nope")) == (None, False)
    assert accesses() == 6
