from __future__ import annotations

from dataclasses import dataclass

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


INTERPOLATED = """
rate: 0.5
none: null
text: some
agent: {rate: "${rate}", none: "${none}", text: "${text}", inner: {rate: "${agent.rate}", own: "${rate}"}}
named: "at ${rate}"
near: {rate: "${.other}", other: 3, both: "${rate}${rate}", item: "${layers.0}", again: "${agent}"}
layers: [64, 32]
odd: {missing: "${gone}", deep: "${near.other.more}", unset: "${unset}", quoted: "${oc.env:HOME}"}
unset: ???
"""


def every_read(config):
    for name in config:
        try:
            found = config[name]
        except omegaconf.errors.OmegaConfBaseException as error:
            yield name, type(error), str(error)
            continue
        yield name, type(found), found
        if isinstance(found, omegaconf.DictConfig):
            yield from every_read(found)


def test_gives_the_values_that_interpolations_stand_for(reached):
    config = omegaconf.OmegaConf.create(INTERPOLATED)
    untreated = [*every_read(config)]
    part = AskedPart({}, reached, pytest.fail)
    configurations = Configurations(part)

    configurations.put_on()
    try:
        assert [*every_read(config)] == untreated
        before = part.treated, part.passed_on
        assert (config.agent.rate, config.agent.inner.own) == (0.5, 0.5)
        # That of the whole tree, where a part of it was handed out.
        assert config.agent.inner["own"] == 0.5
        assert (part.treated, part.passed_on) == (before[0] + 3, before[1])
    finally:
        configurations.take_off()


def test_interpolations_give_what_was_set_meanwhile(treated):
    config = omegaconf.OmegaConf.create(INTERPOLATED)
    inner = config.agent.inner

    assert inner.own == 0.5
    config.rate = 0.25
    assert inner.own == 0.25
    config.agent.inner.own = "${text}"
    assert inner.own == "some"
    config.text = "${rate}"
    assert inner.own == 0.25
    del config.rate
    with pytest.raises(omegaconf.errors.InterpolationKeyError):
        _ = inner.own


def test_a_value_with_a_type_is_made_one_of_its_own(treated):
    @dataclass
    class Agent:
        steps: str = "${steps}"

    config = omegaconf.OmegaConf.create(
        {"steps": 3, "agent": omegaconf.OmegaConf.structured(Agent)}
    )

    assert config.agent.steps == "3"


def test_where_most_values_are_passed_on_it_is_refused(reached):
    config = omegaconf.OmegaConf.create({"rate": 0.5, "agent": {"rate": "at ${rate}"}})
    failed = []
    configurations = Configurations(AskedPart({}, reached, failed.append))

    configurations.put_on()
    try:
        for _ in range(1000):
            assert config.agent.rate == "at 0.5"
        assert not failed
        assert config.agent.rate == "at 0.5"
    finally:
        configurations.take_off()

    assert "most of the values that are read are interpolations" in str(failed[0])


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
