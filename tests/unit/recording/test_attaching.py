from __future__ import annotations

import os
import selectors
from types import SimpleNamespace

from rlprof.recording.attaching import Attacher


class ASampler:
    """A sampler whose first sample comes at the next reading."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.has_samples = self.is_over = False
        self.is_resting = True

    def read(self) -> bool:
        self.has_samples = True
        return True

    def rest(self) -> None:
        self.is_resting = True

    def wake(self) -> None:
        self.is_resting = False


def test_a_single_look_may_be_the_first_that_finds_anything():
    """On a crowded host a sampler is told to look once before it has found its way in."""
    seen = []
    read_end, write_end = os.pipe()
    with selectors.DefaultSelector() as selector:
        attacher = Attacher(None, selector, None, elapsed_us=lambda: 0, on_first_sample=seen.append)
        sampler = ASampler(read_end)
        tracked = SimpleNamespace(attempts=1, interruption=None, samplers=[sampler])
        selector.register(read_end, selectors.EVENT_READ, None)

        attacher._glance(tracked, sampler)
        selector.get_key(read_end).data()

        assert seen == [tracked]
        assert not selector.get_map()
    os.close(read_end)
    os.close(write_end)
