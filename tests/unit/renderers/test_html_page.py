"""The page that needs no script: what it says, what it lets run, and what it does with odd runs."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from rlprof.model.detail import Detail
from rlprof.model.finding import Confidence
from rlprof.model.flame import Flame
from rlprof.model.recording import Note
from rlprof.model.report import Report, TorchOp, WaitRow
from rlprof.renderers.html import RENDERER
from rlprof.renderers.html import page as page_module
from rlprof.renderers.terminal import RENDERER as TERMINAL
from rlprof.report.wording import unglued
from tests.experiment_factory import a_gain
from tests.report_factories import (
    HOME,
    a_bandit_detail,
    a_detail,
    a_finding,
    a_location,
    a_process,
    a_report,
    a_story,
    a_sync_site,
    a_torch_window,
    a_tried_story,
)

VOID = {"meta", "rect", "path", "input", "br", "img", "line"}


class Page(HTMLParser):
    """A page taken apart: its elements, its text, its scripts and styles as they stand."""

    def __init__(self, report: Report) -> None:
        super().__init__(convert_charrefs=True)
        self.source = RENDERER.render(report, {})
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self._texts: list[str] = []
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append((tag, dict(attrs), ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if self._open and self._open[-1] in ("script", "style"):
            tag, attributes, text = self.raw[-1]
            self.raw[-1] = (tag, attributes, text + data)
        else:
            self._texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self._texts))

    @property
    def is_whole(self) -> bool:
        return not self._open and not self.unbalanced

    @property
    def ids(self) -> list[str]:
        return [of["id"] for _, of in self.elements if of.get("id")]

    @property
    def policy(self) -> str:
        return next(
            of["content"]
            for tag, of in self.elements
            if tag == "meta" and of.get("http-equiv") == "Content-Security-Policy"
        )

    def directive(self, name: str) -> list[str]:
        (words,) = [
            directive.split()
            for directive in self.policy.split("; ")
            if directive.split(maxsplit=1)[0] == name
        ]
        return words[1:]


def hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_experiments_show_predicted_and_measured_side_by_side():
    page = Page(a_tried_story())

    assert page.is_whole
    assert "experiments" in page.ids
    told = page.text.partition("Both, from 0 to 100 %")[2].partition("predicted")[0]
    for words in (
        "omegaconf-in-looprewritten-line at bandit/env.py:42gain4.0 to 19 %40 %(38 to 45 %)814 s",
        "ceiling4.1 to 5.2 %at most 30 %(28 to 35 %)",
        "skiptrain:publishgainnot clear(-10 to 12 %)",
        "The function was compiled by torch.compile.gain4.0 to 19 %refused",
    ):
        assert words in told
    bars = [of["class"] for _, of in page.elements if "compared" in str(of.get("class"))]
    assert len(bars) == 4
    assert "measured: 1.67× (1.61 to 1.82), saves 38 to 45 % of steady time" in page.text


def test_the_parts_of_a_bar_are_where_the_shares_are():
    (bar,) = re.findall(
        r'<svg class="bar compared".+?</svg>',
        RENDERER.render(replace(a_story(), experiments=(a_gain(saves=(0.4, 0.38, 0.45)),)), {}),
    )

    assert '<rect class="maybe" x="40.0" y="0" width="150.0" height="4"/>' in bar
    assert '<rect class="sure" x="380.0" y="6" width="70.0" height="4"/>' in bar


def test_a_page_without_experiments_does_not_mention_them():
    page = Page(a_story())

    assert "experiments" not in page.ids
    assert "#experiments" not in [of.get("href") for _, of in page.elements]


def an_empty_run(detail: Detail | None = None) -> Report:
    return a_report(
        sps=None, processes=[], wall_us=0, flame=Flame("", "wall", "", ()), command=(),
        seen={"detail": detail},
    )  # fmt: skip


# --- what may run --------------------------------------------------------------------------


@pytest.mark.parametrize("report", [a_story(), replace(a_story(), detail=None), an_empty_run()])
def test_the_only_scripts_and_styles_are_those_that_the_policy_names(report):
    page = Page(report)

    scripts = [text for tag, of, text in page.raw if tag == "script" and "type" not in of]
    styles = [text for tag, _, text in page.raw if tag == "style"]
    assert page.directive("script-src") == [hash_of(text) for text in scripts]
    assert page.directive("style-src") == [hash_of(text) for text in styles]
    assert page.directive("default-src") == ["'none'"]


@pytest.mark.parametrize("report", [a_story(), replace(a_story(), detail=None), an_empty_run()])
def test_no_element_has_a_style_or_a_script_of_its_own(report):
    page = Page(report)

    named = [name for _, of in page.elements for name in of]
    assert not [name for name in named if name == "style" or name.startswith("on")]


def test_nothing_is_loaded_from_elsewhere():
    page = Page(a_story())

    loaded = [of[name] for _, of in page.elements for name in ("src", "href") if of.get(name)]
    assert [address for address in loaded if not address.startswith("#")] == []
    for _, _, text in page.raw:
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)", text)


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "</style>"],
)
def test_names_are_shown_and_never_read_as_markup(name):
    own = a_finding(
        title=name, fix=name, evidence=[name],
        locations=[a_location(f"/tmp/{name}:3", name, source=name)],
    )  # fmt: skip
    report = a_report(
        findings=[own],
        processes=[a_process(command=name, note=name)],
        notes=[Note("warning", "odd", name)],
        command=("python", name),
        label=name,
        host={name: name},
        git=name,
        seen={
            "detail": a_bandit_detail(),
            "torch_windows": (
                a_torch_window(role=name, optimizer=name, top_ops=(TorchOp(name, 1, 0.1),)),
            ),
            "sync_sites": (a_sync_site(function=name, method=name, file=name),),
        },
    )
    plain = Page(a_report(findings=[a_finding()], seen={"detail": a_bandit_detail()}))

    page = Page(report)

    assert page.is_whole
    assert name in page.text
    assert {tag for tag, _ in page.elements} - {tag for tag, _ in plain.elements} <= {
        "div",
        "details",
    }
    assert len(page.raw) == len(plain.raw)


# --- what it says --------------------------------------------------------------------------


def test_every_element_is_closed_and_every_id_is_used_once():
    page = Page(a_story())

    assert page.is_whole
    assert len(page.ids) == len(set(page.ids))


def test_links_inside_the_page_lead_somewhere():
    page = Page(a_story())

    targets = {of["href"][1:] for tag, of in page.elements if tag == "a"}
    assert targets <= set(page.ids)


def test_headings_skip_no_level_and_begin_with_one():
    levels = [int(tag[1]) for tag, _ in Page(a_story()).elements if re.fullmatch("h[1-6]", tag)]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_only_findings_with_known_places_offer_the_flamegraph():
    page = Page(a_story())

    ranks = [of["data-rank"] for tag, of in page.elements if tag == "button" and "data-rank" in of]

    assert ranks == ["1", "3"]


def test_a_finding_of_another_package_has_no_snippets():
    page = Page(a_report(findings=[a_finding("their-own-detector")]))

    assert "Before and after" not in page.text
    assert "rlprof explain their-own-detector" in page.text


def test_source_that_is_not_in_the_run_file_is_said_to_be_missing():
    page = Page(a_report(findings=[a_finding(locations=[a_location(source="")])]))

    assert "its source is not in the run file" in page.text


def test_what_the_terminal_report_says_of_the_run_is_on_the_page():
    story = replace(
        a_story(), torch_windows=(a_torch_window(),), sync_sites=(a_sync_site(),),
        counters_per_step=(("kernel_launches", 12.0),),
    )  # fmt: skip
    terminal = TERMINAL.render(story, {"width": "10000"})
    page = re.sub(r"\s+", " ", Page(story).text.replace("\xa0", " "))

    lines = terminal.partition("The run\n")[2].partition("\n\n")[0].splitlines()
    assert len(lines) > 6
    for line in lines:
        _, told = re.split(r"\s{2,}", unglued(line), maxsplit=1)
        assert told.strip() in page, told
    for part in (
        "environment",
        "1.01 ms",
        "990 sps",
        "67 % in pipe",
        "for main 1000 (at work for 93 % of it)",
    ):
        assert part in page


def test_windows_of_torch_show_why_the_gpu_was_idle_and_what_ran():
    window = a_torch_window(
        busy_share=0.25, launches=1200, idle=(("sync", 0.5), ("launch_bound", 0.25)),
        top_ops=(TorchOp("aten::item", 10, 0.006),), top_kernels=(TorchOp("gemm", 400, 0.003),),
    )  # fmt: skip
    page = Page(a_report(seen={"torch_windows": (window,), "sync_sites": (a_sync_site(),)}))
    text = page.text.replace("\xa0", " ")

    assert "50 % after a wait for a result" in text
    assert "25 % the host inside of torch, launching" in text
    assert "303 ops per update, 120 kernels per update, Adam (for-loop)" in text
    assert re.search(r"aten::item *10 *6 ms *50 %", text)
    assert re.search(r"gemm *400 *3 ms *25 %", text)
    assert 'class="idle-sync" x="250.0" width="500.0"' in page.source


def test_what_hardly_kept_the_gpu_idle_is_not_named():
    window = a_torch_window(busy_share=0.9, idle=(("sync", 0.099), ("allocator", 0.0005)))
    text = Page(a_report(seen={"torch_windows": (window,)})).text.replace("\xa0", " ")

    assert "9.9 % after a wait for a result" in text
    assert "0.1 % allocating" not in text


def test_windows_and_reads_of_a_cpu_have_no_empty_columns_of_a_gpu():
    seen = {"torch_windows": (a_torch_window(),), "sync_sites": (a_sync_site(),)}
    on_gpu = {
        "torch_windows": (a_torch_window(busy_share=0.5),),
        "sync_sites": (a_sync_site(device="gpu"),),
    }

    text, text_of_gpu = (Page(a_report(seen=tables)).text for tables in (seen, on_gpu))

    assert "What the host did" in text
    assert "Free on the CPU" in text
    assert "Free on the CPU" not in text_of_gpu
    for column in ("GPU busy", "Busy and idle", "Waited"):
        assert column not in text
        assert column in text_of_gpu


def test_a_run_without_torch_has_no_part_about_it():
    page = Page(a_story())

    assert "torch" not in page.ids


def test_the_first_evidence_of_a_hot_line_is_its_share_and_said_once():
    hot = a_finding(
        "hot-spot",
        confidence=Confidence.SUSPECTED,
        locations=[a_location(f"{HOME}/a.py:3")],
        evidence=["takes 40 % of the time", "calls nothing else"],
    )
    text = Page(a_report(findings=[hot])).text

    assert "calls nothing else" in text
    assert "takes 40 % of the time" not in text


def test_who_waits_for_itself_alone_is_in_no_graph():
    processes = [a_process(), a_process(1001, "worker")]

    def drawn(pid: int, role: str) -> bool:
        waits = (WaitRow(1000, "main", "", "pipe", 0.5, ((pid, role, 0.9),)),)
        return 'class="graph"' in Page(a_report(processes=processes, seen={"waits": waits})).source

    assert drawn(1001, "worker")
    assert not drawn(1000, "main")


@pytest.mark.parametrize(("share", "is_said"), [(0.031, True), (0.0001, False)])
def test_the_time_of_calls_left_out_is_told_where_there_is_any(share, is_said, monkeypatch):
    monkeypatch.setattr(page_module, "pack", lambda _: ("", share))
    text = Page(a_story()).text.replace("\xa0", " ")

    assert ("Calls too short to see are left out" in text) is is_said
    assert ("3.1 % of the time in all" in text) is is_said


# --- odd runs ------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", [None, Detail()], ids=["no detail", "nothing in it"])
def test_a_run_without_samples_is_a_page_that_says_so(detail):
    page = Page(an_empty_run(detail))

    assert page.is_whole
    assert "No samples were taken" in page.text
    assert "flamegraph-drawing" not in page.ids
    assert "data" not in page.ids


def test_a_page_without_detail_says_how_to_get_it_and_keeps_the_rest():
    page = Page(replace(a_story(), detail=None))

    assert "rlprof report --html" in page.text
    assert "OmegaConf nodes are read in the hot loop" in page.text
    assert {"findings", "processes", "notes"} <= set(page.ids)


def test_steps_that_nothing_counted_are_told_of_instead_of_a_rate():
    page = Page(a_report(sps=None, seen={"detail": a_bandit_detail()}))

    assert "Call rlprof.step(n)" in page.text


def test_a_run_that_was_cut_off_is_said_to_be():
    page = Page(a_report(complete=False, exit_code=None))

    assert "The recording was cut off" in page.text


def test_a_run_that_goes_on_is_not_called_cut_off():
    report = a_report(complete=False, exit_code=None)
    page = Page(replace(report, run=replace(report.run, is_live=True)))

    assert "The run was still being recorded" in page.text
    assert "cut off" not in page.text


def test_three_hundred_processes_are_a_few_rows_and_all_of_them_on_demand():
    workers = [a_process(2000 + n, "environment worker") for n in range(299)]
    page = Page(a_report(processes=[a_process(), *workers]))
    before, _, folded = page.source.partition("All 300 processes")

    assert "299 environment workers" in before
    assert before.count('class="depth-') == 2
    assert folded.count('class="depth-') == 300
    assert len(page.source) < 500_000


def test_a_recursion_of_a_thousand_frames_is_packed_whole():
    stack = " > ".join(f"descend a.py:{n % 3 + 1} yours" for n in range(1_000))

    page = Page(a_report(seen={"detail": a_detail(("0 MainThread", 10.0, stack))}))

    assert page.is_whole
    assert "flamegraph-drawing" in page.ids


def test_many_remarks_are_few_in_the_head_and_all_in_the_notes():
    notes = [Note("warning", "odd", f"remark number {n}.") for n in range(9)]
    text = Page(a_report(notes=notes)).text

    assert text.count("remark number 0.") == 2
    assert text.count("remark number 8.") == 1
    assert "And 5 more remarks." in text


def test_a_suspected_cause_is_no_finding_with_a_price():
    suspected = a_finding(confidence=Confidence.SUSPECTED, locations=[a_location(f"{HOME}/a.py:3")])

    page = Page(a_report(findings=[suspected]))

    assert not [of for tag, of in page.elements if tag == "article"]
    assert "a.py:3" in page.text
