"""The tables of a pprof profile: strings, functions and locations, each once."""

from __future__ import annotations

from typing import Final

from rlprof.model.recording import Frame
from rlprof.names import printable, short_path
from rlprof.renderers.pprof import wire
from rlprof.report.thread_stacks import frame_name

MAPPING: Final = 1
"""Id of the only one: the program."""


class Strings:
    """The first is empty, as the format asks for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def encoded(self) -> bytes:
        return b"".join(wire.text(6, text) for text in self._numbers)


class Locations:
    """A location is a line of a function."""

    def __init__(self, strings: Strings, cwd: str) -> None:
        self._strings = strings
        self._cwd = cwd
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[Frame, int] = {}

    def number(self, frame: Frame) -> int:
        known = self._locations.get(frame)
        if known is None:
            known = self._locations[frame] = len(self._locations) + 1
            function = (frame.file, frame.function)
            self._functions.setdefault(function, len(self._functions) + 1)
        return known

    def encoded(self) -> bytes:
        parts = [wire.message(4, self._location(it, n)) for it, n in self._locations.items()]
        parts += [wire.message(5, self._function(*it, n)) for it, n in self._functions.items()]
        return b"".join(parts)

    def _location(self, frame: Frame, number: int) -> bytes:
        function = self._functions[frame.file, frame.function]
        line = wire.number(1, function) + wire.number(2, frame.line)
        return wire.number(1, number) + wire.number(2, MAPPING) + wire.message(4, line)

    def _function(self, file: str, function: str, number: int) -> bytes:
        bare = frame_name(Frame(file, function, 0))
        # pprof puts functions of one name together, whatever their files.
        full = f"{printable(short_path(file, self._cwd))}:{bare}" if file else bare
        return (
            wire.number(1, number)
            + wire.number(2, self._strings.number(full))
            + wire.number(3, self._strings.number(bare))
            + wire.number(4, self._strings.number(printable(file)))
        )
