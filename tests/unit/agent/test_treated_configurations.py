from __future__ import annotations

import pytest

from rlprof.agent.inject.rlprof_agent.treatments import AskedPart
from rlprof.agent.inject.rlprof_agent.treatments.configurations import Configurations

omegaconf = pytest.importorskip("omegaconf", reason="omegaconf is missing (make test installs it)")

TEXT = """
agent: {rate: 0.5, name: dqn, layers: [64, 64], none: null, eager: true, steps: 3}
copied: ${agent.rate}
missing: ???
odd: "a\\\\$b?"
"""


@pytest.fixture
def config():
    return omegaconf.OmegaConf.create(TEXT)


@pytest.fixture
def reached():
    return [0]


@pytest.fixture
def treated(reached):
    configurations = Configurations(AskedPart({}, reached, pytest.fail))
    configurations.put_on()
    yield configurations
    configurations.take_off()


def read(config):
    agent = config.agent
    names = ("rate", "name", "layers", "none", "eager", "steps")
    return [
        [(type(found), found) for found in (getattr(agent, name), agent[name])] for name in names
    ]


def test_gives_what_omegaconf_gives(config, reached):
    untreated = read(config)
    configurations = Configurations(AskedPart({}, reached, pytest.fail))

    configurations.put_on()
    try:
        assert read(config) == untreated
    finally:
        configurations.take_off()
    assert reached[0] > 10


def test_gives_the_very_configuration_within(config, treated):
    assert config.agent is config["agent"]
    assert config.agent.layers[1] == 64


def test_gives_what_was_set_meanwhile(config, treated):
    assert config.agent.rate == 0.5
    config.agent.rate = 0.25
    assert config.agent.rate == 0.25
    config.agent = {"rate": 7}
    assert config.agent.rate == 7
    del config.agent.rate
    with pytest.raises(omegaconf.errors.ConfigAttributeError):
        _ = config.agent.rate
    config.merge_with({"agent": {"rate": 8}})
    assert config.agent.rate == 8


def test_follows_interpolations(config, treated):
    assert config.copied == 0.5
    config.agent.rate = 2
    assert config.copied == 2


def test_what_is_missing_is_told_as_ever(config, treated):
    with pytest.raises(omegaconf.errors.MissingMandatoryValue):
        _ = config.missing
    with pytest.raises(omegaconf.errors.ConfigKeyError):
        _ = config["nowhere"]
    assert config.get("nowhere", 3) == 3
    assert not hasattr(config, "__name__")


def test_a_class_of_the_programs_reads_in_its_own_way(treated):
    class Loud(omegaconf.DictConfig):  # type: ignore[misc, name-defined]
        def _get_impl(self, *_args, **_kwargs):
            return "loud"

    assert Loud({"a": 1}).a == "loud"


def test_is_as_it_was_once_it_is_taken_off(config, reached):
    reads = omegaconf.DictConfig.__getattr__, omegaconf.DictConfig.__getitem__
    codes = [function.__code__ for function in reads]
    configurations = Configurations(AskedPart({}, reached, pytest.fail))

    configurations.put_on()
    configurations.take_off()

    assert [function.__code__ for function in reads] == codes
    before = reached[0]
    assert config.agent.rate == 0.5
    assert reached[0] == before


def test_the_time_that_plain_reads_take_is_told(config):
    cost_ns = [0]
    configurations = Configurations(AskedPart({}, [0], pytest.fail, cost_ns))
    configurations.put_on()
    try:
        assert config.agent.steps == 3
    finally:
        configurations.take_off()

    assert cost_ns[0] > 0
