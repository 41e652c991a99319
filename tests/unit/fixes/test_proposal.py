from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rlprof.errors import UsageError
from rlprof.fixes.base import Case, Fix, Rewriting
from rlprof.fixes.proposal import ChangedFile, propose
from rlprof.model.finding import Finding, Location
from rlprof.profile.build import build_profile
from tests.factories import a_run

TEXT = "def f(x):\n    y = x\n    return y\n"


def upper(case: Case) -> Rewriting:
    lines = case.texts[case.places[0].file].split("\n")
    lines[case.places[0].line - 1] += "  # fixed"
    return Rewriting({case.places[0].file: "\n".join(lines)})


def a_fix(**options: bool) -> Fix:
    return Fix("upper", "marks a line", frozenset({"hot"}), upper, **options)


def proposed(folder: Path, now: str, fix: Fix, detector: str = "hot", file: str = "") -> str:
    path = folder / "train.py"
    path.write_text(now)
    file = file or str(path)
    recording = (
        a_run("train.py")
        .with_run(cwd=str(folder))
        .process("main", steps=10)
        .spends(1, f"{file}:2 f")
        .source(file, TEXT)
        .recording()
    )
    place = Location(file, 2, "f", 1.0)
    finding = Finding(
        detector=detector, title="t", savings=(), locations=(place,), evidence=(), fix="Do it."
    )
    proposal = propose(finding, build_profile(recording), recording.run, [fix])
    (changed,) = proposal.files
    return changed.content.decode()


def test_a_line_that_is_as_it_was_is_enough(tmp_path):
    now = TEXT.replace("return y", "return -y")

    assert proposed(tmp_path, f"\n{now}", a_fix()) == f"\n{now}".replace("= x", "= x  # fixed")


def test_a_fix_that_reads_functions_needs_them_as_they_were(tmp_path):
    assert "# fixed" in proposed(tmp_path, f"\n{TEXT}", a_fix(reads_functions=True))

    with pytest.raises(UsageError) as refused:
        proposed(tmp_path, TEXT.replace("return y", "return -y"), a_fix(reads_functions=True))

    assert refused.value.slug == "fix-source-changed"


def test_a_finding_without_a_fix_says_so(tmp_path):
    with pytest.raises(UsageError) as refused:
        proposed(tmp_path, TEXT, a_fix(), detector="cold")

    assert refused.value.slug == "no-fix"


def test_a_library_is_left_alone(tmp_path):
    file = tmp_path / "lib/python3.11/site-packages/lib.py"
    with pytest.raises(UsageError) as refused:
        proposed(tmp_path, TEXT, a_fix(), file=str(file))

    assert refused.value.slug == "fix-of-a-library"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (b"a\n", b"b\n", b"@@ -1 +1 @@\n-a\n+b\n"),
        (b"a", b"b", b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"),
        (b"a\r\n", b"b\r\n", b"@@ -1 +1 @@\n-a\r\n+b\r\n"),
        (b"a\x0c\x85c\n", b"b\n", b"@@ -1 +1 @@\n-a\x0c\x85c\n+b\n"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n", b"@@ -1 +1 @@\n-\xef\xbb\xbfa\n+\xef\xbb\xbfb\n"),
    ],
)  # fmt: skip
def test_a_diff_is_made_of_the_bytes_of_the_file(before, after, told):
    file = ChangedFile(Path("x.py"), before, after)

    assert file.diff("x.py") == b"--- a/x.py\n+++ b/x.py\n" + told


@pytest.mark.parametrize("tool", [("git", "apply", "--check"), ("patch", "-p1", "--dry-run", "-i")])
def test_a_diff_of_a_path_with_a_space_is_taken(tool, tmp_path):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is missing")
    (tmp_path / "my runs").mkdir()
    (tmp_path / "my runs" / "x.py").write_bytes(b"a\n")
    file = ChangedFile(Path("x.py"), b"a\n", b"b\n")
    (tmp_path / "x.patch").write_bytes(file.diff("my runs/x.py"))

    subprocess.run([*tool, "x.patch"], cwd=tmp_path, check=True, timeout=30)
