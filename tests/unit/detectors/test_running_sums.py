from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.calls.running_sums import running_sums


@pytest.mark.parametrize(
    ("code", "container"),
    [
        (
            "for i in range(n):\n    left -= self.weights[i]\n    if left <= 0:\n        return i",
            "self.weights",
        ),
        (
            "for i, w in enumerate(weights):\n    total += w\n    if total > mark:\n        break",
            "weights",
        ),
        ("for p in table:\n    seen += p\n    if mark < seen: break\n    i += 1", "table"),
        ("for i in range(n):\n    left -= costs(i)\n    if left <= 0:\n        return i", ""),
        ("for i in range(n):\n    total += weights[i]", ""),
        ("for i in range(n):\n    total += weights[0]\n    if total > 1: break", ""),
        ("for i in range(n):\n    total += weights[i]\n    if i > 3: break", ""),
        ("for p in table:\n    seen += p\n    kept.append(p)\n    if mark < seen: break", ""),
        (
            "for p in table:\n    seen += p\n    for j in rows: grid[j] += 1\n    if mark < seen: break",
            "",
        ),
        ("def broken(:", ""),
    ],
)
def test_reads_searches_off_the_source(code: str, container: str):
    indented = code.replace("\n", "\n    ") if "return" in code else code
    text = f"def search():\n    {indented}" if "return" in code else code

    assert {loop.container for loop in running_sums(text).values()} == ({container} - {""})
