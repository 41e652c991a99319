"""The baseline file: what is written reads back, and what is not one is refused with its reason."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.errors import EXIT_NOT_MEASURED, EXIT_USAGE, RlprofError
from rlprof.gate.baseline import Baseline, baseline_as_json, read_baseline
from tests.check_factory import MACHINE, a_baseline

SCHEMA = json.loads(files("rlprof.gate").joinpath("baseline.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_no_formality():
    document = json.loads(baseline_as_json(a_baseline()))

    assert VALIDATOR.is_valid(document)
    assert not VALIDATOR.is_valid({**document, "sps": [0]})
    assert not VALIDATOR.is_valid({**document, "machine": {}})


rate = st.floats(1e-3, 1e9).map(lambda value: float(f"{value:.6g}"))
counts = st.floats(0, 1e9)


@st.composite
def baselines(draw: st.DrawFn) -> Baseline:
    runs = draw(st.integers(1, 6))
    of_runs = st.lists(rate, min_size=runs, max_size=runs).map(tuple)
    each = st.lists(counts, min_size=runs, max_size=runs).map(tuple)
    counters = draw(st.dictionaries(st.text(), each, max_size=4))
    made = rate if counters else st.just(0.0) | rate
    steps = st.lists(made, min_size=runs, max_size=runs).map(tuple)
    return a_baseline(
        sps=draw(st.just(()) | of_runs),
        steps=draw(steps),
        command=tuple(draw(st.lists(st.text(), min_size=1, max_size=4))),
        commit=draw(st.text(max_size=8)),
        machine={**MACHINE, "cpu_model": draw(st.text())},
        counters_per_step=counters,
    )


@given(baselines())
def test_what_is_written_reads_back(tmp_path_factory, baseline):
    file = tmp_path_factory.mktemp("baseline") / "perf.json"

    text = baseline_as_json(baseline)
    file.write_text(text, encoding="utf-8")

    VALIDATOR.validate(json.loads(text))
    assert read_baseline(file) == baseline


def test_a_diff_shows_what_changed():
    was = baseline_as_json(a_baseline()).splitlines()
    now = baseline_as_json(a_baseline((1000, 1004, 998, 1001, 1234))).splitlines()

    assert [line.strip() for line in now if line not in was] == ["1234"]
    keys = [line.split('"')[1] for line in was if line.startswith("    ") and '": "' in line]
    assert keys == sorted(keys)


def edited(**changes: object) -> str:
    return json.dumps({**json.loads(baseline_as_json(a_baseline())), **changes})


@pytest.mark.parametrize(
    ("text", "slug", "said"),
    [
        ("", "baseline-damaged", "not JSON"),
        ("<<<<<<< HEAD", "baseline-damaged", "not JSON"),
        ("[" * 100_000, "baseline-damaged", "Expected `object`"),
        ('{"added": ' + "[" * 100_000, "baseline-damaged", "not JSON"),
        ("[]", "baseline-damaged", "Expected `object`"),
        ('{"format": "rlprof-report", "version": 1}', "baseline-damaged", "rlprof-baseline"),
        (edited(version=2), "baseline-newer", "version 2"),
        (edited(version=2, sps="other"), "baseline-newer", "version 2"),
        (edited(version="1"), "baseline-damaged", "damaged: version"),
        (edited(version=True), "baseline-damaged", "damaged: version"),
        (edited(sps=None), "baseline-damaged", "damaged: sps"),
        (edited(sps=[1, -2]), "baseline-damaged", "damaged: sps[1]: Expected `float` > 0"),
        (edited(sps=[1, float("nan")]), "baseline-damaged", "not JSON"),
        (edited(sps=[1, True]), "baseline-damaged", "damaged: sps"),
        (edited(steps=[1], counters_per_step={}), "baseline-damaged", "as many"),
        (edited(steps=[]), "baseline-damaged", "damaged: steps"),
        (edited(steps=[-1] * 5), "baseline-damaged", "damaged: steps"),
        (edited(steps=[0] * 5), "baseline-damaged", "damaged: steps"),
        (edited(steps=[9, 9, 0, 9, 9]), "baseline-damaged", "damaged: steps"),
        (edited(steps=[10**400] * 5), "baseline-damaged", "damaged: steps"),
        (edited(sps=[10**400] * 5), "baseline-damaged", "damaged: sps"),
        (
            edited(counters_per_step={"log_records": 1e307}),
            "baseline-damaged",
            "damaged: counters_per",
        ),
        (
            edited(counters_per_step={"log_records": 10**400}),
            "baseline-damaged",
            "damaged: counters_per",
        ),
        (
            edited(steps=[1e300] * 5, counters_per_step={"log_records": 1e300}),
            *("baseline-damaged", "damaged: steps"),
        ),
        (edited(machine=None), "baseline-damaged", "damaged: machine"),
        (edited(machine={"cores": 8}), "baseline-damaged", "damaged: machine"),
        (edited(command="train.py"), "baseline-damaged", "damaged: command"),
        (
            edited(counters_per_step={"log_records": [1]}),
            "baseline-damaged",
            "damaged: counters_per_step",
        ),
        (
            edited(counters_per_step={"log_records": -1}),
            "baseline-damaged",
            "damaged: counters_per_step",
        ),
        (edited(unit=None), "baseline-damaged", "damaged: unit: Expected `str`, got `null`"),
        ('{"format": "rlprof-baseline", "version": 1}', "baseline-damaged", "field `rlprof`"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path, text, slug, said):
    file = tmp_path / "perf.json"
    file.write_text(text)

    with pytest.raises(RlprofError) as refused:
        read_baseline(file)

    assert (refused.value.slug, refused.value.exit_code) == (slug, EXIT_NOT_MEASURED)
    assert said in refused.value.message
    assert str(file) in refused.value.message


def test_a_program_that_prints_its_rate_alone_has_no_steps(tmp_path):
    file = tmp_path / "perf.json"
    baseline = a_baseline(steps=(0.0,) * 5, counters_per_step={})

    file.write_text(baseline_as_json(baseline))

    VALIDATOR.validate(json.loads(file.read_text()))
    assert read_baseline(file) == baseline


def test_keys_of_later_additions_are_let_be(tmp_path):
    file = tmp_path / "perf.json"
    file.write_text(edited(added={"later": 1}))

    assert read_baseline(file) == a_baseline()


def test_a_file_that_is_not_text(tmp_path):
    file = tmp_path / "perf.json"
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(RlprofError) as refused:
        read_baseline(file)

    assert refused.value.slug == "baseline-damaged"


@pytest.mark.parametrize(
    ("place", "hint"), [("nowhere.json", "make it first with"), (".", "make it again with")]
)
def test_a_file_that_is_not_there(tmp_path, place, hint):
    with pytest.raises(RlprofError) as refused:
        read_baseline(Path(tmp_path / place))

    assert (refused.value.slug, refused.value.exit_code) == ("baseline-missing", EXIT_USAGE)
    assert refused.value.hint.startswith(hint)
