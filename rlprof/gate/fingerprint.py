"""What a machine must have in common with another one for their speeds to be held against each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rlprof.gate.program import ask
from rlprof.names import printable
from rlprof.recording.gpus.reader import find_gpus
from rlprof.recording.host import host_facts

_OF_GPU: Final = re.compile(r"gpu:\d+:name")
_HOST: Final = {
    "cpu_model": "cpu_model",
    "cores": "cores",
    "usable_cores": "usable_cores",
    "architecture": "machine",
    "gpu_driver": "gpu_driver",
}
"""Facts of a host, by the names under which they are kept. Usable cores are those that the affinity
and the quota of the control group leave."""

_ASK: Final = """
import importlib.metadata, json, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
print(json.dumps({"python": platform.python_version(), "torch": version("torch")}))
"""
"""Without importing torch, which takes seconds."""

NONE: Final = "none"


def fingerprint_here(python: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Of this machine and of ``python``, as programs with ``environment`` see them."""
    gpus = find_gpus(environment)
    try:
        facts = host_facts(gpus)
    finally:
        if gpus is not None:
            gpus.close()
    return fingerprint(facts, _versions(python, environment))


def fingerprint(host: Mapping[str, str], versions: Mapping[str, str]) -> dict[str, str]:
    """``versions`` are those of ``python`` and ``torch``; empty or absent without one."""
    gpus = [host[name] for name in sorted(host) if _OF_GPU.fullmatch(name)]
    return {
        **{name: host.get(fact) or NONE for name, fact in _HOST.items()},
        "gpus": ", ".join(gpus) or NONE,
        "python": versions.get("python") or NONE,
        "torch": versions.get("torch") or NONE,
    }


def differences(saved: Mapping[str, str], here: Mapping[str, str]) -> tuple[str, ...]:
    """``cores: 8 then, 4 now``, for each that differs; whatever ``saved`` holds, each is one line."""
    names = sorted(saved.keys() | here.keys())
    pairs = ((name, saved.get(name, NONE), here.get(name, NONE)) for name in names)
    return tuple(
        f"{printable(name)}: {printable(was)} then, {printable(now)} now"
        for name, was, now in pairs
        if was != now
    )


def _versions(python: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    return {name: str(text) for name, text in ask(python, _ASK, environment).items()}
