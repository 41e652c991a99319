"""Tell by its arguments what an interpreter runs: the training's own code, or a service beside it."""

from __future__ import annotations

import re

_SERVICES = {
    r"multiprocessing\.resource_tracker": "the resource tracker of multiprocessing",
    r"(joblib\.externals\.)?loky\.backend\.resource_tracker": "the resource tracker of loky",
    r"multiprocessing\.forkserver": "the fork server of multiprocessing",
    r"torch\._inductor\.compile_worker|.*/torch/_inductor/compile_worker/__main__\.py": (
        "a compile worker of torch"
    ),
    r"tensorboard(\.main)?|.*/tensorboard": "TensorBoard",
    r"wandb-service.*": "the service of Weights & Biases",
}
"""Service processes that are not sampled, by the program that they run (all of it)."""

_SPAWNED = re.compile(r"(joblib\.externals\.)?loky\.backend\.popen_loky_posix")
"""Programs whose processes are as those that multiprocessing spawns: joblib's workers."""

_IMPORTS_FROM = re.compile(r"from (?P<module>[\w.]+) import")


def service_of(argv: tuple[str, ...]) -> str | None:
    """Name the service that a process is, in words; None if it is none."""
    program = _program(argv)
    for pattern, what in _SERVICES.items():
        if re.fullmatch(pattern, program):
            return what
    return None


def is_spawned_by_joblib(argv: tuple[str, ...]) -> bool:
    return _SPAWNED.fullmatch(_program(argv)) is not None


def is_fork_server(argv: tuple[str, ...]) -> bool:
    return any("multiprocessing.forkserver" in argument for argument in argv)


def _program(argv: tuple[str, ...]) -> str:
    """Return what an interpreter was told to run: a module, a script, or the module that ``-c`` code
    imports from. The process's title where that was rewritten.
    """
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "")
        if word == "-c":
            imported = _IMPORTS_FROM.match(next(words, ""))
            return "" if imported is None else imported["module"]
        if word in ("-W", "-X"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return argv[0] if argv else ""
