from __future__ import annotations

import pytest

from rlprof.recording.redaction.insides import insides_of


@pytest.mark.parametrize(
    ("text", "insides"),
    [
        ("a = 'b' # c 'd'\ne = Rb\"f\"", ["b", " c 'd'", "f"]),
        ("a = '''b'\n'' \\'''c''' 'd'", ["b'\n'' \\'''c", "d"]),
        ("if'a'else'b'", ["a", "b"]),
        ("f'a{b}c{{d}}'", ["a", "c{{d}}"]),
        ("f'a{b!r:>{c}}d'", ["a", "", "d"]),
        ("f'a{b[\":}\"]}c'", ["a", ":}", "c"]),
        ("f'a{ {1: (lambda: 2)}[1]:#\">9}c'", ["a", "c"]),
        ("f'\\N{DASH}\\{a}\\'b'", ["\\N{DASH}\\", "\\'b"]),
        ("rf'\\N{a}b'", ["\\N", "b"]),
        ("f'a{b['c']}d'", ["a", "c", "d"]),  # From Python 3.12 on.
        ("f'a{b + f'c{d}e'}f'", ["a", "c", "e", "f"]),
        ("f'''a'{b # c}\n}'''", ["a'", " c}", ""]),
    ],
)
def test_the_words_of_strings_and_comments(text, insides):
    found = insides_of(text)

    assert [text[inside.start : inside.end] for inside in found if inside.end > inside.start] == [
        words for words in insides if words
    ]


def test_strings_in_placeholders_are_told_apart():
    assert [inside.depth for inside in insides_of("f'a{b[\"c\"]:{d(\"e\")}}f' 'g'")] == [
        0,
        1,
        2,
        0,
        0,
    ]


@pytest.mark.parametrize("text", ["'a", "'''a'", "f'a{b", "f'a{b:c", "f'a{b:{c", "'a\\"])
def test_what_nothing_closes_ends_with_the_text(text):
    assert all(inside.end <= len(text) for inside in insides_of(text))
