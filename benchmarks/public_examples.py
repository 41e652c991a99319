"""Profile the examples that public RL libraries ship, as they come, and print the reports to read.

    python benchmarks/public_examples.py                         # all, into build/public; half an hour
    python benchmarks/public_examples.py cleanrl sb3             # some of them
    python benchmarks/public_examples.py --folder kept sb3       # recordings and reports stay there

Each library gets a virtual environment of its own and its source distribution, from the package index. Only the number of
steps is changed, so that a run takes a minute. A bare run goes before, and both must end with the same exit code.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from measuring import ROOT, say, training_environment

TORCH = "torch==2.13.0"
"""Installed first, so that no library asks for another."""

RUN_TIMEOUT_S = 600


class Example(NamedTuple):
    """An example of one library."""

    library: str
    """As the package index has it, with its version."""
    needs: Sequence[str]
    """What else is installed."""
    built_with: Sequence[str] = ()
    """What packages without wheels are built with, where the newest tools cannot."""
    file: str = ""
    """In the source distribution."""
    in_readme: str = ""
    """Where there is no file: a piece of the README's snippet of Python that is run."""
    shorter: tuple[str, str] = ("", "")
    """What is replaced in it, so that it ends."""
    arguments: Sequence[str] = ()
    """Of the script, or of the module ``-m NAME`` where there is neither file nor snippet."""


EXAMPLES = {
    "cleanrl": Example(
        "cleanrl==1.2.0",
        ("numpy<1.24", "gym==0.23.1", "tensorboard", "pygame"),
        built_with=("setuptools<70", "wheel"),
        file="cleanrl/ppo.py",
        arguments=("--total-timesteps", "20000", "--cuda", "False"),
    ),
    "sb3": Example("stable-baselines3==2.9.2", (), in_readme='PPO("MlpPolicy", "CartPole-v1")'),
    "sb3-human": Example(
        "stable-baselines3==2.9.2",
        ("pygame",),
        in_readme='render_mode="human"',
        shorter=("10_000", "6_000"),
    ),
    "rl_zoo3": Example(
        "rl-zoo3==2.9.2",
        (),
        arguments=("-m", "rl_zoo3.train", "--algo", "dqn", "--env", "CartPole-v1", "-n", "12000"),
    ),
    "tianshou": Example(
        "tianshou==2.0.1",
        ("tianshou[eval]==2.0.1", "pygame"),
        in_readme="DQNExperimentBuilder",
        shorter=("watch=True", "watch=False"),
    ),
    "rllib": Example(
        "ray[rllib]==2.60.0",
        ("gymnasium",),
        arguments=(
            *("-m", "ray.rllib.examples.algorithms.vpg_custom_algorithm"),
            *("--stop-iters", "8", "--num-cpus", "4", "--no-tune"),
        ),
    ),
}


def main() -> None:
    options = _options()
    for name in options.examples or EXAMPLES:
        folder = options.folder.resolve() / name
        folder.mkdir(parents=True, exist_ok=True)
        example = EXAMPLES[name]
        python = _python(folder / "venv", example)
        command = _command(example, folder, python)
        bare = _run([str(python), *command], folder)
        if bare:
            say(f"\n=== {name}: {example.library} fails by itself, with exit code {bare} ===\n")
            continue
        run_file = folder / "run.rlprof"
        rlprof = [sys.executable, "-m", "rlprof", "run", "--no-report", "--force"]
        profiled = _run([*rlprof, "-o", str(run_file), "--python", str(python), *command], folder)
        say(f"\n=== {name}: {example.library}, exit codes {bare} and {profiled} under rlprof ===\n")
        subprocess.run([sys.executable, "-m", "rlprof", "report", str(run_file)], env=_env())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("examples", nargs="*", metavar="example", help=", ".join(EXAMPLES))
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "public")
    return parser.parse_args()


def _python(folder: Path, example: Example) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        # A source distribution of a single file is no package to install.
        library = () if example.file else (example.library,)
        options = ("--no-build-isolation",) if example.built_with else ()
        # One after the other: torch asks for newer tools than some are built with.
        for packages in ((TORCH,), example.built_with, (*options, *example.needs, *library)):
            if packages:
                subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def _command(example: Example, folder: Path, python: Path) -> list[str]:
    if not example.file and not example.in_readme:
        return list(example.arguments)
    source = _source(example, folder, python)
    if example.file:
        text = (source / example.file).read_text()
    else:
        readme = (source / "PKG-INFO").read_text()
        snippets = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        text = next(snippet for snippet in snippets if example.in_readme in snippet)
    was, now = example.shorter
    script = folder / "example.py"
    script.write_text(text.replace(was, now) if was else text)
    return [script.name, *example.arguments]


def _source(example: Example, folder: Path, python: Path) -> Path:
    """The unpacked source distribution."""
    if not any(folder.glob("*.tar.gz")):
        only_source = ("--no-deps", "--no-binary", ":all:", "--ignore-requires-python")
        subprocess.run(
            [python, "-m", "pip", "download", "-q", *only_source, "-d", folder, example.library],
            check=True,
        )
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def _run(command: Sequence[str], folder: Path) -> int:
    with (folder / "output.txt").open("wb") as output:
        run = subprocess.run(
            command, cwd=folder, env=_env(), stdout=output, stderr=output, timeout=RUN_TIMEOUT_S
        )
    return run.returncode


def _env() -> dict[str, str]:
    """Windows are drawn into memory."""
    return {**training_environment(), "SDL_VIDEODRIVER": os.environ.get("SDL_VIDEODRIVER", "dummy")}


if __name__ == "__main__":
    main()
