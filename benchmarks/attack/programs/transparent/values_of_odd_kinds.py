"""Work on values whose classes, keys and names would tell that they were asked."""

import time

calls = []


class Meta(type):
    def __eq__(cls, other):
        calls.append("==")
        return cls is other

    def __hash__(cls):
        return 5

    def __getattribute__(cls, name):
        calls.append(name)
        return type.__getattribute__(cls, name)


class Key:
    def __init__(self, like):
        self.like = like

    def __hash__(self):
        return hash(self.like)

    def __eq__(self, other):
        calls.append("key")
        return self is other


class Text(str):
    def __str__(self):
        calls.append("text")
        return "text"


class Odd(list, metaclass=Meta):
    pass


class Namespace(dict):
    def get(self, *given):
        calls.append("get")
        return dict.get(self, *given)


def work(odd, keyed, named, append):
    until = time.thread_time() + 1.5
    while time.thread_time() < until:
        for index in range(300):
            looked_at = [odd, keyed, named, append, index]
            looked_at += [odd[0], keyed["k"], keyed[1]] if index < 0 else [named]


def named():
    pass


named.__qualname__ = Text("named")
odd, keyed = Odd([1]), {Key("k"): 1, Key(1): 2}
append = odd.append
calls.clear()
work(odd, keyed, named, append)
with open(__file__) as source:
    code = compile(source.read().partition("calls.clear()")[0], __file__, "exec")
exec(code, Namespace())
print(calls)
