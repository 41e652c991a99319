"""Counters and facts of the machine in words."""

from __future__ import annotations

import pytest

from rlprof.libraries.step_sources import STEP_SOURCES
from rlprof.model import counters
from rlprof.recording.machine.host import host_facts
from rlprof.report import wording
from rlprof.report.wording.facts import (
    counter_name,
    counter_per_step,
    counter_value,
    host_name,
    host_value,
)


def test_every_counter_that_rlprof_keeps_has_words():
    names = {
        value
        for name, value in vars(counters).items()
        if name.isupper()
        and not name.startswith("_")
        and isinstance(value, str)
        and value not in STEP_SOURCES
    }

    assert counters.IPC_BYTES in names
    assert [name for name in names if counter_name(name) == name or "_" in counter_name(name)] == []


def test_every_fact_of_this_machine_has_words():
    facts = host_facts()

    assert "system" in facts
    assert [key for key in facts if not host_name(key)[0].isupper() or "_" in host_name(key)] == []
    assert len({host_name(key) for key in facts}) == len(facts)


def test_counters_of_the_program_keep_their_names():
    assert counter_name("cache_misses") == "cache_misses"
    assert counter_name("a\nb") == "a\\nb"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (counters.IPC_BYTES, 3 * 1024, "3.0 KiB"),
        (counters.IPC_BYTES, 0.25, "0.25 B"),
        (counters.IPC_MESSAGES, 12_480, "12 480"),
    ],
)
def test_bytes_are_told_as_such(name, value, text):
    assert wording.unglued(counter_value(name, value)) == text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (counters.PROCESS_STARTS, 2.1, "2.1 per step"),
        (counters.PROCESS_STARTS, 0.01, "0.01 per step"),
        (counters.PROCESS_STARTS, 6.6e-05, "0.066 per 1 000 steps"),
        (counters.PROCESS_STARTS, 6.6e-06, ""),
        (counters.IPC_BYTES, 0.0042, "4.2 B per 1 000 steps"),
    ],
)
def test_what_seldom_happens_is_told_of_a_thousand_steps(name, value, text):
    assert wording.unglued(counter_per_step(name, value)) == text


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("gpu:0:name", "GPU 0 model"),
        ("gpu:1:memory_bytes", "GPU 1 memory"),
        ("gpu:1:max_clock_mhz", "GPU 1 highest clock (MHz)"),
        ("gpu:", "GPU"),
        ("machine", "Architecture"),
        ("of_another_rlprof", "of another rlprof"),
    ],
)
def test_facts_of_the_machine_have_names(key, name):
    assert host_name(key) == name


def test_memory_of_the_machine_is_a_size():
    assert wording.unglued(host_value("memory_bytes", str(2 << 30))) == "2.0 GiB"
    assert host_value("memory_bytes", "unknown") == "unknown"
