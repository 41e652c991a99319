"""The documentation keeps its promises: every printed slug has its entry, every link leads somewhere."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MESSAGES = ROOT / "docs" / "messages.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")])
LINK = re.compile(r"\[[^\]]*\]\((?!https?://)([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def slugs_in(tree: ast.AST) -> Iterator[str]:
    """Yield what stands in ``slug="…"``, and behind the level of a ``Note("warning", "…", …)``."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        for keyword in call.keywords:
            if keyword.arg == "slug" and isinstance(keyword.value, ast.Constant):
                yield keyword.value.value
        match call:
            case ast.Call(ast.Name("Note"), [_, ast.Constant(str(slug)), *_]):
                yield slug


def printed_slugs() -> set[str]:
    sources = (ROOT / "rlprof").rglob("*.py")
    return {slug for source in sources for slug in slugs_in(ast.parse(source.read_bytes()))}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    titles = HEADING.findall(text)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_search_finds_slugs_of_both_kinds():
    tree = ast.parse('raise E("x", slug="a-b", hint="")\nNote("warning", "c-d", "text")')

    assert set(slugs_in(tree)) == {"a-b", "c-d"}


def test_every_message_is_documented():
    assert printed_slugs() <= anchors(MESSAGES)


def test_every_documented_message_is_printed():
    entries = set(re.findall(r"^### (.+)$", MESSAGES.read_text(encoding="utf-8"), re.MULTILINE))

    assert entries <= printed_slugs()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page} links to {link}"


EXAMPLE = re.compile(r"^```python\n# (?P<path>\S+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


def examples_of_the_guide() -> dict[str, str]:
    """By the path that each is to have."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {example["path"]: example["text"] for example in EXAMPLE.finditer(text)}


@pytest.mark.parametrize("path", examples_of_the_guide())
# The modules of the guide are not there, so ruff takes them for another package's and sorts their imports anew.
@pytest.mark.parametrize("check", [("check", "--ignore=I001"), ("format", "--diff")])
def test_the_examples_of_the_guide_are_written_as_the_rest(path, check):
    pytest.importorskip("ruff", reason="ruff is missing (pip install ruff)")

    answer = subprocess.run(
        [sys.executable, "-m", "ruff", *check, "--stdin-filename", ROOT / path, "-"],
        input=examples_of_the_guide()[path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    ("kind", "passed"), [("detectors", 4), ("renderers", 3), ("treatments", 3)]
)
def test_the_plugins_of_the_guide_pass_their_own_tests(kind, passed, tmp_path):
    examples = examples_of_the_guide()
    plugin, its_test = sorted(path for path in examples if f"/{kind}/" in path)
    # Beside the package rather than in it: only the import path of the guide's plug-in differs.
    (tmp_path / "of_the_guide.py").write_text(examples[plugin])
    module = plugin.removesuffix(".py").replace("/", ".")
    (tmp_path / "test_guide.py").write_text(examples[its_test].replace(module, "of_the_guide"))

    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert answer.returncode == 0, answer.stdout
    assert f"{passed} passed" in answer.stdout
