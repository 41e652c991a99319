"""Work on values of all kinds for long enough to be looked at: objects die when they should, and nothing is called."""

import time
import weakref


class Told:
    calls = 0

    def __getattr__(self, name):
        Told.calls += 1
        raise AttributeError(name)

    @property
    def computed(self):
        Told.calls += 1
        return 1


class Held:
    pass


def work(told, numbers):
    total = kept = 0
    until = time.thread_time() + 2.0
    while time.thread_time() < until:
        held = Held()
        gone = weakref.ref(held)
        total += sum(number * number for number in numbers) % 7
        assert not hasattr(told, "never")
        del held
        kept += gone() is not None
    return kept


told = Told()
calls = Told.calls
kept = work(told, list(range(2000)))
print(kept, Told.calls > calls, "computed" in vars(Told))
