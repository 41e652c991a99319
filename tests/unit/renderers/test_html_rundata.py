"""What is packed for a page, and whether the page's own script reads the same out of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.detail import Detail, Slice, TimeSeries
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import NO_PARENT, Frame, Node, Samples, Thread
from rlprof.model.report import Report
from rlprof.renderers.html.pruning import page_tree
from rlprof.renderers.html.rundata import pack, time_unit_us
from tests.report_factories import HOME, SECOND, a_detail, a_report, a_story, a_torch_window

ASSETS = Path(__file__).parents[3] / "flamegraph_assets"

READ = f"""
import {{ readData }} from "{(ASSETS / "rundata.js").as_uri()}";
import {{ readFileSync }} from "node:fs";
const data = await readData(readFileSync(0, "utf8"));
const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
process.stdout.write(JSON.stringify(data, plain));
"""

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs node: apt-get install nodejs"
)


def read_by_the_page(report: Report) -> Any:
    """As ``flamegraph_assets/rundata.js`` has it, typed arrays as lists."""
    packed, _ = pack(report)
    outcome = subprocess.run(
        ["node", "--input-type=module", "--eval", READ],
        input=packed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)


def a_long_run(*, wall_us: int, cell_us: int) -> Report:
    """One cell of ``cell_us``, half of it waiting and a quarter on a CPU."""
    samples = Samples()
    samples.add(0, 0, 0, cell_us, cell_us // 2, cell_us // 4)
    detail = Detail(
        slices=(Slice(0, wall_us, PhaseKind.STEADY),),
        threads=(Thread(0, 0, 1000, "MainThread", True),),
        nodes=(Node(0, NO_PARENT, Frame("train.py", "train", 7)),),
        samples=samples,
    )
    return a_report(seen={"detail": detail}, wall_us=wall_us)


@needs_node
def test_the_page_reads_the_times_that_were_packed():
    report = a_story()
    tree = page_tree(report.detail)

    cells = read_by_the_page(report)["cells"]

    names = ("slice", "thread", "node", "wall", "idle", "cpu")
    assert [cells[name] for name in names] == [list(column) for column in tree.cells]


@needs_node
def test_the_page_reads_the_tree_that_was_packed():
    report = a_story()
    tree = page_tree(report.detail)

    data = read_by_the_page(report)

    nodes, strings = data["nodes"], data["strings"]
    assert nodes["parent"] == [node.parent for node in tree.nodes]
    assert nodes["line"] == [node.frame.line for node in tree.nodes]
    assert nodes["importing"] == [int(node.importing) for node in tree.nodes]
    step = nodes["line"].index(42)
    assert strings[nodes["label"][step]] == "step"
    assert strings[nodes["file"][step]] == f"{HOME}/bandit/env.py"
    assert strings[nodes["short"][step]] == "bandit/env.py"
    assert data["kinds"][nodes["kind"][step]] == "yours"


@needs_node
def test_the_page_reads_all_else_that_the_scripts_need():
    windows = (a_torch_window(begun_s=3.5), a_torch_window(begun_s=8.0))
    report = replace(a_story(), torch_windows=windows)

    data = read_by_the_page(report)

    strings = data["strings"]
    assert [strings[label] for label in data["threads"]["label"]] == [
        "MainThread", "writer", "MainThread", "MainThread"
    ]  # fmt: skip
    assert data["threads"]["main"] == [1, 0, 1, 1]
    assert data["threads"]["process"] == [0, 0, 1, 2]
    assert data["processes"]["pid"][:2] == [1000, 1001]
    assert strings[data["processes"]["role"][1]] == "worker"
    assert data["slices"]["end"][-1] == 12 * SECOND
    assert strings[data["slices"]["phase"][0]] == "start-up"
    assert data["phases"][1] == {"name": "steady", "start": 2 * SECOND, "end": 12 * SECOND}
    assert data["timeline"]["series"][0]["values"][:3] == [None, None, 657]
    assert data["torchWindows"] == [{"begin": 3_500_000}, {"begin": 8_000_000}]
    first = data["findings"][0]
    assert (first["rank"], first["title"]) == (1, report.findings[0].finding.title)
    assert {strings[data["nodes"]["label"][node]] for node in first["nodes"]} == {
        "__getattr__", "_get_impl", "_resolve"
    }  # fmt: skip


@needs_node
def test_times_longer_than_32_bits_of_microseconds_are_kept():
    day_us = 86_400 * SECOND
    report = a_long_run(wall_us=day_us, cell_us=day_us)

    cells = read_by_the_page(report)["cells"]

    unit = time_unit_us(day_us)
    assert cells["wall"] == pytest.approx([day_us], abs=3 * unit)
    assert cells["idle"] == pytest.approx([day_us / 2], abs=unit)
    assert cells["cpu"] == pytest.approx([day_us / 4], abs=unit)


@needs_node
def test_names_that_are_no_text_do_not_break_the_data():
    detail = a_detail(
        ("0 Main\udce9", 1.0, "</script><script>alert(1)</script> caf\udce9.py:3 yours")
    )

    data = read_by_the_page(a_report(seen={"detail": detail}))

    assert "caf\\udce9.py" in data["strings"]
    assert "</script><script>alert(1)</script>" in data["strings"]


@needs_node
def test_a_series_with_values_that_are_no_numbers_is_read():
    series = (TimeSeries("rate", "sps", "sps", (float("nan"), float("inf"), 0.1 + 0.2, 3.0)),)
    report = a_report(seen={"detail": a_detail(series=series)})

    values = read_by_the_page(report)["timeline"]["series"][0]["values"]

    assert values == [None, None, 0.3, 3]


def test_no_name_can_end_the_element_that_holds_the_data():
    detail = a_detail(("0 </script>", 1.0, "</script> </script>.py:3 yours"))

    packed, _ = pack(a_report(seen={"detail": detail}))

    assert packed.isascii()
    assert not set(packed) & set("<>&\"'")


def test_the_same_run_is_packed_to_the_same_bytes():
    assert pack(a_story()) == pack(a_story())


@given(st.integers(0, 10**13))
def test_times_are_kept_to_a_ten_millionth_of_the_run_and_fit_32_bits(wall_us):
    unit = time_unit_us(wall_us)

    assert unit == 1 or unit * 10_000_000 <= wall_us
    assert wall_us // unit < 2**32


@needs_node
def test_times_are_rounded_to_the_nearest_unit():
    # Units of 10 µs: 18 waiting, 9 on a CPU, and 9 of neither.
    cells = read_by_the_page(a_long_run(wall_us=100 * SECOND, cell_us=36))["cells"]

    assert (cells["idle"], cells["cpu"], cells["wall"]) == ([20], [10], [40])
