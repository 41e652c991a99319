"""Die of an exception: the traceback is the program's own."""

from busy import work


def update(batch):
    return batch / 0


work()
update(1)
