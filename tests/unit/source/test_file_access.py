from __future__ import annotations

from textwrap import dedent

import pytest

from rlprof.source.file_access import Access, file_accesses


def accesses(text: str) -> dict[int, Access]:
    return dict(file_accesses(dedent(text).lstrip("\n")))


@pytest.mark.parametrize(
    ("line", "access"),
    [
        ("os.fsync(descriptor)", Access.SYNC),
        ("self.file.flush()", Access.SYNC),
        ("cursor.execute(insert, row)", Access.SYNC),
        ("requests.get(url)", Access.REMOTE),
        ('rows = open(path, "a")', Access.OPEN),
        ('rows = Path(folder, "rows.txt").open("w")', Access.OPEN),
        ("rows = open(path, mode='wb')", Access.OPEN),
        ("level = open(path).read()", Access.READ),
        ('level = open("a", "rb")', Access.READ),
        ("level = np.load(path)", Access.READ),
        ("level = Path(path).read_text()", Access.READ),
        ("self.file.write(row)", Access.WRITE),
        ("frame.to_csv(path)", Access.WRITE),
    ],
)
def test_tells_what_a_line_does(line, access):
    assert accesses(line) == {1: access}


@pytest.mark.parametrize(
    "line",
    [
        "value = json.loads(text)",
        "policy.load(weights)",
        "ring.write(transition)",
        "camera.read()",
        "sys.stdout.write(text)",
        "self.log_file.flush()",
        "pool.execute(task)",
    ],
)
def test_says_nothing_of_other_lines(line):
    assert accesses(line) == {}


def test_names_bound_to_opened_files_are_files():
    found = accesses(
        """
        with gzip.open(path, "wb") as out:
            out.write(row)
        ring.write(row)
        """
    )

    assert found == {1: Access.OPEN, 2: Access.WRITE}


def test_the_dearest_of_several_counts():
    assert accesses("(file.write(row), os.fsync(file.fileno()))") == {1: Access.SYNC}


def test_a_source_that_cannot_be_read_says_nothing():
    assert accesses("def broken(:") == {}
