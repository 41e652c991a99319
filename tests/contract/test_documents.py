"""What holds for every document that is not a report of a run: ladders, histories, costs, comparisons, verified fixes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rlprof.comparison.document import comparison_document
from rlprof.comparison.json_document import comparison_as_json
from rlprof.documents.blocks import Block
from rlprof.documents.markdown import as_markdown
from rlprof.documents.terminal import as_text
from rlprof.history.document import calibration_document, history_document
from rlprof.history.json_document import calibration_as_json, history_as_json
from rlprof.overhead.document import cost_document
from rlprof.overhead.json_document import cost_as_json
from rlprof.scaling.document import study_document
from rlprof.scaling.json_document import study_as_json
from rlprof.verification.document import verified_document
from rlprof.verification.json_document import verification_as_json
from tests.unit.comparison.test_diff_formats import ALIKE, ODD, SLOWER
from tests.unit.history.test_calibration import CALIBRATIONS
from tests.unit.history.test_history_formats import HISTORIES
from tests.unit.overhead.test_cost_formats import COSTS
from tests.unit.scaling.test_scale_formats import STUDIES
from tests.unit.verification.test_verify_formats import FIXES

PACKAGE = Path(__file__).parents[2] / "rlprof"
Blocks = Callable[[Any], Iterator[Block]]
KINDS: dict[str, tuple[Blocks, Callable[[Any], str], dict[str, Any]]] = {
    "calibration": (calibration_document, calibration_as_json, CALIBRATIONS),
    "diff": (comparison_document, comparison_as_json, {"slower": SLOWER, "alike": ALIKE, **ODD}),
    "history": (history_document, history_as_json, HISTORIES),
    "overhead": (cost_document, cost_as_json, COSTS),
    "scale": (study_document, study_as_json, STUDIES),
    "verify": (verified_document, verification_as_json, FIXES),
}
every_document = pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, (_, _, named) in KINDS.items() for name in named],
    ids=str,
)


@every_document
@pytest.mark.parametrize("width", [40, 80, 110])
def test_no_line_is_wider_than_the_terminal(kind, name, width):
    blocks, _, named = KINDS[kind]
    text = as_text(blocks(named[name]), width=width, colored=False)

    assert all(len(line) <= width for line in text.splitlines())


@every_document
def test_texts_hold_no_control_characters(kind, name):
    blocks, _, named = KINDS[kind]
    for text in (
        as_text(blocks(named[name]), width=80, colored=False),
        as_markdown(blocks(named[name])),
    ):
        assert text.replace("\n", "").isprintable()


@every_document
def test_the_json_names_its_format_first(kind, name):
    _, as_json, named = KINDS[kind]
    document = json.loads(as_json(named[name]))

    assert list(document)[:3] == ["format", "version", "rlprof"]
    assert (document["format"], document["version"]) == (f"rlprof-{kind}", 1)


@every_document
def test_the_json_follows_its_schema(kind, name):
    _, as_json, named = KINDS[kind]
    (schema,) = PACKAGE.glob(f"*/{kind}.schema.json")

    jsonschema.validate(json.loads(as_json(named[name])), json.loads(schema.read_text("utf-8")))
