"""What holds for every library, also for one added tomorrow."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import combinations
from pathlib import Path

import pytest

import rlprof.agent
from rlprof.agent.inject.rlprof_agent.counted import WATCHED
from rlprof.libraries.base import ANY, EVERYTHING, Library
from rlprof.libraries.known import LIBRARIES, file_pattern
from rlprof.libraries.step_sources import STEP_SOURCES, best_source
from rlprof.model.counters import STEPS_CUSTOM, STEPS_RECOGNISED

COUNTED = Path(rlprof.agent.__file__).parent / "inject" / "rlprof_agent" / "counted"
SOURCES = [source for library in LIBRARIES for source in library.step_sources]
PATTERNS = [field.name for field in fields(Library) if field.type == "str | None"]


def of_the_guide() -> Library:
    """The library that CONTRIBUTING.md shows how to add."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    example = re.search(r"^# rlprof/libraries/\w+\.py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Library] = {}
    exec(example[1] if example else "", names)
    return names["LIBRARY"]


@pytest.fixture(params=[*LIBRARIES, of_the_guide()], ids=lambda library: library.name)
def library(request):
    return request.param


def patterns_of(library: Library) -> list[str]:
    of_fields = [getattr(library, name) for name in PATTERNS]
    all_of_them = [
        *of_fields,
        *library.transport,
        *library.waits,
        *library.duties,
        *library.slow_calls,
        *library.sinks.values(),
        *library.accesses.values(),
    ]
    return [pattern for pattern in all_of_them if pattern is not None]


def names_of(library: Library) -> list[str]:
    return [*map(re.escape, library.packages), *library.also]


def file_of(library: Library, sample: str) -> str:
    package = next(iter((*library.packages, *library.also)), "python3.12")
    return f"/usr/lib/{package}/{sample}"


def test_it_tells_something_by_patterns_that_are_regular_expressions(library):
    for pattern in patterns_of(library):
        re.compile(file_pattern(library, pattern))

    named = {field: getattr(library, field) for field in ("name", "packages", "also", "samples")}
    assert library.packages or library != Library(**named)


def test_each_pattern_matches_a_file_of_its_own(library):
    files = [file_of(library, sample) for sample in (*library.samples, "__init__.py")]
    for pattern in patterns_of(library):
        assert any(re.search(file_pattern(library, pattern), file) for file in files), pattern


def test_each_sample_is_of_a_pattern(library):
    patterns = [pattern for pattern in patterns_of(library) if pattern != EVERYTHING]
    for sample in library.samples:
        file = file_of(library, sample)
        assert any(re.search(file_pattern(library, each), file) for each in patterns), sample


def test_what_passes_messages_on_is_not_transport_as_a_whole(library):
    whole = [pattern for pattern, functions in library.transport.items() if ANY in functions]
    for sample in library.samples if library.passes_on else ():
        file = file_of(library, sample)
        if re.search(file_pattern(library, library.passes_on), file):
            both = [each for each in whole if re.search(file_pattern(library, each), file)]
            assert not both, f"{sample} passes on, so what it calls is no transport: {both}"


def test_its_patterns_match_no_file_of_another_package(library):
    if names_of(library):
        for pattern in patterns_of(library):
            for sample in (*library.samples, "__init__.py"):
                other = f"/usr/lib/python3.12/site-packages/a_project/{sample}"
                assert not re.search(file_pattern(library, pattern), other)


def test_no_two_libraries_share_a_name_or_a_package():
    for one, other in combinations(LIBRARIES, 2):
        assert one.name != other.name
        theirs = re.compile("|".join(names_of(other)))
        for package in (*one.packages, *one.also):
            assert not theirs.fullmatch(package), (one.name, other.name)


def test_step_sources_are_what_the_agent_counts_and_each_has_its_rank():
    counted = {
        name
        for file in COUNTED.glob("*.py")
        for name in re.findall(r'"(steps:[\w.]+)"', file.read_text())
    }

    told = {source.counter for source in SOURCES}
    nameless = sorted(counted - told - {STEPS_CUSTOM, STEPS_RECOGNISED})
    assert not nameless, f"no library in rlprof/libraries/ has a StepSource for {nameless}"
    assert not told - counted, "no file of counted/ in the agent counts these"
    ranks = {source.rank: source.counter for source in SOURCES}
    assert len(ranks) == len(SOURCES), f"a rank is used twice; taken are {ranks}"
    assert len({source.words for source in SOURCES}) == len(SOURCES)
    assert all(STEP_SOURCES[source.counter] == source.words for source in SOURCES)


def test_each_file_that_counts_steps_is_called_for_a_module():
    called = {file for file, _ in WATCHED.values()}
    for file in COUNTED.glob("*_envs.py"):
        assert file.stem in called, f"name {file.name} in WATCHED of counted/__init__.py"


def test_each_source_of_steps_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "run-file.md").read_text(encoding="utf-8")
    for source in SOURCES:
        assert f"`{source.counter}`" in text, (
            f"docs/run-file.md does not say what {source.counter} counts"
        )


def test_a_vector_env_is_counted_before_the_environments_in_it():
    ranked = [*STEP_SOURCES]
    for outer, inner in (
        ("steps:pufferlib", "steps:gymnasium.vector"),
        ("steps:sb3.vec", "steps:gymnasium.vector"),
        ("steps:gymnasium.vector", "steps:gymnasium.env"),
        ("steps:torchrl.batched", "steps:torchrl.env"),
        ("steps:torchrl.env", "steps:gymnasium.env"),
    ):
        assert ranked.index(outer) < ranked.index(inner)
    assert ranked[:2] == ["steps", "steps:custom"]
    # What the user names comes before what is found by itself.
    assert ranked[-2:] == ["output_steps", "steps:recognised"]
    assert best_source(["output_steps", "updates", "steps:gymnasium.env"]) == "steps:gymnasium.env"
    assert best_source(["updates", None]) is None
