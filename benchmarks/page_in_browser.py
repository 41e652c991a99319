"""How quick the HTML report is in a browser: until it is there, and until it answers.

    python benchmarks/page_in_browser.py --nodes 100000

Makes the page of a profile of so many nodes, 16 threads and 120 slices of time: once as rlprof makes
it, with the lightest nodes left out, and once with all of them. Each is opened in headless Chromium
from its file; times are taken in the page with ``performance.now()``, up to the frame that shows the
change.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from measuring import Spread, print_table, rlprof_run, run, say

from rlprof.model.detail import Detail, Slice
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import NO_PARENT, Frame, Node, Samples, Thread
from rlprof.model.report import Report
from rlprof.renderers.html import RENDERER
from rlprof.renderers.html.pruning import page_tree
from rlprof.renderers.html.rundata import packed
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run
from rlprof.units import size

SLICES: Final = 120
SLICE_US: Final = 5_000_000
THREADS: Final = 16
CELLS_A_NODE: Final = 2
FUNCTIONS: Final = 6_000
DEEPEST: Final = 60

TARGETS_MS: Final = {"opened": 2_000, "zoomed": 100}

PROGRAM: Final = """
import time, rlprof
end = time.monotonic() + 2
while time.monotonic() < end:
    sum(range(1000))
    rlprof.step()
