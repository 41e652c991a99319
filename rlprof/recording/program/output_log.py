"""Read rates out of a file that the program's output goes to, at once or through ``tee``; rlprof stands nowhere in between."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from rlprof.recording.machine.procfs import every_pid, read_thread_name
from rlprof.recording.program.printed_numbers import number

_MOST_AT_ONCE: Final = 1 << 18
"""Bytes that are read in a window; of more the last."""

_NUMBER: Final = (
    rb"([+-]?\d(?:[\d.,_']|(?:\xe2\x80\x99|\xe2\x80\xaf|\xc2\xa0)\d){0,30}(?:e[+-]?\d{1,4})?"
    rb"(?:\s?(?-i:[kKM])(?=\W|$|steps|sps|fps))?)"
)
"""Whatever looks like one; ``number`` tells whether it is. All lengths are bounded: a program may print anything, a megabyte of digits too."""

_WORD: Final = rb"\w{0,60}"
_RATE: Final = (
    rb"(?:sps|fps|"
    + _WORD
    + rb"steps?(?:[ _]|\b)(?:/|per[ _])s(?:ec|econd)?|"
    + _WORD
    + rb"throughput_per_sec)"
)
_FORMS: Final = (
    re.compile(rb"\b" + _RATE + rb"\b['\"]?[\s|:=]{1,60}" + _NUMBER + rb"(?!\w)", re.IGNORECASE),
    # ``fps: nan`` behind a number tells the rate of what follows.
    re.compile(
        rb"(?<![\w.,'\x99\xaf\xa0])" + _NUMBER + rb"\s?" + _RATE + rb"\b(?!['\"]?\s{0,9}[|:=])",
        re.IGNORECASE,
    ),
)
"""``SPS: 4500`` (CleanRL), ``fps | 812`` (Stable-Baselines3), ``throughput_per_sec: 99.5`` (RLlib), ``1,234 steps/s``."""

_OTHERS: Final = (
    # Updates, and those who make them.
    rb"grad(?:s|ients?)?|optim(?:i[sz]ers?)?|updat(?:es?|ing)|learners?|backward|"
    # Evaluations.
    rb"eval(?:s|uat(?:ions?|ors?|ing|e))?|test(?:s|ing)?|val(?:id(?:ations?)?)?|"
    # Rates that somebody wants, or once had.
    rb"targets?|goal|max(?:imum)?|(?<!\d)(?<!\d )min(?:imum)?|best|peak|baselines?|expect(?:ed|s)?|limit(?:s|ed)?|ideal|theoretical|"
    # Frames of something else.
    rb"cam(?:era)?s?|webcam|videos?|movies?|animations?|gifs?|mp4|render(?:s|ed|er|ing)?|play(?:s|ing|ed)?back|display|"
    rb"(?:de|en)cod(?:es?|ed|er|ing)|dataset|(?:data)?loader"
)
"""Words before a rate that is none of the training's steps."""
_OF_OTHERS: Final = re.compile(rb"(?<![^\W_])(?:" + _OTHERS + rb")(?![^\W_])", re.IGNORECASE)
_TAGGED: Final = re.compile(
    rb"[\[(<{]\s?(?:"
    + _OTHERS
    + rb")\s?[\])>}]|^[\s\d:.\-/TZ]{0,40}(?:"
    + _OTHERS
    + rb")\s?:[^|;]*$",
    re.IGNORECASE,
)
"""``[eval] step 3``, and ``eval: return 21.0, ``: what follows is of that."""
_NAMED_FOR_OTHERS: Final = re.compile(
    rb"grad|optim|updat|train|learn|eval|render|video", re.IGNORECASE
)
"""The same within the name of a rate: ``grad_steps/s``, ``num_env_steps_trained_throughput_per_sec``."""
_OF_FILMS: Final = re.compile(rb"video|movie|animation|gif|mp4|render", re.IGNORECASE)
"""On such a line ``fps=30`` is how fast something is shown."""

_ITEMS: Final = re.compile(rb"[|,;]|\d")
"""Ends of what stands on a line before a rate, and has a word of its own: ``eval score 98.2 SPS: 4500``."""
_MOST_RATES: Final = 500
"""Rates of a window that are looked at, the last ones."""
_MOST_BEFORE: Final = 500
"""Bytes of a line that are read before a rate."""

