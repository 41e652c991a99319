from __future__ import annotations

import pytest

from rlprof.fixes.rewrites.fewer_collections import FIX
from tests.fix_factory import changes, fixed, refusal


def test_a_collection_that_is_asked_for_goes():
    text = "import gc\nfor x in y:\n    f(x)  # work\n    gc.collect()\n    g(x)\n"

    assert changes(text, fixed(FIX, text, 4)) == ["-    gc.collect()"]


def test_a_block_of_it_alone_passes():
    text = "import gc\nfor x in y:\n    if x:\n        gc.collect()\n"

    assert fixed(FIX, text, 4) == text.replace("gc.collect()", "pass")


def test_what_set_up_made_is_frozen_before_the_loop():
    text = (
        '"""Train."""\n\nimport sys\n\n\ndef train(env):\n    # Steps.\n    for x in env:\n        while x:\n            x = f(x)\n\n\n'
        'if __name__ == "__main__":\n    train(sys)\n'
    )

    new = fixed(FIX, text, 10)

    assert changes(text, new) == [
        "+import gc",
        "+    gc.freeze()",
        "+    gc.set_threshold(50_000, 20, 100)",
    ]
    assert "    # Steps.\n    gc.freeze()\n    gc.set_threshold(50_000, 20, 100)\n    for x" in new


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("def f(y):\n    for x in y:\n        g(x)\nfor z in u:\n    f(z)\n", 3, "more than once"),
        ("def f(y):\n    for x in y:\n        g(x)\nf(1)\nf(2)\n", 3, "more than once"),
        ("def f(x):\n    return [x]\nf(1)\n", 2, "no loop"),
        ("import gc\nn = 0\nfor x in y:\n    n += gc.collect()\n", 4, "is used"),
        ("import gc\nfor x in y:\n    # Needed.\n    gc.collect()\n", 4, "comment"),
        ("import gc\ngc.freeze()\nfor x in y:\n    f(x)\n", 4, "already"),
    ],
)
def test_others_are_left_alone(text, line, why):
    assert why in refusal(FIX, text, line)
