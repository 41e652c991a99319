from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from rlprof.model import gauges
from rlprof.runfile.reader import read_run
from rlprof.runfile.schema import TABLES, VERSION
from tests.factories import a_run
from tests.run_files import write_run

PAGE = Path(__file__).parents[3] / "docs" / "run-file.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def tables() -> dict[str, list[str]]:
    with sqlite3.connect(":memory:") as db:
        db.executescript(TABLES)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql <> ''")]
        columns = {
            name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in names
        }
    db.close()
    return columns


@pytest.mark.parametrize("table", tables())
def test_the_page_explains_every_table_and_column(page, table):
    section = page.partition(f"\n### `{table}`\n")[2].partition("\n### ")[0]

    assert section, f"no section on {table}"
    explained = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert explained == tables()[table]


def test_the_page_is_of_this_version(page):
    assert f"version {VERSION}" in page


@pytest.mark.parametrize(
    "name",
    [value for key, value in vars(gauges).items() if key.isupper() and isinstance(value, str)],
)
def test_the_page_explains_every_gauge(page, name):
    section = page.partition("\n### Gauges by name\n")[2].partition("\n### ")[0]

    (row,) = [
        row
        for row in section.splitlines()
        if row.startswith("|") and f"`{name}`" in row.split("|")[1]
    ]
    kind = "amount" if name in gauges.SUMMED else "peak" if name in gauges.HIGHEST else "level"
    assert row.split("|")[2].strip() == kind


def queries() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("query", queries())
def test_the_queries_of_the_page_work(tmp_path, query):
    story = (
        a_run("train.py")
        .process(steps=1000)
        .spends(8.0, "train.py:9 <module>", "train.py:12 step")
        .spends(2.0, "train.py:9 <module>", "train.py:14 wait", idle=True)
        .gauge(gauges.RSS_BYTES, 2e8, 3e8)
        .recording()
    )
    write_run(tmp_path / "run.rlprof", story)

    with sqlite3.connect(tmp_path / "run.rlprof") as db:
        found = db.execute(query).fetchall()
    db.close()

    assert found
    assert read_run(tmp_path / "run.rlprof").run == story.run
