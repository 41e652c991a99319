"""Step through a function with bdb, as a debugger does."""

import bdb

from busy import work


class Stepper(bdb.Bdb):
    def user_line(self, frame):
        print(frame.f_code.co_name, frame.f_lineno)
        self.set_step()


def update():
    loss = 0
    for step in range(3):
        loss += step
    return loss


work()
Stepper().runcall(update)
work()
