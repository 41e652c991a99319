"""Secrets in command lines, environments and labels: in no file and in no page, not even of a killed recording."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.attack.arena import Arena, Failed
from benchmarks.attack.row import Row
from benchmarks.attack.training import kill

LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"

PROGRAM = """
import os, sys, time
open("started", "w").close()
end = time.monotonic() + float(os.environ.get("LASTS", "0.3"))
while time.monotonic() < end:
    sum(range(1000))
"""

COMMAND_LINES: Mapping[str, Sequence[Sequence[str]]] = {
    "options": (
        ["--password", "{}"],
        ["--password=-{}"],
        ["--password", "-{}"],
        ["--api-key", "{} two words"],
        ["-token", "{}"],
        ["--wandb_api_key={};rest&{}"],
        ["--db-passwd", "{}&more;{}"],
        ["--hf-token", "hf_{}"],
        ["PASSWORD={}"],
    ),
    "structured": (
        ["--config", '{{"password":"{}"}}'],
        ["--config", '{{"auth": {{"secret": ["{}", "x"]}}}}'],
        ["wandb={{api_key:{}}}"],
        ["logger.wandb.api_key={}"],
        ["--config", "password: {}"],
        ["+secrets.token='{} more'"],
        ["--set", 'credentials="{} with spaces; and more"'],
    ),
    "headers": (
        ["--header", "Authorization: Bearer {}"],
        ["-H", "X-Api-Key: {}"],
        ["--header=Cookie: session={}"],
        ["-H", "Authorization: Basic {}"],
        ["--proxy-header", "Proxy-Authorization: Bearer {}"],
    ),
    "addresses": (
        ["postgres://user:{}@host/db"],
        ["https://{}@github.com/x.git"],
        ["--url=https://u:{}@host:8/path?x=1"],
        ["https://host/path?token={}&x=1"],
        ["--storage", "s3://key:{}@bucket"],
        ["AccountKey={};EndpointSuffix=core"],
    ),
    "shell-strings": (
        ["bash -c 'train --api-key {} --lr 1'"],
        ["export TOKEN={} && train"],
        ["curl -H 'Authorization: Bearer {}' https://host"],
        ["PASSWORD='{} x' train"],
        ['train --password "{}" | tee log'],
    ),
    "unnamed": (
        ["ghp_{}{}"],
        ["sk-{}{}"],
        ["--run", "AKIA{}"],
        ["eyJhbGciOiJIUzI1NiJ9.{}.{}"],
    ),
}
"""Words of a command line; each ``{}`` is a secret."""

ENVIRONMENT = (
    ("GITHUB_PAT", "{}"),
    ("MY_CREDS", "{}"),
    ("SLURM_JWT", "{}"),
    ("WANDB_CONFIG", '{{"api_key": "{}"}}'),
    ("ARGS", "--api-key {}"),
    ("TRAIN_CMD", "train --password {} --lr 1"),
    ("EXTRA_HEADERS", "Authorization: Bearer {}"),
    ("AZURE_STORAGE", "DefaultEndpointsProtocol=https;AccountKey={}=="),
    ("HARMLESS_NAME", "{}"),
    ("PGPASSFILE_TEXT", "host:1:db:user:{}"),
    ("LD_LIBRARY_HINT", "/opt/{}"),
)

SOURCE = """
def never_called(user, token="{}", *, password="{}"):
    token = token or "{}"
    secret = ("{}"
              "{}")  # password: {}
    os.environ.setdefault("API_TOKEN", "{}")
    api_key: str = f"{}{{user}}"
    user.update({{"password": b"{}"}}, token="{}" if user else None)
    setattr(user, "token", os.environ.get("TOKEN", "{}"))
    return ["train", "--api-key", "{}"], "host=db password={}"
"""
"""Of the text of the program."""

HOT_KEY = """
import time

def sizes(tokens):
    until, size = time.thread_time() + 2, 0
    while time.thread_time() < until:
        for _ in range(300):
            size += len(tokens["KEY"])

