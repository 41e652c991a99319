"""A verified fix as text, as JSON, and read back from its file."""

from __future__ import annotations

import json
import os

import pytest

from rlprof.documents.terminal import as_text
from rlprof.errors import RunFileError
from rlprof.model.experiment import TreatmentKind
from rlprof.model.recording import Note
from rlprof.verification.document import verified_document
from rlprof.verification.json_document import read_verification, verification_as_json
from rlprof.verification.verified import VerifiedFix
from tests.verification_factory import a_promise, a_verified_fix

HELD = a_verified_fix()
BELOW = a_verified_fix(saves=(0.30, 0.25, 0.40), tried=(0.31, 0.29, 0.33))
ABOVE = a_verified_fix(promised=(0.04, 0.19), saves=(0.40, 0.38, 0.45), unit="updates")
SLOWER = a_verified_fix(saves=(-0.10, -0.15, -0.05))
CEILING = a_verified_fix(
    promise=a_promise(tried=(0.9, 0.88, 0.92), tried_kind=TreatmentKind.CEILING, file="", line=0)
)
HOSTILE = a_verified_fix(
    "x|y\x1b[31m\udc80" * 20,
    command=("sh", "-c", "echo \x1b[31m" + "long " * 60),
    notes=(Note("warning", "promise-of-other-code", "It was another program."),),
)
FIXES = {
    "held": HELD,
    "below": BELOW,
    "above": ABOVE,
    "slower": SLOWER,
    "ceiling": CEILING,
    "hostile": HOSTILE,
}


def text_of(fix: VerifiedFix, width: int = 110) -> str:
    return as_text(verified_document(fix), width=width, colored=False)


def told(fix: VerifiedFix) -> str:
    """On one line."""
    return " ".join(text_of(fix).split())


def test_the_text_begins_with_what_became_of_the_promise():
    assert text_of(HELD).splitlines()[0] == (
        "The promise held: the fix saves 80 % (78 to 82 %) of the time per step, and 68 to 87 % were promised."
    )
    assert text_of(BELOW).startswith("Less than promised: the fix saves 30 %")
    assert text_of(ABOVE).startswith("More than promised: the fix saves 40 %")
    assert text_of(SLOWER).startswith(
        "Less than promised: steps take 10 % (5.0 to 15 %) longer with the fix"
    )


def test_promised_tried_and_measured_stand_in_one_table():
    lines = [" ".join(line.split()) for line in text_of(BELOW).splitlines()]

    assert "promised 68 to 87 % 3.1× to 7.7×" in lines
    assert "tried 31 % (29 to 33 %) 1.45× (1.41 to 1.49×)" in lines
    assert "measured 30 % (25 to 40 %) 1.43× (1.33 to 1.67×)" in lines


def test_a_ceiling_is_the_most_that_a_fix_saves():
    assert "at most 90 %" in told(CEILING)


def test_the_finding_and_the_run_that_promised_it_are_named():
    assert "Finding: omegaconf-in-loop, bandit/env.py:42 step" in told(HELD)
    assert ".rlprof/20261127T100000-train.rlprof (stage-1, abc1234)" in told(HELD)


def test_it_says_what_to_do_next():
    assert "Keep the fix." in told(HELD)
    assert "Is the whole fix in? `rlprof explain omegaconf-in-loop`" in told(BELOW)
    assert "`rlprof try` had measured as little" in told(BELOW)
    assert "Samples told too little" in told(ABOVE)
    assert "No gain is shown." in told(SLOWER)
    assert "--interleave" in told(BELOW)
    assert "--interleave" not in told(HELD)


# --- the file that keeps it -----------------------------------------------------------------------


@pytest.mark.parametrize("name", FIXES)
def test_it_is_read_back_as_it_was(name, tmp_path):
    kept = tmp_path / "kept.verify.json"
    kept.write_text(verification_as_json(FIXES[name]))

    again = read_verification(kept)

    assert json.loads(verification_as_json(again)) == json.loads(kept.read_text())
    assert again.standing is FIXES[name].standing
    assert again.file == str(kept)


def changed(**changes: object) -> bytes:
    return json.dumps({**json.loads(verification_as_json(HELD)), **changes}).encode()


GAIN = json.loads(verification_as_json(HELD))["gain"]
PROMISE = json.loads(verification_as_json(HELD))["promise"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
        b'{"format": "rlprof-history", "version": 1}',
        changed(version=2),
        changed(version="1"),
        changed(measured="yesterday"),
        changed(measured="2026-11-27T10:00:00"),
        changed(measured="9999-12-31T23:59:59-23:00"),
        changed(pairs=[]),
        changed(pairs=[{"base": 0, "head": 1}]),
        changed(gain={**GAIN, "low": 0.9}),
        changed(gain={**GAIN, "median": 1e300}),
        changed(promise={**PROMISE, "share": {"low": 0.9, "high": 0.1}}),
        changed(promise={**PROMISE, "share": {"low": -1, "high": 0.1}}),
        changed(promise=None),
    ],
)
def test_what_is_none_or_damaged_is_refused_with_its_name(content, tmp_path):
    kept = tmp_path / "kept.verify.json"
    kept.write_bytes(content)

    with pytest.raises(RunFileError, match=r"kept\.verify\.json") as refused:
        read_verification(kept)

    assert refused.value.slug == "verification-damaged"


def test_what_is_no_file_is_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe.verify.json"
    os.mkfifo(pipe)

    for path in (pipe, tmp_path, tmp_path / "none.verify.json"):
        with pytest.raises(RunFileError, match="cannot be read"):
            read_verification(path)
