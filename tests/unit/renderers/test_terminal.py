from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rlprof.errors import UsageError
from rlprof.model.finding import Range
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Note
from rlprof.names import columns
from rlprof.renderers.terminal import RENDERER
from rlprof.report import wording
from tests.report_factories import (
    a_finding,
    a_flame,
    a_gpu,
    a_hot_spot,
    a_report,
    a_report_with_gpus,
    a_story,
    a_tried_finding,
    a_tried_story,
)


def shown(report: object, **options: str) -> str:
    return RENDERER.render(report, options)  # type: ignore[arg-type]


def first_line(text: str) -> str:
    return text.splitlines()[0]


def test_what_is_paid_once_stands_apart_in_one_line_with_its_seconds() -> None:
    once = a_finding(phase=PhaseKind.START_UP, saves=(0.3, 0.4), sps_after=None)
    seconds = wording.unglued(wording.seconds_saved(once))
    text = shown(a_report(findings=[a_finding(), replace(once, rank=2)]), width="160")

    apart = text.partition("Paid once, at the start\n")[2]
    assert f": saves {seconds}. More: rlprof explain {once.finding.detector}" in apart
    assert "2. " not in text
    alone = shown(a_report(findings=[once]), width="160")
    assert f"the start-up could be {seconds} shorter" in first_line(alone)


def test_the_price_of_a_tried_finding_begins_with_what_was_measured() -> None:
    text = shown(a_report(findings=[a_tried_finding()]))

    assert "measured: 1.67× (1.61 to 1.82)\n   saves 38 to 45 % of steady time\n   -> " in text
    assert "tried: switched on and off in turns" in text
    assert "measured: " not in shown(a_report(findings=[a_finding()]))


def test_what_was_tried_is_a_table_after_the_findings() -> None:
    text = shown(a_tried_story(), width="120")

    before, _, after = text.partition("Tried while the training ran\n")
    heading, _, *rows = after.partition("\n\n")[0].splitlines()
    assert "More: rlprof explain eager-log-format" in before
    assert heading.split() == ["tried", "kind", "predicted", "measured", "pairs", "took"]
    assert [line.split("  ")[0] for line in rows] == [
        "omegaconf-in-loop",
        "rewritten-line at bandit/env.py:42",
        "eager-log-format",
        "every-nth-call at bandit/agent.py:31",
        "skip",
        "train:publish",
        "array-conversion-in-loop",
        "rewritten-line at bandit/env.py:42",
        "The function was compiled by torch.compile.",
    ]
    gain, ceiling, not_clear, refused = (re.split(r" {2,}", rows[at])[1:] for at in (0, 2, 4, 6))
    assert gain == ["gain", "4.0 to 19 %", "40 %", "8", "14 s"]
    assert ceiling == ["ceiling", "4.1 to 5.2 %", "at most 30 %", "8", "14 s"]
    assert not_clear == ["gain", "not clear", "8", "14 s"]
    assert refused == ["gain", "4.0 to 19 %", "refused", "0", "14 s"]


def test_a_run_without_experiments_has_no_such_table() -> None:
    assert "Tried" not in shown(a_story())


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_of_experiments_fits(width: int) -> None:
    text = shown(a_tried_story(), width=str(width))

    assert max(map(columns, text.splitlines())) <= width
    assert "omegaconf-in-loop" in text.replace("\n", "")


def test_a_hot_function_is_not_shown_as_one_of_its_lines() -> None:
    spot = a_hot_spot("train.py:91", "loss.backward()", share=0.11)
    spread = replace(spot, finding=replace(spot.finding, seen_share=0.26))

    assert "11 %  train.py:91 in update" in shown(a_report(findings=[spot]))
    assert "26 %  update, over several lines; most, 11 %, on train.py:91" in shown(
        a_report(findings=[spread])
    )


def test_without_steps_it_says_how_to_count_them() -> None:
    text = shown(a_report(sps=None, findings=[a_finding(sps_after=None)]))

    assert first_line(text).startswith("Fixing the first finding saves 82 to 87 %")
    assert "rlprof.step(n)" in text
    assert "--sps-pattern" in text