"""

WATCH_READY: Final = """
new MutationObserver((changes, watch) => {
  if (document.documentElement?.dataset.ready !== "yes") return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.openedAt = performance.now())));
}).observe(document, { attributes: true, subtree: true });
"""

TIME_IT: Final = """async (what) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const drawing = document.getElementById("flamegraph-drawing");
  const press = (key) => drawing.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const choose = (name, value) => {
    const found = [...document.querySelectorAll("#flamegraph-controls input, #flamegraph-controls select")]
      .find((it) => it.value === value || [...(it.options ?? [])].some((option) => option.value === value));
    if (found.options) found.value = value; else found.checked = true;
    found.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const actions = {
    zoomed: () => press("Enter"),
    back: () => press("0"),
    searched: () => {
      const field = document.querySelector("#flamegraph-controls input[type=search]");
      field.value = "function_1";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
    "range chosen": () => {
      const [from, to] = document.querySelectorAll("#timeline-charts input");
      from.value = 100; to.value = 300;
      to.dispatchEvent(new Event("change", { bubbles: true }));
    },
    "metric changed": () => choose("metric", "cpu"),
  };
  if (what === "zoomed") for (let step = 0; step < 4; step++) press("ArrowDown");
  await painted();
  const before = location.hash;
  const begun = performance.now();
  actions[what]();
  await painted();
  const time = performance.now() - begun;
  if (location.hash === before) throw new Error(`${what}: the page did not answer`);
  return time;
}"""
"""A frame passes between the change and its picture: 16 ms of each figure are the screen's pace."""

ACTIONS: Final = ("zoomed", "back", "searched", "metric changed", "range chosen")


def a_detail(nodes: int, seed: int) -> Detail:
    """A tree as real ones are: a few hot paths, and a great many rare ones beside them."""
    chance = random.Random(seed)
    tree: list[Node] = []
    depth: list[int] = []
    for node in range(nodes):
        parent = NO_PARENT if node < 4 else chance.randrange(max(0, node - 400), node)
        while parent != NO_PARENT and depth[parent] >= DEEPEST:
            parent = tree[parent].parent
        depth.append(0 if parent == NO_PARENT else depth[parent] + 1)
        tree.append(Node(node, parent, a_frame(chance)))
    costs: dict[tuple[int, int, int], int] = {}
    for node in range(nodes):
        for _ in range(CELLS_A_NODE):
            key = (chance.randrange(SLICES), chance.randrange(THREADS), node)
            costs[key] = round(chance.paretovariate(1.2) * 1_000)
    samples = Samples()
    for key, wall in sorted(costs.items()):
        idle = wall if key[1] % 4 == 3 else 0
        samples.add(*key, wall, idle, wall - idle)
    return Detail(
        slices=tuple(
            Slice(number * SLICE_US, (number + 1) * SLICE_US, PhaseKind.STEADY)
            for number in range(SLICES)
        ),
        threads=tuple(
            Thread(number, 0, 1000 + number, f"worker-{number}", number == 0)
            for number in range(THREADS)
        ),
        nodes=tuple(tree),
        samples=samples,
        points_us=tuple((number * SLICE_US, (number + 1) * SLICE_US) for number in range(SLICES)),
    )


def a_frame(chance: random.Random) -> Frame:
    number = int(FUNCTIONS * chance.random() ** 2)
    file = f"/home/researcher/project/package_{number % 17}/module_{number % 301}.py"
    return Frame(file, f"function_{number}", number % 900 + chance.randrange(20))


def a_report(folder: Path, nodes: int, seed: int) -> Report:
    """The report of a short real run, with a tree made for the purpose."""
    script = folder / "train.py"
    script.write_text(PROGRAM)
    run_file = folder / "run.rlprof"
    run(rlprof_run(run_file, command=[sys.executable, str(script)]))
    report = build_report(read_run(run_file), detailed=True)
    assert report.detail is not None
    made = a_detail(nodes, seed)
    rate = report.detail.series[0]
    shown = rate._replace(values=tuple(600.0 + number % 7 for number in range(SLICES)))
    whole = replace(report.run, wall_us=SLICES * SLICE_US)
    return replace(report, run=whole, detail=replace(made, series=(shown,)))


def pages(report: Report) -> Iterator[tuple[str, str]]:
    """(name, page): as rlprof makes it, and with every node."""
    assert report.detail is not None
    page = RENDERER.render(report, {})
    usual = page_tree(report.detail)
    yield f"as made: {len(usual.nodes)} nodes", page
    whole = page_tree(report.detail, most_nodes=10**9, most_cells=10**9)
    data = packed(report, report.detail, whole)
    island = re.compile(r'(<script [^>]*id="data"[^>]*>).*?(</script>)', re.DOTALL)
    yield (
        f"all {len(whole.nodes)} nodes",
        island.sub(lambda match: match[1] + data + match[2], page),
    )


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise SystemExit("needs Chromium: apt-get install chromium")
    with sync_playwright() as engine:
        browser = engine.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def times_ms(browser: Any, path: Path) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(WATCH_READY)
    page.goto(path.as_uri())
    page.wait_for_function("window.openedAt", timeout=60_000)
    times = {"opened": page.evaluate("window.openedAt")}
    page.locator("#flamegraph").scroll_into_view_if_needed()
    for action in ACTIONS:
        times[action] = page.evaluate(TIME_IT, action)
    context.close()
    return times


def measure(rounds: int, once: Callable[[], dict[str, float]]) -> dict[str, Spread]:
    times = [once() for _ in range(rounds)]
    return {name: Spread.of(time[name] for time in times) for name in times[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the pages here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = arguments.keep or Path(scratch)
        say(f"a profile of {arguments.nodes} nodes")
        report = a_report(Path(scratch), arguments.nodes, arguments.seed)
        rows = []
        for number, (name, page) in enumerate(pages(report)):
            say(name)
            path = folder / f"page-{number}.html"
            path.write_text(page, encoding="utf-8")
            title = f"{name}, {size(path.stat().st_size)}"
            found = measure(arguments.rounds, lambda path=path: times_ms(browser, path))
            for action, spread in found.items():
                target = f"< {TARGETS_MS[action]}" if action in TARGETS_MS else ""
                rows.append([title, action, spread.text("{:.0f}"), target])
    print_table(
        f"The page of a profile of {arguments.nodes} nodes in headless Chromium: milliseconds, "
        f"median of {arguments.rounds} (lowest to highest)",
        ["page", "until", "ms", "target"],
        rows,
    )


if __name__ == "__main__":
    main()
