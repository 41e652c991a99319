"""The change that a finding of a run asks for, from what was recorded and what is on disk now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import diff_bytes, unified_diff
from pathlib import Path
from typing import Final

from rlprof.errors import UsageError
from rlprof.fixes.base import CannotFixError, Case, Fix, Place, Rewriting
from rlprof.fixes.current_file import CurrentFile
from rlprof.model.finding import Finding, Location
from rlprof.model.profile import Profile
from rlprof.model.recording import RunInfo
from rlprof.source.values import Values
from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.origin import Origin, origin_of_file

_NO_NEWLINE: Final = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    path: Path
    content_before: bytes
    content: bytes
    """Bytes to be written."""

    def diff(self, name: str) -> bytes:
        """The change as a unified diff, in the bytes of the file and with the paths that ``git apply`` and ``patch -p1`` take."""
        before, after = map(_lines, (self.content_before, self.content))
        path = os.fsencode(name)
        if b" " in path:
            path += b"\t"  # As git writes it: else ``patch`` takes the name up to the space.
        told = diff_bytes(unified_diff, before, after, b"a/" + path, b"b/" + path)
        return b"".join(
            line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE for line in told
        )


def _lines(content: bytes) -> list[bytes]:
    """The lines of a file, each with its end. ``splitlines`` knows more ends than diffs and Python do."""
    *whole, last = content.split(b"\n")
    return [*(line + b"\n" for line in whole), *([last] if last else [])]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The files that a fix changes."""

    fix: Fix
    files: Sequence[ChangedFile]
    left: Sequence[str]
    """Places that stay as they are, each with the reason."""


def propose(finding: Finding, profile: Profile, run: RunInfo, fixes: Iterable[Fix]) -> Proposal:
    """Make the change of the first of ``fixes`` that can be made exactly.

    Raises ``UsageError`` where none is for this finding or can be made, and where the lines are not as they were recorded.
    """
    known = [fix for fix in fixes if finding.detector in fix.findings]
    if not known:
        raise UsageError(
            f"rlprof has no change of the source for {finding.detector}",
            slug="no-fix",
            hint=f"`rlprof explain {finding.detector}` says what to change",
        )
    sources = _Sources(profile, run)
    refusals = []
    for fix in known:
        try:
            case = sources.case(finding, fix)
            rewriting = fix.rewrite(case)
            files = [*sources.changed(rewriting)]
        except CannotFixError as error:
            refusals.append(str(error))
            continue
        return Proposal(fix, files, rewriting.left)
    raise UsageError(
        f"{finding.detector} cannot be changed exactly here: {refusals[0]}",
        slug="fix-refused",
        hint=f"do it by hand: {finding.fix}",
    )


class _Sources:
    """The user's files of a run, as they were recorded and as they are now."""

    def __init__(self, profile: Profile, run: RunInfo) -> None:
        self._recorded = profile.sources
        self._values = Values(profile.values)
        self._run = run
        self._files: dict[str, CurrentFile | None] = {}

    def case(self, finding: Finding, fix: Fix) -> Case:
        places = [self._place(location, fix) for location in finding.locations]
        texts: dict[str, str] = {}
        for name in self._recorded:
            if origin_of_file(name) is Origin.YOURS and not name.startswith("<"):
                file = self._file(name)
                if file is not None:
                    texts[name] = file.text
        return Case(finding, places, texts, self._script(texts))

    def changed(self, rewriting: Rewriting) -> Iterable[ChangedFile]:
        for name, text in sorted(rewriting.texts.items()):
            file = self._file(name)
            assert file is not None
            try:
                content = file.encoded(text)
            except UnicodeEncodeError as error:
                raise CannotFixError(f"{name} has an encoding that lacks a letter") from error
            yield ChangedFile(file.path, file.encoded(file.text), content)

    def _file(self, name: str) -> CurrentFile | None:
        if name not in self._files:
            path = Path(self._run.cwd) / name
            self._files[name] = CurrentFile.read(path, self._recorded[name])
        return self._files[name]

    def _place(self, location: Location, fix: Fix) -> Place:
        name, line = location.file, location.line
        if origin_of_file(name) is not Origin.YOURS:
            raise UsageError(
                f"{name}:{line} is in an installed library",
                slug="fix-of-a-library",
                hint="rlprof changes files of yours alone; report it to the library, or do it in a copy",
            )
        file = self._file(name) if name in self._recorded else None
        # Run files of old have a byte order mark.
        recorded = self._recorded.get(name, "").removeprefix("\ufeff")
        module = parse(recorded) if file is not None else None
        if file is None or module is None:
            raise _changed(name, line, "is not there, or is no Python that can be read")
        statement = module.statement_at(line)
        if statement is None:
            raise CannotFixError("its line has no statement")
        lines = file.now(_needed(module, line, fix))
        now = file.now(statement.lines)
        if lines is None or now is None:
            raise _changed(name, line, "is not as it was recorded")
        known = self._values.of(name, statement)
        return Place(name, now.start + line - statement.first_line, known)

    def _script(self, texts: Mapping[str, str]) -> str:
        """The file that the run started, by its path or as a module; empty where it is not among the sources."""
        script = self._run.script
        wanted = str(Path(self._run.cwd) / script)
        module = f"/{script.replace('.', '/')}"
        return next(
            (
                name
                for name in texts
                if str(Path(self._run.cwd) / name) == wanted
                or name.endswith((f"{module}.py", f"{module}/__main__.py"))
            ),
            "",
        )


def _needed(module: SourceModule, line: int, fix: Fix) -> range:
    """The lines that have to be as they were for a fix to be right."""
    statement, function = module.statement_at(line), module.function_at(line)
    assert statement is not None
    if fix.reads_functions and function is not None:
        return function.lines
    return statement.lines


def _changed(name: str, line: int, how: str) -> UsageError:
    return UsageError(
        f"{name}:{line} {how}",
        slug="fix-source-changed",
        hint="record the training again, then ask for the fix of that run",
    )
