from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rlprof.errors import UsageError
from rlprof.model.activity import Component
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.renderers.markdown import MOST_CHARACTERS, RENDERER
from tests.experiment_factory import a_gain
from tests.report_factories import (
    SITE,
    a_finding,
    a_location,
    a_process,
    a_report,
    a_story,
    a_tried_story,
)

HOME = "/home/researcher/project"
BLOB = "https://github.com/o/r/blob/0123abc"
ALLOWED_TAGS = {
    "a", "code", "details", "h3", "h4", "li", "ol", "p", "pre", "strong", "summary", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
}  # fmt: skip

any_text = st.text(st.characters(), max_size=40)


class _Page(HTMLParser):
    """What a reader of the rendered Markdown gets."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        if tag == "a":
            self.links.append(dict(attrs)["href"])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data

    def close(self) -> None:
        super().close()
        assert not self._open


def rendered(text: str) -> _Page:
    page = _Page()
    page.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    page.close()
    return page


def shown(report: Report, **options: str) -> _Page:
    return rendered(markdown(report, **options))


def markdown(report: Report, **options: str) -> str:
    """With plain spaces, which are easier to write down."""
    return RENDERER.render(report, options).replace("\N{NO-BREAK SPACE}", " ")


def a_report_on(name: str) -> Report:
    """A report in which everything that has a name is called ``name``."""
    finding = a_finding(
        "hot-spot",
        name,
        locations=[
            a_location(f"{HOME}/{name}:3", name, source=name),
            a_location(f"{name}:4", name),
        ],
        evidence=[name],
        fix=name,
        roles=(name,),
    )
    return a_report(
        findings=[finding],
        also_seen=[finding],
        processes=[a_process(command=name, note=name)],
        notes=[Note("warning", "odd", name), Note("info", "odd", name)],
        seen={"experiments": (a_gain(name, treatment=name, file=name, note=name),)},
        script=name,
        command=("python", name),
        label=name,
    )


def test_lines_become_links_where_it_is_known_to_what():
    places = [a_location(f"{HOME}/a b/env.py:4"), a_location(f"{SITE}/numpy/x.py:8")]
    page = shown(a_report(findings=[a_finding(locations=places)]), **{"source-url": f"{BLOB}/"})

    own = [link for link in page.links if link.startswith(BLOB)]
    assert set(own) == {f"{BLOB}/a%20b/env.py#L4"}


def test_what_was_tried_is_a_table():
    page = shown(a_tried_story())

    rows = {row[0]: row[1:] for row in page.rows}
    assert rows["tried"] == ["kind", "predicted", "measured", "pairs", "took", "treatment", "note"]
    assert rows["omegaconf-in-loop"] == [
        "gain", "4.0 to 19 %", "40 % (38 to 45 %)", "8", "14 s", "rewritten-line at bandit/env.py:42", "",
    ]  # fmt: skip
    assert rows["eager-log-format"][2] == "at most 30 % (28 to 35 %)"
    assert rows["array-conversion-in-loop"][-1] == "The function was compiled by torch.compile."
    assert "measured: 1.67× (1.61 to 1.82); " in page.text
    assert "Tried" not in markdown(a_story())


def test_links_may_start_from_another_folder():
    page = shown(
        a_report(findings=[a_finding()]), **{"source-url": BLOB, "root": "/home/researcher"}
    )

    assert f"{BLOB}/project/bandit/env.py#L42" in page.links


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "github.com/o/r", "https://x/y)(z", "https://a b"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UsageError) as raised:
        RENDERER.render(a_report(), {"source-url": url})

    assert raised.value.slug == "bad-render-option"


def test_a_run_without_a_rate_says_why():
    assert "Steps per second are not known: nothing counted steps" in shown(a_report(sps=None)).text


@pytest.mark.parametrize(
    "name",
    [
        "a|b|c",
        "`a``b```c",
        "<img src=x onerror=alert(1)>",
        "</details></summary><h1>",
        "[click](https://evil.example)",
        "![x](https://evil.example/y.png)",
        "**bold** _it_ ~~gone~~ $x^2$ \\",
        "# heading\n\n- list",
        "# heading",
        "- item",
        "1. item",
        "    code",
        "&lt;b&gt; &amp; &#64;",
        "```\n</pre>",
        "x" * 5_000,
    ],
)
def test_names_stay_names(name):
    page = shown(a_report_on(name))

    assert set(page.tags) <= ALLOWED_TAGS
    assert not any("evil" in link for link in page.links)
    assert {len(row) for row in page.rows} <= {2, 3, 5, 8}
    if len(name) < 100 and "\n" not in name:
        assert name.strip() in page.text


@given(any_text)
def test_any_name_stays_a_name(name):
    page = shown(a_report_on(name))

    assert set(page.tags) <= ALLOWED_TAGS
    assert {len(row) for row in page.rows} <= {2, 3, 5, 8}


def test_nobody_is_told_and_no_issue_is_linked():
    text = RENDERER.render(a_report_on("@octocat fixes #12"), {})

    outside_of_code = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    assert "octocat" in outside_of_code
    assert not re.search(r"@octocat|#12", outside_of_code)


def test_a_comment_has_room_for_it_whatever_was_found():
    name = "@<&|" * 100
    findings = [
        a_finding(
            title=name,
            rank=rank,
            locations=[a_location(f"{HOME}/{name}:3", name, source=name)] * 20,
            evidence=[name] * 20,
            fix=name,
        )
        for rank in range(1, 400)
    ]
    notes = [Note("warning", "odd", name * 10), Note("info", "odd", name * 10)] * 500
    processes = [a_process(pid, sampled=False) for pid in range(300)]

    text = RENDERER.render(
        a_report(findings=findings, also_seen=findings, notes=notes, processes=processes), {}
    )

    assert 20_000 < len(text) <= MOST_CHARACTERS
    assert "are left out here" in text
    assert "And 379 more" in text
    rendered(text)


def test_a_wait_for_a_core_has_none_with_it():
    parts = (
        Component("waiting for a core", 0.6, 0.0, 0, None),
        Component("inference", 0.4, 300.0, 1, None, priced_share=1.0),
    )
    text = RENDERER.render(a_report(seen={"components": parts}), {})

    assert isinstance(text, str)
    assert "| waiting for a core | 60 % |  |" in text.replace("\u00a0", " ")
    assert "| inference | 40 % | 100 % |" in text.replace("\u00a0", " ")
