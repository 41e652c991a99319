from __future__ import annotations

import textwrap

import pytest

from rlprof.syntax.module import parse
from rlprof.syntax.read_later import read_later


def needed(body: str) -> str:
    """Of the line that ends with a ``#``."""
    text = "def save(self, state, path):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    module = parse(text)
    assert module is not None
    return read_later(
        module, next(n for n, line in enumerate(text.splitlines(), 1) if line.endswith("#"))
    )


@pytest.mark.parametrize(
    ("body", "operand"),
    [
        ("torch.save(state, tmp) #\nos.replace(tmp, path)\n", "tmp"),
        ("torch.save(state, self.tmp) #\nself.tmp.rename(path)\n", "self.tmp"),
        ("torch.save(state, f'{path}.tmp') #\nif ok:\n    os.replace(f'{path}.tmp', path)\n", "f'{path}.tmp'"),
        ("self.write_checkpoint(tmp) #\nself.upload(tmp)\n", "tmp"),
        ("subprocess.run(['dump', tmp], stdout=out) #\nshutil.move(out, path)\n", "out"),
        ("tmp.write_text(state) #\ntmp.replace(path)\n", "tmp"),
        ("np.save('a.npy', state) #\nos.rename('a.npy', 'b.npy')\n", "'a.npy'"),
        ("with open(tmp, 'wb') as f:\n    pickle.dump(state, f) #\nos.replace(tmp, path)\n", "f"),
        ("with open(tmp, mode='w') as f:\n    f.write(state) #\n", "f"),
    ],
)  # fmt: skip
def test_what_later_lines_take(body, operand):
    assert needed(body) == operand


@pytest.mark.parametrize(
    "body",
    [
        "torch.save(self.net.state_dict(), path) #\nself.log(self.net)\n",
        "os.remove(tmp)\ntorch.save(state, tmp) #\n",
        "writer.write(state) #\nwriter.flush()\nself.log(writer)\n",
        "self.save(path) #\nself.log()\n",
        "print(loss) #\nhistory.append(loss)\n",
        "with open(path, 'a') as f:\n    f.write(state) #\n",
        "with lock:\n    torch.save(state, path) #\n",
        "x = 1 #\n",
    ],
)
def test_what_leaves_nothing_that_is_needed(body):
    assert needed(body) == ""


def test_another_functions_lines_are_none():
    text = (
        "def save(state):\n    torch.save(state, tmp)\n\ndef move():\n    os.replace(tmp, path)\n"
    )
    module = parse(text)
    assert module is not None

    assert read_later(module, 2) == ""
