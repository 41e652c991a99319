"""The programs that ``benchmarks/mutants.py`` composes, and how it judges them."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutation import disguises
from benchmarks.mutation.code import Code, Socket, parts_of
from benchmarks.mutation.compose import (
    Mutant,
    fits,
    forms_of,
    healthy,
    mutants_of,
    scaled,
    written,
)
from benchmarks.mutation.faults import FAULTS
from benchmarks.mutation.hosts import HOSTS
from benchmarks.mutation.names import Names

ROOT = Path(__file__).parents[2]
PAGES = {path.stem for path in (ROOT / "docs" / "detectors").glob("*.md")}


def combinations():
    """Each fault in each host that it fits, each time in another form."""
    for fault in FAULTS:
        for host in HOSTS:
            if fits(fault, host):
                forms = forms_of(fault, host)
                number = HOSTS.index(host) + FAULTS.index(fault)
                size, every = scaled(fault, host, 0.4)
                form = forms[number % len(forms)]
                yield Mutant(1, number, host, fault, form, 0.4, size, every)


@pytest.fixture
def mutants(monkeypatch):
    """The script, which finds those beside it as scripts do."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("mutants")


def finding(name, low=0.3, high=0.5):
    share = {"low": low, "high": high}
    return {
        "id": name,
        "confidence": "measured",
        "phase": "steady",
        "saved_share": share,
        "likely_share": (share["low"] + share["high"]) / 2,
    }


def test_there_are_enough_to_draw_from():
    assert len(HOSTS) >= 10
    assert len(FAULTS) >= 20
    assert len(disguises.DISGUISES) >= 10
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_a_host_and_findings_that_there_are(fault):
    assert any(fits(fault, host) for host in HOSTS)
    assert set(fault.right) | fault.allowed <= PAGES


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_seed_says_all(seed):
    first, again = mutants_of(seed, 30), mutants_of(seed, 30)

    assert first == again
    assert [written(mutant, fixed=False) for mutant in first] == [
        written(mutant, fixed=False) for mutant in again
    ]


def test_seeds_differ():
    assert [mutant.name for mutant in mutants_of(1, 10)] != [
        mutant.name for mutant in mutants_of(2, 10)
    ]


def test_every_fault_comes_once_before_any_comes_twice():
    drawn = [mutant.fault.name for mutant in mutants_of(4, len(FAULTS))]

    assert len(set(drawn)) == len(FAULTS)


def test_all_that_can_be_composed_can_be_read():
    for mutant in combinations():
        for fixed in (False, True):
            files = written(mutant, fixed=fixed).files
            for text in files.values():
                ast.parse(text)
                assert "$" not in text
            assert (len(files) == 2) == (mutant.disguise == "module")


def test_a_program_and_its_fixed_version_share_the_host():
    for mutant in combinations():
        both = [written(mutant, fixed=fixed).files for fixed in (False, True)]
        faulty, fixed = (files["train.py"] for files in both)
        bare = written(Mutant(1, mutant.number, mutant.host, None, "plain", 0, 1, 1), fixed=True)

        assert both[0] != both[1]
        # Lines without a name that is drawn are the same in all three.
        kept = [
            part.strip()
            for part in parts_of(mutant.host.template)
            if isinstance(part, str) and "$" not in part and part != "@@"
        ]
        assert all(
            line in text for line in kept for text in (faulty, fixed, bare.files["train.py"])
        )


def test_no_drawn_name_hides_another():
    for mutant in mutants_of(5, 40):
        text = written(mutant, fixed=False).files["train.py"]
        tree = ast.parse(text)
        defined = [
            node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        ]

        assert len(set(defined)) == len(defined)


def test_none_of_them_knows_rlprof():
    for mutant in [*mutants_of(1, 60), *healthy(1, HOSTS)]:
        text = "\n".join(written(mutant, fixed=False).files.values())

        assert "rlprof" not in text
        assert "benchmarks" not in text


@pytest.mark.parametrize("form", sorted(disguises.DISGUISES))
def test_code_does_the_same_in_every_form(form, tmp_path, monkeypatch):
    import random

    code = Code("$kept.append($obs)", "$obs + len($kept)", kept="[1, 2]")
    socket = Socket("step", "", {"obs": "given_one", "action": "unused"}, "answered", Code())
    names = Names(random.Random(3))
    dressed = disguises.DISGUISES[form](code, socket, names)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{names['beside']}.py").write_text(dressed.beside)
    scope = {"given_one": 10}

    exec("\n".join([dressed.imports, dressed.above, dressed.call, dressed.call]), scope)

    assert scope["answered"] == 14


def test_a_larger_share_asks_for_more():
    fault = next(fault for fault in FAULTS if fault.name == "array-of-a-dict")
    host = next(host for host in HOSTS if host.name == "linear")

    (small, _), (large, _) = (scaled(fault, host, share) for share in (0.2, 0.7))

    assert small < large


def test_of_several_right_causes_the_first_listed_counts(mutants):
    mutant = next(one for one in combinations() if len(one.fault.right) > 1)
    other, first = mutant.fault.right[:2]
    report = {"findings": [finding("hot-spot"), finding(first), finding(other)]}

    assert mutants.expected(mutant, report).finding == first
    assert other in mutants.expected(mutant, report).allowed


def test_a_fault_that_is_not_mentioned_is_expected_by_its_first_name(mutants):
    mutant = next(combinations())

    assert mutants.expected(mutant, {"findings": []}).finding == mutant.fault.right[0]


def test_a_healthy_host_is_expected_to_have_nothing(mutants):
    (host,) = healthy(1, HOSTS[:1])

    assert mutants.expected(host, {"findings": [finding("gc-pressure")]}).finding == ""


def test_a_second_module_has_all_that_it_needs(tmp_path):
    """As ruff sees it: names that nothing defines."""
    for fault in FAULTS:
        host = next(host for host in HOSTS if fits(fault, host))
        mutant = Mutant(1, 0, host, fault, "module", 0.4, *scaled(fault, host, 0.4))
        for fixed in (False, True):
            written(mutant, fixed=fixed).into(tmp_path / f"{fault.name}-{fixed}")
    command = ["ruff", "check", "--isolated", "--no-cache", "--select", "F821", str(tmp_path)]

    answer = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, timeout=60
    )

    assert answer.returncode == 0, answer.stdout
