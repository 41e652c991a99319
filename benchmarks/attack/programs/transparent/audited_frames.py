"""Forbid code objects and ids by an audit hook, as a sandbox around code that was written elsewhere does."""

import sys

is_guarded = False


def refuse(event, _arguments):
    if is_guarded and event in ("object.__getattr__", "builtins.id"):
        raise RuntimeError(event)


sys.addaudithook(refuse)
is_guarded = True
state = 1
for _ in range(3_000_000):
    state = state * 1_103_515_245 % 2_147_483_648
is_guarded = False
print(state)
