"""From a program to its page: recorded, reported by the command line, opened in a browser."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live_processes import DEADLINE_S, cli

pytestmark = [pytest.mark.browser, pytest.mark.e2e]

TRAINING = """
import multiprocessing, time
import rlprof


def work(queue):
    while queue.get() is not None:
        sorted(range(20_000), key=lambda value: -value)


def main():
    queue = multiprocessing.Queue(4)
    worker = multiprocessing.Process(target=work, args=(queue,))
    worker.start()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        queue.put(1)
        rlprof.step()
    queue.put(None)
    worker.join()


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def real_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    (folder / "train.py").write_text(TRAINING)
    run_file, page = folder / "run.rlprof", folder / "report.html"
    for command in (
        cli("run", "--no-report", "-o", run_file, folder / "train.py"),
        cli("report", run_file, "--html", "-o", page),
    ):
        subprocess.run(command, cwd=folder, check=True, timeout=DEADLINE_S, capture_output=True)
    return page


def test_the_page_of_a_real_run_opens_and_answers(
    open_page: Callable[..., Any], real_page: Path
) -> None:
    page = open_page(None, path=real_page)
    drawn = page.locator("#flamegraph-drawing .frame text")

    texts = " ".join(drawn.all_text_contents())
    page.get_by_label("Filter by name or file").fill("^work .*train.py")
    page.get_by_role("button", name="work", exact=True).click()

    assert "work" in texts
    assert page.locator("#flamegraph-drawing .match").count() >= 1
    assert page.locator("#timeline-charts .uplot").count() >= 2
    assert "train.py" in page.locator("#head").text_content()
