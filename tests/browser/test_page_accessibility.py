"""axe-core finds no serious violation in the HTML report, in both schemes, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report_factories import a_story, a_tried_story

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "build/browser-packages/node_modules/axe-core/axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core from npm: make browser")

SERIOUS = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, nodes.slice(0, 5).map(({ target, failureSummary }) => `${target}: ${failureSummary}`)]);
}"""

Open = Callable[..., Any]


def violations(page: Any) -> Any:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(SERIOUS)


@needs_axe
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page: Open, scheme: str, width: int) -> None:
    # axe adds styles of its own while it looks: the page's policy would stop it.
    page = open_page(a_story(), width=width, color_scheme=scheme, bypass_csp=True)

    assert violations(page) == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_experiments(open_page: Open, scheme: str) -> None:
    page = open_page(a_tried_story(), color_scheme=scheme, bypass_csp=True)

    assert violations(page) == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_the_page_is_used(open_page: Open, scheme: str) -> None:
    used = "#metric=cpu&time=2-8&finding=1&search=step&colours=finding"
    page = open_page(a_story(), view=used, color_scheme=scheme, bypass_csp=True)
    page.get_by_label("Filter by name or file").fill("omegaconf")

    assert violations(page) == []


@needs_axe
def test_axe_would_tell(open_page: Open) -> None:
    page = open_page(a_story(), bypass_csp=True)
    page.evaluate(
        "document.querySelector('#functions-controls label').replaceWith(document.createElement('input'))"
    )

    assert [rule for rule, _ in violations(page)] == ["label"]
