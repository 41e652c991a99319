from __future__ import annotations

import textwrap

import pytest

from rlprof.syntax.after_calls import may_work_after_calls


def lines(text: str) -> list[str]:
    return textwrap.dedent(text).strip("\n").splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "self._rows.writerow(row)",
        "self._stream.flush()",
        "return self.net(torch.cat(parts) @ self.weight)",
        "obs, reward, done, _, info = env.step(actions[0])",
        "values = [table[state] @ weights for state in states]",
        "el.append(pair)",
        "self.at = min(11, self.at + 1) if action else 0",
        "total = -1",
        "return self.at, {}",
        """
        journey.note(
            state + 1,
        )
        """,
    ],
)
def test_what_is_all_in_calls_is_seen_there(line):
    assert not may_work_after_calls(lines(line))


@pytest.mark.parametrize(
    "line",
    [
        "return state in self.visited",
        "    return self.rows[index]",
        "x = encode(obs) @ weights",
        "total += gamma * value",
        "elif board[row] > 0:",
        "for row in rows:",
        "a, b = pair",
        "text = f'{tensor}'",
        "del batch",
        "with lock:",
        "rows = [*rows, row]",
        "options = {**options, 'lr': 0.1}",
        "if done:",
        "elif (a > b).any():",
        "assert loss",
        "is_over = not done",
        """
        total = (a + b *
            compute())
        """,
    ],
)
def test_an_operator_after_the_last_call_is_seen_later(line):
    assert may_work_after_calls(lines(line))


def test_a_doubtful_escape_of_the_users_is_not_warned_about(recwarn):
    assert not may_work_after_calls([r"print('\d')"])
    assert not recwarn.list


def test_a_line_of_generated_code_is_read():
    assert may_work_after_calls(["x = " + " + ".join(["a"] * 3_000)])
    assert may_work_after_calls(["x = " + "(" * 3_000 + ")" * 3_000])


@pytest.mark.parametrize("line", ["**options)", "case 3:", "  'text", ")"])
def test_of_what_cannot_be_read_alone_nothing_is_known(line):
    assert may_work_after_calls([line])
    assert may_work_after_calls([])