def test_at_most_three_lines_of_evidence() -> None:
    text = shown(a_report(findings=[a_finding(evidence=[f"sign {n}" for n in range(5)])]))

    assert "sign 2" in text
    assert "sign 3" not in text


def test_hot_lines_are_not_called_causes() -> None:
    text = shown(a_report(findings=[a_hot_spot("/home/researcher/project/a.py:9", rank=1)]))

    assert "No known cause" in first_line(text)
    assert "Hot lines with no known cause" in text
    assert "Fix:" not in text


def test_a_hot_line_tells_the_rate_that_no_change_of_it_can_exceed() -> None:
    spot = replace(a_hot_spot("train.py:9"), sps_after=Range(657, 903.0))

    assert "if it took no time: at most 903 sps" in shown(a_report(findings=[spot]))

    fast = replace(spot, sps_after=Range(657, 1_050_000))
    assert "at most 1 050 000 sps" in shown(a_report(findings=[fast]), width="200")


def test_no_samples_is_not_nothing_found() -> None:
    text = shown(a_report(flame=a_flame()))

    assert "nothing can be said" in first_line(text)


def test_a_gpu_is_one_line() -> None:
    text = " ".join(shown(a_report_with_gpus(a_gpu(1)), width="300").split())

    assert (
        "GPU 1 NVIDIA H200: some kernel ran for 37 % of the steady phase, 12.0 GiB of 140.0 GiB, "
        "310 W of 700 W, clock at 95 % of its highest, slowed down for 12 % of the time because of "
        "its power limit"
    ) in text


def test_of_a_gpu_only_what_is_known_is_said() -> None:
    told = a_gpu(name="", power_limit_w=None, utilisation=None, memory_bytes=None, clock_share=None)
    text = " ".join(shown(a_report_with_gpus(told), width="300").split())

    assert "GPU 0 310 W, slowed down" in text
    assert "None" not in text


def test_no_gpu_no_line() -> None:
    assert "GPU" not in shown(a_report_with_gpus())


def test_notes_of_a_level_not_known_here_are_shown_too() -> None:
    assert "from the future" in shown(a_report(notes=[Note("notice", "new", "from the future")]))


def test_an_exit_code_and_a_cut_recording_are_said() -> None:
    text = shown(a_report(exit_code=139, complete=False), width="120")

    assert "exit code 139" in text
    assert "recording was cut off" in text


def test_a_run_that_goes_on_is_not_called_cut_off() -> None:
    report = a_report(complete=False, exit_code=None)
    report = replace(report, run=replace(report.run, is_live=True))

    text = shown(report, width="120")

    assert "still being recorded" in text
    assert "cut off" not in text


@pytest.mark.parametrize("width", [40, 80, 100])
def test_lines_fit_the_width_and_numbers_keep_their_units(width: int) -> None:
    lines = shown(a_story(), width=str(width)).splitlines()

    assert max(map(columns, lines)) <= width
    assert not [line for line in lines if re.match(r" *%", line)]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_every_table_keeps_the_names_of_its_rows(width: int) -> None:
    story = a_story()
    parts = [replace(part, priced_share=part.share + 0.1) for part in story.components]
    text = shown(replace(story, components=tuple(parts)), width=str(width))

    for name in ("environment", "inference", "IPC wait", "rollout", "8 workers", "main 1000"):
        assert re.search(rf"^{name} +\d", text, re.MULTILINE), name
    assert re.search(r"main 1000 +30 % in pipe +for 8 workers", text)


def test_colour_only_when_asked_and_never_in_the_words() -> None:
    plain, colored = shown(a_story()), shown(a_story(), color="always")

    assert "\x1b" not in plain
    assert "\x1b[1" in colored
    words = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in colored.splitlines()]
    assert words == plain.splitlines()


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shown(a_story(), color="always")
    for name, value in {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "31"}.items():
        monkeypatch.setenv(name, value)

    assert shown(a_story(), color="always") == before


@pytest.mark.parametrize(
    "options", [{"width": "wide"}, {"width": "99999999999"}, {"color": "pink"}]
)
def test_a_bad_option_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        shown(a_report(), **options)
