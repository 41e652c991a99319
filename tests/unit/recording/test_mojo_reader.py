from __future__ import annotations

import pytest

from rlprof.errors import RlprofError
from rlprof.model.recording import Frame
from rlprof.recording.samplers.base import ClockStack
from rlprof.recording.samplers.mojo import MojoReader
from tests.mojo_stream import MojoStream


def read(stream: MojoStream) -> dict[ClockStack, tuple[int, int, int]]:
    reader = MojoReader()
    reader.feed(stream.bytes())
    reader.finish()
    return {
        reader.parse(key): (time.busy_us, time.idle_us, time.ticks)
        for key, time in reader.drain().items()
    }


MAIN = Frame("train.py", "<module>", 9)
STEP = Frame("train.py", "step", 3)


def test_time_adds_up_per_stack_busy_and_idle_apart():
    stream = MojoStream()
    stream.sample(7, [MAIN, STEP], 100)
    stream.sample(7, [MAIN, STEP], 50)
    stream.sample(7, [MAIN, STEP], 7, idle=True)
    stream.sample(7, [MAIN], 20)

    assert read(stream) == {
        ClockStack(7, (MAIN, STEP), False, False): (150, 7, 3),
        ClockStack(7, (MAIN,), False, False): (20, 0, 1),
    }


def test_memory_adds_up_per_stack_rises_and_falls_apart():
    stream = MojoStream()
    stream.sample(7, [MAIN], 10, memory=4096)
    stream.sample(7, [MAIN], 10, memory=8192, idle=True)
    stream.sample(7, [MAIN], 10, memory=-1024)
    stream.sample(7, [STEP], 10)
    reader = MojoReader()
    reader.feed(stream.bytes())
    reader.finish()

    memory = {
        reader.parse(key).frames[0]: (time.grown_bytes, time.released_bytes)
        for key, time in reader.drain().items()
    }

    assert memory == {MAIN: (12288, 1024), STEP: (0, 0)}


def test_collector_and_torn_stacks():
    stream = MojoStream()
    stream.sample(7, [MAIN], 5, gc=True)
    stream.sample(7, [MAIN], 6, torn=True)
    stream.sample(7, [], 8)

    assert read(stream) == {
        ClockStack(7, (MAIN,), True, False): (5, 0, 1),
        ClockStack(7, (MAIN,), False, True): (6, 0, 1),
        ClockStack(7, (), False, False): (8, 0, 1),
    }


def test_keys_of_frames_belong_to_a_process():
    stream = MojoStream()
    stream.sample(7, [MAIN], 5, pid=1)
    stream.sample(7, [STEP], 6, pid=2)

    assert {stack.frames for stack in read(stream)} == {(MAIN,), (STEP,)}


def test_the_last_sample_is_booked_when_the_stream_ends():
    stream = MojoStream()
    stream.sample(7, [MAIN], 5)
    reader = MojoReader()
    reader.feed(stream.bytes())

    before = sum(time.busy_us for time in reader.drain().values())
    reader.finish()
    after = sum(time.busy_us for time in reader.drain().values())

    assert (before, after) == (0, 5)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"Hello, world", "magic bytes"),
        (b"MOJ\x09", "version 9"),
        (b"MOJ\x03\x7f", "event 0x7f"),
    ],
)
def test_other_bytes_are_refused_with_what_is_wrong(data, what):
    with pytest.raises(RlprofError, match=what) as raised:
        MojoReader().feed(data)

    assert raised.value.slug == "sampler-format"
    assert "--austin" in raised.value.hint