_BEGINS: Final = re.compile(rb"\d{1,3}")
_GOES_ON: Final = re.compile(rb"\d{3}(?:\.|$)")
"""The first and the second part of ``12 480.5``."""
_MORE_BEFORE: Final = re.compile(rb"(?<![\d.,])\d{1,3} $")
_MORE_BEHIND: Final = re.compile(rb" \d{3}(?!\d)")


class ReadsOutput(Protocol):
    """Whoever reads along with the target's output."""

    steps: float | None

    def take_sps(self) -> float | None:
        """Return the latest rate that was printed since the last call."""


class OutputLog:
    """The file that one stream of the target is written to."""

    def __init__(self, fd: int, size: int) -> None:
        self.steps: float | None = None
        """Never known: a rate alone is recognised by itself."""
        self._fd = fd
        self._at = size

    def take_sps(self) -> float | None:
        """Return the latest rate that was written since the last call."""
        with suppress(OSError):
            size = os.fstat(self._fd).st_size
            begin = max(min(self._at, size), size - _MOST_AT_ONCE)
            data = os.pread(self._fd, size - begin, begin)
            # A line that is not over yet is read again.
            whole = data.rfind(b"\n") + 1
            self._at = begin + (whole or (len(data) == _MOST_AT_ONCE) * len(data))
            return _latest_rate(data[:whole])
        return None

    def close(self) -> None:
        os.close(self._fd)


def logs_of_output(streams: Sequence[int] = (1, 2)) -> list[OutputLog]:
    """Open the regular files that our streams, which are the target's, go to, at once or through ``tee``; each once."""
    logs: dict[tuple[int, int], OutputLog] = {}
    for stream in streams:
        for file in _files_of(stream):
            with suppress(OSError):
                status = file.stat()
                if (status.st_dev, status.st_ino) not in logs:
                    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
                    logs[status.st_dev, status.st_ino] = OutputLog(fd, status.st_size)
    return list(logs.values())


def _files_of(stream: int) -> list[Path]:
    own = Path(f"/proc/self/fd/{stream}")
    with suppress(OSError):
        mode = own.stat().st_mode
        if stat.S_ISREG(mode):
            return [own]
        if stat.S_ISFIFO(mode):
            return [
                file
                for pid in every_pid()
                if read_thread_name(pid, pid) == "tee"
                for file in _files_written_by(pid, of_pipe=own)
            ]
    return []


def _files_written_by(pid: int, of_pipe: Path) -> list[Path]:
    """The regular files that ``pid`` has opened, its own streams aside, if what it reads is ``of_pipe``."""
    with suppress(OSError):
        opened = Path(f"/proc/{pid}/fd")
        if (opened / "0").samefile(of_pipe):
            files = (each for each in opened.iterdir() if each.name not in ("0", "1", "2"))
            return [each for each in files if stat.S_ISREG(each.stat().st_mode)]
    return []


def _latest_rate(text: bytes) -> float | None:
    found = [each for form in _FORMS for each in form.finditer(text)]
    for each in sorted(found, key=re.Match.end, reverse=True)[:_MOST_RATES]:
        rate = number(each[1].rstrip(b".,'"))
        if rate and not _is_in_doubt(each, text):
            return rate
    return None


def _is_in_doubt(found: re.Match[bytes], text: bytes) -> bool:
    """Tell whether ``12 480`` may be one number or two, or the rate is of something else than the training."""
    begin, end = found.span(1)
    line_at = max(text.rfind(b"\n", 0, found.start()) + 1, found.start() - _MOST_BEFORE)
    line = text[line_at:begin]
    behind = text[end : end + len(b" 480.")]
    if _OF_FILMS.search(line) or _is_of_others(found, text[line_at : found.start()]):
        return True
    return bool(
        (_GOES_ON.match(found[1]) and _MORE_BEFORE.search(line))
        or (_BEGINS.fullmatch(found[1]) and _MORE_BEHIND.match(behind))
    )


def _is_of_others(found: re.Match[bytes], before: bytes) -> bool:
    """Tell whether words of the rate, those ``before`` it on its line or one in brackets behind it name something else."""
    item_at = max((item.start() for item in _ITEMS.finditer(before)), default=0)
    words = before[item_at:]
    behind = found.string[found.end() : found.end() + 20].partition(b"\n")[0]
    return bool(
        _NAMED_FOR_OTHERS.search(found[0])
        or _OF_OTHERS.search(words)
        or _TAGGED.search(before)
        or _TAGGED.match(behind.lstrip(b" "))
    )