sizes({"KEY": [1, 2, 3]})
"""
"""The same, in a line that is looked at."""


def in_command_line(arena: Arena, lines: Sequence[Sequence[str]]) -> str:
    hidden = Hidden(arena.random)
    words = [hidden.fill(word) for line in lines for word in line]
    _record(arena, words)
    _expect_hidden(arena, hidden.secrets)
    return f"{len(hidden.secrets)} secrets, in no file and no page"


def in_environment(arena: Arena) -> str:
    hidden = Hidden(arena.random)
    extra = {name: hidden.fill(value) for name, value in ENVIRONMENT}
    _record(arena, [], **extra)
    _expect_hidden(arena, hidden.secrets, pages=False)
    return f"{len(hidden.secrets)} secrets, in no file"


def in_source(arena: Arena) -> str:
    # Longer ones would be hidden whatever their name.
    hidden = Hidden(arena.random, letters=9)
    _record(arena, [], program=PROGRAM + hidden.fill(SOURCE))
    _expect_hidden(arena, hidden.secrets)
    return f"{len(hidden.secrets)} secrets, in no file and no page"


def in_keys(arena: Arena) -> str:
    hidden = Hidden(arena.random, letters=32)
    _record(arena, [], program=PROGRAM + HOT_KEY.replace("KEY", hidden.fill("{}")))
    _expect_hidden(arena, hidden.secrets)
    return "in no file and no page"


def in_children(arena: Arena) -> str:
    """Command lines of processes that the target starts."""
    hidden = Hidden(arena.random)
    words = [
        hidden.fill(word) for lines in COMMAND_LINES.values() for line in lines for word in line
    ]
    # Not in its own text, which is kept, since it is the program.
    (arena.work / "words.json").write_text(json.dumps(words))
    (arena.work / "train.py").write_text(
        "import json, subprocess, sys\n"
        "with open('words.json') as file:\n"
        "    words = json.load(file)\n"
        "subprocess.run([sys.executable, 'child.py', *words], check=True)\n"
    )
    (arena.work / "child.py").write_text(PROGRAM)
    ended = arena.run(arena.recorded("train.py"), env=arena.environment(LASTS="1"))
    if ended.code != 0:
        raise Failed(f"exit {ended.code}: {ended.complaint}")
    _expect_hidden(arena, hidden.secrets, pages=False)
    return f"{len(hidden.secrets)} secrets, in no file"


def of_killed_recording(arena: Arena) -> str:
    """Nothing may be written first and redacted later: rlprof is killed under way."""
    hidden = Hidden(arena.random)
    words = [
        hidden.fill(word) for lines in COMMAND_LINES.values() for line in lines for word in line
    ]
    (arena.work / "train.py").write_text(PROGRAM)
    process = arena.start(
        arena.recorded("train.py", *words),
        env=arena.environment(LASTS="20"),
        output=subprocess.DEVNULL,
    )
    arena.wait_for("the start", (arena.work / "started").exists)
    kill(process.pid, signal.SIGKILL)
    arena.finish(process)
    _expect_hidden(arena, hidden.secrets, pages=False)
    return f"{len(hidden.secrets)} secrets, in no file of a killed recording"


class Hidden:
    """Secrets that stand nowhere else, and the words that hold them."""

    def __init__(self, random: Random, *, letters: int = 20) -> None:
        self._random = random
        self._letters = letters
        self.secrets: list[str] = []

    def fill(self, word: str) -> str:
        fresh = [
            "".join(self._random.choices(LETTERS, k=self._letters)) for _ in range(word.count("{}"))
        ]
        self.secrets += fresh
        return word.format(*fresh)


def _record(arena: Arena, words: Sequence[str], *, program: str = PROGRAM, **extra: str) -> None:
    (arena.work / "train.py").write_text(program)
    ended = arena.run(arena.recorded("train.py", *words), env=arena.environment(**extra))
    if ended.code != 0:
        raise Failed(f"exit {ended.code}: {ended.complaint}")


def _expect_hidden(arena: Arena, secrets: Sequence[str], *, pages: bool = True) -> None:
    made = arena.folder / "made"
    made.mkdir()
    if pages:
        for words in (
            ["report", arena.run_file, "--html", "-o", made / "page.html"],
            ["report", arena.run_file, "--format", "json", "-o", made / "report.json"],
            ["export", arena.run_file, "--format", "chrome", "-o", made / "chrome.json"],
        ):
            ended = arena.run(arena.rlprof(*words))
            if ended.code != 0:
                raise Failed(f"rlprof {words[0]}: {ended.complaint}")
    files = [*arena.folder.glob("run.rlprof*"), *made.iterdir(), *arena.tmp.rglob("*")]
    for path in files:
        if path.is_file():
            _expect_none(path, secrets)


def _expect_none(path: Path, secrets: Sequence[str]) -> None:
    text = path.read_bytes()
    found = [secret for secret in secrets if secret.encode() in text]
    if found:
        raise Failed(f"{len(found)} of {len(secrets)} secrets stand in {path.name}")


def _row(name: str, told: str, attempt: Callable[[Arena], str], *, is_fast: bool = False) -> Row:
    return Row(f"secrets-{name}", "secrets", told, attempt, is_fast)


ROWS: tuple[Row, ...] = (
    *(
        _row(f"in-{name}", f"Command lines: {name}.", partial(in_command_line, lines=lines))
        for name, lines in COMMAND_LINES.items()
    ),
    _row("in-environment", "Environment variables of any name.", in_environment, is_fast=True),
    _row("in-keys", "Keys of a dictionary, in a line that is looked at.", in_keys),
    _row("in-source", "Strings and comments of the program.", in_source, is_fast=True),
    _row("in-children", "Command lines of the target's children.", in_children),
    _row(
        "of-killed-recording",
        "All command lines at once; SIGKILL to rlprof under way.",
        of_killed_recording,
        is_fast=True,
    ),
)
