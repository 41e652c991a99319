"""The schemas of JSON documents: each file is made from the struct that is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rlprof.comparison.json_document import DiffDocument
from rlprof.gate.baseline import BaselineDocument
from rlprof.gate.json_document import CheckDocument
from rlprof.history.json_document import CalibrationDocument, HistoryDocument
from rlprof.overhead.json_document import OverheadDocument
from rlprof.renderers.json_report.document import ReportDocument
from rlprof.scaling.json_document import ScaleDocument
from rlprof.tracereport.json_document import TraceDocument
from rlprof.verification.json_document import VerifyDocument
from tests.golden_files import check_golden

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    "rlprof/renderers/report.schema.json": ReportDocument,
    "rlprof/comparison/diff.schema.json": DiffDocument,
    "rlprof/gate/check.schema.json": CheckDocument,
    "rlprof/gate/baseline.schema.json": BaselineDocument,
    "rlprof/tracereport/trace.schema.json": TraceDocument,
    "rlprof/history/history.schema.json": HistoryDocument,
    "rlprof/history/calibration.schema.json": CalibrationDocument,
    "rlprof/verification/verify.schema.json": VerifyDocument,
    "rlprof/scaling/scale.schema.json": ScaleDocument,
    "rlprof/overhead/overhead.schema.json": OverheadDocument,
}


def tersely(part: dict[str, Any]) -> dict[str, Any]:
    """With ``"type": ["number", "null"]`` for a value that may be null."""
    match part.pop("anyOf", None):
        case [{"type": str(kind), **rest}, {"type": "null"}]:
            return {**part, **rest, "type": [kind, "null"]}
        case None:
            return part
        case choice:
            return {**part, "anyOf": choice}


def schema_of(document: type[msgspec.Struct], file: str) -> dict[str, Any]:
    made = json.dumps(msgspec.json.schema(document))
    parts = json.loads(made, object_hook=tersely)["$defs"]
    whole = parts.pop(document.__name__)
    keys = whole["properties"]
    (format_,), (version,) = keys["format"]["enum"], keys["version"]["enum"]
    return {
        "$schema": jsonschema.Draft202012Validator.META_SCHEMA["$id"],
        "$id": f"https://github.com/rlprof/rlprof/blob/main/{file}",
        **whole,
        "title": f"{format_.replace('-', ' ')}, format version {version}",
        "$defs": parts,
    }


@pytest.mark.parametrize(("file", "document"), SCHEMAS.items(), ids=SCHEMAS)
def test_the_schema_is_that_of_the_struct(file, document):
    schema = schema_of(document, file)

    jsonschema.Draft202012Validator.check_schema(schema)
    check_golden(ROOT / file, json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
