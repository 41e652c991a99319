"""A program in this process that is treated: the agent's side of a try and the recorder's, through the same memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any

from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.agent.inject.rlprof_agent.treatments import ProcessTreatment
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart, TreatmentTold, as_bytes


class Program:
    """A module of the user's, from its text."""

    def __init__(self, folder: Path, text: str, name: str = "train") -> None:
        self.text = dedent(text).lstrip("\n")
        self.path = folder / f"{name}.py"
        self.path.write_text(self.text)
        self.module = ModuleType(name)
        self.module.__file__ = str(self.path)
        exec(compile(self.text, str(self.path), "exec"), self.module.__dict__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def line(self, piece: str) -> int:
        """The first line that contains ``piece``."""
        return next(i for i, line in enumerate(self.text.splitlines(), 1) if piece in line)

    def call(self, what: str, function: FunctionType, **more: str | int) -> TreatmentPart:
        """A part that changes what becomes of calls of ``function``, by where it was written."""
        code = function.__code__
        return {
            "way": "call",
            "what": what,
            "file": code.co_filename,
            "line": code.co_firstlineno,
            "name": code.co_name,
            **more,
        }

    def edit(self, what: str, function: FunctionType, at: str, **more: str | int) -> TreatmentPart:
        """A part that changes the statement of ``function`` on the line with ``at``."""
        return {
            **self.call(what, function, **more),
            "way": "edit",
            "path": str(self.path),
            "at": self.line(at),
        }


class Try:
    """A try of treatments in this process."""

    def __init__(self) -> None:
        self.mailbox = Mailbox(10_000)
        self.reader = MailboxReader(os.dup(self.mailbox.fd))
        self.desk = self.reader.treatment
        self.trial = ProcessTreatment()
        self._number = 0

    def arm(self, *parts: TreatmentPart) -> TreatmentTold:
        self._number += 1
        self.desk.want(False, time.monotonic_ns())
        self.desk.ask(self._number, as_bytes(parts))
        return self.turn()

    def want(self, is_on: bool) -> TreatmentTold:
        self.desk.want(is_on, time.monotonic_ns())
        return self.turn()

    def turn(self) -> TreatmentTold:
        """As in the stack probe's handler."""
        self.trial.follow(self.mailbox)
        return self.desk.told()

    def leave(self) -> None:
        self.desk.leave()
        self.turn()

    @contextmanager
    def on(self, *parts: TreatmentPart) -> Iterator[None]:
        """Have ``parts`` on."""
        self.arm(*parts)
        self.want(True)
        try:
            yield
        finally:
            self.leave()
