"""Collapsed stacks, read back as ``flamegraph.pl`` reads them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.errors import UsageError
from rlprof.model.detail import Detail, Slice
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Frame, Node, Note, Samples, Thread
from rlprof.model.report import Report
from rlprof.renderers.collapsed import RENDERER
from tests.report_factories import SECOND, a_detail, a_process, a_report, a_story

STACK = re.compile(r"^(.*)\s+?(\d+(?:\.\d*)?)$")
"""As in flamegraph.pl: what does not fit is passed over."""

any_text = st.text(max_size=12)
frames = st.builds(Frame, any_text, any_text, st.integers(0, 10_000))


def read(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = STACK.match(line)
        if match:
            found[match[1]] = found.get(match[1], 0) + int(match[2])
    return found


def written(report: Report, options: Mapping[str, str] | None = None) -> dict[str, int]:
    return read(RENDERER.render(report, options or {}))


def test_a_line_for_each_stack_of_each_thread() -> None:
    detail = a_detail(
        ("0 MainThread", 2.0, "main /home/researcher/project/train.py:3 yours"),
        (
            "0 MainThread",
            1.0,
            "main /home/researcher/project/train.py:3 yours > recv p.py:9 yours ~",
        ),
        ("0 reader", 0.5, "read p.py:9 yours ~"),
        start_up=[("0 MainThread", 1.0, "main /home/researcher/project/train.py:3 yours")],
    )

    stacks = written(a_report(seen={"detail": detail}))

    assert stacks == {
        "main 1000;MainThread;train.py:main:3": 3 * SECOND,
        "main 1000;MainThread;train.py:main:3;p.py:recv:9": SECOND,
        "main 1000;reader 5001;p.py:read:9": SECOND // 2,
    }


def test_the_metric_is_an_option() -> None:
    detail = a_detail(
        ("0 MainThread", 2.0, "a a.py:1 yours"), ("0 MainThread", 1.0, "b b.py:1 x ~")
    )
    report = a_report(seen={"detail": detail})

    cpu, idle = (written(report, {"metric": metric}) for metric in ("cpu", "idle"))

    assert cpu == {"main 1000;MainThread;a.py:a:1": round(1.8 * SECOND)}
    assert idle == {"main 1000;MainThread;b.py:b:1": SECOND}
    with pytest.raises(UsageError, match="metric"):
        written(report, {"metric": "memory"})


def test_without_lines_a_function_is_one_cell() -> None:
    detail = a_detail(
        ("0 MainThread", 1.0, "f a.py:1 yours"), ("0 MainThread", 1.0, "f a.py:2 yours")
    )

    stacks = written(a_report(seen={"detail": detail}), {"lines": "no"})

    assert stacks == {"main 1000;MainThread;a.py:f": 2 * SECOND}


def test_remarks_are_no_stacks_and_can_be_left_out() -> None:
    report = a_report(
        processes=[a_process(), a_process(77, sampled=False)],
        notes=[Note("warning", "odd", "the last word is a number: 12.")],
        seen={"detail": a_detail(("0 MainThread", 1.0, "f a.py:1 yours"))},
    )

    text = RENDERER.render(report, {})

    assert "# warning: the last word is a number: 12. #\n" in text
    assert "# Not sampled: main, pid 77 (no reason is known). #\n" in text
    assert list(read(text)) == ["main 1000;MainThread;a.py:f:1"]
    assert not RENDERER.render(report, {"notes": "no"}).count("#")


@given(
    st.lists(st.tuples(frames, st.integers(-1, 8), st.integers(0, 10**9)), max_size=9),
    any_text,
    any_text,
)
def test_whatever_the_names_no_time_is_lost(
    drawn: list[tuple[Frame, int, int]], role: str, thread: str
) -> None:
    samples, nodes = Samples(), []
    for number, (frame, parent, wall_us) in enumerate(drawn):
        nodes.append(Node(number, min(parent, number - 1), frame))
        samples.add(0, 0, number, wall_us, 0, 0)
    detail = Detail(
        slices=(Slice(0, 10**10, PhaseKind.STEADY),),
        threads=(Thread(0, 0, 1000, thread, True),),
        nodes=tuple(nodes),
        samples=samples,
    )
    report = a_report(processes=[a_process(role=role)], seen={"detail": detail})

    text = RENDERER.render(report, {"notes": "no"})

    assert sum(read(text).values()) == sum(samples.wall_us)
    assert len(text.splitlines()) == len(read(text))
    deepest = max((stack.count(";") for stack in read(text)), default=0)
    assert deepest <= 1 + len(nodes)


@pytest.mark.skipif(
    shutil.which("flamegraph.pl") is None,
    reason="needs flamegraph.pl on PATH: github.com/brendangregg/FlameGraph",
)
def test_flamegraph_pl_draws_it() -> None:
    outcome = subprocess.run(
        ["flamegraph.pl"],
        input=RENDERER.render(a_story(), {"notes": "no"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr
    assert "omegaconf/dictconfig.py:_get_impl:442" in outcome.stdout
    assert outcome.stderr == ""
